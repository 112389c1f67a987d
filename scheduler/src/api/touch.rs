//! What an operation may touch when it takes effect: what it has declared, and nothing else.
//!
//! While an operation is pending, the explorer knows of it what [`Operation::accesses`] says: the races of operations
//! that stay blocked, and cuts by context, are judged by that. An access that was made and not declared would hide
//! conflicts: an outcome is missing, and nothing complains. So accesses are noted by a [`Touch`], which looks them up
//! among those declared.
//!
//! Invariant: each access in the footprint of a step was declared by an operation or release of that step, with a kind
//! that covers it, or was [found](Touch::found) at a location that was. The exception is [`read_final`], for values
//! that no step changes any more.
//!
//! Accesses are noted by functions of their own, to which words are passed: they leave nothing in the frame of a
//! function that goes round a loop, which counts as the thread's state.

use super::atomics::Judgement;
use super::{atomics, of_model, on_model, on_model_in_place_if, on_model_thread, ownership, plain, stop, unsupported};
use crate::machine::Machine;
use crate::memory_model::happens_before::AtomicAccess;
use crate::memory_model::orderings::Orderings;
use crate::operation::{Operation, OperationKind, access_of};
use dpor_explorer::{Access, AccessKind, Awaits, Location, Stop};
use dpor_protocol::Memory;

/// The accesses that an operation has declared, for the closure by which it takes effect.
///
/// Only [`perform`](crate::perform) and its like make one, and it is gone when the closure returns:
///
/// ```compile_fail
/// # use dpor_scheduler::{Operation, OperationKind, location, perform};
/// let mut kept = None;
/// let operation = Operation::always(OperationKind::Load, location(&0), &[]);
/// perform(&operation, |_, touch| kept = Some(touch));
/// ```
///
/// An access that was not declared, or with a kind that does not cover it, ends the execution: the verdict is
/// `incomplete`, with a message that names the operation, the location and both kinds. It is a fault of whoever made
/// the operation, not of the program, so it is no failure; and it must not be passed over, as the verdict could not be
/// trusted. A kind covers another if it conflicts with all that the other conflicts with; so a write covers all, and
/// neither a read nor an update covers the other.
///
/// Off model threads nothing is noted and nothing is checked.
#[derive(Clone, Copy, Debug)]
pub struct Touch<'a> {
    operation: &'a Operation<'a>,
    /// Whether the accesses order the thread: what changes a location is then ordered before what looks at it later.
    orders: bool,
}

impl<'a> Touch<'a> {
    /// What the operation has declared; it is to take effect now.
    #[inline(always)]
    pub(super) fn of(operation: &'a Operation<'a>) -> Touch<'a> {
        Touch {
            operation,
            orders: true,
        }
    }
}

impl<'a> Touch<'a> {
    /// The same, for accesses by which nothing happens before anything else: the program may not rely on their order
    /// where it accesses plain memory. Other accesses order as those of a lock do: what an operation has read, it comes
    /// after; and what it has changed, or updated, comes after it. What else is promised is said to
    /// [`order`](crate::order).
    #[inline(always)]
    #[must_use]
    pub fn relaxed(self) -> Touch<'a> {
        Touch { orders: false, ..self }
    }
}

impl Touch<'_> {
    /// Notes that the operation depends on the location, and does not change it.
    #[inline]
    pub fn read(self, location: Location) {
        self.access(location, AccessKind::Read);
    }

    /// Notes that the operation changes the location without observing it, in a way that commutes with other updates.
    #[inline]
    pub fn update(self, location: Location) {
        self.access(location, AccessKind::Update);
    }

    /// Notes that the operation may observe and may change the location.
    #[inline]
    pub fn write(self, location: Location) {
        self.access(location, AccessKind::Write);
    }

    /// Notes an access of this kind.
    #[inline]
    pub fn access(self, location: Location, kind: AccessKind) {
        self.awaiting(location, kind, Awaits::Nothing);
    }

    /// Notes an access that had to wait for something to be done to the location.
    #[inline]
    pub fn awaiting(self, location: Location, kind: AccessKind, awaits: Awaits) {
        note(self.operation, (location, kind), location, self.how(kind, awaits));
    }

    /// Notes all accesses, as they were declared.
    #[inline]
    pub fn all(self) {
        for access in self.operation.accesses {
            self.awaiting(access.location, access.kind, access.awaits);
        }
    }

    /// Notes an access of a location that the operation has found only now, such as that of a queue's first waiter.
    /// While the operation was pending, the declared location `at` stood for it, such as that of the queue. It must be
    /// declared as read or written, so that all changes there conflict.
    ///
    /// What cannot be checked is up to whoever makes the operation: a step that changes which location is found must
    /// conflict with what is declared; and so must a step that conflicts at that location, unless it is possible only
    /// after the operation.
    #[inline]
    pub fn found(self, at: Location, Access { location, kind, awaits }: Access) {
        note(self.operation, (at, AccessKind::Read), location, self.how(kind, awaits));
    }

    /// Notes the access of an operation on an atomic of this size, which is its object and the only location that it
    /// has declared, and the orderings that it requests. `kind` is about the value: a modification that leaves it as it
    /// was is a read. Happens-before is as `access` says.
    #[inline]
    pub fn atomic(self, kind: AccessKind, orderings: Orderings, access: AtomicAccess, size: usize) {
        if !on_model_thread() {
            return;
        }
        let watched = of_model(|machine| machine.execution.races.follows_order());
        // A modification that leaves the value as it was orders what follows it elsewhere all the same, and is a value
        // of its own where there are several to choose from.
        let publishes = watched
            && kind == AccessKind::Read
            && matches!(access, AtomicAccess::Modify(_))
            && on_model(|machine| {
                let (_, access) = atomics::strengthened(machine, orderings, access);
                let races = &mut machine.execution.races;
                races.are_choosing() || races.publishes(machine.step.thread, access)
            });
        note_atomic(self, if publishes { AccessKind::Write } else { kind });
        if watched {
            let object = self.operation.object;
            let judgement = on_model(|machine| {
                let (orderings, access) = atomics::strengthened(machine, orderings, access);
                atomics::note_orderings(machine, orderings, access);
                let place = (object.0 as usize, size);
                let running = machine.step.thread;
                let returned = plain::in_returned_frame(&mut machine.execution, running, place, access.into());
                if returned.is_none()
                    && let Some(judgement) = atomics::choose(machine, access)
                {
                    return judgement;
                }
                let Machine {
                    session,
                    execution,
                    step,
                    ..
                } = &mut *machine;
                if !plain::is_shareable(session, place.0) {
                    return Judgement::Fine;
                }
                let judged = || execution.races.atomic(step.thread, object, size, access).err();
                step.bad_access = returned.or_else(judged);
                plain::trace(machine, place, access.into(), Some(access), None);
                Judgement::of(machine)
            });
            judgement.enforce();
        }
        // Under weak memory, all that they allow is explored.
        if orderings.are_weak() && of_model(|machine| machine.session.options.memory() == Memory::Sc) {
            let address = self.operation.object;
            on_model(|machine| {
                if !machine.step.repeating {
                    let signature = machine.step.signature;
                    machine.session.weak_orderings.note(signature, address, orderings);
                }
            });
        }
    }
}

