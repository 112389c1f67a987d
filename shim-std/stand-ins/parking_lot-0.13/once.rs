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
    pub const fn is_poisoned(self) -> bool {
        matches!(self, OnceState::Poisoned)
    }

    /// Alias for [`is_poisoned`](Self::is_poisoned).
    #[inline]
    pub const fn poisoned(self) -> bool {
        self.is_poisoned()
    }

    /// Whether a closure has completed.
    #[inline]
    pub const fn is_completed(self) -> bool {
        matches!(self, OnceState::Done)
    }

    /// Alias for [`is_completed`](Self::is_completed).
    #[inline]
    pub const fn done(self) -> bool {
        self.is_completed()
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

    /// A `Once` that has run.
    #[inline]
    pub const fn new_completed() -> Once {
        Once(specified::Once::new_completed())
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

    /// Whether a closure has completed.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.0.is_completed()
    }

    /// Waits until a closure has completed.
    #[track_caller]
    pub fn wait(&self) {
        self.0.wait();
    }

    /// Waits until a closure has completed, also after one that panicked.
    #[track_caller]
    pub fn wait_force(&self) {
        self.0.wait_force();
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
