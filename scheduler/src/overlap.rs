//! Atomics of different sizes at one place, such as an `AtomicU32` that is the upper half of an `AtomicU64`.
//!
//! An atomic is known by its address, which suffices as long as atomics lie apart. The first time that one is used
//! where another was, of another size or shifted against it, exploration starts again, and those eight bytes are one
//! location from then on. That the other was used in another execution counts as well: what follows equal states is
//! explored once, whatever came before them. (Accesses of different sizes that race are outside of Rust's rules; what
//! we explore is that each of them happens at once.)

use crate::operation::{Operation, OperationKind, access_of, sub_location};
use crate::runtime::{Runtime, arrive, of_model, on_model, on_model_thread, stop};
use crate::spin::Registers;
use dpor_explorer::keys::KeyMap;
use dpor_explorer::{AccessKind, Location, Stop};
use std::panic::Location as Caller;

/// The part that stands for a whole word of eight bytes.
const PART: u64 = 0xF0A8;

/// Size of the largest atomic in bytes. Atomics are aligned, so two overlap only within one such word.
const WORD: u64 = 8;

/// For each word with an atomic that was used so far, and for each byte of it: start and size of its atomic; 0 for
/// none.
pub(crate) type Used = KeyMap<u64, [u8; WORD as usize]>;

fn whole(address: Location) -> Location {
    sub_location(Location(address.0 & !(WORD - 1)), PART)
}

/// Says whether the location stands for a whole word, whose atomics overlap.
pub(crate) fn is_word(location: Location) -> bool {
    location.0 >> 48 == PART + 1
}

fn place(address: Location, size: usize) -> (usize, u8) {
    let start = (address.0 % WORD) as usize;
    (start, (start as u8) << 4 | size as u8)
}

/// Whether the atomic has been noted.
fn is_known(runtime: &Runtime, address: Location, size: usize) -> bool {
    let (start, own) = place(address, size);
    let used = runtime.refinements.atomics.get(&(address.0 / WORD));
    used.is_some_and(|bytes| bytes[start] == own)
}

/// Notes the use of an atomic. Says whether it overlaps with another and that was not yet known.
fn note(runtime: &mut Runtime, address: Location, size: usize) -> bool {
    let (start, own) = place(address, size);
    let bytes = runtime.refinements.atomics.entry(address.0 / WORD).or_default();
    let mut overlaps = false;
    for byte in bytes.iter_mut().skip(start).take(size) {
        overlaps |= *byte != 0 && *byte != own;
        *byte = own;
    }
    overlaps && runtime.refinements.observe(whole(address))
}

/// Notes that an atomic of this size is about to be used, on a model thread, and returns the location of its accesses.
// On its own, so that it leaves nothing in the frame of a function that goes round a loop.
#[inline(never)]
pub(crate) fn used(address: Location, size: usize) -> Location {
    // Where states are compared, this is asked on the other stack, so that the program's own looks the same.
    let known = of_model(|runtime| !runtime.clean && is_known(runtime, address, size));
    let is_news = |runtime: &mut Runtime| !is_known(runtime, address, size) && note(runtime, address, size);
    if !known && on_model(|runtime| is_news(runtime) && !runtime.learn_in_place) {
        stop(Stop::Refine);
    }
    location_of(address)
}

/// The location of accesses to the atomic at the address.
#[inline]
pub(crate) fn location_of(address: Location) -> Location {
    let none = of_model(|runtime| !runtime.refinements.overlaps);
    if none || !crate::runtime::is_observed(whole(address)) {
        address
    } else {
        whole(address)
    }
}

/// A scheduling point before an access to the atomic of this size at the address; does nothing off model threads.
#[track_caller]
#[inline(always)]
pub fn atomic_point(kind: OperationKind, address: Location, size: usize, predicted: AccessKind) {
    if on_model_thread() {
        let accesses = [access_of(used(address, size), predicted)];
        arrive(
            &Operation::always(kind, address, &accesses),
            Some(Caller::caller()),
            &Registers::save(),
        );
    }
}

/// The location of accesses to the atomic of this size at the address, for an [`Operation`] on it.
#[inline]
pub fn atomic_location(address: Location, size: usize) -> Location {
    if on_model_thread() {
        used(address, size)
    } else {
        address
    }
}
