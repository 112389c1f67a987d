//! A whole run as printed, from a fixed stream of events.

use super::*;
use crate::outcome::Account;
use crate::report::samples::{self, failed, failed_in_full, finish, incomplete, outcome, test};
use dpor_explorer::Shard;
use dpor_protocol::OutputStream;

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
        again: "cargo dpor replay dpor1-AAAA",
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

/// A run on a terminal of this width.
fn run_on(width: usize, amount: Amount) -> String {
    let mut reporter = Human::new(Vec::new(), amount);
    reporter.set_width(move || Some(width));
    samples::run(&mut reporter, failed_in_full());
    text(reporter)
}

#[test]
fn lines_fit_the_terminal() {
    for width in 30..130 {
        for amount in [Amount::Usual, Amount::Verbose] {
            let text = run_on(width, amount);
            for line in text.lines() {
                let one_word = line.split_whitespace().count() == 1;
                let is_copied = ["seed: ", "again: "]
                    .iter()
                    .any(|start| line.trim_start().starts_with(start));
                assert!(
                    line.chars().count() <= width || one_word || is_copied,
                    "in {width} columns: {line}"
                );
            }
        }
    }
    insta::assert_snapshot!("a_run_in_40_columns", run_on(40, Amount::Usual));
    insta::assert_snapshot!("a_run_in_80_columns", run_on(80, Amount::Usual));
    insta::assert_snapshot!("a_verbose_run_in_120_columns", run_on(120, Amount::Verbose));
}

#[test]
fn the_schedule_of_a_step_that_took_too_long_can_be_run_again() {
    let mut outcome = incomplete();
    outcome.reason = Some("thread t1 ran for 10 s\n  in bank::sum (src/lib.rs:7)".into());
    outcome.seed = Some("dpor1-AAAA".into());
    let mut reporter = Human::new(Vec::new(), Amount::Usual);
    finish(&mut reporter, &test("tests::a"), outcome.clone());
    let line = text(reporter);
    assert!(
        line.contains(
            "\n             thread t1 ran for 10 s\n               in bank::sum (src/lib.rs:7)\n             about \
             3.12 % explored\n             again: cargo dpor replay dpor1-AAAA\n"
        ),
        "{line}"
    );
    outcome.account = failed_in_full().account;
    let replayed = replayed(outcome);
    assert!(
        replayed.starts_with(
            "incomplete: bank tests::a\n\n  thread t1 ran for 10 s\n    in bank::sum (src/lib.rs:7)\n\n\
             \x20 schedule (2 steps"
        ),
        "{replayed}"
    );
}

#[test]
fn executions_that_were_cut_are_told() {
    let mut outcome = incomplete();
    (outcome.counts.pruned, outcome.counts.cut) = (7, 2);
    let mut reporter = Human::new(Vec::new(), Amount::Usual);
    finish(&mut reporter, &test("tests::a"), outcome.clone());
    outcome.counts.pruned = 0;
    finish(&mut reporter, &test("tests::b"), outcome);
    let text = text(reporter);
    assert!(text.contains("blocked      7 pruned      2 cut  "), "{text}");
    assert!(text.contains("blocked      2 cut         "), "{text}");
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
        "no such pair: bank tests::a\n  pairs of orders compared: 70, of which 58 lead to different states\n  the \
         limit of 20 executions was reached\n"
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
    assert!(
        said.starts_with("exploration started again 2 times with more scheduling points: "),
        "{said}"
    );
    assert_eq!(line(Amount::Verbose, 0), None);
    assert_eq!(line(Amount::Usual, 2), None);
}

#[test]
fn what_the_first_execution_has_printed_is_shown_if_it_is_known() {
    let shown = |amount, verdict| {
        let mut outcome = samples::outcome(verdict);
        outcome.account.printed = vec![(OutputStream::Out, "one\n".into()), (OutputStream::Err, "two".into())];
        let mut reporter = Human::new(Vec::new(), amount);
        samples::finish(&mut reporter, &test("tests::a"), outcome);
        text(reporter)
    };
    let printed = "\n             printed in the first execution:\n               one\n               two\n";
    for amount in [Amount::Usual, Amount::Quiet] {
        assert!(
            shown(amount, Verdict::Complete).ends_with(printed),
            "{}",
            shown(amount, Verdict::Complete)
        );
    }
    assert!(!shown(Amount::Usual, Verdict::Failed).contains("first execution"));
}

#[test]
fn executables_are_named() {
    let mut reporter = Human::new(Vec::new(), Amount::Usual);
    let binary = &*test("tests::a").binary;
    reporter.event(&Event::Executables {
        binaries: std::slice::from_ref(binary),
    });
    assert_eq!(text(reporter), "bank  bank-1\n");
}
