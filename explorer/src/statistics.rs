//! The counters of an exploration.

use std::time::Duration;

/// Counters of an exploration. Executions are counted separately by how they ended; only the first kind says anything
/// about the program's end.
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
    /// Steps of all executions, including those of common prefixes.
    pub steps: u64,
    /// Steps of common prefixes that were not run again because the search went back to a saved state.
    pub skipped: u64,
    /// States visited: the nodes of the search tree.
    pub states: u64,
    /// States compared with a stored one.
    pub compared: u64,
    /// Compared states that were equal.
    pub equal: u64,
    /// Reversals run only to see to which state they lead.
    pub checks: u64,
    /// Reversible races found.
    pub races: u64,
    /// Threads added to backtrack sets because of races.
    pub backtracks: u64,
    /// Races with no initial enabled where the race is reversed (all enabled threads were added). With
    /// [`Strategy::Optimal`](crate::Strategy::Optimal), 1 if the search began again without wakeup trees.
    pub fallbacks: u64,
    /// Number of times that exploration started again with more scheduling points.
    pub refinements: u64,
    /// Length of the longest execution, in steps.
    pub peak_depth: u64,
    /// Maximum number of entries that were asleep in one state.
    pub peak_sleeping: u64,
    /// Estimated explored part of the executions, in millionths, updated now and then ([`Explorer`](crate::Explorer)
    /// says how). 0 where it cannot be told: for random walks and for the unfolding.
    pub explored: u32,
    /// Time spent.
    pub time: Duration,
}

crate::codec!(struct Statistics {
    complete, blocked, pruned, cut, steps, skipped, states, compared, equal, checks, races, backtracks, fallbacks,
    refinements, peak_depth, peak_sleeping, explored, time,
});

impl Statistics {
    /// Adds the executions of another search of the same exploration.
    pub(crate) fn add(&mut self, other: &Statistics) {
        self.complete += other.complete;
        self.blocked += other.blocked;
        self.pruned += other.pruned;
        self.cut += other.cut;
        self.steps += other.steps;
        self.skipped += other.skipped;
        self.states += other.states;
        self.peak_depth = self.peak_depth.max(other.peak_depth);
    }

    /// Number of all executions, however they ended.
    pub fn executions(&self) -> u64 {
        self.complete + self.blocked + self.pruned + self.cut
    }
}
