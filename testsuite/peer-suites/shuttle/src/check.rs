//! The exploration of tests.

use crate::scheduler::Scheduler;
use dpor_explorer::{Strategy, Verdict};
use shim_std::Model;
use std::sync::Arc;
use std::time::Duration;

/// Maximum duration of the exhaustive exploration of a test that shuttle samples.
const BOUND: Duration = Duration::from_secs(3);
/// The seed of random walks.
const SEED: u64 = 1;

/// Explores all executions; the bound of shuttle's tests is for want of reduction.
///
/// # Panics
/// If one fails, and if the exploration is incomplete.
pub fn check_dfs<F>(f: F, _max_iterations: Option<usize>)
where
    F: Fn() + Send + Sync + 'static,
{
    support::check(&support::model(), f);
}

/// Explores all executions, in which waits may end without cause.
///
/// # Panics
/// As [`check_dfs`].
pub fn check_dfs_with_spurious_wakeups<F>(f: F, _max_iterations: Option<usize>)
where
    F: Fn() + Send + Sync + 'static,
{
    support::check(&support::model().spurious_wakeups(true), f);
}

/// shuttle runs one execution. All are explored here.
///
/// # Panics
/// As [`check_dfs`].
pub fn check<F>(f: F)
where
    F: Fn() + Send + Sync + 'static,
{
    support::check(&support::model(), f);
}

/// Explores all executions or some.
///
/// # Panics
/// If one fails.
pub fn check_random<F>(f: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    sample(f, iterations);
}

/// Explores all executions or some.
///
/// # Panics
/// If one fails.
pub fn check_pct<F>(f: F, iterations: usize, _depth: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    sample(f, iterations);
}

/// Returns how many executions there were.
fn sample<F>(f: F, iterations: usize) -> usize
where
    F: Fn() + Send + Sync + 'static,
{
    let f = Arc::new(f);
    let explore = |model: Model| {
        let f = Arc::clone(&f);
        let outcome = support::explore(&model, move || f(), || {});
        assert!(!matches!(outcome.report.verdict, Verdict::Failed { .. }), "{outcome}");
        outcome
    };
    let outcome = explore(support::model().max_time(BOUND));
    let mut executions = outcome.report.statistics.executions();
    if outcome.report.verdict != Verdict::Complete {
        let iterations = iterations as u64;
        let random = support::model().strategy(Strategy::Random { seed: SEED });
        let outcome = explore(random.max_executions(iterations));
        let walked = outcome.report.statistics.executions();
        assert!(walked >= iterations, "{outcome}");
        executions += walked;
    }
    usize::try_from(executions).unwrap_or(usize::MAX)
}

/// `shuttle::Config`. There is nothing to set.
#[derive(Debug, Default)]
pub struct Config(());

/// `shuttle::Runner`.
#[derive(Debug)]
pub struct Runner<S>(S);

impl<S: Scheduler> Runner<S> {
    /// Creates the runner of tests with this scheduler.
    pub fn new(scheduler: S, _config: Config) -> Runner<S> {
        Runner(scheduler)
    }

    /// Explores, and returns how many executions there were.
    ///
    /// # Panics
    /// If one fails, and if the scheduler is to be exhaustive and the exploration is incomplete.
    pub fn run<F>(self, f: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        match self.0.iterations() {
            Some(iterations) => sample(f, iterations),
            None => {
                let outcome = support::explore(&support::model(), f, || {});
                assert!(outcome.report.verdict == Verdict::Complete, "{outcome}");
                usize::try_from(outcome.report.statistics.executions()).unwrap_or(usize::MAX)
            }
        }
    }
}
