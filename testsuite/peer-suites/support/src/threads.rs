//! Threads whose panics are failures, and that are waited for.
//!
//! The test's own first thread is one of them, as its end, with the destructors of its thread-locals, may come before
//! that of others. So the first thread of the model only waits.

use dpor_scheduler::{
    AccessKind, Awaits, Condition, FailureKind, Guard, Operation, OperationKind, Word, awaiting, fail, location,
    on_model_thread, perform, release,
};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Number of threads that have not ended. A static: each execution begins with none.
static RUNNING: Word = Word::new(0);

fn count(change: i64) {
    release(OperationKind::ScopeExit, location(&RUNNING), |touch| {
        RUNNING.set(RUNNING.get() + change);
        touch.update(location(&RUNNING));
    });
}

/// Waits for all threads whose functions were made by [`function`].
#[track_caller]
pub fn wait_for_all() {
    let here = location(&RUNNING);
    let accesses = [awaiting(here, AccessKind::Read, Awaits::AllWrites)];
    let over = [Guard::when(Condition::Equals(RUNNING.variable(), 0))];
    let operation = Operation::guarded(OperationKind::Join, here, &accesses, &over);
    perform(&operation, |_, touch| {
        touch.awaiting(here, AccessKind::Read, Awaits::AllWrites)
    });
}

/// Runs the test's first thread, to its end.
#[track_caller]
pub fn run_as_thread(test: &dyn Fn()) {
    // SAFETY: the thread is joined here; and it is a model thread, see `function`.
    let handle = unsafe { shim_std::thread::Builder::new().spawn_unchecked(function(test)) };
    let joined = handle.map(shim_std::thread::JoinHandle::join);
    assert!(matches!(joined, Ok(Ok(_))), "a panic ends the execution");
}

/// The function for `std::thread::spawn` of a thread that runs `f`: a panic ends the execution as a failure.
///
/// # Safety
/// Neither `f` nor what it returns needs to be `Send` on a model thread: all of those run on one thread of the
/// operating system. Elsewhere the caller promises that it is.
pub unsafe fn function<T>(f: impl FnOnce() -> T) -> impl FnOnce() -> Alone<T> + Send {
    count(1);
    let f = Alone(f);
    move || {
        let f = f;
        match catch_unwind(AssertUnwindSafe(f.0)) {
            Ok(result) => {
                count(-1);
                Alone(result)
            }
            Err(payload) if on_model_thread() => fail(FailureKind::Panic, message(&*payload).to_owned()),
            Err(payload) => std::panic::resume_unwind(payload),
        }
    }
}

/// A value that is moved to another thread though it may not be `Send`; see [`function`].
pub struct Alone<T>(pub T);

// SAFETY: made by `function` only, whose caller promises what is needed.
unsafe impl<T> Send for Alone<T> {}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&'static str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}
