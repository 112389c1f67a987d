//! The raw mutex: one operation of the checker for each of the trait's.

use crate::GuardMarker;
use dpor_shim::specified::{Mutex, until};
use std::time::{Duration, Instant};

/// Raw mutex type.
pub struct RawMutex(Mutex);

impl RawMutex {
    pub(crate) fn specified(&self) -> &Mutex {
        &self.0
    }
}

// SAFETY: the checker's mutex has one holder at a time.
unsafe impl lock_api::RawMutex for RawMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: RawMutex = RawMutex(Mutex::new());

    type Guard = GuardMarker;

    #[track_caller]
    fn lock(&self) -> GuardMarker {
        self.0.lock();
        GuardMarker::new()
    }

    #[track_caller]
    fn try_lock(&self) -> Option<GuardMarker> {
        self.0.try_lock().then(GuardMarker::new)
    }

    #[track_caller]
    unsafe fn unlock(&self, _guard: GuardMarker) {
        self.0.unlock();
    }

    #[track_caller]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: that another thread gets the lock is one of the orders that are explored.
unsafe impl lock_api::RawMutexFair for RawMutex {
    #[track_caller]
    unsafe fn unlock_fair(&self, _guard: GuardMarker) {
        self.0.unlock();
    }

    #[track_caller]
    unsafe fn bump(&self, _guard: &mut GuardMarker) {
        self.0.unlock();
        self.0.lock();
    }
}

// SAFETY: it says that it has the lock only if it has.
unsafe impl lock_api::RawMutexTimed for RawMutex {
    type Duration = Duration;
    type Instant = Instant;

    #[track_caller]
    fn try_lock_for(&self, timeout: Duration) -> Option<GuardMarker> {
        self.0.try_lock_for(timeout).then(GuardMarker::new)
    }

    #[track_caller]
    fn try_lock_until(&self, deadline: Instant) -> Option<GuardMarker> {
        self.0.try_lock_for(until(deadline)).then(GuardMarker::new)
    }
}
