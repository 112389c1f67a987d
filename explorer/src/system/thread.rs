//! Threads of the explored program: their identities and their statuses.

use crate::bits::BitSet;
pub use crate::vocabulary::ThreadId;

/// What a thread can do in the current state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Status {
    /// It can take a step. The set holds the enabled alternatives of its pending operation and is
    /// not empty; most operations have the one alternative 0.
    Enabled(BitSet),
    /// Its pending operation has no enabled alternative.
    Blocked,
    /// It has ended, by returning or by a panic.
    Finished,
}

impl Status {
    /// The enabled alternatives, if there are any.
    #[inline]
    pub fn alternatives(&self) -> Option<&BitSet> {
        match self {
            Status::Enabled(alternatives) => Some(alternatives),
            _ => None,
        }
    }
}
