//! Handles of threads: `Thread` and `ThreadId`.

use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Word, access, access_of, location, note,
    on_model_thread, options, perform, stands_for, time,
};
use std::ffi::CString;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// `std::thread::ThreadId`.
#[derive(Eq, PartialEq, Clone, Copy, Hash, Debug)]
pub struct ThreadId(NonZero<u64>);

impl ThreadId {
    /// The id of a model thread: its number, from 1, the same in every execution.
    pub(super) fn of_model(thread: dpor_scheduler::ThreadId) -> ThreadId {
        ThreadId(NonZero::<u64>::MIN.saturating_add(u64::from(thread.0)))
    }

    /// A new id for a real thread, above those of model threads.
    pub(super) fn of_real() -> ThreadId {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        ThreadId(NonZero::<u64>::MIN.saturating_add(1 << 32).saturating_add(number))
    }

    pub(super) fn number(self) -> u64 {
        self.0.get()
    }

    pub(super) fn from_number(number: u64) -> Option<ThreadId> {
        NonZero::new(number).map(ThreadId)
    }
}

/// What the handles of one thread share.
struct Inner {
    /// The thread's id; 0 until a model thread that is being created knows its own.
    id: AtomicU64,
    name: Option<CString>,
    /// 1 when `park` need not block.
    token: Word,
    /// 1 when the thread's function has returned and its result is there.
    finished: Word,
    /// 1 when the thread has destroyed its thread-locals as well.
    exited: Word,
}

/// `std::thread::Thread`.
#[derive(Clone)]
pub struct Thread {
    inner: Arc<Inner>,
}

impl Thread {
    /// A handle of a thread.
    ///
    /// # Panics
    /// If the name contains a nul byte.
    #[track_caller]
    pub(super) fn new(id: Option<ThreadId>, name: Option<String>) -> Thread {
        let name = name.map(|name| CString::new(name).expect("thread name may not contain interior null bytes"));
        let id = AtomicU64::new(id.map_or(0, ThreadId::number));
        let (token, finished, exited) = (Word::new(0), Word::new(0), Word::new(0));
        Thread {
            inner: Arc::new(Inner {
                id,
                name,
                token,
                finished,
                exited,
            }),
        }
    }

    /// Tells a report whose handle this is.
    pub(super) fn tell(&self, id: dpor_scheduler::ThreadId) {
        stands_for(self.location(), id);
        stands_for(location(&self.inner.exited), id);
    }

    pub(super) fn set_id(&self, id: ThreadId) {
        self.inner.id.store(id.number(), Ordering::Relaxed);
    }

    pub(super) fn finished(&self) -> &Word {
        &self.inner.finished
    }

    pub(super) fn exited(&self) -> &Word {
        &self.inner.exited
    }

    fn location(&self) -> Location {
        location(&self.inner.token)
    }

    /// Makes the thread's next, or present, `park` return.
    #[track_caller]
    pub fn unpark(&self) {
        let accesses = [access_of(self.location(), AccessKind::Write)];
        perform(
            &Operation::always(OperationKind::Unpark, self.location(), &accesses),
            |_| {
                if self.inner.token.get() == 1 {
                    access(self.location(), AccessKind::Read);
                } else {
                    self.inner.token.set(1);
                    access(self.location(), AccessKind::Write);
                }
            },
        );
    }

    /// Blocks the calling thread, whose handle this is, until there is a token, the timeout fires or, by option,
    /// it wakes spuriously.
    #[track_caller]
    pub(super) fn park(&self, timeout: Option<Duration>) {
        let token = self.inner.token.variable();
        let absent = || Guard::when(Condition::Equals(token, 0));
        let alternatives = [Guard::when(Condition::Equals(token, 1)), absent(), absent()];
        let spurious = on_model_thread() && options().spurious_wakeups;
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let operation = Operation {
            kind: if timeout.is_some() {
                OperationKind::ParkTimeout
            } else {
                OperationKind::Park
            },
            object: self.location(),
            accesses: &accesses,
            alternatives: &alternatives[..1 + usize::from(timeout.is_some()) + usize::from(spurious)],
            timeout: timeout.map(|after| (1, after)),
        };
        let chosen = perform(&operation, |alternative| {
            if alternative == 0 {
                self.inner.token.set(0);
                access(self.location(), AccessKind::Write);
            } else {
                access(self.location(), AccessKind::Read);
            }
            alternative
        });
        if chosen == 0 {
            return;
        }
        match timeout.filter(|_| chosen == 1) {
            Some(after) => {
                note(|| "timed out".to_string());
                time::advance(after);
            }
            None => note(|| "woke spuriously".to_string()),
        }
    }

    /// The thread's id.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        ThreadId::from_number(self.inner.id.load(Ordering::Relaxed)).unwrap_or(ThreadId(NonZero::<u64>::MAX))
    }

    /// The thread's name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.inner.name.as_deref().and_then(|name| name.to_str().ok())
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
