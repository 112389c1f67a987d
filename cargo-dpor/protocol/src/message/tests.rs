//! Messages on their way, and in short.

use super::*;
use crate::{EndReport, SiteReport, Taken};

#[test]
fn a_message_is_one_versioned_line() {
    let message = Message::Output {
        stream: OutputStream::Err,
        text: "a\nb\u{1f980}".into(),
    };
    let line = message.to_line();
    assert_eq!(line, "9 BQEHYQpi8J-mgA\n");
    assert_eq!(Message::from_line(&line), Ok(message));
}

#[test]
fn nested_reports_survive_the_journey() {
    let place = SourceLocation {
        file: "src/lib.rs".into(),
        line: 3,
        column: 9,
    };
    let taken = Taken {
        thread: 1,
        alternative: 0,
        site: 0,
    };
    let messages = [
        Message::Started {
            test: "demo::a".into(),
            location: Some(place.clone()),
        },
        Message::Progress(Counts {
            complete: 1,
            steps: u64::MAX,
            ..Counts::default()
        }),
        Message::Step(StepReport {
            index: 0,
            thread: 1,
            thread_name: None,
            operation: "lock".into(),
            object: "mutex#1".into(),
            location: Some(place.clone()),
            detail: None,
            switched: true,
            ..StepReport::default()
        }),
        Message::Pair(PairReport {
            common: 4,
            first: Vec::new(),
            second: Vec::new(),
            differences: vec![DifferenceReport {
                owner: "static x".into(),
                address: None,
                offset: 8,
                length: 300,
                first: vec![0, 255],
                second: Vec::new(),
                hint: Some("only in the first state".into()),
            }],
        }),
        Message::Survey(SurveyReport {
            states: 90,
            parts: vec![PartReport {
                name: "heap".into(),
                without: 60,
                without_all: 30,
            }],
            compared: 50,
            alone: 4,
            places: vec![PlaceReport {
                pairs: 7,
                only: 3,
                example: DifferenceReport {
                    owner: "t1: heap".into(),
                    address: Some(1 << 40),
                    offset: 0,
                    length: 1,
                    first: vec![1],
                    second: vec![2],
                    hint: None,
                },
            }],
        }),
        Message::Labels {
            labels: vec![LabelReport {
                label: "lost".into(),
                complete: 3,
                all: 4,
                required: Some(place.clone()),
            }],
        },
        Message::Execution(ExecutionReport {
            number: 7,
            anew: false,
            common: 2,
            steps: vec![taken],
            end: EndReport::Blocked { asleep: vec![taken] },
            sites: vec![SiteReport {
                operation: "lock".into(),
                location: Some(place.clone()),
            }],
            threads: Vec::new(),
        }),
        Message::Sharing(SharingReport {
            conflict: true,
            weak: vec![WeakReport {
                operation: "load".into(),
                orderings: "Relaxed".into(),
                location: Some(place.clone()),
            }],
        }),
        Message::Suppressed {
            suppressions: vec![SuppressionReport {
                entry: "seqlock::SeqLock::read".into(),
                accesses: 3,
                races: 1,
            }],
        },
        Message::Finished {
            verdict: Verdict::Failed,
            reason: None,
            note: None,
            counts: Counts::default(),
            failure: Some(Box::new(FailureReport {
                kind: "deadlock".into(),
                message: "m".into(),
                thread: None,
                thread_name: None,
                location: None,
                blocked: vec![BlockedThread {
                    thread: 0,
                    thread_name: None,
                    operation: "lock".into(),
                    object: "mutex#1".into(),
                    location: None,
                    held_by: vec![Holder {
                        thread: 1,
                        thread_name: None,
                        location: Some(place),
                    }],
                    ..BlockedThread::default()
                }],
                output: String::new(),
                ..FailureReport::default()
            })),
            seed: None,
        },
    ];
    for message in messages {
        assert_eq!(Message::from_line(&message.to_line()), Ok(message));
    }
}

#[test]
fn reports_in_short() {
    let place = |line| {
        Some(SourceLocation {
            file: "a.rs".into(),
            line,
            column: 9,
        })
    };
    let step = StepReport {
        index: 0,
        thread: 1,
        thread_name: Some("w".into()),
        operation: "load".into(),
        object: "atomic#1".into(),
        location: place(3),
        detail: Some("→ 0".into()),
        switched: true,
        ..StepReport::default()
    };
    assert_eq!(step.to_string(), "t1 (w)  load atomic#1  → 0  a.rs:3:9");
    let failure = FailureReport {
        kind: "deadlock".into(),
        message: "no thread can go on".into(),
        thread: None,
        thread_name: None,
        location: None,
        blocked: vec![BlockedThread {
            thread: 0,
            thread_name: None,
            operation: "lock".into(),
            object: "mutex#1".into(),
            location: place(4),
            held_by: vec![Holder {
                thread: 1,
                thread_name: None,
                location: place(5),
            }],
            ..BlockedThread::default()
        }],
        output: "hello".into(),
        ..FailureReport::default()
    };
    assert_eq!(
        failure.to_string(),
        "deadlock: no thread can go on\n  t0 waits in lock of mutex#1 at a.rs:4:9, held by t1 since \
         a.rs:5:9\noutput of this execution:\nhello"
    );
}

#[test]
fn other_versions_and_noise_are_told_apart() {
    assert_eq!(
        Message::from_line("8 New(text:\"a\")"),
        Err(MessageError::OtherVersion(8))
    );
    for noise in ["running 1 test", "", "9", "9 New(text:\"a\")", "9 BQEHYQpi8J-m", "9 /w"] {
        assert!(
            matches!(Message::from_line(noise), Err(MessageError::Malformed(_))),
            "{noise}"
        );
    }
}
