//! Operations on locations that only one thread uses, which belong to the thread's step before.

use super::{on_model, stop};
use crate::machine::Machine;
use crate::operation::{Operation, OperationKind};
use dpor_explorer::{BitSet, Status, Stop, Transition};
use std::panic::Location as Caller;

/// Maximum number of operations that belong to a step besides its first.
const MOST: usize = 64;

/// Instead of an alternative: the operation is a scheduling point.
const POINT: u32 = u32::MAX;
/// Instead of an alternative: exploration starts again, as another thread uses a location of the operation.
const AGAIN: u32 = u32::MAX - 1;

/// Lets the operation belong to the current step, if it is on locations that only the current thread uses. Returns the
/// alternative.
#[inline(never)]
pub(super) fn joins(operation: &Operation<'_>, caller: Option<&'static Caller<'static>>) -> Option<u32> {
    match on_model(|machine| judge(machine, operation, caller)) {
        AGAIN => stop(Stop::Refine),
        POINT => None,
        chosen => Some(chosen),
    }
}

/// The alternative by which the operation belongs to the current step; or [`POINT`] or [`AGAIN`].
fn judge(machine: &mut Machine, operation: &Operation<'_>, caller: Option<&'static Caller<'static>>) -> u32 {
    let Machine {
        session,
        execution,
        step,
        ..
    } = machine;
    let thread = step.thread;
    let unshared = &mut session.refinements.unshared;
    let mut accesses = operation.accesses.iter();
    if accesses.any(|access| unshared.comes_to(thread, access.location, false)) {
        return AGAIN;
    }
    let record = &execution.threads[thread];
    // What a new thread does up to its first scheduling point is in the middle of its creator's step.
    let is_within = step.of == thread && !record.has_not_arrived() && step.places.len() <= MOST;
    let kind = operation.kind;
    let notifies = matches!(kind, OperationKind::NotifyOne | OperationKind::NotifyAll);
    let is_access = operation.alternatives.len() <= 1 && (kind.is_atomic() || kind.acquires() || notifies);
    if !is_within || !is_access || !unshared.are_of(thread, operation.accesses) {
        return POINT;
    }
    // As at a scheduling point, for what takes effect.
    let record = &mut execution.threads[thread];
    record.pending = std::ptr::from_ref(operation).cast();
    record.request = step.asked;
    record.caller = caller;
    if execution.threads[thread].status(false, &execution.races) != Status::Enabled(BitSet::of(0)) {
        return POINT;
    }
    // A loop comes to scheduling points in each round, where it is seen whether it repeats itself.
    let record = &mut execution.threads[thread];
    let place = record.place();
    if step.places.contains(&place) {
        return POINT;
    }
    step.places.push(place);
    (step.asked, step.chosen, step.signature) = (None, 0, record.signature());
    // A hint before it is none before the next one.
    record.passage.moved_on(false);
    execution.races.foresee(execution.threads.waiting_for_ends());
    if let Some(request) = &execution.threads[thread].request {
        execution.races.place_last(request);
    }
    // What is only tried out is on no record.
    if let Some(tell) = &session.joined
        && !execution.watch.trying_out
    {
        let alternative = 0;
        tell(Transition { thread, alternative }, kind);
    }
    0
}
