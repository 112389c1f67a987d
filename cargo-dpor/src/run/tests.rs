use super::diff_states::diff_states_exit;
use super::explore::default_limit;
use super::order::{RANDOM_EXECUTIONS, again, order};
use super::replay::{replay, replay_exit};
use super::test::exit;
use super::*;
use crate::build::{Binary, Test};
use crate::cli::{self, TestArgs};
use crate::config::Settings;
use crate::error::Error;
use crate::judgement::Fault;
use crate::outcome::{Account, Outcome};
use dpor_protocol::{Counts, PairReport, Verdict};
use std::sync::Arc;
use std::time::Duration;

fn test_args(line: &str) -> TestArgs {
    match cli::parse(line.split(' ').map(Into::into)).unwrap().command {
        Command::Test(args) => args,
        other => panic!("{other:?}"),
    }
}

fn sample() -> Test {
    let binary = Binary {
        path: "x".into(),
        id: "bank/test/it".into(),
        name: "bank::it".into(),
        folder: "".into(),
        is_proc_macro: false,
        environment: vec![],
    };
    Test {
        binary: Arc::new(binary),
        name: "a".into(),
        ignored: false,
    }
}

#[test]
fn exit_codes() {
    assert_eq!(exit(None, false), Exit::Complete);
    assert_eq!(exit(Some(Fault::Incomplete), false), Exit::Incomplete);
    assert_eq!(exit(Some(Fault::Failed), false), Exit::Failed);
    assert_eq!(exit(Some(Fault::Vacuous), false), Exit::Doubtful);
    assert_eq!(exit(Some(Fault::WeakOrderings), false), Exit::Doubtful);
    // Of some target no test could be run.
    assert_eq!(exit(None, true), Exit::Internal);
    assert_eq!(exit(Some(Fault::Incomplete), true), Exit::Internal);
    assert_eq!(exit(Some(Fault::Failed), true), Exit::Failed);
    assert_eq!(Error::NoTests(String::new()).exit(), Exit::Usage);
    assert_eq!(Error::Build.exit(), Exit::Build);
}

#[test]
fn exit_codes_of_replays() {
    let outcome = |verdict, diverged: bool| Outcome {
        account: Account {
            diverged: diverged.then(|| (0, String::new(), String::new())),
            ..Account::default()
        },
        ..Outcome::of(verdict)
    };
    assert_eq!(replay_exit(&outcome(Verdict::Failed, false)), Exit::Failed);
    assert_eq!(replay_exit(&outcome(Verdict::Complete, false)), Exit::Complete);
    assert_eq!(replay_exit(&outcome(Verdict::Failed, true)), Exit::Usage);
}

#[test]
fn exit_codes_of_diff_states() {
    let outcome = |verdict, compared, equal, found: bool| Outcome {
        counts: Counts {
            compared,
            equal,
            ..Counts::default()
        },
        pair: found.then(|| PairReport {
            common: 0,
            first: vec![],
            second: vec![],
            differences: vec![],
        }),
        ..Outcome::of(verdict)
    };
    for (verdict, compared, equal, found, exit) in [
        (Verdict::Complete, 3, 1, true, Exit::Complete),
        (Verdict::Complete, 3, 3, false, Exit::Complete),
        (Verdict::Complete, 0, 0, false, Exit::Complete),
        (Verdict::Complete, 3, 1, false, Exit::Usage),
        (Verdict::Incomplete, 3, 1, false, Exit::Incomplete),
        (Verdict::Failed, 3, 1, false, Exit::Failed),
    ] {
        assert_eq!(diff_states_exit(&outcome(verdict, compared, equal, found)), exit);
    }
}

#[test]
fn the_command_to_replay_has_what_it_needs() {
    let line = |text: &str| again("dpor1-A", &sample(), &test_args(text).cargo);
    assert_eq!(line("cargo-dpor test"), "cargo dpor replay dpor1-A");
    assert_eq!(
        line("cargo-dpor test --test it -F a,b x"),
        "cargo dpor replay dpor1-A --test it --features a,b"
    );
    assert_eq!(
        line("cargo-dpor test --workspace --exclude z"),
        "cargo dpor replay dpor1-A --package bank"
    );
    assert_eq!(
        line("cargo-dpor test -p a*"),
        "cargo dpor replay dpor1-A --package 'a*'"
    );
}

#[test]
fn random_exploration_has_an_end() {
    let executions = |text: &str| {
        let mut settings = Settings::default();
        test_args(text).explore.set(&mut settings);
        order(&settings).limits.executions
    };
    assert_eq!(executions("cargo-dpor test --strategy random"), Some(RANDOM_EXECUTIONS));
    assert_eq!(executions("cargo-dpor test --strategy random --max-time 1s"), None);
    assert_eq!(
        executions("cargo-dpor test --strategy random --max-time none"),
        Some(RANDOM_EXECUTIONS)
    );
    assert_eq!(executions("cargo-dpor test --strategy source"), None);
    assert_eq!(
        executions("cargo-dpor test --strategy random --max-executions 5"),
        Some(5)
    );
}

#[test]
fn who_meets_the_default_limit_is_told() {
    let said = |verdict, seconds: u64, flags: &str, alone: bool| {
        let mut settings = Settings::default();
        test_args(&format!("cargo-dpor test {flags}"))
            .explore
            .set(&mut settings);
        settings.settle(alone);
        let outcome = Outcome {
            time: Duration::from_secs(seconds),
            ..crate::report::samples::outcome(verdict)
        };
        default_limit(&outcome, &settings)
    };
    let note = said(Verdict::Incomplete, 61, "--leaks", false).unwrap();
    assert!(
        note.starts_with("60s is the default in a run of several tests: "),
        "{note}"
    );
    assert_eq!(said(Verdict::Complete, 61, "--leaks", false), None);
    // Something else was met.
    assert_eq!(said(Verdict::Incomplete, 3, "--leaks", false), None);
    assert_eq!(said(Verdict::Incomplete, 61, "--max-time 60s", false), None);
    assert_eq!(said(Verdict::Incomplete, 61, "--max-executions 1000", false), None);
    assert_eq!(said(Verdict::Incomplete, 61, "--leaks", true), None);
}

#[test]
fn a_damaged_seed_is_refused_before_anything_is_built() {
    let Command::Replay(args) = cli::parse(["cargo-dpor", "replay", "dpor1-AAAA"].map(Into::into))
        .unwrap()
        .command
    else {
        panic!()
    };
    let error = replay(&args, &mut Listeners::default()).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().starts_with("this seed is "), "{error}");
}
