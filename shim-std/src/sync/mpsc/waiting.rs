//! How std's channels wait: by parking and unparking the thread.
//!
//! So a wait can take a token that somebody has left for `park`; and it can leave one, because who ends the wait first
//! says so and then unparks, and the thread that waits may look in between. Nobody can tell unless the thread parks as
//! well, and looks at its token by that. As long as it does not, a wait is the blocking operation that comes after it,
//! and nothing of this file is a step. Otherwise what std does comes before that operation, one step for each thing of
//! which others see whether it came before or after theirs (`library/std/src/sync/mpmc` of Rust 1.95; names are those
//! of `Context` and `Waker` there):
//!
//! * whoever waits registers, unless it need not wait (`register`); it looks whether it was selected, and parks if not,
//!   in a loop (`wait_until`), until it was, or until the deadline has passed, when it gives up, unless it was selected
//!   before (`Selected::Aborted`);
//! * whoever changes something takes out the first who waits, which selects it (`try_select`), and unparks it then. At
//!   the end of the other side this is done for all (`disconnect`).
//!
//! A lock is held from selecting to unparking. It is waited for to register. So two of those who wake do not overlap,
//! and who registers again has its token from the time before.

use crate::thread::{Thread, lend_token, tokens_are_modelled};
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Touch, Word, access_of, location, note, perform,
    time,
};
use std::cell::Cell;
use std::ptr;
use std::time::Duration;

/// The node of a waiting thread, on its stack.
pub(super) struct Waiter {
    thread: Thread,
    selected: Cell<Option<Selected>>,
    next: Cell<*const Waiter>,
}

impl Waiter {
    /// Creates a waiter for the present thread, if the thread's token is part of the model.
    pub(super) fn new() -> Option<Waiter> {
        lend_token().map(|thread| Waiter {
            thread,
            selected: Cell::new(None),
            next: Cell::new(ptr::null()),
        })
    }
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Selected {
    /// Something was sent or received.
    Operation,
    /// The other side is gone.
    Disconnected,
    /// The thread itself gave up.
    Aborted,
}

/// Where and how a thread waits.
pub(super) struct Wait<'a> {
    /// The channel.
    pub(super) object: Location,
    /// The kind of the step in which the thread is parked.
    pub(super) parked: OperationKind,
    pub(super) timeout: Option<Duration>,
    /// The location that giving up touches as well, and its effect.
    pub(super) give_up: Option<(Location, &'a dyn Fn())>,
}

/// The waiters on one side of a channel.
pub(super) struct Waiters {
    /// 1 while one of the waiters was selected and is not yet unparked.
    waking: Word,
    /// The waiters, in order of arrival.
    first: Cell<*const Waiter>,
}

impl Waiters {
    pub(super) const fn new() -> Waiters {
        Waiters {
            waking: Word::new(0),
            first: Cell::new(ptr::null()),
        }
    }

    pub(super) fn location(&self) -> Location {
        location(&self.waking)
    }

    fn nobody_wakes(&self) -> Condition {
        Condition::Equals(self.waking.variable(), 0)
    }

    /// Waits until it is `ready`, which holds when one of the conditions does, or until the timeout has fired, which it
    /// returns.
    ///
    /// `looks_at` are the locations on which that depends.
    #[track_caller]
    pub(super) fn wait_until(
        &self,
        waiter: &Waiter,
        wait: &Wait<'_>,
        [one, other]: [Condition; 2],
        ready: impl Fn() -> bool,
        looks_at: [Location; 3],
    ) -> bool {
        let [first, second, third] = looks_at.map(|location| access_of(location, AccessKind::Read));
        let accesses = [access_of(self.location(), AccessKind::Write), first, second, third];
        let guards = [Guard::always().and([one, other, self.nobody_wakes()])];
        loop {
            let enter = Operation::guarded(OperationKind::EnterWait, wait.object, &accesses, &guards);
            let registered = perform(&enter, |_, touch| {
                touch.relaxed().all();
                let ready = ready();
                if !ready {
                    self.register(waiter, touch);
                }
                !ready
            });
            if !registered {
                return false;
            }
            match self.linger(waiter, wait) {
                Selected::Operation => {}
                Selected::Disconnected => self.settle(wait.object),
                Selected::Aborted => return true,
            }
        }
    }

    /// Registers a waiting thread, in the current step.
    pub(super) fn register(&self, waiter: &Waiter, touch: Touch<'_>) {
        waiter.selected.set(None);
        waiter.next.set(ptr::null());
        let mut link = &self.first;
        while !link.get().is_null() {
            // SAFETY: who is registered waits, and does not leave its stack before it was taken out.
            link = unsafe { &(*link.get()).next };
        }
        link.set(waiter);
        touch.relaxed().write(self.location());
        note(|| "waits".to_string());
    }

