//! Poisoning, as in std: set by a guard that is dropped in a panic that began while it lived.
//!
//! The flag is a location of its own, seen by `is_poisoned`. Locking reads it as well, but need not record
//! that: only a holder sets it, and holders are ordered by the lock; `clear_poison`, the only other writer,
//! records a write of the lock.

use dpor_scheduler::{AccessKind, Location, Operation, OperationKind, access_of, location, observe, perform, release};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError};
use std::thread::panicking;

/// Whether a lock is poisoned.
pub(super) struct Flag {
    failed: AtomicBool,
}

/// Whether the thread of a guard was already panicking when it took the lock.
pub(super) struct Panicking(bool);

impl Flag {
    pub(super) const fn new() -> Flag {
        Flag {
            failed: AtomicBool::new(false),
        }
    }

    fn location(&self) -> Location {
        location(&self.failed)
    }

    /// `value`, as an error if the lock is poisoned. For the holder or owner of the lock.
    pub(super) fn judge<T>(&self, value: T) -> LockResult<T> {
        if self.get() {
            Err(PoisonError::new(value))
        } else {
            Ok(value)
        }
    }

    /// Whether the lock is poisoned, for its holder.
    pub(super) fn get(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// To be called when an exclusive guard is made.
    pub(super) fn enter(&self) -> Panicking {
        Panicking(panicking())
    }

    /// To be called when an exclusive guard is dropped, before the lock is released.
    pub(super) fn leave(&self, entered: &Panicking) {
        if !entered.0 && panicking() {
            release(OperationKind::Unlock, self.location(), |touch| {
                self.failed.store(true, Ordering::Relaxed);
                touch.relaxed().write(self.location());
            });
        }
    }

    /// Whether the lock is poisoned, for everybody.
    #[track_caller]
    pub(super) fn query(&self) -> bool {
        observe(self.location());
        let accesses = [access_of(self.location(), AccessKind::Read)];
        let query = Operation::always(OperationKind::PoisonQuery, self.location(), &accesses);
        perform(&query, |_, touch| {
            touch.relaxed().read(self.location());
            self.get()
        })
    }

    /// Clears the flag of the lock at `lock`.
    #[track_caller]
    pub(super) fn clear(&self, lock: Location) {
        observe(self.location());
        let accesses = [
            access_of(self.location(), AccessKind::Write),
            access_of(lock, AccessKind::Write),
        ];
        perform(
            &Operation::always(OperationKind::PoisonClear, lock, &accesses),
            |_, touch| {
                let touch = touch.relaxed();
                if self.failed.swap(false, Ordering::Relaxed) {
                    touch.write(self.location());
                    touch.write(lock);
                } else {
                    touch.read(self.location());
                }
            },
        );
    }
}

/// Applies `f` to what a lock result holds.
pub(super) fn map_result<T, U>(result: LockResult<T>, f: impl FnOnce(T) -> U) -> LockResult<U> {
    match result {
        Ok(value) => Ok(f(value)),
        Err(error) => Err(PoisonError::new(f(error.into_inner()))),
    }
}
