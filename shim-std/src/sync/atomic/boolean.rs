//! The atomic boolean.

use super::{AccessKind, AtomicAccess, OperationKind, Ordering, atomic, did_exchange, did_modify, did_read, did_write};
use super::{asks, asks_to_exchange, failure_ordering, modify, on_model_thread, operate, operate_weakly};
use std::fmt;
use std::sync::atomic as real;

/// `std::sync::atomic::AtomicBool`, and laid out like it.
#[derive(Default)]
#[repr(transparent)]
pub struct AtomicBool {
    inner: real::AtomicBool,
}

atomic!([] AtomicBool, real::AtomicBool, bool);

impl AtomicBool {
    modify! { bool;
        /// Logical and.
        fetch_and(bool);
        /// Logical nand.
        fetch_nand(bool);
        /// Logical or.
        fetch_or(bool);
        /// Logical exclusive or.
        fetch_xor(bool);
    }

    /// Logical not. Returns the old value.
    #[inline]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}
