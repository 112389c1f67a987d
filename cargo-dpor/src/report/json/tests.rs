//! Whole streams as printed.

use super::*;
use crate::outcome::Account;
use crate::report::samples::{self, failed_in_full, incomplete, test};
use dpor_protocol::{PairReport, SurveyReport};
use serde_json::Value;

/// The lines of a stream, each a value.
fn lines(tell: impl FnOnce(&mut dyn Reporter)) -> Vec<Value> {
    let mut reporter = Json::new(Vec::new());
    tell(&mut reporter);
    let text = String::from_utf8(reporter.into_output()).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The lines with each field on its own line.
fn pretty(tell: impl FnOnce(&mut dyn Reporter)) -> String {
    let lines = lines(tell);
    let pretty: Vec<_> = lines
        .iter()
        .map(|line| serde_json::to_string_pretty(line).unwrap())
        .collect();
    pretty.join("\n")
}

#[test]
fn a_run() {
    insta::assert_snapshot!(pretty(|reporter| {
        reporter.event(&Event::FacadesBuilding);
        reporter.event(&Event::Built {
            folders: &["/bank".into(), "/bank/teller".into()],
        });
        samples::run(reporter, failed_in_full());
    }));
}

#[test]
fn code_that_is_not_seen() {
    let unseen = Unseen {
        libraries: vec!["libz.so.1".into()],
        ..Unseen::default()
    };
    let told = lines(|reporter| {
        reporter.event(&Event::Unseen {
            binary: &test("tests::a").binary,
            unseen: &unseen,
        });
    });
    let expected = serde_json::json!({
        "version": 1,
        "event": "unseen",
        "package": "bank",
        "kind": "lib",
        "target": "bank",
        "message": unseen.told(false),
        "sources": [],
        "crates": [],
        "functions": [],
        "unknown": [],
        "libraries": ["libz.so.1"],
    });
    assert_eq!(told, [expected]);
}

#[test]
fn other_commands() {
    insta::assert_snapshot!(pretty(|reporter| {
        reporter.event(&Event::Listed {
            tests: &[Test {
                ignored: true,
                ..test("tests::a")
            }],
        });
        let account = Account {
            diverged: Some((4, "t1: lock".into(), "t1: load".into())),
            ..Account::default()
        };
        reporter.event(&Event::Replayed {
            test: &test("tests::a"),
            seed: "dpor1-AAAA",
            outcome: &Outcome {
                account,
                ..incomplete()
            },
            again: "cargo dpor replay dpor1-AAAA",
        });
        reporter.event(&Event::Executables {
            binaries: std::slice::from_ref(&*test("tests::a").binary),
        });
        let full = failed_in_full();
        let pair = PairReport {
            common: 1,
            first: full.account.steps.clone(),
            second: vec![],
            differences: vec![DifferenceReport {
                owner: "static x".into(),
                address: Some(64),
                offset: 8,
                length: 1,
                first: vec![1],
                second: vec![2],
                hint: None,
            }],
        };
        reporter.event(&Event::Compared {
            test: &test("tests::a"),
            number: 2,
            outcome: &Outcome {
                pair: Some(pair),
                ..samples::outcome(dpor_protocol::Verdict::Complete)
            },
            again: None,
        });
        reporter.event(&Event::Surveyed {
            test: &test("tests::a"),
            outcome: &Outcome {
                survey: Some(SurveyReport {
                    states: 3,
                    parts: vec![],
                    compared: 0,
                    alone: 3,
                    places: vec![],
                }),
                ..samples::outcome(dpor_protocol::Verdict::Complete)
            },
            again: None,
        });
        reporter.event(&Event::Stopped {
            error: &samples::error(),
        });
    }));
}

#[test]
fn a_line_begins_with_what_it_is() {
    let mut reporter = Json::new(Vec::new());
    reporter.event(&Event::FacadesBuilding);
    let text = String::from_utf8(reporter.into_output()).unwrap();
    assert_eq!(text, "{\"version\":1,\"event\":\"facades-building\"}\n");
}

#[test]
fn every_event_is_one_versioned_line() {
    let lines = lines(|reporter| samples::run(reporter, failed_in_full()));
    // One for the start, one for the end, four for each of three tests.
    assert_eq!(lines.len(), 14);
    for line in lines {
        assert_eq!(line["version"], VERSION, "{line}");
        assert!(line["event"].is_string(), "{line}");
    }
}

#[test]
fn a_failure_that_is_not_found_again_says_so() {
    let replay = samples::outcome(dpor_protocol::Verdict::Complete);
    let result = samples::result(failed_in_full(), Some(replay), None);
    let lines = lines(|reporter| {
        reporter.event(&Event::TestFinished {
            test: &test("tests::a"),
            result: &result,
        });
    });
    assert_eq!(lines[0]["schedule"]["reproduced"], false);
    assert_eq!(lines[0]["failure"]["kind"], "panic");
}
