//! Orderings of operations on atomics, and stronger ones in their place.

use crate::SourceLocation;
use std::fmt;
use std::sync::atomic::Ordering;

/// The ordering of an operation on an atomic, or of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub enum MemoryOrdering {
    /// [`Ordering::Relaxed`].
    Relaxed,
    /// [`Ordering::Acquire`].
    Acquire,
    /// [`Ordering::Release`].
    Release,
    /// [`Ordering::AcqRel`].
    AcqRel,
    /// [`Ordering::SeqCst`].
    SeqCst,
}

dpor_explorer::codec!(enum MemoryOrdering { 0 => Relaxed, 1 => Acquire, 2 => Release, 3 => AcqRel, 4 => SeqCst });

impl MemoryOrdering {
    /// The weakest ordering that is as strong as both.
    #[must_use]
    pub fn join(self, other: MemoryOrdering) -> MemoryOrdering {
        use MemoryOrdering::{AcqRel, Acquire, Relaxed, Release};
        match (self, other) {
            (Relaxed, stronger) | (stronger, Relaxed) => stronger,
            (one, other) if one == other => one,
            (Acquire | Release | AcqRel, Acquire | Release | AcqRel) => AcqRel,
            _ => MemoryOrdering::SeqCst,
        }
    }

    /// As much of it as a load can have.
    #[must_use]
    pub fn of_load(self) -> MemoryOrdering {
        match self {
            MemoryOrdering::Release => MemoryOrdering::Relaxed,
            MemoryOrdering::AcqRel => MemoryOrdering::Acquire,
            other => other,
        }
    }

    /// As much of it as a store can have.
    #[must_use]
    pub fn of_store(self) -> MemoryOrdering {
        match self {
            MemoryOrdering::Acquire => MemoryOrdering::Relaxed,
            MemoryOrdering::AcqRel => MemoryOrdering::Release,
            other => other,
        }
    }
}

impl From<Ordering> for MemoryOrdering {
    fn from(ordering: Ordering) -> Self {
        match ordering {
            Ordering::Relaxed => MemoryOrdering::Relaxed,
            Ordering::Acquire => MemoryOrdering::Acquire,
            Ordering::Release => MemoryOrdering::Release,
            Ordering::AcqRel => MemoryOrdering::AcqRel,
            // The enumeration of std may grow; nothing is stronger.
            _ => MemoryOrdering::SeqCst,
        }
    }
}

impl From<MemoryOrdering> for Ordering {
    fn from(ordering: MemoryOrdering) -> Self {
        match ordering {
            MemoryOrdering::Relaxed => Ordering::Relaxed,
            MemoryOrdering::Acquire => Ordering::Acquire,
            MemoryOrdering::Release => Ordering::Release,
            MemoryOrdering::AcqRel => Ordering::AcqRel,
            MemoryOrdering::SeqCst => Ordering::SeqCst,
        }
    }
}

impl fmt::Display for MemoryOrdering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// What an operation on an atomic does, as far as it decides which orderings it can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
#[cfg_attr(dpor_json, serde(rename_all = "kebab-case"))]
pub enum AtomicOperation {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It reads and writes.
    ReadModifyWrite,
    /// It reads, and may write.
    CompareExchange,
    /// It does neither.
    Fence,
}

dpor_explorer::codec!(enum AtomicOperation {
    0 => Load, 1 => Store, 2 => ReadModifyWrite, 3 => CompareExchange, 4 => Fence,
});

impl fmt::Display for AtomicOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AtomicOperation::Load => "load",
            AtomicOperation::Store => "store",
            AtomicOperation::ReadModifyWrite => "read-modify-write",
            AtomicOperation::CompareExchange => "compare-exchange",
            AtomicOperation::Fence => "fence",
        })
    }
}

/// A place where the failing execution has made operations on atomics, or fences, that are weaker than `SeqCst`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeakPlace {
    /// The place.
    pub location: SourceLocation,
    /// What is done there.
    pub operation: AtomicOperation,
    /// The ordering that it requests, for its success if it can fail.
    pub success: MemoryOrdering,
    /// The ordering that it requests for its failure, if it can fail.
    pub failure: Option<MemoryOrdering>,
}

dpor_explorer::codec!(struct WeakPlace { location, operation, success, failure });

impl WeakPlace {
    /// The same place, if its operations have at least these orderings, as far as their kind can have them.
    #[must_use]
    pub fn with(&self, least: LeastOrderings) -> WeakPlace {
        let success = match self.operation {
            AtomicOperation::Load => least.success.of_load(),
            AtomicOperation::Store => least.success.of_store(),
            AtomicOperation::ReadModifyWrite | AtomicOperation::CompareExchange | AtomicOperation::Fence => {
                least.success
            }
        };
        WeakPlace {
            success: self.success.join(success),
            failure: self.failure.map(|failure| failure.join(least.failure.of_load())),
            ..self.clone()
        }
    }

    /// The orderings, as they are written.
    pub fn orderings(&self) -> String {
        match self.failure {
            Some(failure) => format!("{}, {failure}", self.success),
            None => self.success.to_string(),
        }
    }
}

/// The orderings that operations have at least, whatever they request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeastOrderings {
    /// If they succeed, or cannot fail.
    pub success: MemoryOrdering,
    /// If they fail.
    pub failure: MemoryOrdering,
}

dpor_explorer::codec!(struct LeastOrderings { success, failure });

/// Orderings that all operations of a kind at a place have at least, as far as the kind can have them: a load that is
/// to have `Release` stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrongerOrdering {
    /// The place.
    pub location: SourceLocation,
    /// The kind: a macro can have operations of several at one place.
    pub operation: AtomicOperation,
    /// The orderings.
    pub least: LeastOrderings,
}

dpor_explorer::codec!(struct StrongerOrdering { location, operation, least });

#[cfg(test)]
mod tests {
    use super::MemoryOrdering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    use super::*;

    #[test]
    fn an_operation_gets_what_its_kind_can_have() {
        let place = |operation, failure| WeakPlace {
            location: SourceLocation {
                file: "src/lib.rs".into(),
                line: 1,
                column: 1,
            },
            operation,
            success: Relaxed,
            failure,
        };
        let [load, store] = [AtomicOperation::Load, AtomicOperation::Store].map(|operation| place(operation, None));
        let exchange = place(AtomicOperation::CompareExchange, Some(Relaxed));
        for (success, of_load, of_store, of_exchange) in [
            (Acquire, "Acquire", "Relaxed", "Acquire, Acquire"),
            (Release, "Relaxed", "Release", "Release, Acquire"),
            (AcqRel, "Acquire", "Release", "AcqRel, Acquire"),
            (SeqCst, "SeqCst", "SeqCst", "SeqCst, Acquire"),
        ] {
            let failure = AcqRel;
            let all =
                [&load, &store, &exchange].map(|place| place.with(LeastOrderings { success, failure }).orderings());
            assert_eq!(all, [of_load, of_store, of_exchange]);
        }
    }

    #[test]
    fn orderings_join() {
        let all = [Relaxed, Acquire, Release, AcqRel, SeqCst];
        for one in all {
            assert_eq!((one.join(one), one.join(Relaxed), one.join(SeqCst)), (one, one, SeqCst));
            for other in all {
                assert_eq!(one.join(other), other.join(one));
            }
        }
        assert_eq!((Acquire.join(Release), Acquire.join(AcqRel)), (AcqRel, AcqRel));
    }
}
