//! How executions and explorations end, what bounds them, and who receives them.

use super::driver::Explorer;
use crate::execution::Trace;
use crate::statistics::Statistics;
use crate::system::{Failure, System, Transition};
use std::ops::ControlFlow;
use std::time::Duration;

pub(super) const MILLION: u32 = 1_000_000;

/// Bounds on an exploration. Reaching one makes the verdict [`Verdict::Incomplete`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of executions.
    pub executions: Option<u64>,
    /// Maximum number of steps in all executions together.
    pub steps: Option<u64>,
    /// Maximum duration.
    pub time: Option<Duration>,
    /// Maximum number of preemptions in one execution. The search tries 0 first, then 1, and so on, until nothing is
    /// left out. Only some strategies support it ([`Strategy::can_be_bounded`](crate::Strategy::can_be_bounded)).
    pub preemptions: Option<u32>,
    /// Maximum number of steps in one execution; a longer one is cut, or ends the exploration if it was fair.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            executions: None,
            steps: None,
            time: None,
            preemptions: None,
            depth: 100_000,
        }
    }
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// No thread was enabled, and the program accepts that.
    Complete,
    /// The program failed.
    Failed(Failure),
    /// All enabled transitions were asleep: the rest has been explored.
    Blocked,
    /// Other steps have reached its state before: the rest has been explored.
    Pruned,
    /// It reached the bound on an execution's length, or what cannot be modelled, or it is unclear whether it could go
    /// on.
    Cut,
}

impl Statistics {
    /// Counts an execution that ended like this.
    pub(super) fn count(&mut self, end: &End) {
        match end {
            End::Complete | End::Failed(_) => self.complete += 1,
            End::Blocked => self.blocked += 1,
            End::Pruned => self.pruned += 1,
            End::Cut => self.cut += 1,
        }
    }
}

/// What an exploration says about the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The tree of executions is exhausted, and no execution failed.
    Complete,
    /// An execution failed.
    Failed {
        /// The first failure found.
        failure: Failure,
        /// The transitions that lead to it.
        schedule: Vec<Transition>,
    },
    /// Part of the executions is unexplored.
    Incomplete {
        /// What stopped the exploration.
        reason: String,
    },
}

/// An exploration's result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// What the exploration says about the program.
    pub verdict: Verdict,
    /// The exploration's counters.
    pub statistics: Statistics,
    /// The bound on preemptions under which the exploration ended, if any: all executions with fewer have been
    /// explored, and did not fail.
    pub preemptions: Option<u32>,
}

impl Report {
    /// A search's note on its bound on preemptions, which qualifies its verdict.
    pub fn about_preemptions(&self) -> Option<String> {
        match (&self.verdict, self.preemptions?) {
            (Verdict::Complete, 0) => Some("nothing needs a preemption".into()),
            (Verdict::Complete, n) => Some(format!("nothing needs more than {}", preemptions(n))),
            (Verdict::Failed { .. }, 0) => Some("this failure needs no preemption".into()),
            (Verdict::Failed { .. }, _) if self.statistics.cut > 0 => None,
            (Verdict::Failed { .. }, n) => Some(format!("no execution with fewer than {} fails", preemptions(n))),
            (Verdict::Incomplete { .. }, _) => None,
        }
    }
}

/// Executions within a bound, in words.
pub(crate) fn within(bound: u32) -> String {
    match bound {
        0 => "without preemptions".to_owned(),
        bound => format!("with at most {}", preemptions(bound)),
    }
}

/// A number of preemptions, in words.
fn preemptions(bound: u32) -> String {
    match bound {
        1 => "1 preemption".to_owned(),
        n => format!("{n} preemptions"),
    }
}

/// Receives each execution when it has ended.
pub trait Observer<S: System> {
    /// An execution has ended. `system` is still in its last state. Breaking makes the verdict incomplete.
    fn execution(&mut self, system: &mut S, end: &End, trace: &Trace, statistics: &Statistics) -> ControlFlow<()>;

    /// Two orders of the same steps, `first` and `second`, were run and their last states compared
    /// ([`Check::Eager`](crate::Check::Eager)); `first` is the current execution. Breaking makes the verdict
    /// incomplete.
    fn compared(&mut self, _first: &[Transition], _second: &[Transition], _equal: bool) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The strategy refuses the program for this reason. The verdict is incomplete, or an earlier failure.
    fn refused(&mut self, _reason: &str) {}

    /// Exploration starts again, with more scheduling points; everything reported before is void.
    fn refined(&mut self) {}

    /// An execution has ended, and another one follows: the exploration can be saved here. Breaking makes the verdict
    /// incomplete for this reason; the explored part can then still be saved.
    fn at_rest(&mut self, _explorer: &mut Explorer<S>) -> ControlFlow<String> {
        ControlFlow::Continue(())
    }
}

impl<S: System> Observer<S> for () {
    fn execution(&mut self, _: &mut S, _: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
