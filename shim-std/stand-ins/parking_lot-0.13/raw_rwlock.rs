//! The raw reader-writer lock: one operation of the checker for each of the traits'; two for a writer that waits for
//! readers.

use crate::GuardMarker;
use dpor_shim::specified::{RwLock, until};
use std::time::{Duration, Instant};

/// Raw reader-writer lock type. If it is recursive, readers are not kept out by a writer that waits for others.
pub struct RawRwLock<const RECURSIVE: bool = false>(RwLock);

/// Raw reader-writer lock for threads that read again while they do.
pub type RawRwLockRecursive = RawRwLock<true>;

// SAFETY: the checker's lock has readers, or one writer.
unsafe impl<const RECURSIVE: bool> lock_api::RawRwLock for RawRwLock<RECURSIVE> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawRwLock(RwLock::new());

    type SharedGuard = GuardMarker;
    type ExclusiveGuard = GuardMarker;

    #[track_caller]
    fn lock_shared(&self) -> GuardMarker {
        match RECURSIVE {
            true => self.0.read_recursive(),
            false => self.0.read(),
        }
        GuardMarker::new()
    }

    #[track_caller]
    fn try_lock_shared(&self) -> Option<GuardMarker> {
        let locked = match RECURSIVE {
            true => self.0.try_read_recursive(),
            false => self.0.try_read(),
        };
        locked.then(GuardMarker::new)
    }

    #[track_caller]
    unsafe fn unlock_shared(&self, _guard: GuardMarker) {
        self.0.unlock_read();
    }

    #[track_caller]
    fn lock_exclusive(&self) -> GuardMarker {
        self.0.write();
        GuardMarker::new()
    }

    #[track_caller]
    fn try_lock_exclusive(&self) -> Option<GuardMarker> {
        self.0.try_write().then(GuardMarker::new)
    }

    #[track_caller]
    unsafe fn unlock_exclusive(&self, _guard: GuardMarker) {
        self.0.unlock_write();
    }

    #[track_caller]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    #[track_caller]
    fn is_locked_exclusive(&self) -> bool {
        self.0.is_written()
    }
}

// SAFETY: that other threads get the lock is one of the orders that are explored.
unsafe impl<const RECURSIVE: bool> lock_api::RawRwLockFair for RawRwLock<RECURSIVE> {
    #[track_caller]
    unsafe fn unlock_shared_fair(&self, _guard: GuardMarker) {
        self.0.unlock_read();
    }

    #[track_caller]
    unsafe fn unlock_exclusive_fair(&self, _guard: GuardMarker) {
        self.0.unlock_write();
    }

    #[track_caller]
    unsafe fn bump_shared(&self, _guard: &mut GuardMarker) {
        let held_up = match RECURSIVE {
            true => self.0.holds_up_writer_alone(),
            false => self.0.is_claimed(),
        };
        if held_up {
            self.0.unlock_read();
            match RECURSIVE {
                true => self.0.read_recursive(),
                false => self.0.read(),
            }
        }
    }

    #[track_caller]
    unsafe fn bump_exclusive(&self, _guard: &mut GuardMarker) {
        self.0.unlock_write();
        self.0.write();
    }
}

// SAFETY: the writer becomes a reader.
unsafe impl<const RECURSIVE: bool> lock_api::RawRwLockDowngrade for RawRwLock<RECURSIVE> {
    #[track_caller]
    unsafe fn downgrade(&self, guard: GuardMarker) -> GuardMarker {
        self.0.downgrade();
        guard
    }
}

// SAFETY: it says that it has the lock only if it has.
unsafe impl<const RECURSIVE: bool> lock_api::RawRwLockTimed for RawRwLock<RECURSIVE> {
    type Duration = Duration;
    type Instant = Instant;

    #[track_caller]
    fn try_lock_shared_for(&self, timeout: Duration) -> Option<GuardMarker> {
        let locked = match RECURSIVE {
            true => self.0.try_read_recursive_for(timeout),
            false => self.0.try_read_for(timeout),
        };
        locked.then(GuardMarker::new)
    }

