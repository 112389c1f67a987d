//! What is told of each execution, for a picture of the whole exploration.

use crate::{SourceLocation, ThreadReport};

/// An execution that has ended. It is told as what it does not share with the one told before, and refers to what that
/// one and those before it have listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionReport {
    /// Its number among all executions, from 1, those included that are not told.
    pub number: u64,
    /// Exploration has started again: what was told before is void, its lists included.
    pub anew: bool,
    /// With so many steps it begins as the execution that was told before.
    pub common: u64,
    /// The rest of its steps.
    pub steps: Vec<Taken>,
    /// How it ended.
    pub end: EndReport,
    /// Operations that no earlier report has listed. Steps refer to their places in the list of all.
    pub sites: Vec<SiteReport>,
    /// Threads that no earlier report has listed.
    pub threads: Vec<ThreadReport>,
}

dpor_explorer::codec!(struct ExecutionReport { number, anew, common, steps, end, sites, threads });

/// A transition, and the operation that it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The thread that moved.
    pub thread: u32,
    /// Which alternative of its operation.
    pub alternative: u32,
    /// The place of the operation in the list of all.
    pub site: u32,
}

dpor_explorer::codec!(struct Taken { thread, alternative, site });

/// An operation in the program's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteReport {
    /// What kind of operation, such as `lock`.
    pub operation: String,
    /// Where it is.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct SiteReport { operation, location });

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReport {
    /// All was run, and nothing failed.
    Complete,
    /// In a failure of this kind.
    Failed(String),
    /// It was given up because all that could have gone on was asleep.
    Blocked {
        /// What could have gone on.
        asleep: Vec<Taken>,
    },
    /// It was given up because its state had been reached before.
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
