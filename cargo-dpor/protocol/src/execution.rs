//! Reports of single executions, for a picture of the whole exploration.

use crate::{SourceLocation, ThreadReport};

/// An execution that has ended. The report omits what it shares with the previous one, and refers to lists of earlier
/// reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionReport {
    /// Its number among all executions, counted from 1, including those that are not reported.
    pub number: u64,
    /// Exploration has started again: earlier reports are void, and so are their lists.
    pub anew: bool,
    /// Number of steps that it shares with the execution reported before it.
    pub common: u64,
    /// The rest of its steps.
    pub steps: Vec<Taken>,
    /// How it ended.
    pub end: EndReport,
    /// Operations that no earlier report has listed. Steps refer to their indices in the list of all.
    pub sites: Vec<SiteReport>,
    /// Threads that no earlier report has listed.
    pub threads: Vec<ThreadReport>,
}

dpor_explorer::codec!(struct ExecutionReport { number, anew, common, steps, end, sites, threads });

/// A transition, and its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The thread that moved.
    pub thread: u32,
    /// The alternative of its operation.
    pub alternative: u32,
    /// The index of the operation in the list of all.
    pub site: u32,
}

dpor_explorer::codec!(struct Taken { thread, alternative, site });

/// An operation in the program's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteReport {
    /// The kind of operation, such as `lock`.
    pub operation: String,
    /// Its place.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct SiteReport { operation, location });

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReport {
    /// It ran to its end, and nothing failed.
    Complete,
    /// In a failure of this kind.
    Failed(String),
    /// It was abandoned because all transitions that could have gone on were asleep.
    Blocked {
        /// The transitions that could have gone on.
        asleep: Vec<Taken>,
    },
    /// It was abandoned because its state had been reached before.
    Pruned,
    /// It was cut at a bound.
    Cut,
}

dpor_explorer::codec!(enum EndReport {
    0 => Complete,
    1 => Failed(value),
    2 => Blocked { asleep },
    3 => Pruned,
    4 => Cut,
});
