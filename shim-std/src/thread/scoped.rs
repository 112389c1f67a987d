//! `std::thread::scope`.

use super::builder::Builder;
use super::current::current;
use super::handle::Thread;
use super::lifecycle::JoinInner;
use dpor_scheduler::{
    AccessKind, Awaits, Condition, Guard, Location, Operation, OperationKind, Word, access, access_awaiting, awaiting,
    location, ownership, perform, release,
};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Result;

/// `std::thread::Scope`.
pub struct Scope<'scope, 'env: 'scope> {
    data: Arc<ScopeData>,
    /// Invariance over both lifetimes, as in std: without it the scope could shrink to one that ends before the
    /// threads do.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// `std::thread::ScopedJoinHandle`.
pub struct ScopedJoinHandle<'scope, T>(JoinInner<'scope, T>);

/// What a scope shares with its threads.
pub(super) struct ScopeData {
    running: Word,
    a_thread_panicked: AtomicBool,
    main_thread: Thread,
}

impl ScopeData {
    fn location(&self) -> Location {
        location(&self.running)
    }

    /// Changes the number of running threads. Spawns and ends commute: the scope only waits for the last.
    fn count(&self, change: i64) {
        release(OperationKind::ScopeExit, self.location(), || {
            self.running.set(self.running.get() + change);
            access(self.location(), AccessKind::Update);
        });
    }

    pub(super) fn thread_started(&self) {
        self.count(1);
    }

    pub(super) fn thread_finished(&self) {
        ownership::leave(self.location());
        self.count(-1);
    }

    /// A thread's panic was not seen by anybody who joined it.
    pub(super) fn note_panic(&self) {
        self.a_thread_panicked.store(true, Ordering::Relaxed);
    }

    #[track_caller]
    fn wait(&self) {
        let accesses = [awaiting(self.location(), AccessKind::Read, Awaits::AllWrites)];
        let over = [Guard::when(Condition::Equals(self.running.variable(), 0))];
        perform(
            &Operation::guarded(OperationKind::Join, self.location(), &accesses, &over),
            |_| {
                access_awaiting(self.location(), AccessKind::Read, Awaits::AllWrites);
            },
        );
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
        a_thread_panicked: AtomicBool::new(false),
        main_thread: current(),
    };
    let scope = Scope {
        data: Arc::new(data),
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
    pub(super) fn data(&self) -> Arc<ScopeData> {
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
