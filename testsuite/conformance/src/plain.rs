//! Plain memory that several threads use, for tests about data races: each access is one, and nothing here orders it.
//!
//! These functions are not `unsafe`, although a test that calls them from two threads has a data race: that is what
//! most of these tests are about.

use std::cell::UnsafeCell;
use std::hint::{self, black_box};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// Plain memory that several threads use, whether they may or not.
#[derive(Default)]
pub struct Plain<T = u32>(UnsafeCell<T>);

// SAFETY: none, where a test is about a race; in the other ones the accesses are ordered.
unsafe impl<T> Sync for Plain<T> {}

impl<T: Copy> Plain<T> {
    /// Memory with this value.
    pub const fn new(value: T) -> Self {
        Plain(UnsafeCell::new(value))
    }

    /// Its address.
    pub fn at(&self) -> Raw<T> {
        Raw(self.0.get())
    }

    /// Reads it.
    pub fn read(&self) -> T {
        self.at().read()
    }

    /// Writes it.
    pub fn write(&self, value: T) {
        self.at().write(value);
    }
}

/// A pointer that several threads use, whether they may or not.
pub struct Raw<T = u32>(pub *mut T);

// SAFETY: as for `Plain`.
unsafe impl<T> Send for Raw<T> {}
// SAFETY: as for `Plain`.
unsafe impl<T> Sync for Raw<T> {}

impl<T> Clone for Raw<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Raw<T> {}

impl<T: Copy> Raw<T> {
    /// A block of the heap.
    pub fn alloc(value: T) -> Self {
        Raw(Box::into_raw(Box::new(value)))
    }

    /// Frees a block.
    pub fn free(self) {
        // SAFETY: nobody else frees the block.
        drop(unsafe { Box::from_raw(self.0) });
    }

    /// Reads what it points to.
    pub fn read(self) -> T {
        // SAFETY: as for `Plain`.
        black_box(unsafe { self.0.read() })
    }

    /// Writes what it points to.
    pub fn write(self, value: T) {
        // SAFETY: as for `Plain`.
        unsafe { self.0.write(value) };
    }
}

/// Runs one function in a thread of its own, the other one here, and waits for both.
///
/// # Panics
///
/// If the first one panics.
pub fn both(there: impl FnOnce() + Send, here: impl FnOnce()) {
    thread::scope(|scope| {
        let there = scope.spawn(there);
        here();
        there.join().unwrap();
    });
}

/// Runs two functions in threads of their own, a third one here, and waits for all.
///
/// # Panics
///
/// If one of the first two panics.
pub fn three(first: impl FnOnce() + Send, second: impl FnOnce() + Send, here: impl FnOnce()) {
    thread::scope(|scope| {
        let there = (scope.spawn(first), scope.spawn(second));
        here();
        there.0.join().unwrap();
        there.1.join().unwrap();
    });
}

/// Waits until the flag is set, without coming after what was done before it was set.
pub fn wait_for(flag: &AtomicBool) {
    while !flag.load(Relaxed) {
        hint::spin_loop();
    }
}
