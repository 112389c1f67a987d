//! The state of an actor that its addresses share, which one turn at a time has for itself, and the waiters for its
//! changes.
//!
//! # Steps
//!
//! Each message is a model thread of its own, made by the send, with one operation: to take its turn. That is enabled
//! while no other turn is under way, and belongs to one location, the actor's. So the reversible races of a program are
//! exactly those of FASE 2012: between two messages to one actor, neither of which was sent because of the other. That
//! messages are processed in any order needs no further choice, and a send is no event: it creates a thread, as
//! spawning one does.
//!
//! A message may be refused: the actor's constraint ([`Actor::accepts`](super::Actor::accepts)) does not hold. Race
//! detection asks whether an operation would have been enabled after other prefixes than the present one, and there
//! nobody can call the constraint, a function of the user's. So that a message is refused is a step, which only reads
//! the location: refusals commute with each other. From then on the message has a [`Word`] that says whether it is
//! acceptable. It is judged anew at the end of each turn, as part of the turn's last step, and all turns are ordered by
//! the location. Hence the word has, after every prefix that contains the refusal, the value that the steps of this
//! prefix have given it; the message is enabled exactly when no turn is under way and the word is 1.
//!
//! The same holds for a turn that waits for a condition on the state, in place of a message that was refused.
//!
//! # What turns access
//!
//! A turn that makes no operation in between is one step, with the end of the turn in it. Besides the actor's location
//! it updates the number of messages under way in the system, in any case. Whatever else belongs to it, sends and
//! answers, is only waited for by operations that could not come before it: [`System::settle`](super::System::settle)
//! waits for the end of this very turn.

use super::System;
use crate::share::Shareable;
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Touch, Word, access_of, location, note,
    on_model_thread, operations_begun, order, perform_from, release, unsupported,
};
use std::cell::{Cell, UnsafeCell};
use std::mem;
use std::panic::Location as Caller;
use std::ptr;

/// A condition on an actor's state.
pub(super) type Judge<'a, A> = dyn Fn(&A) -> bool + 'a;

/// A message or a turn that waits for the state to change: a node on the stack of its thread.
struct Parked<'a, A> {
    /// 1 if the condition holds in the present state.
    ready: Word,
    judge: &'a Judge<'a, A>,
    next: Cell<*const Parked<'a, A>>,
}

/// An actor's state, and the waiters for it.
pub(super) struct Object<A: 'static> {
    /// 1 while a turn is in progress.
    busy: Word,
    /// Off model threads: whether a turn has panicked.
    dead: Cell<bool>,
    /// The waiters for another state; ordered by address, so that the order of arrival is no state.
    parked: Cell<*const Parked<'static, A>>,
    state: UnsafeCell<A>,
    pub(super) system: System,
    pub(super) name: String,
}

// SAFETY: all of it is touched by one thread at a time: who has the turn, or who is refused in a step of its own.
unsafe impl<A: Send + 'static> Send for Object<A> {}
// SAFETY: as above.
unsafe impl<A: Send + 'static> Sync for Object<A> {}

impl<A: 'static> Shareable for Object<A> {
    const NEEDS_DROP: bool = mem::needs_drop::<A>();
}

/// How a message fares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turned {
    /// The caller has the turn.
    Ours,
    /// The actor is gone because of a panic.
    Dead,
}

