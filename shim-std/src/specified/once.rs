//! parking_lot's `Once`: std's, of which one can ask more.

use crate::sync;
pub use crate::sync::Stage;
use dpor_scheduler::{Library, specified};

/// A closure that runs once.
pub struct Once(sync::Once);

impl Once {
    /// A `Once` that has not run.
    #[expect(clippy::new_without_default, reason = "as std's")]
    #[inline]
    #[must_use]
    pub const fn new() -> Once {
        Once(sync::Once::new())
    }

    /// A `Once` that has run.
    #[inline]
    #[must_use]
    pub const fn new_completed() -> Once {
        Once(sync::Once::complete())
    }

    /// What it is doing, or has done.
    #[track_caller]
    pub fn stage(&self) -> Stage {
        specified(Library::ParkingLot);
        self.0.stage()
    }

    /// Whether a run has completed.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        specified(Library::ParkingLot);
        self.0.is_completed()
    }

    /// Runs `f`, unless this or another call has run before; waits for one that is running.
    ///
    /// # Panics
    /// If a run has panicked.
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        specified(Library::ParkingLot);
        self.0.call_once(f);
    }

    /// Like [`Once::call_once`], but runs again after a run that panicked, which `f` is told.
    #[track_caller]
    pub fn call_once_force(&self, f: impl FnOnce(bool)) {
        specified(Library::ParkingLot);
        self.0.call_once_force(|state| f(state.is_poisoned()));
    }

    /// Waits until a run has completed.
    ///
    /// # Panics
    /// If a run has panicked.
    #[track_caller]
    pub fn wait(&self) {
        specified(Library::ParkingLot);
        self.0.wait();
    }

    /// Waits until a run has completed, also after one that panicked.
    #[track_caller]
    pub fn wait_force(&self) {
        specified(Library::ParkingLot);
        self.0.wait_force();
    }
}
