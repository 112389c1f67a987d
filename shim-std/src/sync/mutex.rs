//! `std::sync::Mutex`.

use super::poison::{Flag, Panicking};
use crate::show::tell_value;
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Touch, Word, access_of, location, note, observe,
    perform, release, time,
};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{LockResult, TryLockError, TryLockResult};
use std::time::Duration;

/// The lock without its data: 0 while it is free, 1 while it is held.
pub(crate) struct RawMutex {
    held: Word,
}

impl RawMutex {
    pub(crate) const fn new() -> RawMutex {
        RawMutex { held: Word::new(0) }
    }

    pub(crate) fn location(&self) -> Location {
        location(&self.held)
    }

    /// The condition under which the lock can be taken.
    pub(crate) fn free(&self) -> Condition {
        Condition::Equals(self.held.variable(), 0)
    }

    /// Takes the lock, which is free, in the current step.
    pub(crate) fn take(&self, touch: Touch<'_>) {
        self.held.set(1);
        touch.write(self.location());
    }

    /// Releases the lock in the current step.
    pub(crate) fn give(&self, touch: Touch<'_>) {
        self.held.set(0);
        touch.write(self.location());
    }

    #[track_caller]
    pub(crate) fn lock(&self) {
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let free = [Guard::when(self.free())];
        perform(
            &Operation::guarded(OperationKind::Lock, self.location(), &accesses, &free),
            |_, touch| self.take(touch),
        );
    }

    /// Locks within this time; says whether it did. It gives up only while the lock is held.
    #[track_caller]
    pub(crate) fn lock_for(&self, timeout: Duration) -> bool {
        let fires = time::firing(Some(timeout));
        if fires.is_some() {
            observe(self.location());
        }
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let held = Condition::AtLeast(self.held.variable(), 1);
        let alternatives = [Guard::when(self.free()), Guard::when(held)];
        let operation = Operation {
            kind: OperationKind::Lock,
            object: self.location(),
            accesses: &accesses,
            alternatives: &alternatives[..1 + usize::from(fires.is_some())],
            timeout: time::alternative(1, Some(timeout)),
        };
        let locked = perform(&operation, |alternative, touch| {
            if alternative == 0 {
                self.take(touch);
            } else {
                touch.relaxed().read(self.location());
                note(|| "timed out".to_string());
            }
            alternative == 0
        });
        if let Some(after) = fires.filter(|_| !locked) {
            time::timed_out(after);
        }
        locked
    }

    /// Whether the lock is held.
    #[track_caller]
    pub(crate) fn is_locked(&self) -> bool {
        observe(self.location());
        let accesses = [access_of(self.location(), AccessKind::Read)];
        perform(
            &Operation::always(OperationKind::IsLocked, self.location(), &accesses),
            |_, touch| {
                touch.relaxed().read(self.location());
                self.held.get() != 0
            },
        )
    }

    #[track_caller]
    pub(crate) fn try_lock(&self) -> bool {
        observe(self.location());
        let accesses = [access_of(self.location(), AccessKind::Write)];
        perform(
            &Operation::always(OperationKind::TryLock, self.location(), &accesses),
            |_, touch| {
                let free = self.held.get() == 0;
                if free {
                    self.take(touch);
                } else {
                    touch.relaxed().read(self.location());
                    note(|| "would block".to_string());
                }
                free
            },
        )
    }

    pub(crate) fn unlock(&self) {
        release(OperationKind::Unlock, self.location(), |touch| self.give(touch));
    }
}

/// `std::sync::Mutex`.
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    poison: Flag,
    data: UnsafeCell<T>,
}

// SAFETY: a mutex owns its data.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: the data is reached by one thread at a time, through a guard, so it need only be `Send`.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

/// `std::sync::MutexGuard`.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    lock: &'a Mutex<T>,
    panicking: Panicking,
    /// As in std, a guard is not `Send`.
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references to the data only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// Creates a free mutex.
    #[inline]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            raw: RawMutex::new(),
            poison: Flag::new(),
            data: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the mutex; blocks until it is free.
    ///
    /// # Errors
    /// If the mutex is poisoned; the error holds the guard.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.raw.lock();
        self.guard()
    }

    /// Takes the mutex if it is free.
    ///
    /// # Errors
    /// If it is held; or if it is poisoned, and then the error holds the guard.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        if self.raw.try_lock() {
            Ok(self.guard()?)
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    fn guard(&self) -> LockResult<MutexGuard<'_, T>> {
        self.tell();
        self.poison.judge(MutexGuard {
            lock: self,
            panicking: self.poison.enter(),
            not_send: PhantomData,
        })
    }

    /// Records the data, for reports. The caller has the lock.
    pub(super) fn tell(&self) {
        // SAFETY: who has the lock has the data.
        tell_value(self.raw.location(), unsafe { &*self.data.get() });
    }

    /// Whether the mutex is poisoned.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        self.poison.query()
    }

    /// Clears the poisoned state.
    #[track_caller]
    pub fn clear_poison(&self) {
        self.poison.clear(self.raw.location());
    }

    /// The data.
    ///
    /// # Errors
    /// If the mutex is poisoned; the error holds the data.
    pub fn into_inner(self) -> LockResult<T>
    where
        T: Sized,
    {
        let Mutex { poison, data, .. } = self;
        poison.judge(data.into_inner())
    }

    /// Mutable access to the data.
    ///
    /// # Errors
    /// If the mutex is poisoned; the error holds the data.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.judge(self.data.get_mut())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => out.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => out.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => out.field("data", &"<locked>"),
        };
        out.field("poisoned", &self.is_poisoned());
        out.finish_non_exhaustive()
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    pub(super) fn raw(&self) -> &'a RawMutex {
        &self.lock.raw
    }

    /// Records the data, for reports.
    pub(super) fn tell(&self) {
        self.lock.tell();
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.lock.poison.get()
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock, so nobody else reaches the data but through this guard.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock, and is borrowed mutably.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.tell();
        self.lock.poison.leave(&self.panicking);
        self.lock.raw.unlock();
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
