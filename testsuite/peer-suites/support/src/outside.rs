//! Data that a test gathers over all executions: they live where no execution can wipe them.

use std::collections::HashSet;
use std::hash::Hash;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, Mutex as Real, MutexGuard as RealGuard, PoisonError, TryLockError};

/// Stands for `std::sync::Mutex` around a tally. What is added to a collection is copied to the checker's side.
#[derive(Debug, Default)]
pub struct Mutex<T>(Real<T>);

impl<T> Mutex<T> {
    /// A free mutex.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(Real::new(value))
    }

    /// Takes the mutex.
    ///
    /// # Errors
    /// None; as for std's.
    ///
    /// # Panics
    /// On a model thread, if the mutex is held: all of those run on one thread of the operating system, which would
    /// wait for itself.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let guard = if dpor_scheduler::on_model_thread() {
            match self.0.try_lock() {
                Ok(guard) => guard,
                Err(TryLockError::Poisoned(error)) => error.into_inner(),
                Err(TryLockError::WouldBlock) => panic!("a tally is held at a scheduling point"),
            }
        } else {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        };
        Ok(MutexGuard(guard))
    }

    /// The value.
    ///
    /// # Errors
    /// None; as for std's.
    pub fn into_inner(self) -> LockResult<T> {
        Ok(self.0.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Stands for `std::sync::MutexGuard`. Collections are changed by the methods below.
#[derive(Debug)]
pub struct MutexGuard<'a, T>(RealGuard<'a, T>);

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Tally> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Eq + Hash + Clone> MutexGuard<'_, HashSet<T>> {
    /// `HashSet::insert`.
    pub fn insert(&mut self, value: T) -> bool {
        let new = !self.contains(&value);
        shim_std::outside(|| {
            self.0.insert(value.clone());
        });
        new
    }
}

impl<T: Clone> MutexGuard<'_, Vec<T>> {
    /// `Vec::push`.
    pub fn push(&mut self, value: T) {
        shim_std::outside(|| self.0.push(value.clone()));
    }
}

/// Types that own no memory, or take it only in [`call`].
pub trait Tally {}

impl Tally for bool {}
impl Tally for usize {}

/// Runs `f` on the checker's side.
pub fn call(f: impl FnOnce()) {
    shim_std::outside(f);
}
