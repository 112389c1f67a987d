//! `loom::thread`.

pub use shim_std::thread::{AccessError, LocalKey, Thread, ThreadId, current, park, yield_now};

use shim_std::thread as shim;
use std::fmt;
use std::io;
use support::threads::{Alone, function};

/// `loom::thread::JoinHandle`.
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

/// `loom::thread::spawn`: nothing need be `Send`.
///
/// # Panics
/// Outside of a model.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    match Builder::new().spawn(f) {
        Ok(handle) => handle,
        Err(error) => unreachable!("a model thread can be spawned: {error}"),
    }
}

/// `loom::thread::Builder`.
#[derive(Debug)]
pub struct Builder(shim::Builder);

impl Builder {
    /// A thread without a name and with a stack of the default size.
    #[expect(clippy::new_without_default, reason = "as in loom")]
    #[must_use]
    pub fn new() -> Builder {
        Builder(shim::Builder::new())
    }

    /// Names the thread.
    #[must_use]
    pub fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    /// Sets the size of the thread's stack, which in loom is in words.
    #[must_use]
    pub fn stack_size(self, size: usize) -> Builder {
        Builder(self.0.stack_size(size * size_of::<usize>()))
    }

    /// Spawns the thread.
    ///
    /// # Errors
    /// None.
    ///
    /// # Panics
    /// Outside of a model.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        assert!(dpor_scheduler::on_model_thread(), "loom's threads are those of a model");
        // SAFETY: we are on a model thread.
        self.0.spawn(unsafe { function(f) }).map(JoinHandle)
    }
}
