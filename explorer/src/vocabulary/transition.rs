//! A transition: a thread, and its choice.

use std::fmt;

/// A thread of the explored program.
///
/// Ids are dense, start at 0 (the main thread) and are stable across executions: the system interns
/// them by creation path (the parent's id, and that it is the parent's n-th child).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ThreadId(pub u32);

crate::codec!(struct ThreadId { 0 });

impl ThreadId {
    /// The thread that the program starts with.
    pub const MAIN: ThreadId = ThreadId(0);

    /// The id as an index into a table of threads.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

/// A thread's next step: the thread, and the alternative of its pending operation. Alternatives stand for
/// nondeterminism of data: which waiter `notify_one` wakes, a timeout that fires, a spurious failure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Transition {
    /// The thread that moves.
    pub thread: ThreadId,
    /// The alternative of its pending operation; 0 for an operation that has only one.
    pub alternative: u32,
}

crate::codec!(struct Transition { thread, alternative });

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.alternative {
            0 => write!(f, "{}", self.thread),
            n => write!(f, "{}/{n}", self.thread),
        }
    }
}
