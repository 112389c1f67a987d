//! parking_lot's `RawMutex`: std's, which has a wait with a timeout besides.
//!
//! That fair unlocking hands the lock over to the thread that waits longest is one of the orders of an unlock and the
//! locks that follow, all of which are explored.

use crate::sync::RawMutex;
use dpor_scheduler::{Library, specified};
use std::time::Duration;

/// A mutex without data and without poisoning.
pub struct Mutex(RawMutex);

impl Mutex {
    /// A mutex that is free.
    #[expect(clippy::new_without_default, reason = "a constant is asked for")]
    #[inline]
    #[must_use]
    pub const fn new() -> Mutex {
        Mutex(RawMutex::new())
    }

    pub(super) fn raw(&self) -> &RawMutex {
        &self.0
    }

    /// Locks it.
    #[track_caller]
    pub fn lock(&self) {
        specified(Library::ParkingLot);
        self.0.lock();
    }

    /// Locks it if it is free; says whether it was.
    #[track_caller]
    pub fn try_lock(&self) -> bool {
        specified(Library::ParkingLot);
        self.0.try_lock()
    }

    /// Locks it within this time; says whether it did.
    #[track_caller]
    pub fn try_lock_for(&self, timeout: Duration) -> bool {
        specified(Library::ParkingLot);
        self.0.lock_for(timeout)
    }

    /// Unlocks it, for its holder.
    #[track_caller]
    pub fn unlock(&self) {
        self.0.unlock();
    }

    /// Whether it is locked.
    #[track_caller]
    pub fn is_locked(&self) -> bool {
        specified(Library::ParkingLot);
        self.0.is_locked()
    }
}