impl<A: 'static> Object<A> {
    pub(super) fn new(state: A, system: System, name: String) -> Self {
        Object {
            busy: Word::new(0),
            dead: Cell::new(false),
            parked: Cell::new(ptr::null()),
            state: UnsafeCell::new(state),
            system,
            name,
        }
    }

    fn location(&self) -> Location {
        location(&self.busy)
    }

    pub(super) fn free(&self) -> Condition {
        Condition::Equals(self.busy.variable(), 0)
    }

    /// The state, for the thread that has the turn.
    pub(super) fn state(&self) -> *mut A {
        self.state.get()
    }

    fn turned(&self) -> Turned {
        if self.dead.get() { Turned::Dead } else { Turned::Ours }
    }

    /// Takes the turn of a message that the actor accepts, after waiting until it does.
    pub(super) fn begin(
        &self,
        caller: &'static Caller<'static>,
        accepts: &Judge<'_, A>,
        show: &dyn Fn() -> String,
    ) -> Turned {
        let native = !on_model_thread();
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let free = [Guard::when(self.free())];
        let operation = Operation::guarded(OperationKind::ProcessMessage, self.location(), &accesses, &free);
        let accepted = || self.dead.get() || self.judged(accepts);
        let taken = perform_from(caller, &operation, |_, touch| {
            if native {
                // It is judged after this, as others' operations cannot go on meanwhile.
                self.busy.set(1);
                return true;
            }
            let taken = accepted();
            match taken {
                true => self.take(touch),
                false => touch.read(self.location()),
            }
            taken
        });
        if taken && (!native || accepted()) {
            note(show);
            return self.turned();
        }
        note(|| format!("refused: {}", show()));
        self.wait_for(caller, OperationKind::ProcessRefused, accepts, || {
            if native {
                self.unlock();
            }
        });
        note(show);
        self.turned()
    }

    /// Yields the turn until the condition holds, which it does not now.
    pub(super) fn interrupt(&self, caller: &'static Caller<'static>, judge: &Judge<'_, A>) -> Turned {
        self.wait_for(caller, OperationKind::AwaitTurn, judge, || self.end());
        self.turned()
    }

    /// Enters the waiters, lets others have their turns, and returns when the condition holds and the turn is free.
    fn wait_for(
        &self,
        caller: &'static Caller<'static>,
        kind: OperationKind,
        judge: &Judge<'_, A>,
        make_way: impl FnOnce(),
    ) {
        let node = Parked {
            ready: Word::new(0),
            judge,
            next: Cell::new(ptr::null()),
        };
        self.park(&node);
        // A message that is refused has no turn whose end would say that.
        order::release(self.location());
        make_way();
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let ready = Condition::Equals(node.ready.variable(), 1);
        let guards = [Guard::when(self.free()).and([ready])];
        let operation = Operation::guarded(kind, self.location(), &accesses, &guards);
        perform_from(caller, &operation, |_, touch| self.take(touch));
        self.unpark(&node);
    }

    /// Takes the turn, which is free, in the current step.
    pub(super) fn take(&self, touch: Touch<'_>) {
        self.busy.set(1);
        touch.write(self.location());
    }

    /// Waits for its turn independently of all messages.
    #[track_caller]
    pub(super) fn look(&self) -> Turned {
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let free = [Guard::when(self.free())];
        let operation = Operation::guarded(OperationKind::Look, self.location(), &accesses, &free);
        perform_from(Caller::caller(), &operation, |_, touch| self.take(touch));
        self.turned()
    }

    /// Yields the turn until a location is as needed, and the turn is free again.
    pub(super) fn yield_until(&self, caller: &'static Caller<'static>, place: Location, needed: Condition) -> Turned {
        self.end();
        let accesses = [
            access_of(self.location(), AccessKind::Write),
            access_of(place, AccessKind::Read),
        ];
        let guards = [Guard::when(self.free()).and([needed])];
        let operation = Operation::guarded(OperationKind::AwaitTurn, self.location(), &accesses, &guards);
        perform_from(caller, &operation, |_, touch| {
            self.take(touch);
            touch.read(place);
        });
        self.turned()
    }

    /// Evaluates the waiters' conditions in the present state, and ends the turn.
    pub(super) fn end(&self) {
        self.judge_all();
        self.unlock();
    }

    /// Ends the last turn of an actor that has panicked, off model threads: the waiters go on and find it dead.
    pub(super) fn die(&self) {
        self.dead.set(true);
        self.each(|parked| parked.ready.set(1));
        self.unlock();
    }

    fn unlock(&self) {
        release(OperationKind::EndTurn, self.location(), |touch| {
            self.busy.set(0);
            touch.write(self.location());
        });
    }

    fn judge_all(&self) {
        if self.dead.get() {
            return;
        }
        self.each(|parked| parked.ready.set(i64::from(self.judged(parked.judge))));
    }

    /// Evaluates the condition in the present state. It must not perform an operation: there is no step for that.
    #[inline(never)]
    pub(super) fn judged(&self, judge: &Judge<'_, A>) -> bool {
        let before = operations_begun();
        // SAFETY: the caller has the turn, or nobody has and the caller is in a step of its own.
        let holds = judge(unsafe { &*self.state.get() });
        if operations_begun() != before {
            unsupported(&format!(
                "a constraint or an awaited condition of {} has used something that threads share (a lock, an atomic, \
                 a channel); it can look at the actor's own state only",
                self.name
            ));
        }
        holds
    }

    fn each(&self, act: impl Fn(&Parked<'static, A>)) {
        let mut at = self.parked.get();
        while !at.is_null() {
            // SAFETY: a node in the list is alive: its owner waits.
            let parked = unsafe { &*at };
            act(parked);
            at = parked.next.get();
        }
    }

    /// Inserts a node in the order of addresses.
    fn park(&self, node: &Parked<'_, A>) {
        let node = ptr::from_ref(node).cast::<Parked<'static, A>>();
        let mut link = &self.parked;
        while !link.get().is_null() && link.get().addr() < node.addr() {
            // SAFETY: as in `each`.
            link = unsafe { &(*link.get()).next };
        }
        // SAFETY: the node is alive, and taken out before it goes.
        unsafe { (*node).next.set(link.get()) };
        link.set(node);
    }

    fn unpark(&self, node: &Parked<'_, A>) {
        let node = ptr::from_ref(node).cast::<Parked<'static, A>>();
        let mut link = &self.parked;
        while link.get() != node {
            // SAFETY: as in `each`; the one that is looked for comes later.
            link = unsafe { &(*link.get()).next };
        }
        // SAFETY: as above.
        link.set(unsafe { (*node).next.get() });
    }
}
