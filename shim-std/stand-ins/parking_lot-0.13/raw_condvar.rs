//! The raw condition variable: one operation of the checker for each of the trait's.

use crate::GuardMarker;
use crate::raw_mutex::RawMutex;
use dpor_shim::specified::{Condvar, until};
use std::time::{Duration, Instant};

/// A raw condition variable.
pub struct RawCondvar(Condvar);

// SAFETY: the checker's condition variable gives the mutex back and takes it again, does not wake spuriously, and
// panics with the mutex held if threads wait with several.
unsafe impl lock_api::RawCondvar for RawCondvar {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: RawCondvar = RawCondvar(Condvar::new());

    type RawMutex = RawMutex;

    #[track_caller]
    unsafe fn wait(&self, mutex: &RawMutex, _guard: &mut GuardMarker) {
        self.0.wait(mutex.specified(), None);
    }

    #[track_caller]
    fn notify_one(&self) -> bool {
        self.0.notify_one()
    }

    #[track_caller]
    fn notify_all(&self) -> usize {
        self.0.notify_all()
    }
}

// SAFETY: as above; it says that it has timed out only if nobody has notified it.
unsafe impl lock_api::RawCondvarTimed for RawCondvar {
    fn checked_duration_to_instant(timeout: &Duration) -> Option<Instant> {
        Instant::now().checked_add(*timeout)
    }

    #[track_caller]
    unsafe fn wait_for(&self, mutex: &RawMutex, _guard: &mut GuardMarker, timeout: &Duration) -> bool {
        self.0.wait(mutex.specified(), Some(*timeout))
    }

    #[track_caller]
    unsafe fn wait_until(&self, mutex: &RawMutex, _guard: &mut GuardMarker, deadline: &Instant) -> bool {
        self.0.wait(mutex.specified(), Some(until(*deadline)))
    }
}
