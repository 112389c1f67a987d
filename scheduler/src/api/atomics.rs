//! Scheduling points and locations of atomics.

use super::touch::note_atomic;
use super::{
    Touch, arrive, arrive_with, is_observed, of_model, on_model, on_model_thread, options, plain, stop, unsupported,
};
use crate::image::registers::Registers;
use crate::machine::Machine;
use crate::memory_model::atomics::whole;
use crate::memory_model::rc11::{self, Ask, Request, Taken};
use crate::operation::{Operation, OperationKind, access_of};
use dpor_explorer::{AccessKind, Location, Stop, ThreadId};
use dpor_protocol::{Memory, ModelOption};
use std::panic::Location as Caller;
use std::sync::atomic::Ordering;

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

/// Notes the orderings of an operation on an atomic, or of a fence, on a model thread. The first time that exploration
/// meets such ones while the program has several threads, under weak memory, it starts again.
// On its own, as `used`.
#[inline(never)]
pub(super) fn requests(success: Ordering, failure: Ordering) {
    let none =
        of_model(|machine| machine.session.options.memory() == Memory::Sc || !machine.execution.races.beside_others());
    if none {
        return;
    }
    let learns = on_model(|machine| {
        let session = &mut machine.session;
        !session.learn_in_place && session.refinements.note_orderings(success, failure)
    });
    if learns {
        stop(Stop::Refine);
    }
}

/// Whether an operation on the atomic with these orderings, if it succeeds or fails, chooses what it finds there: then it is one of [`load`],
/// [`store`], [`modify`] and [`exchange`]. Never off model threads, nor in memory of which the checker does not know
/// whose it is, such as thread-locals.
#[inline]
pub fn is_weak(address: Location, success: Ordering, failure: Ordering) -> bool {
    on_model_thread() && of_model(|machine| machine.execution.races.is_weak()) && chooses(address, success, failure)
}

// Out of the way of who does not come here, whose frame counts as the thread's state.
#[cold]
#[inline(never)]
fn chooses(address: Location, success: Ordering, failure: Ordering) -> bool {
    requests(success, failure);
    of_model(|machine| {
        let is_shared = || plain::is_shareable(&machine.session, address.0 as usize);
        machine.execution.races.are_choosing() && is_shared()
    })
}

/// A place of the program.
type Place = &'static Caller<'static>;

/// Loads one of the values that may be found in the atomic of this size, as its bytes. Only if it [`is_weak`].
#[inline(never)]
pub fn load(address: Location, size: usize, order: Ordering, caller: Place) -> u64 {
    let [value, _] = run(OperationKind::Load, address, size, Ask::Load(order), caller, |value| {
        value
    });
    value
}

/// Stores a value, which need not be the last one in modification order. Only if it [`is_weak`].
#[inline(never)]
pub fn store(address: Location, size: usize, value: u64, order: Ordering, caller: Place) {
    run(OperationKind::Store, address, size, Ask::Store(order), caller, |_| {
        value
    });
}

/// Changes one of the values that may be found, and returns it. Only if it [`is_weak`].
#[inline(never)]
pub fn modify(
    kind: OperationKind,
    address: Location,
    size: usize,
    order: Ordering,
    caller: Place,
    change: impl FnOnce(u64) -> u64,
) -> u64 {
    let [value, _] = run(kind, address, size, Ask::Modify(order), caller, change);
    value
}

/// Stores a new value if the expected one is found, of those that may be. Returns the one that was found, and whether
/// the other was stored. Only if it [`is_weak`].
#[inline(never)]
pub fn exchange(
    address: Location,
    size: usize,
    (expected, new): (u64, u64),
    (success, failure): (Ordering, Ordering),
    weakly: bool,
    caller: Place,
) -> (u64, bool) {
    let ask = Ask::Exchange {
        expected,
        success,
        failure,
        spuriously: weakly && options().has(ModelOption::SpuriousCas),
    };
    let [value, stored] = run(OperationKind::CompareExchange, address, size, ask, caller, |_| new);
    (value, stored != 0)
}

/// Runs an operation that chooses what it finds. Returns the value that it has found, and whether it has stored one.
#[inline(always)]
fn run(
    kind: OperationKind,
    address: Location,
    size: usize,
    ask: Ask,
    caller: Place,
    change: impl FnOnce(u64) -> u64,
) -> [u64; 2] {
    let declared = match ask {
        Ask::Load(_) => AccessKind::Read,
        _ => AccessKind::Write,
    };
    let at = used(address, size);
    let accesses = [access_of(at, declared)];
    let operation = Operation::always(kind, address, &accesses);
    let request = Request {
        ask,
        address: address.0 as usize,
        size: size as u8,
    };
    let chosen = arrive_with(&operation, Some(caller), &Registers::save(), Some(&request));
    let [value, older, stores] = plain::quietly(|| take(&operation, &request, chosen));
    if stores != 0 {
        let new = plain::quietly(|| change(value));
        put(
            &request,
            Taken {
                value,
                older: older as u32,
                stores: true,
            },
            new,
        );
    }
    [value, stores]
}

/// Takes what the operation finds.
#[inline(never)]
fn take(operation: &Operation<'_>, request: &Request, chosen: u32) -> [u64; 3] {
    let Request { ask, address, size } = *request;
    let [value, older, stores] = on_model(|machine| {
        let Machine { execution, step, .. } = &mut *machine;
        let (taken, judged) = execution.races.take(step.thread, request, chosen);
        step.bad_access = judged.err();
        let access = rc11::access_of(ask, taken);
        plain::trace(machine, (address, size.into()), access.into(), Some(access), None);
        tell(machine, request, taken);
        [taken.value, taken.older.into(), taken.stores.into()]
    });
    let kind = if stores != 0 {
        AccessKind::Write
    } else {
        AccessKind::Read
    };
    note_atomic(Touch::of(operation), kind);
    if of_model(|machine| machine.step.bad_access.is_some()) {
        plain::fail_by_access();
    }
    if of_model(|machine| machine.execution.races.overlaps_another(request)) {
        unsupported("atomics of different sizes overlap, and an older value of one may be found");
    }
    if of_model(|machine| machine.execution.races.are_too_many()) {
        unsupported("there are too many operations on atomics to order the sequentially consistent ones");
    }
    [value, older, stores]
}

/// Stores a value after what the operation has taken.
#[inline(never)]
fn put(request: &Request, taken: Taken, value: u64) {
    on_model(|machine| {
        let Machine { execution, step, .. } = machine;
        let number = execution.length.0.saturating_sub(1);
        execution.races.put(step.thread, request, taken, value, number);
    });
}

/// Records, in a traced execution, what the operation has found.
fn tell(machine: &mut Machine, request: &Request, taken: Taken) {
    let Some(traced) = &mut machine.traced else { return };
    let (source, later) = machine.execution.races.source(request, taken);
    // The record knows who has stored the last one.
    if taken.older > 0 && rc11::access_of(request.ask, taken).reads() {
        traced.steps.took_message(source);
    }
    if let Some(by) = later {
        let (by, own) = (ThreadId(by.into()), machine.step.thread);
        traced.steps.remark(match request.ask {
            Ask::Store(_) => format!("before {by}'s store, of which {own} does not know"),
            _ => format!("old: {own} does not know of {by}'s store"),
        });
    }
}
