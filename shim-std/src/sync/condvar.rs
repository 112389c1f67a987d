//! `std::sync::Condvar`.
//!
//! A wait is two steps: one queues the thread and releases the mutex, the other is enabled when the thread was
//! notified and the mutex is free, and takes it. A timeout (and, by option, a spurious wakeup) is another
//! alternative of the second step: it leaves the queue, and the mutex is then locked like any other.
//! Which waiter `notify_one` wakes is its alternative.
//!
//! The waiters form a list through nodes on their own stacks, ordered by address and not by arrival: any of
//! them may be woken, so the order of arrival is no state.

use super::mutex::{MutexGuard, RawMutex};
use super::poison::map_result;
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, ModelOption, Operation, OperationKind, Touch, Word, access_of, gives_back,
    location, note, on_model_thread, options, perform, takes, time,
};
use std::cell::Cell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::{LockResult, PoisonError};
use std::time::{Duration, Instant};

/// A thread in the queue.
struct Waiter {
    notified: Word,
    next: Cell<*const Waiter>,
}

impl Waiter {
    fn new() -> Waiter {
        Waiter {
            notified: Word::new(0),
            next: Cell::new(ptr::null()),
        }
    }

    fn location(&self) -> Location {
        location(&self.notified)
    }
}

/// `std::sync::Condvar`.
pub struct Condvar {
    /// Number of threads in the queue.
    waiting: Word,
    /// The queue; only touched while an operation takes effect, when no other thread runs.
    first: Cell<*const Waiter>,
}

// SAFETY: the queue is only touched inside `perform`, which lets one thread at a time in; its nodes are
// removed before the waiting function that owns them returns.
unsafe impl Send for Condvar {}
// SAFETY: as above.
unsafe impl Sync for Condvar {}
impl UnwindSafe for Condvar {}
impl RefUnwindSafe for Condvar {}

/// `std::sync::WaitTimeoutResult`.
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait timed out.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// Whether a wait of std may wake without a notification.
fn may_wake_spuriously() -> bool {
    on_model_thread() && options().has(ModelOption::SpuriousWakeups)
}

/// Number of waiters for which `notify_one` provides without allocating.
const FEW: usize = 8;

impl Condvar {
    /// Creates a condition variable without waiters.
    #[inline]
    #[must_use]
    pub const fn new() -> Condvar {
        Condvar {
            waiting: Word::new(0),
            first: Cell::new(ptr::null()),
        }
    }

