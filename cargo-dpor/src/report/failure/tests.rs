//! Reports as printed, from fixed accounts.

use super::*;
use dpor_protocol::{Counts, Holder, OutputStream, StepReport, ThreadReport};
use std::time::Duration;

const SOURCE: &str = "\
#[test]
fn transfer() {
    let (a, b) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2)));
    let worker = Builder::new().name(\"worker\".into()).spawn(move || {
        let first = b.lock().unwrap();
        let second = a.lock().unwrap();
    });
    let first = a.lock().unwrap();
    let second = b.lock().unwrap();
    worker.join().unwrap();
}
";

/// A tree with `src/lib.rs`.
fn with_sources(body: impl FnOnce(&SourceTree)) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), SOURCE).unwrap();
    body(&SourceTree::new(vec![folder.path().into()]));
}

fn at(line: u32) -> Option<SourceLocation> {
    Some(SourceLocation {
        file: "src/lib.rs".into(),
        line,
        column: 21,
    })
}

fn step(index: u64, thread: u32, operation: &str, object: &str, line: u32, detail: &str) -> StepReport {
    StepReport {
        index,
        thread,
        thread_name: (thread == 1).then(|| "worker".into()),
        operation: operation.into(),
        object: object.into(),
        location: at(line),
        detail: (!detail.is_empty()).then(|| detail.into()),
        switched: false,
        ..StepReport::default()
    }
}

fn failure(kind: &str, message: &str) -> FailureReport {
    FailureReport {
        kind: kind.into(),
        message: message.into(),
        thread: None,
        thread_name: None,
        location: None,
        blocked: vec![],
        output: String::new(),
        ..FailureReport::default()
    }
}

fn outcome(failure: Option<FailureReport>, account: Account) -> Outcome {
    Outcome {
        verdict: if failure.is_some() {
            Verdict::Failed
        } else {
            Verdict::Complete
        },
        reason: None,
        note: None,
        counts: Counts::default(),
        failure,
        seed: Some("dpor1-AAAA".into()),
        account,
        pair: None,
        labels: vec![],
        simplified: None,
        sharing: None,
        time: Duration::from_millis(1500),
    }
}

fn render(outcome: &Outcome, replay: Option<&Outcome>) -> String {
    let mut text = String::new();
    with_sources(|sources| {
        let again = Some("cargo dpor replay dpor1-AAAA -p bank");
        let colored = Failure {
            test: "bank tests::transfer",
            outcome,
            replay,
            again,
            sources,
        }
        .render();
        text = anstream::adapter::strip_str(&colored).to_string();
    });
    text
}

fn deadlock() -> Outcome {
    let blocked = |thread: u32, object: &str, line, holder, since| BlockedThread {
        thread,
        thread_name: (thread == 1).then(|| "worker".into()),
        operation: "lock".into(),
        object: object.into(),
        location: at(line),
        held_by: vec![Holder {
            thread: holder,
            thread_name: None,
            location: at(since),
        }],
        ..BlockedThread::default()
    };
    let report = FailureReport {
        blocked: vec![blocked(0, "mutex#2", 9, 1, 5), blocked(1, "mutex#1", 6, 0, 8)],
        ..failure("deadlock", "no thread can go on\nt0 waits for t1")
    };
    let account = Account {
        threads: vec![ThreadReport {
            id: 1,
            parent: Some(0),
            name: Some("worker".into()),
            location: at(4),
        }],
        steps: vec![
            step(0, 0, "start", "", 2, ""),
            step(1, 0, "lock", "mutex#1", 8, ""),
            step(2, 1, "lock", "mutex#2", 5, ""),
        ],
        output: vec![
            (OutputStream::Out, "a line\nand ".into()),
            (OutputStream::Err, "another\n".into()),
        ],
        ..Account::default()
    };
    outcome(Some(report), account)
}

#[test]
fn a_deadlock() {
    insta::assert_snapshot!(render(&deadlock(), Some(&deadlock())));
}

#[test]
fn a_panic_with_details() {
    let report = FailureReport {
        thread: Some(1),
        location: at(6),
        ..failure("panic", "assertion `left == right` failed\n  left: 1\n right: 2")
    };
    let account = Account {
        steps: vec![
            step(8, 1, "load", "atomic#12", 3, "→ 0"),
            step(9, 1, "compare exchange", "atomic#1", 3, "0 → 1"),
            step(10, 0, "join", "", 10, "t1"),
        ],
        stderr: "something unheard of".into(),
        ..Account::default()
    };
    let run = outcome(Some(report), account);
    insta::assert_snapshot!(render(&run, Some(&run)));
}

#[test]
fn a_crash_whose_schedule_is_lost() {
    let report = FailureReport {
        thread: Some(3),
        ..failure("stack-overflow", "a thread overflowed its stack")
    };
    let run = Outcome {
        seed: None,
        ..outcome(Some(report), Account::default())
    };
    insta::assert_snapshot!(render(&run, None));
}

#[test]
fn a_replay_that_goes_another_way_is_not_passed_over() {
    let diverged = Account {
        diverged: Some((1, "t0: lock".into(), "t0: load".into())),
        ..Account::default()
    };
    insta::assert_snapshot!("diverged", render(&deadlock(), Some(&outcome(None, diverged))));
    let panicked = outcome(Some(failure("panic", "oh")), Account::default());
    insta::assert_snapshot!("another_failure", render(&deadlock(), Some(&panicked)));
    let fine = outcome(None, Account::default());
    insta::assert_snapshot!("no_failure", render(&deadlock(), Some(&fine)));
}

#[test]
fn of_a_long_schedule_the_end_is_shown() {
    let steps = (0..1000)
        .map(|i| step(i, (i / 500) as u32, "load", "atomic#1", 3, ""))
        .collect();
    let run = outcome(
        Some(failure("panic", "oh")),
        Account {
            steps,
            ..Account::default()
        },
    );
    let text = render(&run, Some(&run));
    assert!(
        text.contains("schedule (1000 steps, 1 switch)") && text.contains("… 600 steps before"),
        "{text}"
    );
    assert!(
        text.contains("\n    1000  load") && !text.contains("\n     600  load"),
        "{text}"
    );
}

#[test]
fn plurals() {
    assert_eq!(plural(1, "switch"), "1 switch");
    assert_eq!(plural(0, "switch"), "0 switches");
    assert_eq!(plural(2, "step"), "2 steps");
}

#[test]
fn a_label_that_is_never_reached_has_no_seed() {
    let never = failure("never-reached", "no execution reaches the label \"a\"");
    let outcome = Outcome {
        seed: None,
        ..outcome(Some(never), Account::default())
    };
    let text = render(&outcome, None);
    assert!(
        text.contains("  never-reached: no execution reaches the label \"a\"\n"),
        "{text}"
    );
    assert!(
        text.ends_with("  there is no seed: it is no single schedule that fails\n"),
        "{text}"
    );
}
