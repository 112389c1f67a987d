//! A fast part of the test suites of loom and shuttle, on the checker: what is not as the plans say is shown. All of
//! them: `cargo run --release -p dpor-testsuite --bin peer-suites -- loom`, and `shuttle`. And loom's tests of
//! causality as ordinary tests of std, in which the tool looks for data races.
//!
//! The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::peer_suites::{How, SC, Suite};
use dpor_testsuite::project::Project;
use dpor_testsuite::registry;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Maximum duration of a test.
const PATIENCE: Duration = Duration::from_secs(20);

fn check(package: &str, filters: &[&str], explorations: &[(&str, &str)]) {
    let suite = Suite::build(package).unwrap_or_else(|error| panic!("{error}"));
    for &(strategy, memory) in explorations {
        let how = How {
            strategy,
            memory,
            time: PATIENCE,
        };
        for filter in filters {
            let report = suite.run(filter, how);
            let report = report.unwrap_or_else(|error| panic!("{error}"));
            assert!(!report.met.is_empty(), "{package} has no {filter}");
            assert!(
                report.mismatches.is_empty(),
                "{package}, {strategy}, {memory}:\n{report}"
            );
        }
    }
}

#[test]
fn loom() {
    check(
        "loom",
        &[""],
        &[("source", SC), ("context", SC), ("states", "rc11"), ("context", "rc11")],
    );
}

#[test]
fn shuttle() {
    let fast = [
        "barrier",
        "condvar",
        "lazy_static",
        "mutex",
        "once",
        "panic",
        "thread",
        "usize",
    ];
    check("shuttle", &fast, &[("source", SC)]);
}

/// By file and name of the test, `complete` or the kind of failure.
type Results = BTreeMap<String, BTreeMap<String, String>>;

/// loom's tests of causality, explored by the tool, with std under loom's names.
#[test]
fn loom_by_std() {
    let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("peer-suites/loom-by-std");
    let expected = fs::read_to_string(stand_in.join("expected.toml")).unwrap();
    let expected: Results = toml::from_str(&expected).unwrap();
    let project = Project::new("loom-by-std", "");
    project.write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"suite\"\nversion = \"0.0.0\"\nedition = \"2018\"\n\n[workspace]\n\n[dev-dependencies]\nloom \
             = {{ package = \"loom-by-std\", path = {stand_in:?} }}\n"
        ),
    );
    let source = registry::source("loom", "0.7.2").unwrap();
    for file in expected.keys().map(|file| format!("tests/{file}.rs")) {
        let text = fs::read_to_string(source.join(&file)).unwrap();
        // What is a failure is compared; and the tool wants such a test to panic in every schedule, not in one.
        let text = text.replace("#[should_panic]\n", "");
        // An `Rc` that threads share is a data race of its own, which loom does not look for.
        project.write(&file, &text.replace("use std::rc::Rc;", "use std::sync::Arc as Rc;"));
    }
    let run = project
        .run(&["test", "--leaks", "--include-ignored", "--message-format", "json"])
        .ends(1);
    let mut met = Results::new();
    for test in run.events("test-finished") {
        let text = |value: &serde_json::Value| value.as_str().expect("it is a text").to_owned();
        let failure = &test["failure"]["kind"];
        let result = text(if failure.is_null() { &test["verdict"] } else { failure });
        let tests = met.entry(text(&test["test"]["target"])).or_default();
        tests.insert(text(&test["test"]["name"]), result);
    }
    assert_eq!(met, expected);

    let page = fs::read_to_string(stand_in.join("../../../docs/src/peer-suites.md")).unwrap();
    for (file, tests) in &expected {
        let of = |kind: &str| tests.values().filter(|result| *result == kind).count();
        let row = format!(
            "| {file} | {} | {} | {} |\n",
            tests.len(),
            of("complete"),
            of("data-race")
        );
        assert!(page.contains(&row), "the page has no row {row}");
    }
}
