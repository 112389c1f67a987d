//! A whole run as printed, from a fixed stream of events.

use super::*;
use crate::build::Binary;
use crate::child::Account;
use dpor_protocol::FailureReport;
use std::sync::Arc;

fn test(name: &str) -> Test {
    let binary = Binary {
        path: "bank-1".into(),
        id: "bank/lib/bank".into(),
        name: "bank".into(),
        folder: "".into(),
        environment: vec![],
    };
    Test {
        binary: Arc::new(binary),
        name: name.into(),
        ignored: false,
    }
}

fn outcome(verdict: Verdict) -> Outcome {
    Outcome {
        verdict,
        reason: None,
        counts: Counts {
            complete: 20,
            blocked: 3,
            steps: 420,
            ..Counts::default()
        },
        failure: None,
        seed: None,
        account: Account::default(),
        time: Duration::from_millis(70),
    }
}

fn failed() -> Outcome {
    let failure = FailureReport {
        kind: "panic".into(),
        message: "lost update".into(),
        thread: Some(0),
        thread_name: None,
        location: None,
        blocked: vec![],
        output: "seen 1\n".into(),
    };
    Outcome {
        failure: Some(failure),
        seed: Some("dpor1-AAAA".into()),
        ..outcome(Verdict::Failed)
    }
}

fn incomplete() -> Outcome {
    Outcome {
        reason: Some("the limit of 20 executions was reached".into()),
        ..outcome(Verdict::Incomplete)
    }
}

fn finish(reporter: &mut dyn Reporter, test: &Test, outcome: Outcome) {
    let again = outcome.seed.as_ref().map(|seed| format!("cargo dpor replay {seed}"));
    let replay = outcome.failure.is_some().then(|| outcome.clone());
    let result = TestResult { outcome, replay, again };
    reporter.event(Event::TestFinished { test, result: &result });
}

fn run(quiet: bool) -> String {
    let mut reporter = Human::new(Vec::new(), quiet);
    let tests = [
        test("tests::deposit"),
        test("tests::transfer_back_and_forth"),
        test("tests::long"),
    ];
    reporter.event(Event::RunStarted { tests: &tests });
    for (test, outcome) in tests.iter().zip([outcome(Verdict::Complete), failed(), incomplete()]) {
        reporter.event(Event::TestStarted { test });
        reporter.event(Event::TestProgress {
            test,
            counts: &outcome.counts,
        });
        reporter.event(Event::Replaying { test });
        finish(&mut reporter, test, outcome);
    }
    let summary = Summary {
        complete: 1,
        failed: 1,
        incomplete: 1,
        not_run: 2,
        left_out: 7,
        time: Duration::from_millis(2345),
    };
    reporter.event(Event::RunFinished { summary: &summary });
    text(reporter)
}

fn text(reporter: Human<Vec<u8>>) -> String {
    anstream::adapter::strip_str(&String::from_utf8(reporter.into_output()).unwrap()).to_string()
}

fn replayed(outcome: Outcome) -> String {
    let mut reporter = Human::new(Vec::new(), false);
    reporter.event(Event::Replayed {
        test: &test("tests::a"),
        seed: "dpor1-AAAA",
        outcome: &outcome,
    });
    text(reporter)
}

#[test]
fn a_run() {
    insta::assert_snapshot!(run(false));
}

#[test]
fn a_quiet_run() {
    insta::assert_snapshot!(run(true));
}

#[test]
fn replays() {
    insta::assert_snapshot!("replay_fails_again", replayed(failed()));
    insta::assert_snapshot!("replay_does_not_fail", replayed(outcome(Verdict::Complete)));
    insta::assert_snapshot!("replay_impossible", replayed(incomplete()));
    let account = Account {
        diverged: Some((4, "t1: lock".into(), "t1: load".into())),
        ..Account::default()
    };
    insta::assert_snapshot!(
        "replay_diverges",
        replayed(Outcome {
            account,
            ..outcome(Verdict::Incomplete)
        })
    );
}
