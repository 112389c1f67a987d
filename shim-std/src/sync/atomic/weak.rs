//! Operations under weak memory, each of which chooses the value that it finds.
//!
//! They are functions of their own, and out of the way: what they need of a frame is in none of the functions that call
//! them where memory is not weak.

use super::changed;
use dpor_scheduler::{Location, OperationKind, atomics, note, value};
use std::fmt::Debug;
use std::mem::MaybeUninit;
use std::panic::Location as Caller;
use std::sync::atomic::{self as real, Ordering};

/// The value of an atomic's type as bytes.
fn bits<V: Copy>(value: V) -> u64 {
    const { assert!(size_of::<V>() <= size_of::<u64>()) }
    let mut bytes = [0; size_of::<u64>()];
    // SAFETY: the value is no larger, and a boolean, an integer or a pointer, which has no padding.
    unsafe { (&raw const value).copy_to_nonoverlapping(bytes.as_mut_ptr().cast(), 1) };
    u64::from_ne_bytes(bytes)
}

/// The value with these bytes.
///
/// # Safety
/// They are those of a value of this type.
unsafe fn of_bits<V: Copy>(bits: u64) -> V {
    let bytes = bits.to_ne_bytes();
    let mut value = MaybeUninit::<V>::uninit();
    // SAFETY: the value is no larger than the bytes, which are those of a value.
    unsafe {
        value
            .as_mut_ptr()
            .cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), size_of::<V>());
        value.assume_init()
    }
}

#[cold]
#[inline(never)]
pub(super) fn load<V: Copy + Debug>(at: Location, order: Ordering, caller: &'static Caller<'static>) -> V {
    // Panics where std does.
    real::AtomicBool::new(false).load(order);
    let bits = atomics::load(at, size_of::<V>(), order, caller);
    // SAFETY: what is found in an atomic was stored there, or was there from the start.
    let found = unsafe { of_bits::<V>(bits) };
    note(|| format!("{found:?}"));
    found
}

#[cold]
#[inline(never)]
pub(super) fn store<V: Copy + Debug>(at: Location, new: V, order: Ordering, caller: &'static Caller<'static>) {
    real::AtomicBool::new(false).store(false, order);
    atomics::store(at, size_of::<V>(), bits(new), order, caller);
    value(at, || format!("{new:?}"));
    note(|| format!("{new:?}"));
}

#[cold]
#[inline(never)]
pub(super) fn modify<V: Copy + Debug>(
    kind: OperationKind,
    at: Location,
    order: Ordering,
    caller: &'static Caller<'static>,
    change: impl Fn(V) -> V,
) -> V {
    // SAFETY: as in `load`.
    let changed_bits = |old| bits(change(unsafe { of_bits(old) }));
    let old = atomics::modify(kind, at, size_of::<V>(), order, caller, changed_bits);
    // SAFETY: as in `load`.
    let old = unsafe { of_bits::<V>(old) };
    changed(at, old, change(old));
    old
}

#[cold]
#[inline(never)]
pub(super) fn exchange<V: Copy + Debug>(
    at: Location,
    (current, new): (V, V),
    orderings: (Ordering, Ordering),
    weakly: bool,
    caller: &'static Caller<'static>,
) -> Result<V, V> {
    let (success, failure) = orderings;
    let _ = real::AtomicBool::new(false).compare_exchange(false, false, success, failure);
    let values = (bits(current), bits(new));
    let (found, stored) = atomics::exchange(at, size_of::<V>(), values, orderings, weakly, caller);
    // SAFETY: as in `load`.
    let found = unsafe { of_bits::<V>(found) };
    match stored {
        true => {
            changed(at, found, new);
            Ok(found)
        }
        false => {
            note(|| format!("{found:?}, not exchanged"));
            Err(found)
        }
    }
}