/// Notes that the current step reads a location that no step will ever change again, such as the state of a `Once` that
/// has completed; does nothing off model threads. To see it at once or later is the same, so this needs no operation.
#[inline(never)]
pub fn read_final(location: Location) {
    let accesses = [access_of(location, AccessKind::Read)];
    Touch::of(&Operation::always(OperationKind::Load, location, &accesses)).all();
}

/// Notes the access of an operation on an atomic, on a model thread.
#[inline(never)]
fn note_atomic(touch: Touch<'_>, kind: AccessKind) {
    let operation = touch.operation;
    let location = atomics::location_of(operation.object);
    // In a traced execution, that atomics overlap may have become known since the operation was declared.
    let known = operation
        .accesses
        .first()
        .is_some_and(|first| first.location == location);
    let declared = if known { location } else { operation.object };
    note(
        operation,
        (declared, kind),
        location,
        touch.relaxed().how(kind, Awaits::Nothing),
    );
}

/// What is noted of an access. One word: see [`note`].
#[derive(Clone, Copy)]
struct How {
    kind: AccessKind,
    awaits: Awaits,
    orders: bool,
}

impl Touch<'_> {
    #[inline(always)]
    fn how(self, kind: AccessKind, awaits: Awaits) -> How {
        let orders = self.orders;
        How { kind, awaits, orders }
    }
}

/// Adds an access to the footprint of the current step, if the operation has declared this other one; does nothing off
/// model threads. Its arguments are as many words as registers take, so that none is left in the caller's frame.
#[inline(never)]
fn note(operation: &Operation<'_>, declared: (Location, AccessKind), location: Location, how: How) {
    let How { kind, awaits, orders } = how;
    if on_model_thread() {
        if !operation.declares(declared.0, declared.1) {
            undeclared(operation, declared.0, declared.1);
        }
        ownership::visible();
        let ready = |machine: &Machine| {
            let Machine {
                session,
                execution,
                step,
                ..
            } = machine;
            let notes_more = execution.clock.started || execution.races.follows_order();
            !notes_more && !session.refinements.unshared.is_wanted() && step.record.footprint.has_room()
        };
        let is_anothers = on_model_in_place_if(ready, |machine| {
            let Machine { session, step, .. } = &mut *machine;
            let unshared = &mut session.refinements.unshared;
            if unshared.comes_to(step.thread, location, !step.repeating) {
                return true;
            }
            machine.step.record.footprint.insert(Access { location, kind, awaits });
            if machine.execution.clock.started {
                let Machine { execution, step, .. } = machine;
                let record = &mut execution.threads[step.thread];
                execution.clock.synchronise(record, location, kind);
            }
            if orders {
                machine.execution.races.order(machine.step.thread, location, kind);
            }
            false
        });
        if is_anothers {
            stop(Stop::Refine);
        }
    }
}

/// Ends the execution because an operation touches what it has not declared.
#[cold]
#[inline(never)]
fn undeclared(operation: &Operation<'_>, location: Location, kind: AccessKind) -> ! {
    let words = |kind| match kind {
        AccessKind::Read => "a read",
        AccessKind::Update => "an update",
        AccessKind::Write => "a write",
    };
    let mut declared = operation.accesses.iter().filter(|access| access.location == location);
    let declared = declared.next().map_or("no access", |access| words(access.kind));
    unsupported(&format!(
        "the operation {} makes {} at location {:#x}, where it has declared {declared}",
        operation.kind,
        words(kind),
        location.0,
    ))
}
