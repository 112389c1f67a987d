//! `shuttle::thread`.

pub use shim_std::thread::{
    AccessError, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId, current, park, scope, sleep, yield_now,
};

use shim_std::thread as shim;
use std::fmt;
use std::io;
use support::threads::{Alone, function};

/// `shuttle::thread::JoinHandle`.
pub struct JoinHandle<T>(shim::JoinHandle<Alone<T>>);

impl<T> JoinHandle<T> {
    /// Waits for the thread.
    ///
    /// # Errors
    /// None: a panic ends the execution.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join().map(|Alone(result)| result)
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// `shuttle::thread::spawn`.
///
/// # Panics
/// Never, on a model thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Builder::new().spawn(f) {
        Ok(handle) => handle,
        Err(error) => unreachable!("a model thread can be spawned: {error}"),
    }
}

/// `shuttle::thread::Builder`.
#[derive(Debug)]
pub struct Builder(shim::Builder);

impl Builder {
    /// A thread without a name.
    #[expect(clippy::new_without_default, reason = "as in std")]
    #[must_use]
    pub fn new() -> Builder {
        Builder(shim::Builder::new())
    }

    /// Names the thread.
    #[must_use]
    pub fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    /// Spawns the thread.
    ///
    /// # Errors
    /// None, on a model thread.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: both are `Send`.
        self.0.spawn(unsafe { function(f) }).map(JoinHandle)
    }
}
