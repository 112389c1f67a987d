//! A turn: the time in which one message has the actor's state for itself.

use super::object::{Object, Turned};
use super::{Address, Lost, Reply, System};
use crate::share::Share;
use dpor_scheduler::{Condition, Location};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location as Caller;

/// The turn of one message: the actor's state, which nobody else touches until it ends.
///
/// It dereferences to the state. Nothing borrowed from it lives across a wait, in which other messages have their
/// turns.
pub struct Turn<'a, A: 'static> {
    object: &'a Share<Object<A>>,
}

impl<'a, A: 'static> Turn<'a, A> {
    /// Creates the turn that the caller has taken.
    pub(super) fn of(object: &'a Share<Object<A>>) -> Self {
        Turn { object }
    }

    /// The actor's own address.
    #[must_use]
    pub fn address(&self) -> Address<A> {
        Address {
            object: self.object.clone(),
        }
    }

    /// The system to which the actor belongs.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.object.system
    }

    /// Waits until the condition holds in the actor's state; until then, other messages have their turns (`await` in
    /// ABS). If it already holds, the turn just goes on.
    ///
    /// The condition is asked whenever a turn of the actor ends, by whoever ends it, so it must depend on the state
    /// only.
    #[track_caller]
    pub fn wait_until(&mut self, condition: impl Fn(&A) -> bool + Send) {
        if !self.object.judged(&condition) {
            let turned = self.object.interrupt(Caller::caller(), &condition);
            self.go_on(turned);
        }
    }

    /// Waits for an answer; until it comes, other messages have their turns (`await` in ABS).
    ///
    /// # Errors
    /// If none will come.
    #[track_caller]
    pub fn wait_for<R>(&mut self, reply: Reply<R>) -> Result<R, Lost> {
        reply.wait_in(self, Caller::caller())
    }

    pub(super) fn yield_until(&mut self, caller: &'static Caller<'static>, place: Location, needed: Condition) {
        let turned = self.object.yield_until(caller, place, needed);
        self.go_on(turned);
    }

    /// # Panics
    /// If the actor has panicked meanwhile.
    fn go_on(&self, turned: Turned) {
        assert!(
            turned == Turned::Ours,
            "{} has panicked in another turn",
            self.object.name
        );
    }
}

impl<A: 'static> Deref for Turn<'_, A> {
    type Target = A;

    fn deref(&self) -> &A {
        // SAFETY: who has the turn has the state, and nobody else.
        unsafe { &*self.object.state() }
    }
}

impl<A: 'static> DerefMut for Turn<'_, A> {
    fn deref_mut(&mut self) -> &mut A {
        // SAFETY: as above, and the turn is borrowed mutably.
        unsafe { &mut *self.object.state() }
    }
}

impl<A: fmt::Debug + 'static> fmt::Debug for Turn<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Turn").field(&**self).finish()
    }
}
