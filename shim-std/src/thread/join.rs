//! `std::thread::JoinHandle`.

use super::handle::Thread;
use super::lifecycle::JoinInner;
use std::fmt;
use std::os::unix::thread::{JoinHandleExt, RawPthread};
use std::thread::Result;

/// `std::thread::JoinHandle`.
pub struct JoinHandle<T>(JoinInner<'static, T>);

// SAFETY: the handle gives out the result only by value, to whoever has the handle; `spawn` asked for `T: Send`.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: a shared handle gives no access to the result.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    pub(super) fn new(inner: JoinInner<'static, T>) -> Self {
        JoinHandle(inner)
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// Waits for the thread to end.
    ///
    /// # Errors
    /// What the thread panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    /// Whether the thread's function has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

impl<T> JoinHandleExt for JoinHandle<T> {
    fn as_pthread_t(&self) -> RawPthread {
        self.0.native().as_pthread_t()
    }

    fn into_pthread_t(self) -> RawPthread {
        self.as_pthread_t()
    }
}
