//! parking_lot's `Condvar`: it belongs to one mutex at a time, never wakes spuriously, and says how many it has woken.
//!
//! A thread that is moved to the queue of the mutex, instead of being woken while that is locked, is one that was woken
//! and waits for the mutex. `notify_one` wakes any of the waiters: which one is not promised.

use super::Mutex;
use crate::sync;
use dpor_scheduler::{Library, specified};
use std::cell::Cell;
use std::time::Duration;

/// A condition variable for one mutex at a time.
pub struct Condvar {
    queue: sync::Condvar,
    /// The address of the mutex with which threads wait, while some do.
    mutex: Cell<usize>,
}

// SAFETY: the address is only touched inside `perform`, which lets one thread at a time in; the rest is `Send`.
unsafe impl Send for Condvar {}
// SAFETY: as above; the rest is `Sync`.
unsafe impl Sync for Condvar {}

impl std::panic::UnwindSafe for Condvar {}
impl std::panic::RefUnwindSafe for Condvar {}

impl Condvar {
    /// A condition variable without waiters.
    #[expect(clippy::new_without_default, reason = "a constant is asked for")]
    #[inline]
    #[must_use]
    pub const fn new() -> Condvar {
        Condvar {
            queue: sync::Condvar::new(),
            mutex: Cell::new(0),
        }
    }

    /// Releases the mutex, which the thread holds, waits to be notified, and takes the mutex again. Says whether it
    /// timed out.
    ///
    /// # Panics
    /// If other threads wait with another mutex. The mutex is held then.
    #[track_caller]
    pub fn wait(&self, mutex: &Mutex, timeout: Option<Duration>) -> bool {
        specified(Library::ParkingLot);
        match self.queue.wait_with_one(&self.mutex, mutex.raw(), timeout) {
            Some(timed_out) => timed_out,
            None => panic!("attempted to use a condition variable with more than one mutex"),
        }
    }

    /// Wakes one of the waiters; says whether there was one.
    #[track_caller]
    pub fn notify_one(&self) -> bool {
        specified(Library::ParkingLot);
        self.queue.wake_one()
    }

    /// Wakes all waiters; returns their number.
    #[track_caller]
    pub fn notify_all(&self) -> usize {
        specified(Library::ParkingLot);
        self.queue.wake_all()
    }
}
