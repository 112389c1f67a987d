//! The common part of the stand-ins for loom and shuttle.
//!
//! Both checkers take a panic of any thread for a failure of the execution, let threads that nobody joins run to their
//! end, and take those that cannot for a deadlock. cargo-dpor follows std, where none of this is a failure, so it is
//! added here.

pub mod outside;
pub mod threads;

use dpor_explorer::Verdict;
use shim_std::{Model, Outcome};

/// The environment variable that names the strategy.
pub const STRATEGY: &str = "PEER_SUITES_STRATEGY";

/// The environment variable that names what atomics promise.
pub const MEMORY: &str = "PEER_SUITES_MEMORY";

/// The beginning of each line that describes an exploration.
pub const MARK: &str = "peer-suites: ";

/// An exploration without limits, with what the environment asks for, or else what is the default.
///
/// # Panics
/// If there is nothing of that name.
pub fn model() -> Model {
    let mut model = Model::new();
    if let Ok(name) = std::env::var(STRATEGY) {
        model = model.strategy(name.parse().unwrap_or_else(|error| panic!("{error}")));
    }
    if let Ok(name) = std::env::var(MEMORY) {
        model = model.memory(name.parse().unwrap_or_else(|error| panic!("{error}")));
    }
    model
}

/// Explores `test`, and demands that all executions end well.
///
/// # Panics
/// If one fails, and if the exploration is incomplete.
pub fn check(model: &Model, test: impl Fn() + 'static) {
    let outcome = explore(model, test, || {});
    assert!(outcome.report.verdict == Verdict::Complete, "{outcome}");
}

/// Explores `test`, with `finally` once all threads have ended, and tells on the standard error what that was like.
pub fn explore(model: &Model, test: impl Fn() + 'static, finally: impl Fn() + 'static) -> Outcome {
    let outcome = model.explore(move || {
        threads::run_as_thread(&test);
        threads::wait_for_all();
        finally();
    });
    let verdict = match &outcome.report.verdict {
        Verdict::Complete => "complete",
        Verdict::Failed { failure, .. } => failure.kind,
        Verdict::Incomplete { .. } => "incomplete",
    };
    eprintln!("{MARK}{verdict} {}", outcome.report.statistics.executions());
    outcome
}
