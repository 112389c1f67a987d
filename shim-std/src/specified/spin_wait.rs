//! parking_lot_core's `SpinWait`: one round before it is time to park.
//!
//! How often a thread tries before it parks decides nothing but how soon it parks, and each count of rounds would be
//! another state. If an attempt that fails changes nothing, executions in which the thread tries again without success
//! are the same as that in which it tries once; those remain in which what it waits for comes before that attempt, or
//! after the thread has parked.

use dpor_scheduler::{Library, specified};

/// The number of rounds after which it is time to park.
const ROUNDS: u8 = 10;

/// What a thread does in a loop while it waits for others.
#[derive(Default)]
pub struct SpinWait {
    rounds: u8,
}

impl SpinWait {
    /// One that has not spun.
    #[inline]
    #[must_use]
    pub const fn new() -> SpinWait {
        SpinWait { rounds: 0 }
    }

    /// Goes back to one that has not spun.
    #[inline]
    pub const fn reset(&mut self) {
        self.rounds = 0;
    }

    /// Spins in a round that stands for all until it is time to park, and says whether it has: not if it is time.
    #[inline]
    #[track_caller]
    pub fn spin(&mut self) -> bool {
        specified(Library::SpinWait);
        if self.rounds >= ROUNDS {
            return false;
        }
        self.rounds = ROUNDS;
        crate::hint::spin_loop();
        true
    }

    /// Spins where the thread tries again because another one has come first.
    #[inline]
    #[track_caller]
    pub fn spin_no_yield(&mut self) {
        specified(Library::SpinWait);
        self.rounds = (self.rounds + 1).min(ROUNDS);
        crate::hint::spin_loop();
    }
}
