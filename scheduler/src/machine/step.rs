//! The step being run.

use super::watch::Before;
use crate::memory_model::races::BadAccess;
use crate::memory_model::rc11::Request as Asked;
use dpor_explorer::{Step, Stop, ThreadId};

/// Why a coroutine suspends.
#[derive(Debug)]
pub(crate) enum Request {
    /// It has reached a scheduling point; its record holds the pending operation.
    Point,
    /// A thread was created and runs to its first scheduling point before the creator goes on.
    Spawn(ThreadId),
    /// The execution ends here.
    Stop(Stop),
}

/// What ends with the step.
///
/// Invariant: between steps the record is empty, and there is no request.
#[derive(Default)]
pub(crate) struct CurrentStep {
    /// The thread that runs: the one that moves, or one that it has created.
    pub thread: ThreadId,
    /// The alternative of the running thread's last operation.
    pub chosen: u32,
    /// The signature of that operation.
    pub signature: u64,
    /// The thread and the alternative of the transition.
    pub of: ThreadId,
    pub alternative: u32,
    /// The places of the operations that belong to it: of the pending one, and of those after it that are no scheduling
    /// points because only the thread uses their locations.
    pub places: Vec<u64>,
    /// The record of the step.
    pub record: Step,
    /// Whether the step runs again what ran before: only its signature counts.
    pub repeating: bool,
    pub request: Option<Request>,
    /// What the running thread's next operation asks of its atomic, if it chooses what it finds there.
    pub asked: Option<Asked>,
    /// What is known before the step, between its start and end, if its thread is watched.
    pub before: Option<Before>,
    /// Whether the thread of the transition can go on in more than one way, if that is known before the step begins.
    pub has_choice: Option<bool>,
    /// Whether the step's thread is watched, and has more than one alternative.
    pub choosing: bool,
    /// The access of the running thread that ends the execution.
    pub bad_access: Option<BadAccess>,
}

impl CurrentStep {
    /// Forgets a step that did not come to its end.
    pub fn clear(&mut self) {
        self.record.clear();
        self.places.clear();
        (self.request, self.asked, self.before, self.bad_access) = (None, None, None, None);
        self.has_choice = None;
    }
}
