//! The place of the machine, and a model thread's way to it.
//!
//! Model threads are coroutines on one OS thread, so nothing here is synchronised. The machine is reached through one
//! raw pointer with short-lived borrows, because a coroutine that is resumed from the scheduler comes back here in the
//! middle of the scheduler's own call.
//!
//! Invariant: no borrow of the machine lives while a coroutine is resumed or suspends. On the side of the model threads
//! the compiler sees to that: [`OnModel`] lends the machine for the time of a call, and suspending consumes it. Debug
//! builds check that nobody borrows the machine in such a call again.

use super::Machine;
use super::step::Request;
use crate::image::region;
use crate::image::switch::{Plain, in_checker};
use dpor_explorer::Stop;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::Range;

struct Shared(UnsafeCell<Option<Machine>>);

// SAFETY: the cell is touched only by the OS thread that runs the model, which holds `program::MODEL`, and by
// code that runs on model threads, which are coroutines of that OS thread.
unsafe impl Sync for Shared {}

#[unsafe(link_section = ".dpor.bss")]
static MACHINE: Shared = Shared(UnsafeCell::new(None));

/// The machine of the installed model, for the scheduler, while no model thread runs.
///
/// Borrows made from the pointer must end before a coroutine is resumed.
#[inline]
pub(crate) fn machine() -> *mut Machine {
    match installed() {
        Some(machine) => machine,
        None => unreachable!("the machine is set up while a model exists"),
    }
}

/// The machine, if a model is installed.
#[inline]
pub(crate) fn installed() -> Option<*mut Machine> {
    // SAFETY: `MACHINE` is only touched by the model's OS thread (see `Shared`).
    unsafe { &mut *MACHINE.0.get() }.as_mut().map(std::ptr::from_mut)
}

/// The memory of the machine.
pub(crate) fn place() -> Range<usize> {
    let start = MACHINE.0.get().addr();
    start..start + size_of::<Option<Machine>>()
}

/// Installs or removes the machine.
///
/// # Safety
/// The caller holds `program::MODEL`, and no model thread runs.
pub(crate) unsafe fn install(new: Option<Machine>) {
    // SAFETY: by the contract, nobody else touches the cell.
    unsafe { *MACHINE.0.get() = new }
}

/// A witness that its owner runs on a model thread, where the scheduler is suspended in `resume` and holds no borrow of
/// the machine.
pub(crate) struct OnModel(PhantomData<*mut Machine>);

impl OnModel {
    /// The witness, if the caller runs on a model thread. Looks only at the stack pointer.
    #[inline(always)]
    pub fn here() -> Option<OnModel> {
        region::on_model_thread().then_some(OnModel(PhantomData))
    }

    /// Lends the machine to `f`, as the checker's work, on the checker's stack.
    #[inline]
    pub fn with<R: Plain>(&mut self, f: impl FnOnce(&mut Machine) -> R) -> R {
        in_checker(|| lend(f))
    }

    /// Like [`OnModel::with`], for work that allocates nothing if the machine is `ready` for it: where states are not
    /// compared, it need not leave the stack.
    #[inline]
    pub fn with_in_place<R: Plain>(
        &mut self,
        ready: impl FnOnce(&Machine) -> bool,
        f: impl FnOnce(&mut Machine) -> R,
    ) -> R {
        if self.look(|machine| !machine.execution.threads.clean && ready(machine)) {
            lend(f)
        } else {
            self.with(f)
        }
    }

    /// Lends the machine for reading, on the thread's own stack, which may keep whatever `f` finds. So this must not
    /// depend on what was explored before: `f` reads flags and numbers, follows no pointer into the machine's
    /// collections, and does not ask which variant an `Option` of such a collection is, which the collection's capacity
    /// may tell.
    #[inline]
    pub fn look<R: Copy>(&self, f: impl FnOnce(&Machine) -> R) -> R {
        // SAFETY: the witness says that we are on a model thread.
        f(unsafe { &*machine() })
    }

    /// Suspends the model thread with the request that `leave` leaves, for which it does not allocate. Consumes the
    /// witness: what was known of the machine before may be different afterwards.
    #[inline(always)]
    pub fn suspend(mut self, leave: impl FnOnce(&mut Machine)) {
        let yielder = self.with_in_place(
            |_| true,
            |machine| {
                leave(machine);
                debug_assert!(machine.step.request.is_some());
                machine.execution.threads[machine.step.thread].yielder
            },
        );
        // SAFETY: the yielder belongs to the coroutine that we run on, and lives as long as it.
        unsafe { (*yielder).suspend(()) };
    }

    /// Ends the execution. Nothing unwinds.
    pub fn stop(mut self, stop: Stop) -> ! {
        self.with(|machine| machine.step.request = Some(Request::Stop(stop)));
        self.suspend(|_| ());
        unreachable!("an execution that was stopped is not resumed")
    }
}

/// Lends the machine on a model thread.
#[inline]
fn lend<R>(f: impl FnOnce(&mut Machine) -> R) -> R {
    #[cfg(debug_assertions)]
    let _lent = lent::Lent::begin();
    // SAFETY: on a model thread the scheduler is suspended in `resume` and holds no borrow; `f` does not suspend, as
    // that takes a witness that it has not.
    f(unsafe { &mut *machine() })
}

/// Checks that the machine is lent to one at a time.
#[cfg(debug_assertions)]
mod lent {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    #[unsafe(link_section = ".dpor.bss")]
    static LENT: AtomicBool = AtomicBool::new(false);

    pub(super) struct Lent;

    impl Lent {
        pub(super) fn begin() -> Lent {
            let before = LENT.swap(true, Relaxed);
            assert!(!before, "the machine is lent to somebody else");
            Lent
        }
    }

    impl Drop for Lent {
        fn drop(&mut self) {
            LENT.store(false, Relaxed);
        }
    }
}
