//! A fast part of the test suites of loom and shuttle, on the checker: what is not as the plans say is shown. All of
//! them: `cargo run --release -p dpor-testsuite --bin peer-suites -- loom`, and `shuttle`.

use dpor_testsuite::peer_suites::Suite;
use std::time::Duration;

/// Maximum duration of a test.
const PATIENCE: Duration = Duration::from_secs(20);

fn check(package: &str, filters: &[&str], strategies: &[&str]) {
    let suite = Suite::build(package).unwrap_or_else(|error| panic!("{error}"));
    for strategy in strategies {
        for filter in filters {
            let report = suite.run(filter, strategy, PATIENCE);
            let report = report.unwrap_or_else(|error| panic!("{error}"));
            assert!(!report.met.is_empty(), "{package} has no {filter}");
            assert!(report.mismatches.is_empty(), "{package} under {strategy}:\n{report}");
        }
    }
}

#[test]
fn loom() {
    check("loom", &[""], &["source", "context"]);
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
    check("shuttle", &fast, &["source"]);
}
