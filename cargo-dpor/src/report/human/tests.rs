//! A whole run as printed, from a fixed stream of events.

use super::*;
use crate::child::Account;
use crate::report::samples::{self, failed, finish, incomplete, outcome, test};
use dpor_explorer::Shard;

fn run(amount: Amount) -> String {
    let mut reporter = Human::new(Vec::new(), amount);
    samples::run(&mut reporter, failed());
    text(reporter)
}

fn text(reporter: Human<Vec<u8>>) -> String {
    anstream::adapter::strip_str(&String::from_utf8(reporter.into_output()).unwrap()).to_string()
}

fn replayed(outcome: Outcome) -> String {
    let mut reporter = Human::new(Vec::new(), Amount::Usual);
    reporter.event(&Event::Replayed {
        test: &test("tests::a"),
        seed: "dpor1-AAAA",
        outcome: &outcome,
    });
    text(reporter)
}

#[test]
fn a_run() {
    insta::assert_snapshot!(run(Amount::Usual));
}

#[test]
fn a_quiet_run() {
    insta::assert_snapshot!(run(Amount::Quiet));
}

#[test]
fn a_verbose_run() {
    insta::assert_snapshot!(run(Amount::Verbose));
}

#[test]
fn a_shard_claims_no_more_than_its_part() {
    let part = |verdict, number: u32| Outcome {
        shard: Shard::new(number, 4),
        ..outcome(verdict)
    };
    let mut reporter = Human::new(Vec::new(), Amount::Usual);
    finish(&mut reporter, &test("tests::a"), part(Verdict::Complete, 2));
    finish(&mut reporter, &test("tests::b"), part(Verdict::Incomplete, 2));
    let summary = Summary {
        complete: 1,
        incomplete: 1,
        threaded: 2,
        shard: Shard::new(2, 4),
        ..Summary::default()
    };
    reporter.event(&Event::RunFinished {
        summary: &summary,
        exit: crate::error::Exit::Incomplete,
    });
    insta::assert_snapshot!(text(reporter));
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

#[test]
fn pairs_that_are_not_there() {
    let compared = |outcome: Outcome| {
        let mut reporter = Human::new(Vec::new(), Amount::Usual);
        reporter.event(&Event::Compared {
            test: &test("tests::a"),
            number: 100,
            outcome: &outcome,
            again: outcome.seed.as_ref().map(|_| "cargo dpor replay dpor1-AAAA"),
        });
        text(reporter)
    };
    let met = |compared, equal| {
        let mut outcome = outcome(Verdict::Complete);
        (outcome.counts.compared, outcome.counts.equal) = (compared, equal);
        outcome
    };
    assert_eq!(
        compared(met(0, 0)),
        "no such pair: bank tests::a\n  no two orders of conflicting steps were compared\n"
    );
    assert_eq!(
        compared(met(7, 7)),
        "no such pair: bank tests::a\n  pairs of orders compared: 7, all of which lead to equal states\n"
    );
    assert_eq!(
        compared(met(70, 12)),
        "no such pair: bank tests::a\n  pairs of orders compared: 70, of which 58 lead to different states\n"
    );
    assert_eq!(
        compared(incomplete()),
        "no such pair: bank tests::a\n  pairs of orders compared: 70, of which 58 lead to different states\n  the limit of 20 executions was \
         reached\n"
    );
    let failure = compared(failed());
    assert!(
        failure.starts_with("failure: bank tests::a\n\n  panic: lost update\n"),
        "{failure}"
    );
    assert!(
        failure.contains("\n  again: cargo dpor replay dpor1-AAAA\n"),
        "{failure}"
    );
}

#[test]
fn labels_have_lines_of_their_own() {
    let lines = |amount| {
        let label = |label: &str, complete, all, required: Option<u32>| LabelReport {
            label: label.into(),
            complete,
            all,
            required: required.map(|line| dpor_protocol::SourceLocation {
                file: "src/lib.rs".into(),
                line,
                column: 5,
            }),
        };
        let outcome = Outcome {
            labels: vec![
                label("won", 20, 20, None),
                label("retried", 3, 9, Some(7)),
                label("lost", 0, 0, Some(8)),
            ],
            ..outcome(Verdict::Complete)
        };
        let mut reporter = Human::new(Vec::new(), amount);
        finish(&mut reporter, &test("tests::a"), outcome);
        let text = text(reporter);
        text.lines()
            .skip(1)
            .map(|line| line.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let usual = [
        "label won      reached in 20 of 20 executions",
        "label retried  reached in 3 of 20 executions, and in 6 that were given up",
        "label lost     never reached",
    ];
    assert_eq!(lines(Amount::Usual), usual);
    let places = ["", ", required at src/lib.rs:7", ", required at src/lib.rs:8"];
    let verbose: Vec<_> = usual
        .iter()
        .zip(places)
        .map(|(line, place)| format!("{line}{place}"))
        .collect();
    assert_eq!(lines(Amount::Verbose), verbose);
    assert!(lines(Amount::Quiet).is_empty());
}

#[test]
fn who_wants_to_know_hears_that_exploration_started_again() {
    let line = |amount, refinements| {
        let mut outcome = outcome(Verdict::Complete);
        outcome.counts.refinements = refinements;
        let mut reporter = Human::new(Vec::new(), amount);
        finish(&mut reporter, &test("tests::a"), outcome);
        text(reporter).lines().nth(1).map(|line| line.trim().to_owned())
    };
    let said = line(Amount::Verbose, 2).unwrap();
    assert!(said.starts_with("exploration started again 2 times: "), "{said}");
    assert_eq!(line(Amount::Verbose, 0), None);
    assert_eq!(line(Amount::Usual, 2), None);
}
