//! Answers to messages: a place for one value that somebody waits for.
//!
//! An answer belongs to the step that gives it, as the end of a thread does: who waits for it could not go on before.
//! Only where somebody looks whether it is there ([`Reply::try_take`]) it is a step of its own.

use super::Turn;
use crate::share::{Share, Shareable};
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Word, access_of, location, note, observe,
    perform, release,
};
use std::cell::UnsafeCell;
use std::error::Error;
use std::fmt;
use std::mem;

/// The error for an answer that will not come: the message, or the [`ReplyTo`] in it, was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no answer will come: the request was dropped")
    }
}

impl Error for Lost {}

struct Place<R> {
    /// 1 when there is an answer, or will never be one.
    settled: Word,
    answer: UnsafeCell<Option<R>>,
}

// SAFETY: the answer is written by the one `ReplyTo` before the place is settled, and taken by the one `Reply` after
// that.
unsafe impl<R: Send> Sync for Place<R> {}

impl<R> Shareable for Place<R> {
    const NEEDS_DROP: bool = mem::needs_drop::<R>();
}

impl<R> Place<R> {
    fn location(&self) -> Location {
        location(&self.settled)
    }

    fn settle(&self, answer: Option<R>) {
        release(OperationKind::Answer, self.location(), |touch| {
            // SAFETY: see `Sync`.
            unsafe { *self.answer.get() = answer };
            self.settled.set(1);
            touch.write(self.location());
        });
    }
}

/// A place for an answer: the end that gives it, and the end that waits for it. [`Address::ask`](super::Address::ask)
/// makes one and sends it along.
///
/// ```
/// # shim_std::model(|| {
/// use shim_std::{actor, thread};
///
/// let (to, reply) = actor::reply();
/// thread::spawn(move || to.answer(3));
/// assert_eq!(reply.wait(), Ok(3));
/// # });
/// ```
pub fn reply<R>() -> (ReplyTo<R>, Reply<R>) {
    let place = Share::new(Place {
        settled: Word::new(0),
        answer: UnsafeCell::new(None),
    });
    (
        ReplyTo {
            place: Some(place.clone()),
        },
        Reply { place },
    )
}

/// The end that sends an answer. Dropping it means that there will be none.
pub struct ReplyTo<R> {
    place: Option<Share<Place<R>>>,
}

impl<R> ReplyTo<R> {
    /// Gives the answer.
    pub fn answer(mut self, answer: R) {
        if let Some(place) = self.place.take() {
            place.settle(Some(answer));
        }
    }
}

impl<R> Drop for ReplyTo<R> {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            place.settle(None);
        }
    }
}

impl<R> fmt::Debug for ReplyTo<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplyTo")
    }
}

/// The end that waits for an answer.
#[must_use = "an answer that nobody waits for need not have been asked for"]
pub struct Reply<R> {
    place: Share<Place<R>>,
}

impl<R> Reply<R> {
    fn location(&self) -> Location {
        self.place.location()
    }

    fn settled(&self) -> Condition {
        Condition::Equals(self.place.settled.variable(), 1)
    }

    /// Takes the result once it is settled.
    fn take(self) -> Result<R, Lost> {
        // SAFETY: see `Place`.
        unsafe { (*self.place.answer.get()).take() }.ok_or(Lost)
    }

    /// Waits for the answer. In a turn, the actor processes nothing else meanwhile; with [`Turn::wait_for`] it does.
    ///
    /// # Errors
    /// If none will come.
    #[track_caller]
    pub fn wait(self) -> Result<R, Lost> {
        let accesses = [access_of(self.location(), AccessKind::Read)];
        let guards = [Guard::when(self.settled())];
        let operation = Operation::guarded(OperationKind::AwaitAnswer, self.location(), &accesses, &guards);
        perform(&operation, |_, touch| touch.read(self.location()));
        self.take()
    }

    /// Waits for the answer while others have their turns.
    pub(super) fn wait_in<A: 'static>(
        self,
        turn: &mut Turn<'_, A>,
        caller: &'static std::panic::Location<'static>,
    ) -> Result<R, Lost> {
        turn.yield_until(caller, self.location(), self.settled());
        self.take()
    }

    /// Takes the answer if it has come.
    ///
    /// # Errors
    /// The reply itself, if it is not there yet.
    #[track_caller]
    pub fn try_take(self) -> Result<Result<R, Lost>, Reply<R>> {
        observe(self.location());
        let accesses = [access_of(self.location(), AccessKind::Read)];
        let operation = Operation::always(OperationKind::TryAnswer, self.location(), &accesses);
        let settled = perform(&operation, |_, touch| {
            touch.read(self.location());
            let settled = self.place.settled.get() == 1;
            note(|| if settled { "settled" } else { "not yet" }.to_string());
            settled
        });
        if settled { Ok(self.take()) } else { Err(self) }
    }
}

impl<R> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}
