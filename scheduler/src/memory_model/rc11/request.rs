//! What a pending operation asks of its atomic.

use std::sync::atomic::Ordering;

/// The operation, with the orderings that it requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    Load(Ordering),
    Store(Ordering),
    /// A read-modify-write that always writes.
    Modify(Ordering),
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
    /// Whether the operation stores something if it takes a message with this value, and fails `spuriously` or not.
    pub fn stores(self, value: u64, spuriously: bool) -> bool {
        match self {
            Ask::Load(_) => false,
            Ask::Store(_) | Ask::Modify(_) => true,
            Ask::Exchange { expected, .. } => value == expected && !spuriously,
        }
    }

    /// All that is in it, as numbers.
    pub fn numbers(self) -> [u64; 3] {
        match self {
            Ask::Load(order) => [1, order as u64, 0],
            Ask::Store(order) => [2, order as u64, 0],
            Ask::Modify(order) => [3, order as u64, 0],
            Ask::Exchange {
                expected,
                success,
                failure,
                spuriously,
            } => [
                4 | u64::from(spuriously) << 8,
                (success as u64) << 8 | failure as u64,
                expected,
            ],
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