    /// Releases the mutex and waits to be notified.
    ///
    /// # Errors
    /// If the mutex is poisoned afterwards; the error holds the guard.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        guard.tell();
        self.wait_raw(guard.raw(), None, may_wake_spuriously());
        guard.tell();
        if guard.is_poisoned() {
            Err(PoisonError::new(guard))
        } else {
            Ok(guard)
        }
    }

    /// Waits as long as `condition` holds.
    ///
    /// # Errors
    /// As [`Condvar::wait`].
    #[track_caller]
    pub fn wait_while<'a, T, F>(&self, mut guard: MutexGuard<'a, T>, mut condition: F) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits to be notified, for at most this number of milliseconds; says whether it did not time out.
    ///
    /// # Errors
    /// As [`Condvar::wait`].
    #[track_caller]
    #[deprecated(since = "1.6.0", note = "replaced by `std::sync::Condvar::wait_timeout`")]
    pub fn wait_timeout_ms<'a, T>(&self, guard: MutexGuard<'a, T>, ms: u32) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let result = self.wait_timeout(guard, Duration::from_millis(u64::from(ms)));
        map_result(result, |(guard, timeout)| (guard, !timeout.timed_out()))
    }

    /// Waits to be notified, for at most `dur`.
    ///
    /// # Errors
    /// As [`Condvar::wait`].
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        dur: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        guard.tell();
        let result = WaitTimeoutResult(self.wait_raw(guard.raw(), Some(dur), may_wake_spuriously()));
        guard.tell();
        if guard.is_poisoned() {
            Err(PoisonError::new((guard, result)))
        } else {
            Ok((guard, result))
        }
    }

    /// Waits as long as `condition` holds, for at most `dur`.
    ///
    /// # Errors
    /// As [`Condvar::wait`].
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = Instant::now();
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let Some(timeout) = dur.checked_sub(start.elapsed()) else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            guard = self.wait_timeout(guard, timeout)?.0;
        }
    }

    /// Wakes one of the waiters, if there are any.
    #[track_caller]
    pub fn notify_one(&self) {
        self.wake_one();
    }

    /// Wakes one of the waiters; says whether there was one.
    #[track_caller]
    pub(crate) fn wake_one(&self) -> bool {
        let accesses = [access_of(self.location(), AccessKind::Write)];
        loop {
            // Threads may still queue up before this takes effect. If more do than are provided for, it has
            // no effect, and is tried again with more alternatives.
            let provided = match usize::try_from(self.waiting.get()).unwrap_or(0) {
                0..FEW => FEW,
                many => 2 * many,
            };
            let few: [Guard; FEW];
            let many: Vec<Guard>;
            let alternatives = if provided == FEW {
                few = std::array::from_fn(|nth| self.reaches(nth));
                &few[..]
            } else {
                many = (0..provided).map(|nth| self.reaches(nth)).collect();
                &many[..]
            };
            let operation = Operation::guarded(OperationKind::NotifyOne, self.location(), &accesses, alternatives);
            let woken = perform(&operation, |nth, touch| {
                let waiting = usize::try_from(self.waiting.get()).unwrap_or(usize::MAX);
                if waiting > provided {
                    touch.relaxed().read(self.location());
                    return None;
                }
                self.notify_nth(nth, touch);
                Some(waiting > 0)
            });
            if let Some(woken) = woken {
                return woken;
            }
        }
    }

    /// Wakes all waiters.
    #[track_caller]
    pub fn notify_all(&self) {
        self.wake_all();
    }

    /// Wakes all waiters; returns their number.
    #[track_caller]
    pub(crate) fn wake_all(&self) -> usize {
        let accesses = [access_of(self.location(), AccessKind::Write)];
        perform(
            &Operation::always(OperationKind::NotifyAll, self.location(), &accesses),
            |_, touch| {
                let count = self.waiting.get();
                if count == 0 {
                    touch.relaxed().read(self.location());
                }
                for _ in 0..count {
                    self.notify_nth(0, touch);
                }
                note(|| format!("{count} waiting"));
                usize::try_from(count).unwrap_or(0)
            },
        )
    }

    fn location(&self) -> Location {
        location(&self.waiting)
    }

    /// The guard of the `nth` alternative of `notify_one`: the first is always enabled, so that it need not block.
    fn reaches(&self, nth: usize) -> Guard {
        match i64::try_from(nth) {
            Ok(nth @ 1..) => Guard::when(Condition::AtLeast(self.waiting.variable(), nth + 1)),
            _ => Guard::always(),
        }
    }

    /// Notifies the `nth` waiter, in the current step.
    fn notify_nth(&self, nth: u32, touch: Touch<'_>) {
        let mut link = &self.first;
        for _ in 0..nth {
            // SAFETY: the guard of the alternative says that the queue is longer.
            link = unsafe { &(*link.get()).next };
        }
        if link.get().is_null() {
            touch.relaxed().read(self.location());
            note(|| "nobody waits".to_string());
            return;
        }
        // SAFETY: a node in the queue is alive: its owner waits.
        let waiter = unsafe { &*link.get() };
        link.set(waiter.next.get());
        self.waiting.set(self.waiting.get() - 1);
        touch.relaxed().write(self.location());
        // Whoever enters or leaves the queue updates its location, and the waiter goes on only after this.
        touch
            .relaxed()
            .found(self.location(), access_of(waiter.location(), AccessKind::Write));
        waiter.notified.set(1);
    }

    /// Inserts a node in the order of addresses, in the current step.
    fn enqueue(&self, waiter: &Waiter, touch: Touch<'_>) {
        let mut link = &self.first;
        while !link.get().is_null() && link.get().addr() < ptr::from_ref(waiter).addr() {
            // SAFETY: a node in the queue is alive: its owner waits.
            link = unsafe { &(*link.get()).next };
        }
        waiter.next.set(link.get());
        link.set(waiter);
        self.waiting.set(self.waiting.get() + 1);
        touch.relaxed().update(self.location());
    }

    /// Removes a node that is in the queue, in the current step.
    fn leave(&self, waiter: &Waiter, touch: Touch<'_>) {
        let mut link = &self.first;
        while !ptr::eq(link.get(), waiter) {
            // SAFETY: a node in the queue is alive: its owner waits. The one that is looked for comes later.
            link = unsafe { &(*link.get()).next };
        }
        link.set(waiter.next.get());
        self.waiting.set(self.waiting.get() - 1);
        touch.relaxed().update(self.location());
        touch.relaxed().read(waiter.location());
    }

    /// Waits; says whether it timed out. If it may wake spuriously, that is explored as well.
    #[track_caller]
    fn wait_raw(&self, mutex: &RawMutex, timeout: Option<Duration>, spurious: bool) -> bool {
        let waiter = Waiter::new();
        let accesses = [
            access_of(self.location(), AccessKind::Update),
            access_of(mutex.location(), AccessKind::Write),
        ];
        perform(
            &Operation::always(OperationKind::CondvarWait, self.location(), &accesses),
            |_, touch| {
                self.enqueue(&waiter, touch);
                mutex.give(touch);
                gives_back(mutex.location());
            },
        );
        self.wait_to_be_notified(&waiter, mutex, timeout, spurious)
    }

    /// Like [`Condvar::wait`] with one mutex at a time, and never spuriously: queues the thread only if all that wait
    /// do so with this mutex, which the condition variable knows by `of`. Says whether it timed out; `None` if others
    /// wait with another mutex.
    #[track_caller]
    pub(crate) fn wait_with_one(&self, of: &Cell<usize>, mutex: &RawMutex, timeout: Option<Duration>) -> Option<bool> {
        let waiter = Waiter::new();
        let accesses = [
            access_of(self.location(), AccessKind::Write),
            access_of(mutex.location(), AccessKind::Write),
        ];
        let address = ptr::from_ref(mutex).addr();
        let queued = perform(
            &Operation::always(OperationKind::CondvarWait, self.location(), &accesses),
            |_, touch| {
                // Among threads that all wait with one mutex, it makes no difference who was there first.
                let alone = self.waiting.get() == 0;
                let other = !alone && of.get() != address;
                if alone || other {
                    touch.relaxed().write(self.location());
                }
                if other {
                    note(|| "others wait with another mutex".to_string());
                    return false;
                }
                of.set(address);
                self.enqueue(&waiter, touch);
                mutex.give(touch);
                gives_back(mutex.location());
                true
            },
        );
        // A closure would be the caller that reports show.
        match queued {
            true => Some(self.wait_to_be_notified(&waiter, mutex, timeout, false)),
            false => None,
        }
    }

    /// The second step of a wait of a thread in the queue; says whether it timed out.
    #[track_caller]
    fn wait_to_be_notified(
        &self,
        waiter: &Waiter,
        mutex: &RawMutex,
        timeout: Option<Duration>,
        spurious: bool,
    ) -> bool {
        let fires = time::firing(timeout);
        let notified = waiter.notified.variable();
        let unasked = || Guard::when(Condition::Equals(notified, 0));
        let alternatives = [
            Guard::when(Condition::Equals(notified, 1)).and([mutex.free()]),
            unasked(),
            unasked(),
        ];
        let accesses = [
            access_of(mutex.location(), AccessKind::Write),
            access_of(waiter.location(), AccessKind::Read),
            access_of(self.location(), AccessKind::Update),
        ];
        let operation = Operation {
            kind: OperationKind::CondvarWake,
            object: self.location(),
            accesses: &accesses,
            alternatives: &alternatives[..1 + usize::from(fires.is_some()) + usize::from(spurious)],
            timeout: time::alternative(1, timeout),
        };
        let chosen = perform(&operation, |alternative, touch| {
            if alternative == 0 {
                touch.relaxed().read(waiter.location());
                mutex.take(touch);
                takes(mutex.location());
            } else {
                self.leave(waiter, touch);
            }
            alternative
        });
        if chosen == 0 {
            return false;
        }
        let timed_out = fires.filter(|_| chosen == 1);
        note(|| {
            if timed_out.is_some() {
                "timed out"
            } else {
                "woke spuriously"
            }
            .to_string()
        });
        if let Some(after) = timed_out {
            time::timed_out(after);
        }
        mutex.lock();
        timed_out.is_some()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}
