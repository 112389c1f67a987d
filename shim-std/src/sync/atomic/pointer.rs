//! The atomic pointer.

use super::{AccessKind, AtomicAccess, OperationKind, Ordering, atomic, did_exchange, did_modify, did_read, did_write};
use super::{asks, asks_to_exchange, failure_ordering, modify, on_model_thread, operate, operate_weakly};
use std::fmt;
use std::ptr;
use std::sync::atomic as real;

/// `std::sync::atomic::AtomicPtr`, and laid out like it.
#[repr(transparent)]
pub struct AtomicPtr<T> {
    inner: real::AtomicPtr<T>,
}

atomic!([T] AtomicPtr, real::AtomicPtr<T>, *mut T);

impl<T> AtomicPtr<T> {
    modify! { *mut T;
        /// Adds that many times the size of `T`, wrapping around.
        fetch_ptr_add(usize);
        /// Subtracts that many times the size of `T`, wrapping around.
        fetch_ptr_sub(usize);
        /// Adds bytes, wrapping around.
        fetch_byte_add(usize);
        /// Subtracts bytes, wrapping around.
        fetch_byte_sub(usize);
        /// Bitwise or with the address.
        fetch_or(usize);
        /// Bitwise and with the address.
        fetch_and(usize);
        /// Bitwise exclusive or with the address.
        fetch_xor(usize);
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        AtomicPtr::new(ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.load(Ordering::Relaxed), f)
    }
}
