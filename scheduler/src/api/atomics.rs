//! Scheduling points and locations of atomics.

use super::{Touch, arrive, is_observed, of_model, on_model, on_model_thread, plain, stop};
use crate::image::registers::Registers;
use crate::machine::Machine;
use crate::memory_model::atomics::whole;
use crate::operation::{Operation, OperationKind, access_of};
use dpor_explorer::{AccessKind, Location, Stop};
use std::panic::Location as Caller;

/// Notes that an atomic of this size is about to be used, on a model thread, and returns the location of its accesses.
// On its own, so that it leaves nothing in the frame of a function that goes round a loop.
#[inline(never)]
pub(crate) fn used(address: Location, size: usize) -> Location {
    // Where states are compared, this is asked on the other stack, so that the program's own looks the same.
    let known = of_model(|machine| {
        let Machine { session, execution, .. } = machine;
        !execution.threads.clean && session.refinements.atomics.is_known(address, size)
    });
    let is_news = |machine: &mut Machine| {
        let refinements = &mut machine.session.refinements;
        !refinements.atomics.is_known(address, size) && refinements.note_atomic(address, size)
    };
    if !known && on_model(|machine| is_news(machine) && !machine.session.learn_in_place) {
        stop(Stop::Refine);
    }
    location_of(address)
}

/// The location of accesses to the atomic at the address.
#[inline]
pub(crate) fn location_of(address: Location) -> Location {
    let none = of_model(|machine| !machine.session.refinements.overlaps);
    if none || !is_observed(whole(address)) {
        address
    } else {
        whole(address)
    }
}

/// Runs an operation that never blocks on the atomic of this size at the address. Off model threads it is just a call
/// of `apply`.
///
/// `apply` notes its access by [`Touch::atomic`], with a kind that `declared` covers.
#[track_caller]
#[inline(always)]
pub fn perform_atomic<R>(
    kind: OperationKind,
    address: Location,
    size: usize,
    declared: AccessKind,
    apply: impl FnOnce(Touch<'_>) -> R,
) -> R {
    let accesses = [access_of(atomic_location(address, size), declared)];
    let operation = Operation::always(kind, address, &accesses);
    if on_model_thread() {
        arrive(&operation, Some(Caller::caller()), &Registers::save());
    }
    plain::quietly(|| apply(Touch::of(&operation)))
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
