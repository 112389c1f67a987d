//! `shuttle::future::batch_semaphore`, as far as threads use it.

use shim_std::sync::{Condvar, Mutex};
use std::sync::PoisonError;

/// `shuttle::future::batch_semaphore::Fairness`. Of no effect: any order of waiters is explored.
#[derive(Clone, Copy, Debug)]
pub enum Fairness {
    /// First come, first served.
    StrictlyFair,
    /// Anybody.
    Unfair,
}

/// `shuttle::future::batch_semaphore::AcquireError`.
#[derive(Clone, Copy, Debug)]
pub struct AcquireError(());

/// `shuttle::future::batch_semaphore::BatchSemaphore`.
#[derive(Debug)]
pub struct BatchSemaphore {
    permits: Mutex<usize>,
    released: Condvar,
}

impl BatchSemaphore {
    /// Creates a semaphore with this number of permits.
    #[must_use]
    pub fn new(permits: usize, _fairness: Fairness) -> BatchSemaphore {
        BatchSemaphore {
            permits: Mutex::new(permits),
            released: Condvar::new(),
        }
    }

    /// Waits for this number of permits, and takes them.
    ///
    /// # Errors
    /// None.
    #[track_caller]
    pub fn acquire_blocking(&self, permits: usize) -> Result<(), AcquireError> {
        let mut free = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        while *free < permits {
            free = self.released.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= permits;
        Ok(())
    }

    /// Gives permits back.
    #[track_caller]
    pub fn release(&self, permits: usize) {
        *self.permits.lock().unwrap_or_else(PoisonError::into_inner) += permits;
        self.released.notify_all();
    }
}
