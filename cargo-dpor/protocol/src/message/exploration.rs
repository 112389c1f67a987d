//! What a process reports of an exploration as a whole.

use super::step::SourceLocation;
use std::fmt;

/// How an exploration or a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub enum Verdict {
    /// All schedules were explored and none failed; in a replay: the one schedule did not fail.
    Complete,
    /// A schedule failed.
    Failed,
    /// No failure was found, but not everything was explored.
    Incomplete,
}

dpor_explorer::codec!(enum Verdict { 0 => Complete, 1 => Failed, 2 => Incomplete });

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Complete => "complete",
            Verdict::Failed => "failed",
            Verdict::Incomplete => "incomplete",
        })
    }
}

/// Counters of an exploration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct Counts {
    /// Executions that ran to their end.
    pub complete: u64,
    /// Executions abandoned because everything enabled was asleep.
    pub blocked: u64,
    /// Executions abandoned because their state was known.
    pub pruned: u64,
    /// Executions cut at the bound on their length.
    pub cut: u64,
    /// Steps run.
    pub steps: u64,
    /// Nodes of the search tree.
    pub states: u64,
    /// States compared with a stored one.
    pub compared: u64,
    /// Compared states that were equal.
    pub equal: u64,
    /// Reversals of races run only to compare states.
    pub checks: u64,
    /// Reversible races found.
    pub races: u64,
    /// Number of times that exploration started again with more scheduling points.
    pub refinements: u64,
    /// Length of the longest execution, in steps.
    pub peak_depth: u64,
    /// Estimated explored part of the executions, in millionths; 0 if unknown.
    pub explored: u32,
    /// Maximum number of threads of one execution.
    pub threads: u64,
    /// Time spent, in milliseconds.
    pub millis: u64,
}

dpor_explorer::codec!(struct Counts {
    complete, blocked, pruned, cut, steps, states, compared, equal, checks, races, refinements, peak_depth,
    explored, threads, millis,
});

impl Counts {
    /// Number of all executions, however they ended.
    pub fn executions(&self) -> u64 {
        self.complete + self.blocked + self.pruned + self.cut
    }
}

/// A place that the test has marked, and the number of executions that reached it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct LabelReport {
    /// The label.
    pub label: String,
    /// Number of complete executions that reached it.
    pub complete: u64,
    /// Number of executions that reached it, however they ended, including those thrown away or run only for a
    /// comparison.
    pub all: u64,
    /// The place where the test requires that it be reached.
    pub required: Option<SourceLocation>,
}

dpor_explorer::codec!(struct LabelReport { label, complete, all, required });

/// How often a suppression of data races applied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct SuppressionReport {
    /// The suppression, as it is configured.
    pub entry: String,
    /// Number of accesses that it covered. Those to stacks that nobody else uses are not counted.
    pub accesses: u64,
    /// Number of those that were in a race with an earlier access.
    pub races: u64,
}

dpor_explorer::codec!(struct SuppressionReport { entry, accesses, races });

/// How the threads of an explored program interacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct SharingReport {
    /// In some execution, two threads accessed the same object, and one of them changed it. Waiting for a thread to end
    /// does not count.
    pub conflict: bool,
    /// Racing atomic operations that request an ordering weaker than `SeqCst`.
    pub weak: Vec<WeakReport>,
}

dpor_explorer::codec!(struct SharingReport { conflict, weak });

impl SharingReport {
    /// Why a complete test may have tested nothing: there was nothing to interleave.
    pub fn vacuous(&self, counts: &Counts) -> Option<String> {
        let threads = counts.threads;
        // Orders that are only tried out for a comparison of states are orders as well.
        let once = counts.executions() == 1 && counts.checks == 0 && counts.races == 0;
        match threads {
            0 | 1 => once.then(|| "one thread, and nothing to choose".into()),
            _ if !self.conflict => Some(format!("its {threads} threads never touch the same thing")),
            _ => once.then(|| format!("its {threads} threads take turns, so that there is one order only")),
        }
    }
}

/// An atomic operation with an ordering weaker than `SeqCst`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct WeakReport {
    /// The kind of operation, such as `load`.
    pub operation: String,
    /// The orderings that it requests, such as `Relaxed`, or `AcqRel, Relaxed` if it can fail.
    pub orderings: String,
    /// Its place.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct WeakReport { operation, orderings, location });
