//! crossbeam's `Backoff`: whether a thread has backed off, and not how often.
//!
//! How long a thread spins before it blocks decides nothing but how soon it blocks, and each count of rounds would be
//! another state. After the first round it is time to block: of the executions in which a thread goes round more often
//! before, those remain in which what it waits for comes at once, or after it has blocked.

use dpor_scheduler::{Library, specified};
use std::cell::Cell;
use std::fmt;

/// What a thread does in a loop while it waits for others.
#[derive(Default)]
pub struct Backoff {
    has_backed_off: Cell<bool>,
}

impl Backoff {
    /// One that has not backed off.
    #[inline]
    #[must_use]
    pub const fn new() -> Backoff {
        Backoff {
            has_backed_off: Cell::new(false),
        }
    }

    /// Goes back to one that has not backed off.
    #[inline]
    pub fn reset(&self) {
        self.has_backed_off.set(false);
    }

    /// Backs off where the thread tries again because another one has come first.
    #[inline]
    #[track_caller]
    pub fn spin(&self) {
        self.backs_off();
        crate::hint::spin_loop();
    }

    /// Backs off where the thread waits for another one.
    #[inline]
    #[track_caller]
    pub fn snooze(&self) {
        self.backs_off();
        crate::thread::yield_now();
    }

    #[inline]
    fn backs_off(&self) {
        specified(Library::Backoff);
        self.has_backed_off.set(true);
    }

    /// Whether it is time to block.
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.has_backed_off.get()
    }
}

impl fmt::Debug for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Backoff");
        debug
            .field("is_completed", &self.is_completed())
            .finish_non_exhaustive()
    }
}
