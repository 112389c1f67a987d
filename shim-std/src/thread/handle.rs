//! Thread handles: `Thread` and `ThreadId`.

use crate::share::Shared;
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, ModelOption, Operation, OperationKind, Touch, Word, access_of, is_observed,
    location, note, observe_each, on_model_thread, options, order, perform, stands_for, sub_location, time,
};
use std::ffi::CString;
use std::fmt;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// `std::thread::ThreadId`.
#[derive(Eq, PartialEq, Clone, Copy, Hash, Debug)]
pub struct ThreadId(NonZero<u64>);

impl ThreadId {
    /// The id of a model thread: its number, counted from 1, the same in every execution.
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

/// The part of a thread's token that stands for std's use of it.
const LENT_TOKEN: u64 = 0xF0C7;

/// Stands for the tokens of all threads.
const SOME_TOKEN: Location = Location((LENT_TOKEN + 1) << 48);

/// Whether the token of some thread is part of the model in std's waits.
pub(crate) fn tokens_are_modelled() -> bool {
    on_model_thread() && is_observed(SOME_TOKEN)
}

/// Why a parked thread goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Woken {
    ByToken,
    ByTimeout,
    Spuriously,
}

/// The part that the handles of one thread share.
struct Inner {
    /// The thread's id; 0 until a model thread that is being created knows its own.
    id: AtomicU64,
    name: Option<CString>,
    /// 1 when `park` need not block.
    token: Word,
    /// Whether a wait of std may have taken the token, or left one.
    lent: AtomicBool,
    /// 1 when the thread's function has returned and its result is available.
    finished: Word,
    /// 1 when the thread has destroyed its thread-locals as well.
    exited: Word,
}

/// `std::thread::Thread`.
#[derive(Clone)]
pub struct Thread {
    inner: Shared<Inner>,
}

impl Thread {
    /// Creates a handle of a thread.
    ///
    /// # Panics
    /// If the name contains a nul byte.
    #[track_caller]
    pub(super) fn new(id: Option<ThreadId>, name: Option<String>) -> Thread {
        let name = name.map(|name| CString::new(name).expect("thread name may not contain interior null bytes"));
        let id = AtomicU64::new(id.map_or(0, ThreadId::number));
        let (token, finished, exited) = (Word::new(0), Word::new(0), Word::new(0));
        Thread {
            inner: Shared::new(Inner {
                id,
                name,
                token,
                lent: AtomicBool::new(false),
                finished,
                exited,
            }),
        }
    }

    /// Records for reports whose handle this is.
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
            |_, touch| self.give_token(touch),
        );
    }

    /// Unparks the thread when std ends a wait. `done` is part of the same step, and touches a second location.
    #[track_caller]
    pub(crate) fn wake<R>(&self, besides: Location, done: impl FnOnce(Touch<'_>) -> R) -> R {
        let accesses = [self.location(), besides].map(|location| access_of(location, AccessKind::Write));
        perform(
            &Operation::always(OperationKind::WakeThread, self.location(), &accesses),
            |_, touch| {
                self.give_token(touch);
                done(touch)
            },
        )
    }

    /// Leaves a token, in the current step.
    fn give_token(&self, touch: Touch<'_>) {
        // Also where the token is there already: whoever takes it comes after all that have given it.
        order::release(self.location());
        if self.inner.token.get() == 1 {
            touch.relaxed().read(self.location());
        } else {
            self.inner.token.set(1);
            touch.relaxed().write(self.location());
        }
    }

    /// Blocks the calling thread, whose handle this is, until there is a token, the timeout fires or, with the option
    /// for it, it wakes spuriously.
    #[track_caller]
    pub(super) fn park(&self, timeout: Option<Duration>) {
        self.look_for_lent_token();
        let kind = match timeout {
            Some(_) => OperationKind::ParkTimeout,
            None => OperationKind::Park,
        };
        let spurious = on_model_thread() && options().has(ModelOption::SpuriousWakeups);
        match self.take_token(kind, self.location(), timeout, spurious) {
            Woken::ByToken => {}
            Woken::ByTimeout => {
                note(|| "timed out".to_string());
                time::timed_out(timeout.unwrap_or_default());
            }
            Woken::Spuriously => note(|| "woke spuriously".to_string()),
        }
    }

    /// Parks the calling thread, whose handle this is, inside a wait of std. Says whether the timeout has fired.
    #[track_caller]
    pub(crate) fn park_in_wait(&self, kind: OperationKind, object: Location, timeout: Option<Duration>) -> bool {
        self.take_token(kind, object, timeout, false) == Woken::ByTimeout
    }

    #[track_caller]
    fn take_token(&self, kind: OperationKind, object: Location, timeout: Option<Duration>, spurious: bool) -> Woken {
        let fires = time::firing(timeout);
        let token = self.inner.token.variable();
        let absent = || Guard::when(Condition::Equals(token, 0));
        let alternatives = [Guard::when(Condition::Equals(token, 1)), absent(), absent()];
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let operation = Operation {
            kind,
            object,
            accesses: &accesses,
            alternatives: &alternatives[..1 + usize::from(fires.is_some()) + usize::from(spurious)],
            timeout: time::alternative(1, timeout),
        };
        let chosen = perform(&operation, |alternative, touch| {
            if alternative == 0 {
                self.inner.token.set(0);
                touch.relaxed().write(self.location());
                order::acquire(self.location());
            } else {
                touch.relaxed().read(self.location());
            }
            alternative
        });
        match chosen {
            0 => Woken::ByToken,
            1 if fires.is_some() => Woken::ByTimeout,
            _ => Woken::Spuriously,
        }
    }

    /// Announces a wait of std in which the thread may be parked and unparked, and says whether its token is part of
    /// the model there: it is not unless the thread parks later ([`Thread::look_for_lent_token`]).
    pub(crate) fn lend_token(&self) -> bool {
        on_model_thread() && {
            self.inner.lent.store(true, Ordering::Relaxed);
            self.has_modelled_token()
        }
    }

    /// Whether the token is part of the model in std's waits.
    pub(crate) fn has_modelled_token(&self) -> bool {
        on_model_thread() && is_observed(self.lent_token())
    }

    /// The location that is observed where a thread may find the token as a wait of std has left it.
    fn lent_token(&self) -> Location {
        sub_location(location(&self.inner.token), LENT_TOKEN)
    }

    /// To be called before a look at the token: if a wait of std may have changed it, exploration starts again with the
    /// tokens of such waits as part of the model.
    fn look_for_lent_token(&self) {
        if on_model_thread() && self.inner.lent.load(Ordering::Relaxed) && !self.has_modelled_token() {
            observe_each(&[self.lent_token(), SOME_TOKEN]);
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
