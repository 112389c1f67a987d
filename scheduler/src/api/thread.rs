//! Model threads, as the explored program creates and knows them.

use super::{of_model, on_model, on_model_in_place, on_model_thread, ownership, stop, witness};
use crate::failure::failure;
use crate::image::region;
use crate::machine::Machine;
use crate::machine::step::Request;
use corosensei::Yielder;
use dpor_explorer::{Stop, ThreadId};
use dpor_protocol::FailureKind;
use std::panic::Location as Caller;

/// Creates a model thread and runs it to its first scheduling point, as part of the current step. `body` catches
/// its own panics.
///
/// # Panics
/// Off model threads.
#[track_caller]
pub fn spawn(body: Box<dyn FnOnce() + 'static>, name: Option<String>, stack_size: Option<usize>) -> ThreadId {
    assert!(on_model_thread(), "only a model thread creates model threads");
    let caller = Caller::caller();
    ownership::visible();
    let child = on_model(|machine| {
        let Machine {
            session,
            execution,
            step,
            ..
        } = machine;
        let (parent, threads) = (step.thread, &mut execution.threads);
        let record = &mut threads[parent];
        let nth = record.spawned;
        record.spawned += 1;
        let time = record.time;
        let id = threads.intern(parent, nth);
        let name = name.as_deref().map(str::to_owned);
        let initial = &session.tls.initial;
        let created = threads.create(id, begin(id, body), name, stack_size, initial, Some(caller));
        threads[id].time = time;
        execution.shares.spawned(parent, id);
        execution.races.spawned(parent, id);
        step.record.spawned.push(id);
        step.request = Some(match created {
            Ok(()) => Request::Spawn(id),
            Err(message) => Request::Stop(Stop::Unsupported(failure(FailureKind::Unsupported, message))),
        });
        id.0
    });
    witness().suspend(|_| ());
    ThreadId(child)
}

/// The id of the current model thread.
///
/// # Panics
/// Off model threads.
pub fn current() -> ThreadId {
    assert!(on_model_thread(), "only a model thread has an id");
    ownership::visible();
    of_model(|machine| machine.step.thread)
}

/// One pointer for each model thread, for the facades to use; null when the thread starts.
///
/// # Panics
/// Off model threads.
pub fn local_root() -> *mut *mut u8 {
    assert!(on_model_thread(), "only a model thread has a root");
    ownership::visible();
    let record = region::record(region::stack_thread(region::stack_pointer()));
    // SAFETY: a model thread runs, so the region is reserved.
    unsafe { &raw mut (*record).local_root }
}

/// Records for reports that the current model thread ends by a panic.
pub fn set_panicked() {
    if on_model_thread() {
        on_model(|machine| machine.execution.threads[machine.step.thread].panicked = true);
    }
}

/// Fails the execution with the last panic of the current model thread, for a thread that nobody joins. Nothing
/// unwinds.
///
/// # Panics
/// Off model threads.
pub fn fail_by_panic() -> ! {
    assert!(on_model_thread(), "only a model thread fails an execution");
    let mut failure = None;
    on_model(|machine| failure = Some(machine.execution.threads[machine.step.thread].panic_failure()));
    match failure {
        Some(failure) => stop(Stop::Failed(failure)),
        None => unreachable!("it was just made"),
    }
}

/// What a coroutine runs for a thread: notes where it keeps its yielder, then the body.
pub(crate) fn begin(thread: ThreadId, body: impl FnOnce() + 'static) -> impl FnOnce(*const Yielder<(), ()>) + 'static {
    let index = thread.index();
    // The captures stay on the new stack, so they are of words: padding would be of any value.
    move |yielder| {
        on_model_in_place(|machine| machine.execution.threads[ThreadId(index as u32)].yielder = yielder);
        body();
    }
}
