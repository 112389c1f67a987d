//! `loom::model`.

use crate::{lazy_static, sync};
use dpor_explorer::Verdict;

/// `loom::model`.
///
/// # Panics
/// If an execution fails, and if the exploration is incomplete.
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(f);
}

/// `loom::model::Builder`.
#[derive(Debug)]
pub struct Builder {
    /// Maximum number of scheduling points of an execution. More are a failure, or make the exploration incomplete.
    pub max_branches: usize,
    /// Has no effect: all executions are explored.
    pub preemption_bound: Option<usize>,
}

impl Builder {
    /// loom's defaults.
    #[expect(clippy::new_without_default, reason = "as in loom")]
    pub fn new() -> Builder {
        Builder {
            max_branches: 1000,
            preemption_bound: None,
        }
    }

    /// Explores `f`.
    ///
    /// # Panics
    /// As [`model`].
    pub fn check<F>(&self, f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        let depth = u32::try_from(self.max_branches).unwrap_or(u32::MAX);
        let model = support::model().max_depth(depth);
        let test = move || {
            f();
            lazy_static::shut_down();
        };
        let outcome = support::explore(&model, test, sync::arc::check_leaks);
        assert!(outcome.report.verdict == Verdict::Complete, "{outcome}");
    }
}
