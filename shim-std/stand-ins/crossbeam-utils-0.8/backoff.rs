//! `Backoff`: whether it has backed off at all, in the place of how often.

use core::fmt;
use dpor_shim::specified;

/// Performs backoff in spin loops.
pub struct Backoff(specified::Backoff);

impl Backoff {
    /// Creates a new `Backoff`.
    #[inline]
    pub fn new() -> Self {
        Backoff(specified::Backoff::new())
    }

    /// Resets the `Backoff`.
    #[inline]
    pub fn reset(&self) {
        self.0.reset();
    }

    /// Backs off in a lock-free loop.
    #[inline]
    #[track_caller]
    pub fn spin(&self) {
        self.0.spin();
    }

    /// Backs off in a blocking loop.
    #[inline]
    #[track_caller]
    pub fn snooze(&self) {
        self.0.snooze();
    }

    /// Whether it is time to block the thread.
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.0.is_completed()
    }
}

impl fmt::Debug for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backoff")
            .field("is_completed", &self.is_completed())
            .finish_non_exhaustive()
    }
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff::new()
    }
}
