//! `std::sync::RwLock`.
//!
//! Neither readers nor writers are preferred: whoever may have the lock may get it, and a thread may read
//! twice. Readers coming and going are `Update`s of the lock, so they commute with each other.

use super::poison::{Flag, Panicking};
use crate::show::tell_value;
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Touch, Word, access_of, location, note, observe,
    order, perform, release,
};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::forget;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

const WRITTEN: i64 = -1;

/// The lock without its data: the number of readers, or [`WRITTEN`].
struct RawRwLock {
    holders: Word,
}

impl RawRwLock {
    fn location(&self) -> Location {
        location(&self.holders)
    }

    /// Adds `change` readers in the current step.
    fn count(&self, change: i64, touch: Touch<'_>) {
        self.holders.set(self.holders.get() + change);
        touch.relaxed().update(self.location());
    }

    fn set(&self, holders: i64, touch: Touch<'_>) {
        self.holders.set(holders);
        touch.relaxed().write(self.location());
    }

    /// Makes the current thread a reader, in the current step.
    fn enter(&self, touch: Touch<'_>) {
        self.count(1, touch);
        order::read_locked(self.location());
    }

    /// Makes the current thread the writer, in the current step.
    fn enter_alone(&self, touch: Touch<'_>) {
        self.set(WRITTEN, touch);
        order::write_locked(self.location());
    }

    /// Ends the writer's turn, in the current step.
    fn leave(&self, holders: i64, touch: Touch<'_>) {
        order::write_unlocked(self.location());
        self.set(holders, touch);
    }

    #[track_caller]
    fn read(&self) {
        let accesses = [access_of(self.location(), AccessKind::Update)];
        let guards = [Guard::when(Condition::AtLeast(self.holders.variable(), 0))];
        let operation = Operation::guarded(OperationKind::ReadLock, self.location(), &accesses, &guards);
        perform(&operation, |_, touch| self.enter(touch));
    }

    #[track_caller]
    fn write(&self) {
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let guards = [Guard::when(Condition::Equals(self.holders.variable(), 0))];
        let operation = Operation::guarded(OperationKind::WriteLock, self.location(), &accesses, &guards);
        perform(&operation, |_, touch| self.enter_alone(touch));
    }

    #[track_caller]
    fn try_read(&self) -> bool {
        observe(self.location());
        let accesses = [access_of(self.location(), AccessKind::Write)];
        perform(
            &Operation::always(OperationKind::TryReadLock, self.location(), &accesses),
            |_, touch| {
                let admitted = self.holders.get() != WRITTEN;
                if admitted {
                    self.enter(touch)
                } else {
                    self.refuse(touch)
                }
                admitted
            },
        )
    }

    #[track_caller]
    fn try_write(&self) -> bool {
        observe(self.location());
        let accesses = [access_of(self.location(), AccessKind::Write)];
        perform(
            &Operation::always(OperationKind::TryWriteLock, self.location(), &accesses),
            |_, touch| {
                let admitted = self.holders.get() == 0;
                if admitted {
                    self.enter_alone(touch)
                } else {
                    self.refuse(touch)
                }
                admitted
            },
        )
    }

    fn refuse(&self, touch: Touch<'_>) {
        touch.relaxed().read(self.location());
        note(|| "would block".to_string());
    }

    fn unlock_read(&self) {
        release(OperationKind::ReadUnlock, self.location(), |touch| {
            order::read_unlocked(self.location());
            self.count(-1, touch)
        });
    }

    fn unlock_write(&self) {
        release(OperationKind::WriteUnlock, self.location(), |touch| {
            self.leave(0, touch)
        });
    }

    #[track_caller]
    fn downgrade(&self) {
        release(OperationKind::Downgrade, self.location(), |touch| self.leave(1, touch));
    }
}

/// `std::sync::RwLock`.
pub struct RwLock<T: ?Sized> {
    raw: RawRwLock,
    poison: Flag,
    data: UnsafeCell<T>,
}

// SAFETY: a lock owns its data.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: the data is shared by readers (`Sync`) or reached by one writer, who may move it (`Send`).
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

/// `std::sync::RwLockReadGuard`.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'rwlock, T: ?Sized + 'rwlock> {
    /// A pointer, so that the guard is covariant in `T` as in std; it also keeps the guard from being `Send`.
    data: NonNull<T>,
    raw: &'rwlock RawRwLock,
}

// SAFETY: a shared guard gives out shared references to the data only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

/// `std::sync::RwLockWriteGuard`.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'rwlock, T: ?Sized + 'rwlock> {
    lock: &'rwlock RwLock<T>,
    panicking: Panicking,
    /// As in std, a guard is not `Send`.
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references to the data only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T> RwLock<T> {
    /// A new, free lock.
    #[inline]
    pub const fn new(value: T) -> RwLock<T> {
        RwLock {
            raw: RawRwLock { holders: Word::new(0) },
            poison: Flag::new(),
            data: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock for reading; blocks until no writer has it.
    ///
    /// # Errors
    /// If the lock is poisoned; the error holds the guard.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.raw.read();
        self.read_guard()
    }

    /// Takes the lock for reading if no writer has it.
    ///
    /// # Errors
    /// If a writer has it; or if it is poisoned, and then the error holds the guard.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        if self.raw.try_read() {
            Ok(self.read_guard()?)
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    /// Takes the lock for writing; blocks until nobody has it.
    ///
    /// # Errors
    /// If the lock is poisoned; the error holds the guard.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.raw.write();
        self.write_guard()
    }

    /// Takes the lock for writing if nobody has it.
    ///
    /// # Errors
    /// If somebody has it; or if it is poisoned, and then the error holds the guard.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        if self.raw.try_write() {
            Ok(self.write_guard()?)
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    /// Records the data, for reports. The caller has the lock.
    fn tell(&self) {
        // SAFETY: who has the lock may read the data.
        tell_value(self.raw.location(), unsafe { &*self.data.get() });
    }

    fn read_guard(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.tell();
        // SAFETY: `UnsafeCell::get` never returns null.
        let data = unsafe { NonNull::new_unchecked(self.data.get()) };
        self.poison.judge(RwLockReadGuard { data, raw: &self.raw })
    }

    fn write_guard(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.tell();
        self.poison.judge(RwLockWriteGuard {
            lock: self,
            panicking: self.poison.enter(),
            not_send: PhantomData,
        })
    }

    /// Whether the lock is poisoned.
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
    /// If the lock is poisoned; the error holds the data.
    pub fn into_inner(self) -> LockResult<T>
    where
        T: Sized,
    {
        let RwLock { poison, data, .. } = self;
        poison.judge(data.into_inner())
    }

    /// Mutable access to the data.
    ///
    /// # Errors
    /// If the lock is poisoned; the error holds the data.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.judge(self.data.get_mut())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => out.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => out.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => out.field("data", &format_args!("<locked>")),
        };
        out.field("poisoned", &self.is_poisoned());
        out.finish_non_exhaustive()
    }
}

impl<'rwlock, T: ?Sized> RwLockWriteGuard<'rwlock, T> {
    /// Turns the write lock into a read lock; no other writer comes in between.
    #[track_caller]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'rwlock, T> {
        let lock = s.lock;
        // As in std, a downgrade does not poison.
        forget(s);
        lock.raw.downgrade();
        lock.read_guard().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.raw.unlock_read();
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.tell();
        self.lock.poison.leave(&self.panicking);
        self.lock.raw.unlock_write();
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock for reading, so nobody writes, and the lock outlives it.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock, so nobody else reaches the data but through this guard.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock, and is borrowed mutably.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
