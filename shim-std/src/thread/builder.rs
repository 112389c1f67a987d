//! `std::thread::Builder`.

use super::join::JoinHandle;
use super::lifecycle::spawn_unchecked;
use super::scoped::{Scope, ScopedJoinHandle};
use std::io;

/// `std::thread::Builder`.
#[must_use = "must eventually spawn the thread"]
#[derive(Debug)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// Creates a builder for a thread without a name and with a stack of the default size.
    #[expect(clippy::new_without_default, reason = "as in std")]
    pub fn new() -> Builder {
        Builder {
            name: None,
            stack_size: None,
        }
    }

    /// Names the thread.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// Sets the size of the thread's stack, in bytes.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// Spawns a thread.
    ///
    /// # Errors
    /// If the operating system cannot create one; never on a model thread.
    ///
    /// # Panics
    /// If the name contains a nul byte.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T,
        F: Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: everything is `'static`.
        unsafe { self.spawn_unchecked(f) }
    }

    /// Spawns a thread whose function may borrow.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    ///
    /// # Panics
    /// As [`Builder::spawn`].
    ///
    /// # Safety
    /// As for std: the thread is joined before anything dies that `f` or `T` borrows.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T,
        F: Send,
        T: Send,
    {
        // SAFETY: promised by the caller.
        Ok(JoinHandle::new(unsafe {
            spawn_unchecked(self.name, self.stack_size, None, f)
        }?))
    }

    /// Spawns a thread that ends before `scope` does.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    ///
    /// # Panics
    /// As [`Builder::spawn`].
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: the scope waits for the thread, and what `f` and `T` borrow outlives the scope.
        Ok(ScopedJoinHandle::new(unsafe {
            spawn_unchecked(self.name, self.stack_size, Some(scope.data()), f)
        }?))
    }
}
