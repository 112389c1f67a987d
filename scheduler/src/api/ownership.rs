//! Announcements of shared ownership, for `detect::shares`, and of the ends of threads.

use super::{Touch, arrive, observe_each, of_model, on_model, on_model_thread, plain, stop};
use crate::image::region;
use crate::image::registers::Registers;
use crate::operation::{Operation, OperationKind, address_of};
use dpor_explorer::{Access, Location, Stop};
use std::panic::Location as Caller;

/// A scheduling point before something that belongs to the previous step unless some thread
/// [`observe`](crate::observe)s one of these locations. Notes the accesses to observed locations. Does nothing off
/// model threads.
#[track_caller]
#[inline]
pub fn point_if_observed<const N: usize>(kind: OperationKind, accesses: [Access; N]) {
    if on_model_thread() && of_model(|machine| !machine.session.refinements.observed.is_empty()) {
        observed_point(kind, &accesses, Caller::caller());
    }
}

#[inline(never)]
fn observed_point(kind: OperationKind, accesses: &[Access], caller: &'static Caller<'static>) {
    let observed = |access: &Access| on_model(|machine| machine.session.refinements.is_observed(access.location));
    // One that is not observed may be between two that are; nobody minds.
    let Some(first) = accesses.iter().position(observed) else {
        return;
    };
    let last = accesses.iter().rposition(observed).unwrap_or(first);
    let touched = &accesses[first..=last];
    let operation = Operation::always(kind, touched[0].location, touched);
    arrive(&operation, Some(caller), &Registers::save());
    Touch::of(&operation).relaxed().all();
}

/// Runs an operation that never blocks and sees what others do to the `observed` locations. As with [`observe_each`],
/// exploration starts again if one of them is new. Off model threads it is just a call of `apply`.
#[track_caller]
#[inline]
pub fn perform_observing<R>(
    kind: OperationKind,
    observed: &[Location],
    accesses: &[Access],
    apply: impl FnOnce(Touch<'_>) -> R,
) -> R {
    let operation = Operation::always(kind, observed[0], accesses);
    if on_model_thread() {
        observe_each(observed);
        arrive(&operation, Some(Caller::caller()), &Registers::save());
    }
    plain::quietly(|| apply(Touch::of(&operation)))
}

/// Notes that the current thread has dropped a share of an object that was not the last one.
#[inline]
pub fn dropped(object: Location) {
    if on_model_thread() && of_model(|machine| machine.execution.shares.latest() != Some((object, machine.step.thread)))
    {
        on_model(|machine| {
            if !machine.session.refinements.is_observed(object) {
                machine.execution.shares.drop_share(machine.step.thread, object);
            }
        });
    }
}

/// The caller's stack pointer: functions that it calls have their variables below.
#[inline(always)]
#[must_use]
pub fn stack_pointer() -> usize {
    region::stack_pointer()
}

/// Announces the destructor of an object whose last share the current thread has dropped. What it has on its own stack
/// is below the address `stack`. If this returns true, another thread could have been the last, and the caller must
/// announce its [`end`](destroyed).
#[inline]
#[must_use]
pub fn destroys(object: Location, stack: usize) -> bool {
    on_model_thread()
        && of_model(|machine| machine.execution.shares.keeps_clocks())
        && on_model(|machine| {
            let shares = &mut machine.execution.shares;
            let refinements = &machine.session.refinements;
            let in_doubt = shares.drop_last(machine.step.thread, object) && !refinements.is_observed(object);
            if in_doubt {
                shares.begin_in_doubt(object);
                let address = address_of(object);
                machine
                    .execution
                    .races
                    .destructor_begins(machine.step.thread, address, stack);
            }
            in_doubt
        })
}

/// Announces the end of the destructor that was last announced by [`destroys`].
pub fn destroyed() {
    if of_model(|machine| machine.execution.races.is_on())
        && on_model(|machine| machine.execution.races.destructor_ends())
    {
        visible();
    }
    on_model(|machine| machine.execution.shares.end_in_doubt());
}

/// Announces that what the current thread does now depends on which thread it is, or can be ordered against others.
#[inline]
pub fn visible() {
    if on_model_thread() && of_model(|machine| machine.execution.shares.in_doubt()) {
        let new = on_model(|machine| {
            let refinements = &mut machine.session.refinements;
            let objects = machine.execution.shares.destroying().iter();
            objects.fold(false, |new, &object| refinements.observe(object) | new)
        });
        if new {
            stop(Stop::Refine);
        }
    }
}

/// The current thread will release at the location right after it has [left](leave). Until it has, nobody ends an
/// operation of the kind `Join` on the location, by which one waits for threads to end: it comes after all their
/// releases.
pub fn will_end_at(at: Location) {
    if on_model_thread() {
        on_model(|machine| machine.execution.races.will_end_at(machine.step.thread, at));
    }
}

/// Orders everything that the current thread has done before whatever another thread does after it has
/// [waited](waited_for) for this location. Takes back that it [will end](will_end_at) there.
pub fn leave(at: Location) {
    if on_model_thread() {
        on_model(|machine| {
            let (execution, thread) = (&mut machine.execution, machine.step.thread);
            execution.races.leaves(thread, at);
            if execution.shares.keeps_clocks() {
                execution.shares.leave(thread, at);
            }
        });
    }
}

/// Orders the current thread after all threads that have [left](leave) something here so far.
pub fn waited_for(at: Location) {
    if on_model_thread() && of_model(|machine| machine.execution.shares.keeps_clocks()) {
        on_model(|machine| machine.execution.shares.wait(machine.step.thread, at));
    }
}
