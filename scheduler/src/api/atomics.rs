//! Scheduling points and locations of atomics.

use super::{Touch, arrive, is_observed, of_model, on_model, on_model_thread, options, plain, stop, unsupported};
use crate::image::registers::Registers;
use crate::image::switch::Plain;
use crate::machine::Machine;
use crate::memory_model::atomics::whole;
use crate::memory_model::happens_before::AtomicAccess;
use crate::memory_model::orderings::Orderings;
use crate::memory_model::rc11::{Ask, LearntOrderings, Request};
use crate::memory_model::stronger::operation;
use crate::operation::{Operation, OperationKind, access_of};
use dpor_explorer::{AccessKind, Location, Stop, ThreadId};
use dpor_protocol::ModelOption;
use std::panic::Location as Caller;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{self, Relaxed};

/// Notes that an atomic of this size is about to be used, on a model thread, and returns the location of its accesses.
// On its own, so that it leaves nothing in the frame of a function that goes round a loop.
#[inline(never)]
pub(crate) fn used(address: Location, size: usize) -> Location {
    // Where states are compared, this is asked on the other stack, so that the program's own looks the same.
    let known = of_model(|machine| {
        let is_known = |block| machine.session.refinements.atomics.is_known(address, size, block);
        !machine.execution.threads.clean && is_known(machine.block_of_atomic(address))
    });
    let is_news = |machine: &mut Machine| {
        let block = machine.block_of_atomic(address);
        let refinements = &mut machine.session.refinements;
        !refinements.atomics.is_known(address, size, block) && refinements.note_atomic(address, size, block)
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

/// Notes the orderings of an operation on an atomic, on a model thread, under weak memory. The first time that
/// exploration meets such ones while the program has several threads, it starts again.
// On its own, as `used`.
#[inline(never)]
fn requests(success: Ordering, failure: Ordering) {
    note(|known| known.with(success, failure));
}

/// Notes a sequentially consistent fence, on a model thread, under weak memory, as the orderings of operations are.
// On its own, as `used`.
#[inline(never)]
pub(super) fn requests_fence() {
    note(LearntOrderings::with_fence);
}

fn note(after: impl FnOnce(LearntOrderings) -> LearntOrderings) {
    if of_model(|machine| !machine.execution.races.beside_others()) {
        return;
    }
    let learns = on_model(|machine| {
        let session = &mut machine.session;
        !session.learn_in_place && session.refinements.note_orderings(after)
    });
    if learns {
        stop(Stop::Refine);
    }
}

/// Whether memory is weak in the model, if there is one. A byte of its own, so that to ask takes no register, which
/// counts as the thread's state.
#[unsafe(link_section = ".dpor.data")]
static WEAK: AtomicBool = AtomicBool::new(false);

/// Sets whether memory is weak.
pub(crate) fn set_weak(weak: bool) {
    WEAK.store(weak, Relaxed);
}

/// Whether a model exists whose memory is weak. A model thread then says what its next operation asks of an atomic, by
/// [`asks`] or [`asks_to_exchange`].
#[inline(always)]
pub fn is_weak() -> bool {
    WEAK.load(Relaxed)
}

/// Says that the thread's next operation makes this access to the atomic of this size. Only if memory [`is_weak`].
// Here and below: out of the way of those whose memory is not weak, so that their frames, which count as the thread's
// state, hold nothing of it.
#[cold]
#[inline(never)]
pub fn asks(address: Location, size: usize, access: AtomicAccess) {
    ask(address, size, Ask::Access(access));
}

/// Says that the thread's next operation is a `compare_exchange` on the atomic of this size, which replaces a value
/// with these bytes; `weakly` if it may fail without a reason. Only if memory [`is_weak`].
#[cold]
#[inline(never)]
pub fn asks_to_exchange(
    address: Location,
    size: usize,
    expected: u64,
    (success, failure): (Ordering, Ordering),
    weakly: bool,
) {
    let ask = Ask::Exchange {
        expected,
        success,
        failure,
        spuriously: weakly && options().has(ModelOption::SpuriousCas),
    };
    self::ask(address, size, ask);
}

fn ask(address: Location, size: usize, ask: Ask) {
    if !on_model_thread() {
        return;
    }
    let (success, failure) = ask.orderings();
    requests(success, failure);
    let address = address.0 as usize;
    if !ask.is_allowed() {
        // It panics when it takes effect.
        return;
    }
    on_model(|machine| {
        // Of other memory, such as thread-locals, nobody knows whose it is.
        if machine.execution.races.are_choosing() && plain::is_shareable(&machine.session, address) {
            let size = size as u8;
            machine.step.asked = Some(Request { ask, address, size });
        }
    });
}

/// Whether the last operation of the current model thread was a read-modify-write that chose what it found.
pub(super) fn has_modified() -> bool {
    on_model(|machine| {
        let record = &machine.execution.threads[machine.step.thread];
        record.request.is_some_and(|request| request.ask.may_modify())
    })
}

/// How an execution goes on after an access to an atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Judgement {
    /// With the thread's next instruction.
    Fine,
    /// It ends, as `Step::bad_access` says.
    Bad,
    /// It cannot be modelled: atomics of different sizes overlap, and nobody knows that no older value may be found.
    Overlaps,
    /// Nor can it, because too many operations would have to be ordered.
    TooMany,
}

impl Plain for Judgement {}

impl Judgement {
    /// What is judged of the access of the current step, if nothing is wrong but perhaps that.
    pub fn of(machine: &Machine) -> Judgement {
        match machine.step.bad_access {
            Some(_) => Judgement::Bad,
            None => Judgement::Fine,
        }
    }

    /// Ends the execution, or the exploration, on a model thread, if it does not go on.
    #[inline]
    pub fn enforce(self) {
        if self != Judgement::Fine {
            self.end();
        }
    }

    #[cold]
    #[inline(never)]
    fn end(self) {
        match self {
            Judgement::Fine => {}
            Judgement::Bad => plain::fail_by_access(),
            Judgement::Overlaps => {
                unsupported("atomics of different sizes overlap, and an older value of one may be found")
            }
            Judgement::TooMany => {
                unsupported("there are too many operations on atomics to order the sequentially consistent ones")
            }
        }
    }
}

/// Notes the access that the thread has made by an operation that has chosen what it found. `None` if it chooses
/// nothing.
pub(super) fn choose(machine: &mut Machine, access: AtomicAccess) -> Option<Judgement> {
    let Machine { execution, step, .. } = &mut *machine;
    let request = execution.threads[step.thread].request?;
    let found = execution.races.source(&request, step.chosen);
    let excluded = !step.repeating && execution.races.is_excluded(step.thread, &request);
    let number = execution.length.0.saturating_sub(1);
    let judged = execution
        .races
        .choose(step.thread, (&request, step.chosen), access, number);
    step.bad_access = judged.err();
    let place = (request.address, request.size.into());
    plain::trace(machine, place, access.into(), Some(access), None);
    tell(machine, access, found);
    // The first operation is that of the step; others touch nothing that another thread looks at.
    if !machine.step.repeating && machine.step.places.len() == 1 {
        let source = found.0.filter(|_| access.reads());
        let older = request.older(machine.step.chosen) as u32;
        machine.step.record.graph = machine.graph_event(&request, Some(access), (source, older), excluded);
    }
    let Machine { execution, step, .. } = &mut *machine;
    let races = &mut execution.races;
    Some(if step.bad_access.is_some() {
        Judgement::Bad
    } else if races.overlaps_another(&request) && !races.passes_overlapping(step.thread, &request, access) {
        Judgement::Overlaps
    } else if races.are_too_many() {
        Judgement::TooMany
    } else {
        Judgement::Fine
    })
}

/// The orderings that the operation has which the running thread makes, and its access.
pub(super) fn strengthened(
    machine: &mut Machine,
    orderings: Orderings,
    access: AtomicAccess,
) -> (Orderings, AtomicAccess) {
    let place = machine.execution.threads[machine.step.thread].caller;
    machine.session.stronger.access(place, orderings, access)
}

/// Records the orderings of an operation, in a traced execution with several threads.
pub(super) fn note_orderings(machine: &mut Machine, orderings: Orderings, access: AtomicAccess) {
    let operation = operation(orderings, access);
    let Machine {
        execution,
        step,
        traced,
        ..
    } = machine;
    if let (Some(traced), Some(place)) = (traced, execution.threads[step.thread].caller)
        && execution.races.beside_others()
    {
        traced.orders(place, operation, orderings);
    }
}

/// Records, in a traced execution, which step has stored what an access has found, and which thread the next later
/// value, if there is one.
fn tell(machine: &mut Machine, access: AtomicAccess, (source, later): (Option<u32>, Option<u16>)) {
    let (Some(traced), Some(by)) = (&mut machine.traced, later) else {
        return;
    };
    if access.reads() {
        traced.steps.took_message(source);
    }
    let (by, own) = (ThreadId(by.into()), machine.step.thread);
    traced.steps.remark(match access {
        AtomicAccess::Store(_) => format!("before {by}'s store, of which {own} does not know"),
        _ => format!("old: {own} does not know of {by}'s store"),
    });
}
