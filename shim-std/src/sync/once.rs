//! `std::sync::Once`, the basis of `OnceLock` and `LazyLock`.
//!
//! Completion is final. Who finds a `Once` completed therefore needs no scheduling point: nothing that other
//! threads do later can change what it sees, so seeing it at once or later is the same. Only the access is
//! recorded. A thread that would have seen it incomplete comes to a point.

use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Word, access_of, location, observe, order,
    perform, read_final, release,
};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{Ordering, fence};

const RUNNING: i64 = -1;
const INCOMPLETE: i64 = 0;
const POISONED: i64 = 1;
const COMPLETE: i64 = 2;

/// `std::sync::Once`.
pub struct Once {
    state: Word,
}

impl UnwindSafe for Once {}
impl RefUnwindSafe for Once {}

/// `std::sync::OnceState`.
pub struct OnceState {
    poisoned: bool,
    /// As in std, it is not `Sync`.
    not_sync: PhantomData<Cell<bool>>,
}

/// The state of a `Once` that one thread has for itself.
#[derive(Clone, Copy)]
pub(super) enum Exclusive {
    Incomplete,
    Poisoned,
    Complete,
}

/// What a `Once` is doing, or has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It has not run.
    Incomplete,
    /// A run has panicked.
    Poisoned,
    /// A thread runs it.
    Running,
    /// It has run.
    Complete,
}

/// A [`Once`] that has not run.
#[deprecated(since = "1.38.0", note = "the `Once::new()` function is now preferred")]
#[expect(clippy::declare_interior_mutable_const, reason = "std's item")]
pub const ONCE_INIT: Once = Once::new();

/// The state that a caller finds when it is let in.
enum Entry {
    Complete,
    Poisoned,
    Run(OnceState),
}

/// Ends the run in which it was created, on return and on panic.
struct Completion<'a> {
    once: &'a Once,
    state: i64,
}

impl Drop for Completion<'_> {
    fn drop(&mut self) {
        let here = self.once.location();
        release(OperationKind::OnceEnd, here, |touch| {
            // With the fence of `completed`: what the run wrote is seen by who sees the state, also off model
            // threads.
            fence(Ordering::Release);
            self.once.state.set(self.state);
            touch.write(here);
        });
    }
}

impl Once {
    /// A `Once` that has not run.
    #[expect(clippy::new_without_default, reason = "as in std")]
    #[inline]
    #[must_use]
    pub const fn new() -> Once {
        Once {
            state: Word::new(INCOMPLETE),
        }
    }

    /// A `Once` that has run.
    pub(crate) const fn complete() -> Once {
        Once {
            state: Word::new(COMPLETE),
        }
    }

    pub(super) fn location(&self) -> Location {
        location(&self.state)
    }

    /// Whether it is known to be completed, now and for ever.
    fn completed(&self) -> bool {
        let completed = self.state.get() == COMPLETE;
        if completed {
            fence(Ordering::Acquire);
            read_final(self.location());
        }
        completed
    }

    /// Runs `f`, unless this or another call has run before; waits for one that is running.
    ///
    /// # Panics
    /// If a run has panicked.
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        self.call(false, |_| f());
    }

    /// Like [`Once::call_once`], but runs again after a run that panicked.
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        self.call(true, f);
    }

    #[track_caller]
    fn call(&self, ignore_poisoning: bool, f: impl FnOnce(&OnceState)) {
        if self.completed() {
            return;
        }
        let here = self.location();
        let accesses = [access_of(here, AccessKind::Write)];
        let idle = [Guard::when(Condition::AtLeast(self.state.variable(), INCOMPLETE))];
        let entry = perform(
            &Operation::guarded(OperationKind::OnceBegin, here, &accesses, &idle),
            |_, touch| {
                let state = self.state.get();
                let entry = match state {
                    COMPLETE => Entry::Complete,
                    POISONED if !ignore_poisoning => Entry::Poisoned,
                    _ => Entry::Run(OnceState {
                        poisoned: state == POISONED,
                        not_sync: PhantomData,
                    }),
                };
                if let Entry::Run(_) = entry {
                    self.state.set(RUNNING);
                    touch.relaxed().write(here);
                } else {
                    touch.relaxed().read(here);
                }
                // Whoever runs it after a run that has failed comes after that.
                order::acquire(here);
                entry
            },
        );
        match entry {
            Entry::Complete => {}
            Entry::Poisoned => panic!("Once instance has previously been poisoned"),
            Entry::Run(state) => {
                let mut completion = Completion {
                    once: self,
                    state: POISONED,
                };
                f(&state);
                completion.state = COMPLETE;
            }
        }
    }

    /// Whether a run has completed.
    #[inline]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        // Even where it is complete: the moment before must exist in some execution.
        observe(self.location());
        self.completed() || self.query()
    }

    #[track_caller]
    fn query(&self) -> bool {
        self.look() == COMPLETE
    }

    /// What it is doing, or has done.
    #[track_caller]
    pub(crate) fn stage(&self) -> Stage {
        observe(self.location());
        match if self.completed() { COMPLETE } else { self.look() } {
            RUNNING => Stage::Running,
            INCOMPLETE => Stage::Incomplete,
            POISONED => Stage::Poisoned,
            _ => Stage::Complete,
        }
    }

    #[track_caller]
    fn look(&self) -> i64 {
        let here = self.location();
        let accesses = [access_of(here, AccessKind::Read)];
        perform(
            &Operation::always(OperationKind::OnceQuery, here, &accesses),
            |_, touch| {
                touch.relaxed().read(here);
                // With the fence, and after what the run has done, if it is complete.
                self.completed();
                self.state.get()
            },
        )
    }

    /// Waits until a run has completed.
    ///
    /// # Panics
    /// If a run has panicked.
    #[track_caller]
    pub fn wait(&self) {
        if !self.completed() && !self.wait_for(POISONED) {
            panic!("Once instance has previously been poisoned");
        }
    }

    /// Waits until a run has completed, also after one that panicked.
    #[track_caller]
    pub fn wait_force(&self) {
        if !self.completed() {
            self.wait_for(COMPLETE);
        }
    }

    /// Waits until the state is at least `state`; says whether a run has completed.
    #[track_caller]
    fn wait_for(&self, state: i64) -> bool {
        let here = self.location();
        let accesses = [access_of(here, AccessKind::Read)];
        let reached = [Guard::when(Condition::AtLeast(self.state.variable(), state))];
        perform(
            &Operation::guarded(OperationKind::OnceWait, here, &accesses, &reached),
            |_, touch| {
                touch.relaxed().read(here);
                order::acquire(here);
                self.state.get() == COMPLETE
            },
        )
    }

    pub(super) fn exclusive(&mut self) -> Exclusive {
        match self.state.get() {
            COMPLETE => Exclusive::Complete,
            POISONED => Exclusive::Poisoned,
            _ => Exclusive::Incomplete,
        }
    }

    pub(super) fn set_exclusive(&mut self, state: Exclusive) {
        self.state = Word::new(match state {
            Exclusive::Complete => COMPLETE,
            Exclusive::Poisoned => POISONED,
            Exclusive::Incomplete => INCOMPLETE,
        });
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl OnceState {
    /// Whether an earlier run panicked.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState")
            .field("poisoned", &self.is_poisoned())
            .finish()
    }
}
