//! `std::task::Wake`.

#[cfg(not(dpor_facade))]
pub use std::task::Wake;

#[cfg(dpor_facade)]
pub use wake::Wake;

#[cfg(dpor_facade)]
mod wake {
    use crate::sync::Arc;
    use std::mem::ManuallyDrop;
    use std::task::{RawWaker, RawWakerVTable, Waker};

    /// `std::task::Wake`.
    pub trait Wake {
        /// Wakes the task, and takes the waker.
        fn wake(self: Arc<Self>);

        /// Wakes the task.
        fn wake_by_ref(self: &Arc<Self>) {
            self.clone().wake();
        }
    }

    impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for Waker {
        fn from(waker: Arc<W>) -> Waker {
            // SAFETY: the functions treat the pointer as the share that it is, and are safe to call from any thread.
            unsafe { Waker::from_raw(RawWaker::from(waker)) }
        }
    }

    impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for RawWaker {
        fn from(waker: Arc<W>) -> RawWaker {
            RawWaker::new(Arc::into_raw(waker).cast(), table::<W>())
        }
    }

    /// One function, so that there is one table for `Waker::will_wake` to find.
    #[inline(never)]
    fn table<W: Wake + Send + Sync + 'static>() -> &'static RawWakerVTable {
        &RawWakerVTable::new(clone::<W>, wake::<W>, wake_by_ref::<W>, drop::<W>)
    }

    /// # Safety
    /// The pointer is a share of a `W`.
    unsafe fn clone<W: Wake + Send + Sync + 'static>(waker: *const ()) -> RawWaker {
        // SAFETY: the caller's promise.
        unsafe { Arc::increment_strong_count(waker.cast::<W>()) };
        RawWaker::new(waker, table::<W>())
    }

    /// # Safety
    /// As above, and the share is the caller's.
    unsafe fn wake<W: Wake>(waker: *const ()) {
        // SAFETY: the caller's promise.
        W::wake(unsafe { Arc::from_raw(waker.cast()) });
    }

    /// # Safety
    /// The pointer is a share of a `W`.
    unsafe fn wake_by_ref<W: Wake>(waker: *const ()) {
        // SAFETY: the caller's promise.
        W::wake_by_ref(&ManuallyDrop::new(unsafe { Arc::from_raw(waker.cast()) }));
    }

    /// # Safety
    /// As above, and the share is the caller's.
    unsafe fn drop<W>(waker: *const ()) {
        // SAFETY: the caller's promise.
        unsafe { Arc::decrement_strong_count(waker.cast::<W>()) };
    }
}
