//! What an exploration counts.

use std::time::Duration;

/// Counters of an exploration. Executions are counted apart by how they ended; only the first kind has
/// said anything about the program's end.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// Executions that ran until no thread was enabled, or until the program failed.
    pub complete: u64,
    /// Executions given up because every enabled transition was asleep (redundant).
    pub blocked: u64,
    /// Executions given up because their state was reached in another context.
    pub pruned: u64,
    /// Executions cut at the bound on an execution's length.
    pub cut: u64,
    /// Steps run, those of re-executed prefixes included.
    pub steps: u64,
    /// States visited: the nodes of the search tree.
    pub states: u64,
    /// States compared with one that was stored.
    pub compared: u64,
    /// Of those, how many were equal.
    pub equal: u64,
    /// Reversals that were run only to see which state they lead to.
    pub checks: u64,
    /// Reversible races found.
    pub races: u64,
    /// Threads added to backtrack sets because of races.
    pub backtracks: u64,
    /// Races none of whose initials was enabled where the race is reversed (all enabled threads were
    /// added).
    pub fallbacks: u64,
    /// Times that exploration started again with more scheduling points.
    pub refinements: u64,
    /// The longest execution, in steps.
    pub peak_depth: u64,
    /// The most entries that were asleep in one state.
    pub peak_sleeping: u64,
    /// About which part of the executions has been explored, in millionths: an estimate ([`Explorer`](crate::Explorer)
    /// says how), made again now and then. 0 where it cannot be told: of random walks, of the unfolding.
    pub explored: u32,
    /// Time spent.
    pub time: Duration,
}

crate::codec!(struct Statistics {
    complete, blocked, pruned, cut, steps, states, compared, equal, checks, races, backtracks, fallbacks,
    refinements, peak_depth, peak_sleeping, explored, time,
});

impl Statistics {
    /// All executions, however they ended.
    pub fn executions(&self) -> u64 {
        self.complete + self.blocked + self.pruned + self.cut
    }
}
