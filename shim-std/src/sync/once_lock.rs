//! `std::sync::OnceLock`.

use super::once::{Exclusive, Once};
use crate::show::tell_value;
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// `std::sync::OnceLock`.
pub struct OnceLock<T> {
    once: Once,
    /// `Some` once `once` is completed.
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written by whom `once` lets in and then only shared; whoever gets the cell may drop a
// value that another thread has put in.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: the cell owns its value.
unsafe impl<T: Send> Send for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// An empty cell.
    #[inline]
    #[must_use]
    pub const fn new() -> OnceLock<T> {
        OnceLock {
            once: Once::new(),
            value: UnsafeCell::new(None),
        }
    }

    /// The value, if there already is one.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        if self.once.is_completed() {
            // SAFETY: a completed cell is written no more.
            unsafe { (*self.value.get()).as_ref() }
        } else {
            None
        }
    }

    /// Mutable access to the value, if there is one.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Waits until there is a value.
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        self.present()
    }

    /// Stores a value, if there is none; waits for another thread that is storing one.
    ///
    /// # Errors
    /// `value`, if there is one already.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.once.call_once_force(|_| self.put(value.take()));
        self.tell();
        value.map_or(Ok(()), Err)
    }

    /// The value, which the first caller stores.
    #[inline]
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        self.once.call_once_force(|_| self.put(Some(f())));
        self.tell();
        self.present()
    }

    /// The value, if there is one.
    #[inline]
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value out, if there is one.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let value = self.value.get_mut().take();
        if value.is_some() {
            self.once.set_exclusive(Exclusive::Incomplete);
        }
        value
    }

    /// Writes the value; only to be called inside the run of `once`.
    fn put(&self, value: Option<T>) {
        self.tell();
        // SAFETY: `once` lets one thread run at a time and nobody look before it has completed.
        unsafe { *self.value.get() = value };
        self.tell();
    }

    /// Records the value, for reports. To be called where it may be read.
    fn tell(&self) {
        // SAFETY: the caller is the one that `once` lets in, or `once` is completed.
        tell_value(self.once.location(), unsafe { &*self.value.get() });
    }

    /// The value; only to be called when `once` is completed.
    fn present(&self) -> &T {
        // SAFETY: a completed cell is written no more.
        let value = unsafe { (*self.value.get()).as_ref() };
        value.expect("a completed cell holds a value")
    }
}

impl<T> Default for OnceLock<T> {
    #[inline]
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => out.field(value),
            None => out.field(&format_args!("<uninit>")),
        };
        out.finish()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> OnceLock<T> {
        self.get()
            .map_or_else(OnceLock::new, |value| OnceLock::from(value.clone()))
    }
}

impl<T> From<T> for OnceLock<T> {
    #[inline]
    fn from(value: T) -> Self {
        OnceLock {
            once: Once::complete(),
            value: UnsafeCell::new(Some(value)),
        }
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}
