//! `std::thread::scope`.
//!
//! std's scope waits by parking its owner, whom the thread that brings the number of running threads to 0 unparks: a
//! wait can take the owner's park token, and leave one. That is modelled where the owner parks otherwise (see
//! [`Thread::lend_token`]), step by step as std does it. Elsewhere the wait is one step, and ends of threads are
//! releases.

use super::builder::Builder;
use super::current::current;
use super::handle::Thread;
use super::lifecycle::JoinInner;
use crate::share::Shared;
use dpor_scheduler::{
    AccessKind, Awaits, Condition, Guard, Location, Operation, OperationKind, Touch, Word, access_of, awaiting,
    location, ownership, perform, release,
};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Result;

/// `std::thread::Scope`.
pub struct Scope<'scope, 'env: 'scope> {
    data: Shared<ScopeData>,
    /// Invariance over both lifetimes, as in std: without it the scope could shrink to one that ends before the
    /// threads do.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// `std::thread::ScopedJoinHandle`.
pub struct ScopedJoinHandle<'scope, T>(JoinInner<'scope, T>);

/// The part that a scope shares with its threads.
pub(super) struct ScopeData {
    running: Word,
    /// Number of handles that are alive, or leaked.
    handles: AtomicUsize,
    a_thread_panicked: AtomicBool,
    main_thread: Thread,
}

impl ScopeData {
    fn location(&self) -> Location {
        location(&self.running)
    }

    /// Changes the number of running threads. Spawns and ends commute: the scope only waits for the last.
    fn count(&self, change: i64) {
        release(OperationKind::ScopeExit, self.location(), |touch| {
            self.running.set(self.running.get() + change);
            touch.update(self.location());
        });
    }

    pub(super) fn thread_started(&self) {
        self.main_thread.lend_token();
        self.count(1);
    }

    /// Counts a new handle for a thread.
    pub(super) fn handle_made(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes a handle. `over` says that its thread has ended before.
    #[track_caller]
    pub(super) fn handle_gone(&self, over: bool) {
        self.handles.fetch_sub(1, Ordering::Relaxed);
        if over {
            self.thread_over();
        }
    }

    /// Drops one of the two shares of a thread's result, that of the thread and that of its handle. Says whether the
    /// other one is already gone: then the thread no longer counts, which the caller announces with
    /// [`ScopeData::thread_over`].
    #[track_caller]
    pub(super) fn leave(&self, shares: &Word) -> bool {
        if !self.main_thread.has_modelled_token() {
            return false;
        }
        let here = location(shares);
        let accesses = [access_of(here, AccessKind::Write)];
        perform(
            &Operation::always(OperationKind::LeaveScope, here, &accesses),
            |_, touch| {
                shares.set(shares.get() - 1);
                touch.write(here);
                shares.get() == 0
            },
        )
    }

    /// Removes a thread that has ended and whose handle is gone.
    #[track_caller]
    fn thread_over(&self) {
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let last = perform(
            &Operation::always(OperationKind::LeaveScope, self.location(), &accesses),
            |_, touch| {
                self.running.set(self.running.get() - 1);
                touch.write(self.location());
                self.running.get() == 0
            },
        );
        if last {
            self.main_thread.wake(self.location(), |_| ());
        }
    }

    /// Records that the current thread is one for whose end the scope waits.
    pub(super) fn will_end(&self) {
        ownership::will_end_at(self.location());
    }

    /// Records that the function of a thread has returned, and its result is available. `over` says that its handle is
    /// gone.
    pub(super) fn thread_finished(&self, over: bool) {
        ownership::leave(self.location());
        match self.main_thread.has_modelled_token() {
            false => self.count(-1),
            true if over => self.thread_over(),
            true => {}
        }
    }

    /// Records a thread's panic that nobody who joined it has seen.
    pub(super) fn note_panic(&self) {
        self.a_thread_panicked.store(true, Ordering::Relaxed);
    }

    #[track_caller]
    fn wait(&self) {
        if self.main_thread.has_modelled_token() {
            self.wait_parked();
            return;
        }
        let accesses = [awaiting(self.location(), AccessKind::Read, Awaits::AllWrites)];
        let over = [Guard::when(Condition::Equals(self.running.variable(), 0))];
        perform(
            &Operation::guarded(OperationKind::Join, self.location(), &accesses, &over),
            |_, touch| {
                touch.awaiting(self.location(), AccessKind::Read, Awaits::AllWrites);
            },
        );
        ownership::waited_for(self.location());
        // All threads have ended, and with them whoever else could drop a handle. In std a thread counts until its
        // handle is gone, so that of a leaked one is waited for in vain.
        if self.handles.load(Ordering::Relaxed) > 0 {
            let never = [Guard::when(Condition::AtLeast(self.running.variable(), 1))];
            let accesses = [access_of(self.location(), AccessKind::Read)];
            perform(
                &Operation::guarded(OperationKind::Join, self.location(), &accesses, &never),
                |_, _| (),
            );
        }
    }

    #[track_caller]
    fn wait_parked(&self) {
        let accesses = [access_of(self.location(), AccessKind::Read)];
        let look = Operation::always(OperationKind::LookAtScope, self.location(), &accesses);
        let over = |touch: Touch<'_>| {
            touch.read(self.location());
            self.running.get() == 0
        };
        while !perform(&look, |_, touch| over(touch)) {
            self.main_thread
                .park_in_wait(OperationKind::ScopeWait, self.location(), None);
        }
        ownership::waited_for(self.location());
    }
}

/// `std::thread::scope`.
///
/// # Panics
/// If `f` panics, or a thread of the scope does that was not joined.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let data = ScopeData {
        running: Word::new(0),
        handles: AtomicUsize::new(0),
        a_thread_panicked: AtomicBool::new(false),
        main_thread: current(),
    };
    let scope = Scope {
        data: Shared::new(data),
        scope: PhantomData,
        env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    scope.data.wait();
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if scope.data.a_thread_panicked.load(Ordering::Relaxed) => panic!("a scoped thread panicked"),
        Ok(result) => result,
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    pub(super) fn data(&self) -> Shared<ScopeData> {
        self.data.clone()
    }

    /// Spawns a thread that ends before the scope does.
    ///
    /// # Panics
    /// If no thread can be created.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, f).expect("failed to spawn thread")
    }
}

impl<'scope, T> ScopedJoinHandle<'scope, T> {
    pub(super) fn new(inner: JoinInner<'scope, T>) -> Self {
        ScopedJoinHandle(inner)
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// Waits for the thread to end.
    ///
    /// # Errors
    /// What the thread panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    /// Whether the thread's function has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("num_running_threads", &self.data.running.get())
            .field(
                "a_thread_panicked",
                &self.data.a_thread_panicked.load(Ordering::Relaxed),
            )
            .field("main_thread", &self.data.main_thread)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
