//! `loom::cell`.

use crate::plain::Plain;

/// `loom::cell::UnsafeCell`.
#[derive(Debug)]
pub struct UnsafeCell<T> {
    accesses: Plain,
    value: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// A cell.
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell {
            accesses: Plain::new(),
            value: std::cell::UnsafeCell::new(value),
        }
    }

    /// Reads. A write that another thread can make meanwhile is a failure.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.accesses.read(|| f(self.value.get()))
    }

    /// Writes. An access that another thread can make meanwhile is a failure.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.accesses.write(|| f(self.value.get()))
    }
}
