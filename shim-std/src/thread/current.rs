//! The parts of a thread of its own: its handle and its thread-locals.

use super::handle::{Thread, ThreadId};
use super::local;
use dpor_scheduler::on_model_thread;
use std::cell::OnceCell;

std::thread_local! {
    /// The handle of a real thread.
    static CURRENT: OnceCell<Thread> = const { OnceCell::new() };
}

/// The parts of a model thread of its own, reached through its one pointer.
#[derive(Default)]
pub(super) struct Own {
    thread: Option<Thread>,
    pub(super) locals: local::Locals,
}

/// Gives the main model thread, which calls this first, the name that the test harness gives to a test's thread.
pub(crate) fn set_main_name(name: Option<String>) {
    set_current(Thread::new(
        Some(ThreadId::of_model(dpor_scheduler::thread::current())),
        name,
    ));
}

/// Runs `f` on the present model thread's own parts. `f` must not run user code.
pub(super) fn with_own<R>(f: impl FnOnce(&mut Own) -> R) -> R {
    let root = dpor_scheduler::thread::local_root().cast::<*mut Own>();
    // SAFETY: the pointer is this thread's alone, is null at its start, and is only used here: a box of ours,
    // or null. `f` cannot come back here, so that there is one reference at a time.
    unsafe {
        if (*root).is_null() {
            *root = Box::into_raw(Box::default());
        }
        f(&mut **root)
    }
}

/// The handle of the present model thread, if its park token is part of the model in the wait of std that begins.
pub(crate) fn lend_token() -> Option<Thread> {
    on_model_thread()
        .then(|| with_own(|own| own.thread.as_ref().filter(|thread| thread.lend_token()).cloned()))
        .flatten()
}

/// `std::thread::current`.
#[must_use]
pub fn current() -> Thread {
    if on_model_thread() {
        with_own(|own| own.thread.clone()).unwrap_or_else(|| {
            // A thread that was not told who it is: what there is of one has ended already.
            Thread::new(Some(ThreadId::of_model(dpor_scheduler::thread::current())), None)
        })
    } else {
        CURRENT
            .try_with(|current| current.get_or_init(adopt).clone())
            .unwrap_or_else(|_| adopt())
    }
}

/// A handle for a real thread that was not spawned here.
fn adopt() -> Thread {
    Thread::new(
        Some(ThreadId::of_real()),
        std::thread::current().name().map(String::from),
    )
}

/// Sets the present thread's handle.
pub(super) fn set_current(thread: Thread) {
    if on_model_thread() {
        with_own(|own| own.thread = Some(thread));
    } else {
        // Fails only for a thread that knows already, and then it keeps its handle.
        let _ = CURRENT.try_with(|current| current.set(thread));
    }
}

/// Runs the destructors of the present model thread's thread-locals and frees its own parts. The last action of a model
/// thread; without effect on real threads, where std does this.
pub(crate) fn finish_thread() {
    if !on_model_thread() {
        return;
    }
    local::run_destructors();
    let root = dpor_scheduler::thread::local_root().cast::<*mut Own>();
    // SAFETY: as in `with_own`; no thread-local is reachable any more that could be used after this.
    unsafe {
        if !(*root).is_null() {
            drop(Box::from_raw(*root));
            *root = std::ptr::null_mut();
        }
    }
}