    /// Removes a thread, in the current step.
    pub(super) fn remove(&self, waiter: &Waiter) {
        let mut link = &self.first;
        while !ptr::eq(link.get(), waiter) {
            // SAFETY: as in `register`. The one that is looked for comes later.
            link = unsafe { &(*link.get()).next };
        }
        link.set(waiter.next.get());
    }

    /// Removes a waiting thread, in the current step, and tells it to stop waiting. The caller unparks it next, with
    /// [`Waiters::wake`].
    pub(super) fn select(&self, waiter: &Waiter, by: Selected, touch: Touch<'_>) -> Thread {
        self.remove(waiter);
        waiter.selected.set(Some(by));
        self.waking.set(1);
        touch.relaxed().write(self.location());
        waiter.thread.clone()
    }

    /// Selects the thread that came first, in the current step, like [`Waiters::select`].
    pub(super) fn select_first(&self, by: Selected, touch: Touch<'_>) -> Option<Thread> {
        // SAFETY: as in `register`.
        let first = unsafe { self.first.get().as_ref() };
        first.map(|waiter| self.select(waiter, by, touch))
    }

    /// Unparks a thread that was selected. Says whether the lock is kept because all are being woken, and there are
    /// more.
    #[track_caller]
    pub(super) fn wake(&self, thread: &Thread, by: Selected) -> bool {
        thread.wake(self.location(), |touch| {
            let more = by == Selected::Disconnected && !self.first.get().is_null();
            self.waking.set(i64::from(more));
            touch.relaxed().write(self.location());
            more
        })
    }

    /// Waits until the thread was selected, or the timeout has fired.
    #[track_caller]
    pub(super) fn linger(&self, waiter: &Waiter, wait: &Wait<'_>) -> Selected {
        let besides = wait.give_up.map_or_else(|| self.location(), |(location, _)| location);
        let give_up = |touch: Touch<'_>| {
            touch.relaxed().write(besides);
            touch.relaxed().write(self.location());
            if waiter.selected.get().is_none() {
                self.remove(waiter);
                waiter.selected.set(Some(Selected::Aborted));
                if let Some((_, done)) = wait.give_up {
                    done();
                }
                note(|| "gives up".to_string());
            }
        };
        let accesses = match wait.timeout {
            Some(_) => [self.location(), besides].map(|location| access_of(location, AccessKind::Write)),
            None => [access_of(self.location(), AccessKind::Read); 2],
        };
        // The deadline may also pass before the thread is parked.
        let either = [Guard::always(), Guard::always()];
        let fires = time::firing(wait.timeout).is_some();
        let mut late = wait.timeout == Some(Duration::ZERO);
        loop {
            let look = Operation {
                kind: OperationKind::LookInWait,
                object: wait.object,
                accesses: &accesses,
                alternatives: &either[..if fires && !late { 2 } else { 0 }],
                timeout: time::alternative(1, wait.timeout).filter(|_| fires && !late),
            };
            let selected = perform(&look, |alternative, touch| {
                match late || alternative == 1 {
                    true => give_up(touch),
                    false => touch.relaxed().read(self.location()),
                }
                waiter.selected.get()
            });
            if let Some(selected) = selected {
                return selected;
            }
            late = waiter.thread.park_in_wait(wait.parked, wait.object, wait.timeout);
        }
    }

    /// Waits until the thread that selected it has unparked it.
    #[track_caller]
    pub(super) fn settle(&self, object: Location) {
        let accesses = [access_of(self.location(), AccessKind::Read)];
        let guards = [Guard::when(self.nobody_wakes())];
        let settle = Operation::guarded(OperationKind::LookInWait, object, &accesses, &guards);
        perform(&settle, |_, touch| touch.relaxed().read(self.location()));
    }

    /// Wakes the thread that has waited longest, if there is one.
    #[track_caller]
    pub(super) fn notify(&self, object: Location) {
        self.wake_by(object, Selected::Operation);
    }

    /// Wakes all waiters: the other side is gone.
    #[track_caller]
    pub(super) fn disconnect(&self, object: Location) {
        self.wake_by(object, Selected::Disconnected);
    }

    #[track_caller]
    fn wake_by(&self, object: Location, by: Selected) {
        if !tokens_are_modelled() {
            return;
        }
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let locked = [Guard::when(self.nobody_wakes())];
        let mut guards = &locked[..];
        loop {
            let notify = Operation::guarded(OperationKind::NotifyChannel, object, &accesses, guards);
            let selected = perform(&notify, |_, touch| {
                touch.relaxed().read(self.location());
                self.select_first(by, touch)
            });
            match selected {
                Some(thread) if self.wake(&thread, by) => guards = &[],
                _ => return,
            }
        }
    }
}
