//! The raw reader-writer lock: one operation of the checker for each of the traits'; two for a writer that waits for
//! readers.

use dpor_shim::specified::{RwLock, until};
use std::time::{Duration, Instant};

/// Raw reader-writer lock type.
pub struct RawRwLock(RwLock);

// SAFETY: the checker's lock has readers, or one writer.
unsafe impl lock_api::RawRwLock for RawRwLock {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: RawRwLock = RawRwLock(RwLock::new());

    type GuardMarker = crate::GuardMarker;

    #[track_caller]
    fn lock_shared(&self) {
        self.0.read();
    }

    #[track_caller]
    fn try_lock_shared(&self) -> bool {
        self.0.try_read()
    }

    #[track_caller]
    unsafe fn unlock_shared(&self) {
        self.0.unlock_read();
    }

    #[track_caller]
    fn lock_exclusive(&self) {
        self.0.write();
    }

    #[track_caller]
    fn try_lock_exclusive(&self) -> bool {
        self.0.try_write()
    }

    #[track_caller]
    unsafe fn unlock_exclusive(&self) {
        self.0.unlock_write();
    }

    #[track_caller]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    #[track_caller]
    fn is_locked_exclusive(&self) -> bool {
        self.0.is_claimed()
    }
}

// SAFETY: that other threads get the lock is one of the orders that are explored.
unsafe impl lock_api::RawRwLockFair for RawRwLock {
    #[track_caller]
    unsafe fn unlock_shared_fair(&self) {
        self.0.unlock_read();
    }

    #[track_caller]
    unsafe fn unlock_exclusive_fair(&self) {
        self.0.unlock_write();
    }

    #[track_caller]
    unsafe fn bump_shared(&self) {
        if self.0.is_claimed() {
            self.0.unlock_read();
            self.0.read();
        }
    }
}

// SAFETY: the writer becomes a reader.
unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    #[track_caller]
    unsafe fn downgrade(&self) {
        self.0.downgrade();
    }
}

// SAFETY: it says that it has the lock only if it has.
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    #[track_caller]
    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        self.0.try_read_for(timeout)
    }

    #[track_caller]
    fn try_lock_shared_until(&self, deadline: Instant) -> bool {
        self.0.try_read_for(until(deadline))
    }

    #[track_caller]
    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        self.0.try_write_for(timeout)
    }

    #[track_caller]
    fn try_lock_exclusive_until(&self, deadline: Instant) -> bool {
        self.0.try_write_for(until(deadline))
    }
}

// SAFETY: as above; who reads already is not kept out by a writer that waits.
unsafe impl lock_api::RawRwLockRecursive for RawRwLock {
    #[track_caller]
    fn lock_shared_recursive(&self) {
        self.0.read_recursive();
    }

    #[track_caller]
    fn try_lock_shared_recursive(&self) -> bool {
        self.0.try_read_recursive()
    }
}

// SAFETY: it says that it has the lock only if it has.
unsafe impl lock_api::RawRwLockRecursiveTimed for RawRwLock {
    #[track_caller]
    fn try_lock_shared_recursive_for(&self, timeout: Duration) -> bool {
        self.0.try_read_recursive_for(timeout)
    }

    #[track_caller]
    fn try_lock_shared_recursive_until(&self, deadline: Instant) -> bool {
        self.0.try_read_recursive_for(until(deadline))
    }
}

// SAFETY: one reader at a time may upgrade, and excludes writers.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    #[track_caller]
    fn lock_upgradable(&self) {
        self.0.upgradable();
    }

    #[track_caller]
    fn try_lock_upgradable(&self) -> bool {
        self.0.try_upgradable()
    }

    #[track_caller]
    unsafe fn unlock_upgradable(&self) {
        self.0.unlock_upgradable();
    }

    #[track_caller]
    unsafe fn upgrade(&self) {
        self.0.upgrade();
    }

    #[track_caller]
    unsafe fn try_upgrade(&self) -> bool {
        self.0.try_upgrade()
    }
}

// SAFETY: as for the other guards.
unsafe impl lock_api::RawRwLockUpgradeFair for RawRwLock {
    #[track_caller]
    unsafe fn unlock_upgradable_fair(&self) {
        self.0.unlock_upgradable();
    }
}

// SAFETY: the lock is held in the weaker way without a moment in which it is not.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwLock {
    #[track_caller]
    unsafe fn downgrade_upgradable(&self) {
        self.0.downgrade_upgradable();
    }

    #[track_caller]
    unsafe fn downgrade_to_upgradable(&self) {
        self.0.downgrade_to_upgradable();
    }
}

// SAFETY: it says that it has the lock only if it has.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLock {
    #[track_caller]
    fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        self.0.try_upgradable_for(timeout)
    }

    #[track_caller]
    fn try_lock_upgradable_until(&self, deadline: Instant) -> bool {
        self.0.try_upgradable_for(until(deadline))
    }

    #[track_caller]
    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        self.0.try_upgrade_for(timeout)
    }

    #[track_caller]
    unsafe fn try_upgrade_until(&self, deadline: Instant) -> bool {
        self.0.try_upgrade_for(until(deadline))
    }
}
