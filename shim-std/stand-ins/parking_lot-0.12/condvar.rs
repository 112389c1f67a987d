//! The condition variable: one operation of the checker for each call.

use crate::mutex::MutexGuard;
use dpor_shim::specified::{self, until};
use std::fmt;
use std::time::{Duration, Instant};

/// Says whether a wait on a condition variable has timed out.
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait has timed out.
    #[inline]
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// A condition variable.
pub struct Condvar(specified::Condvar);

impl Condvar {
    /// A condition variable without waiters.
    #[inline]
    pub const fn new() -> Condvar {
        Condvar(specified::Condvar::new())
    }

    /// Wakes one of the waiters; says whether there was one.
    #[track_caller]
    pub fn notify_one(&self) -> bool {
        self.0.notify_one()
    }

    /// Wakes all waiters; returns their number.
    #[track_caller]
    pub fn notify_all(&self) -> usize {
        self.0.notify_all()
    }

    #[track_caller]
    fn wait_within<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, timeout: Option<Duration>) -> WaitTimeoutResult {
        // SAFETY: the mutex is held, as it was, when this returns, and when it panics.
        let mutex = unsafe { MutexGuard::mutex(guard).raw() };
        WaitTimeoutResult(self.0.wait(mutex.specified(), timeout))
    }

    /// Waits to be notified.
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_within(guard, None);
    }

    /// Waits to be notified, until the deadline.
    #[track_caller]
    pub fn wait_until<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, deadline: Instant) -> WaitTimeoutResult {
        self.wait_within(guard, Some(until(deadline)))
    }

    /// Waits to be notified, for at most this time.
    #[track_caller]
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) -> WaitTimeoutResult {
        self.wait_within(guard, Some(timeout))
    }

    #[track_caller]
    fn wait_while_until_internal<T, F>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: F,
        deadline: Option<Instant>,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        let mut result = WaitTimeoutResult(false);
        while !result.timed_out() && condition(&mut **guard) {
            result = self.wait_within(guard, deadline.map(until));
        }
        result
    }

    /// Waits as long as the condition holds.
    #[track_caller]
    pub fn wait_while<T, F>(&self, guard: &mut MutexGuard<'_, T>, condition: F)
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_until_internal(guard, condition, None);
    }

    /// Waits as long as the condition holds, until the deadline.
    #[track_caller]
    pub fn wait_while_until<T, F>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: F,
        deadline: Instant,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_until_internal(guard, condition, Some(deadline))
    }

    /// Waits as long as the condition holds, for at most this time.
    #[track_caller]
    pub fn wait_while_for<T: ?Sized, F>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult
    where
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_until_internal(guard, condition, Instant::now().checked_add(timeout))
    }
}

impl Default for Condvar {
    #[inline]
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Condvar { .. }")
    }
}
