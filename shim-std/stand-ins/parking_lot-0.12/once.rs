//! `Once`: one operation of the checker for each call.

use dpor_shim::specified::{self, Stage};
use std::fmt;

/// Current state of a `Once`.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum OnceState {
    /// A closure has not been executed yet.
    New,
    /// A closure was executed but panicked.
    Poisoned,
    /// A thread is currently executing a closure.
    InProgress,
    /// A closure has completed successfully.
    Done,
}

impl OnceState {
    fn before(poisoned: bool) -> OnceState {
        if poisoned { OnceState::Poisoned } else { OnceState::New }
    }

    /// Whether a closure has panicked.
    #[inline]
    pub fn poisoned(self) -> bool {
        matches!(self, OnceState::Poisoned)
    }

    /// Whether a closure has completed.
    #[inline]
    pub fn done(self) -> bool {
        matches!(self, OnceState::Done)
    }
}

/// A closure that runs once.
pub struct Once(specified::Once);

impl Once {
    /// A `Once` that has not run.
    #[inline]
    pub const fn new() -> Once {
        Once(specified::Once::new())
    }

    /// What it is doing, or has done.
    #[track_caller]
    pub fn state(&self) -> OnceState {
        match self.0.stage() {
            Stage::Incomplete => OnceState::New,
            Stage::Poisoned => OnceState::Poisoned,
            Stage::Running => OnceState::InProgress,
            Stage::Complete => OnceState::Done,
        }
    }

    /// Runs the closure, unless one has run before; waits for one that is running.
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        self.0.call_once(f);
    }

    /// Like [`Once::call_once`], but runs the closure also after one that panicked.
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(OnceState),
    {
        self.0.call_once_force(|poisoned| f(OnceState::before(poisoned)));
    }
}

impl Default for Once {
    #[inline]
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("state", &self.state()).finish()
    }
}
