//! Shared by the tests of this crate's memory: one model at a time, and code run on a model thread's stack.

use super::arena::{self, DporAllocator};
use super::region;
use super::stacks::{DEFAULT_SIZE, ModelStack};
use corosensei::{Coroutine, CoroutineResult};
use std::sync::{Mutex, MutexGuard};

#[global_allocator]
static ALLOCATOR: DporAllocator = DporAllocator;

/// Exclusive use of the model's memory; the memory is reset at the start.
pub(crate) struct Model(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

impl Model {
    /// Waits until no other test uses the model's memory.
    pub(crate) fn enter() -> Model {
        static ONE: Mutex<()> = Mutex::new(());
        let guard = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        region::reserve().unwrap();
        // SAFETY: the region is reserved, and the lock makes this the model's only thread.
        unsafe { arena::reset() };
        Model(guard)
    }
}

/// Runs `body` on the stack of model thread `thread` while a [`Model`] is held.
pub(crate) fn on_thread<R>(thread: usize, body: impl FnOnce() -> R) -> R {
    // SAFETY: a `Model` is held, and stacks of finished coroutines are free.
    let stack = unsafe { ModelStack::new(thread, DEFAULT_SIZE) }.unwrap();
    // SAFETY: the coroutine is run to its end before this function returns, so `body` may borrow.
    let mut coroutine = unsafe { Coroutine::<(), (), R, _>::with_stack_unchecked(stack, move |_, ()| body()) };
    match coroutine.resume(()) {
        CoroutineResult::Return(result) => result,
        CoroutineResult::Yield(()) => unreachable!(),
    }
}
