//! `spin_loop` and `yield_now` of the explored program.

use super::{arrive, on_model, on_model_thread};
use crate::image::registers::Registers;
use crate::operation::{Operation, OperationKind};
use dpor_explorer::Location;
use std::panic::Location as Caller;

/// Number of `spin_loop`s in a row which shows that they wait for nothing.
const PAUSES: u32 = 64;

/// `spin_loop` and `yield_now` of the explored program: announces that the thread waits. Off model threads they are the
/// real ones.
///
/// A loop that looks at instrumented objects is noticed without it. Of one that does not (it waits for plain memory,
/// say), the hint itself becomes a scheduling point.
#[track_caller]
pub fn hint(kind: OperationKind) {
    let caller = Caller::caller();
    if !on_model_thread() {
        match kind {
            OperationKind::Yield => std::thread::yield_now(),
            _ => std::hint::spin_loop(),
        }
        return;
    }
    hint_from(kind, Some(caller));
}

/// Like [`hint`], on a model thread, for a function of the C library.
pub(crate) fn hint_call(kind: OperationKind) {
    hint_from(kind, None);
}

/// Like [`hint`], on a model thread, with this caller.
#[inline(always)]
pub(crate) fn hint_from(kind: OperationKind, caller: Option<&'static Caller<'static>>) {
    // Pauses come in rows of a known length, which wait for nothing.
    let allowed = if kind == OperationKind::SpinLoop { PAUSES } else { 1 };
    let site = caller.map_or(0, |caller| std::ptr::from_ref(caller).addr() as u64);
    let again = on_model(|machine| {
        let record = &mut machine.execution.threads[machine.step.thread];
        record.passage.hinted_again(site, allowed)
    });
    if again {
        arrive(&Operation::always(kind, Location(0), &[]), caller, &Registers::save());
    }
}