    #[track_caller]
    fn try_lock_shared_until(&self, deadline: Instant) -> Option<GuardMarker> {
        <Self as lock_api::RawRwLockTimed>::try_lock_shared_for(self, until(deadline))
    }

    #[track_caller]
    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardMarker> {
        self.0.try_write_for(timeout).then(GuardMarker::new)
    }

    #[track_caller]
    fn try_lock_exclusive_until(&self, deadline: Instant) -> Option<GuardMarker> {
        self.0.try_write_for(until(deadline)).then(GuardMarker::new)
    }
}

// SAFETY: one reader at a time may upgrade, and excludes writers.
unsafe impl<const RECURSIVE: bool> lock_api::RawRwLockUpgrade for RawRwLock<RECURSIVE> {
    type UpgradableGuard = GuardMarker;

    #[track_caller]
    fn lock_upgradable(&self) -> GuardMarker {
        self.0.upgradable();
        GuardMarker::new()
    }

    #[track_caller]
    fn try_lock_upgradable(&self) -> Option<GuardMarker> {
        self.0.try_upgradable().then(GuardMarker::new)
    }

    #[track_caller]
    unsafe fn unlock_upgradable(&self, _guard: GuardMarker) {
        self.0.unlock_upgradable();
    }

    #[track_caller]
    unsafe fn upgrade(&self, guard: GuardMarker) -> GuardMarker {
        self.0.upgrade();
        guard
    }

    #[track_caller]
    unsafe fn try_upgrade(&self, guard: GuardMarker) -> Result<GuardMarker, GuardMarker> {
        match self.0.try_upgrade() {
            true => Ok(guard),
            false => Err(guard),
        }
    }
}

// SAFETY: as for the other guards.
unsafe impl<const RECURSIVE: bool> lock_api::RawRwLockUpgradeFair for RawRwLock<RECURSIVE> {
    #[track_caller]
    unsafe fn unlock_upgradable_fair(&self, _guard: GuardMarker) {
        self.0.unlock_upgradable();
    }

    #[track_caller]
    unsafe fn bump_upgradable(&self, _guard: &mut GuardMarker) {
        self.0.unlock_upgradable();
        self.0.upgradable();
    }
}

// SAFETY: the lock is held in the weaker way without a moment in which it is not.
unsafe impl<const RECURSIVE: bool> lock_api::RawRwLockUpgradeDowngrade for RawRwLock<RECURSIVE> {
    #[track_caller]
    unsafe fn downgrade_upgradable(&self, guard: GuardMarker) -> GuardMarker {
        self.0.downgrade_upgradable();
        guard
    }

    #[track_caller]
    unsafe fn downgrade_to_upgradable(&self, guard: GuardMarker) -> GuardMarker {
        self.0.downgrade_to_upgradable();
        guard
    }
}

// SAFETY: it says that it has the lock only if it has.
unsafe impl<const RECURSIVE: bool> lock_api::RawRwLockUpgradeTimed for RawRwLock<RECURSIVE> {
    #[track_caller]
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<GuardMarker> {
        self.0.try_upgradable_for(timeout).then(GuardMarker::new)
    }

    #[track_caller]
    fn try_lock_upgradable_until(&self, deadline: Instant) -> Option<GuardMarker> {
        self.0.try_upgradable_for(until(deadline)).then(GuardMarker::new)
    }

    #[track_caller]
    unsafe fn try_upgrade_for(&self, guard: GuardMarker, timeout: Duration) -> Result<GuardMarker, GuardMarker> {
        match self.0.try_upgrade_for(timeout) {
            true => Ok(guard),
            false => Err(guard),
        }
    }

    #[track_caller]
    unsafe fn try_upgrade_until(&self, guard: GuardMarker, deadline: Instant) -> Result<GuardMarker, GuardMarker> {
        match self.0.try_upgrade_for(until(deadline)) {
            true => Ok(guard),
            false => Err(guard),
        }
    }
}
