//! `shuttle::scheduler`: the choice of scheduler says whether the exploration is to be exhaustive.

/// `shuttle::scheduler::Scheduler`.
pub trait Scheduler {
    /// Sufficient number of executions; `None` for all.
    fn iterations(&self) -> Option<usize>;
}

/// `shuttle::scheduler::DfsScheduler`.
#[derive(Debug)]
pub struct DfsScheduler(());

impl DfsScheduler {
    /// All executions.
    #[must_use]
    pub fn new(_max_iterations: Option<usize>, _random_data: bool) -> DfsScheduler {
        DfsScheduler(())
    }
}

impl Scheduler for DfsScheduler {
    fn iterations(&self) -> Option<usize> {
        None
    }
}

/// `shuttle::scheduler::PctScheduler`.
#[derive(Debug)]
pub struct PctScheduler(usize);

impl PctScheduler {
    /// Creates the scheduler for this number of executions.
    #[must_use]
    pub fn new(_depth: usize, iterations: usize) -> PctScheduler {
        PctScheduler(iterations)
    }
}

impl Scheduler for PctScheduler {
    fn iterations(&self) -> Option<usize> {
        Some(self.0)
    }
}
