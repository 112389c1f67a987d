//! The present values of variables, read where they live in the explored program.

use super::{descriptors, queues};
use dpor_explorer::Variable;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering::Relaxed};

/// The value of the variable. Variables are named by the address of an integer of 64 bits, or by an address with a tag
/// above it: of a queue, of an integer of 32 bits, or of a descriptor by its number.
#[inline]
pub(crate) fn value_of(variable: Variable) -> i64 {
    if variable.0 >> 48 != 0 {
        return tagged(variable);
    }
    let word = ptr::with_exposed_provenance::<AtomicI64>(variable.0 as usize);
    // SAFETY: variables are made by `Word::variable`, and name a word of an operation that is pending or was part of
    // this execution: memory of the explored program, which stays mapped until the next execution and is written only
    // by this thread while we read.
    unsafe { &*word }.load(Relaxed)
}

#[cold]
fn tagged(variable: Variable) -> i64 {
    if let Some(queue) = queues::queue_of(variable) {
        return queues::length(queue);
    }
    if let Some(value) = descriptors::table().value_of(variable) {
        return value;
    }
    let half = ptr::with_exposed_provenance::<AtomicI32>((variable.0 & 0xFFFF_FFFF_FFFF) as usize);
    // SAFETY: as above: else such variables are made by `HalfWord::variable` only.
    i64::from(unsafe { &*half }.load(Relaxed))
}
