//! What a pending operation asks of its atomic.

use crate::memory_model::atomics;
use crate::memory_model::happens_before::AtomicAccess;
use dpor_explorer::{Label, Location};
use std::sync::atomic::Ordering;

/// The operation, with the orderings that it requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    /// One that makes this access, whatever it finds.
    Access(AtomicAccess),
    /// A read-modify-write that writes if it finds the value.
    Exchange {
        expected: u64,
        success: Ordering,
        failure: Ordering,
        /// Whether it may fail without a reason.
        spuriously: bool,
    },
}

impl Ask {
    /// The access if the operation finds this value, and fails `spuriously` or not.
    pub fn on(self, value: u64, spuriously: bool) -> AtomicAccess {
        match self {
            Ask::Access(access) => access,
            Ask::Exchange { expected, success, .. } if value == expected && !spuriously => {
                AtomicAccess::Modify(success)
            }
            Ask::Exchange { failure, .. } => AtomicAccess::Load(failure),
        }
    }

    /// The ordering if it succeeds, or cannot fail, and if it fails.
    pub fn orderings(self) -> (Ordering, Ordering) {
        match self {
            Ask::Access(access) => (access.ordering(), access.ordering()),
            Ask::Exchange { success, failure, .. } => (success, failure),
        }
    }

    /// What it does in the execution graph, if it makes this access; without one, what it would do if nobody else moved
    /// and it found what it expects.
    pub fn label(self, access: Option<AtomicAccess>) -> Label {
        let access = access.unwrap_or(match self {
            Ask::Access(access) => access,
            Ask::Exchange { success, .. } => AtomicAccess::Modify(success),
        });
        match access {
            AtomicAccess::Load(_) => Label::Read,
            AtomicAccess::Store(_) => Label::Write,
            AtomicAccess::Modify(_) => Label::Update,
        }
    }

    /// Whether std allows the orderings.
    pub fn is_allowed(self) -> bool {
        let of_load = |order| !matches!(order, Ordering::Release | Ordering::AcqRel);
        match self {
            Ask::Access(AtomicAccess::Load(order)) | Ask::Exchange { failure: order, .. } => of_load(order),
            Ask::Access(AtomicAccess::Store(order)) => !matches!(order, Ordering::Acquire | Ordering::AcqRel),
            Ask::Access(AtomicAccess::Modify(_)) => true,
        }
    }

    /// Whether it is a read-modify-write, which does not write if it fails.
    pub fn may_modify(self) -> bool {
        matches!(self, Ask::Access(AtomicAccess::Modify(_)) | Ask::Exchange { .. })
    }

    /// All that is in it, as numbers.
    pub fn numbers(self) -> [u64; 3] {
        let (success, failure) = self.orderings();
        let orderings = (success as u64) << 8 | failure as u64;
        match self {
            Ask::Access(access) => [
                u64::from(access.reads()) | u64::from(access.writes()) << 1,
                orderings,
                0,
            ],
            Ask::Exchange {
                expected, spuriously, ..
            } => [4 | u64::from(spuriously), orderings, expected],
        }
    }
}

/// An operation, and its atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub ask: Ask,
    pub address: usize,
    /// The size of the atomic in bytes.
    pub size: u8,
}

impl Request {
    /// How many kinds of alternatives there are for each message: one, or one that fails without a reason as well.
    pub fn kinds(&self) -> u32 {
        match self.ask {
            Ask::Exchange { spuriously: true, .. } => 2,
            _ => 1,
        }
    }

    /// How many later messages there are than the one that is taken by this choice.
    pub fn older(&self, chosen: u32) -> usize {
        (chosen / self.kinds()) as usize
    }

    /// The location of the history.
    pub fn location(&self) -> Location {
        atomics::sized(Location(self.address as u64), self.size.into())
    }

    /// The value in memory.
    pub fn present(&self) -> u64 {
        let mut bytes = [0; size_of::<u64>()];
        // SAFETY: the address is that of an atomic of this size, at most 8 bytes, which the pending operation borrows;
        // no thread of the program runs meanwhile.
        unsafe {
            std::ptr::copy_nonoverlapping(self.address as *const u8, bytes.as_mut_ptr(), self.size.into());
        }
        u64::from_ne_bytes(bytes)
    }

    /// Changes the value in memory.
    pub fn put(&self, value: u64) {
        let bytes = value.to_ne_bytes();
        // SAFETY: as above; and atomics are valid for writes where the operation is one that writes.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address as *mut u8, self.size.into());
        }
    }
}
