//! What a process reports of the search for the simplest schedule that fails.

use super::step::SourceLocation;

/// The simplest schedule found that ends in a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct Simplified {
    /// Its seed.
    pub seed: String,
    /// Number of switches away from a thread that could have gone on.
    pub preemptions: u64,
    /// Number of switches between threads.
    pub switches: u64,
    /// Number of steps.
    pub steps: u64,
    /// Whether it is proven that no schedule that fails in this way has fewer preemptions, or as many and fewer
    /// switches, or as many of both and fewer steps.
    pub proven: bool,
    /// Where it parts from schedules that pass; `None` if unknown.
    pub parting: Option<PartingReport>,
}

dpor_explorer::codec!(struct Simplified { seed, preemptions, switches, steps, proven, parting });

/// Where a failing schedule parts from those that pass.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub enum PartingReport {
    /// The last step in whose place another one could have run so that the execution would have passed.
    At(ChoiceReport),
    /// No run with a different choice at one point passed.
    Nowhere,
}

dpor_explorer::codec!(enum PartingReport { 0 => At(value), 1 => Nowhere });

/// A step that could have run in place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct ChoiceReport {
    /// The number of the step, counted from 0.
    pub step: u64,
    /// The thread that could have run.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// Its operation, such as `lock`.
    pub operation: String,
    /// The operation in the program's source.
    pub location: Option<SourceLocation>,
    /// The alternative of the operation.
    pub alternative: u32,
    /// Whether it is the thread that made the step, which could have gone on in another way.
    pub same_thread: bool,
}

dpor_explorer::codec!(struct ChoiceReport {
    step, thread, thread_name, operation, location, alternative, same_thread,
});
