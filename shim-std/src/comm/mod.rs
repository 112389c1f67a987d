//! Mailboxes and mutexes that a thread requests first and waits for later.
//!
//! The model is that of Pham, Jéron and Quinson, *Unfolding-Based Dynamic Partial Order Reduction of Asynchronous
//! Distributed Programs* (FORTE 2019), section 3, into which MPI programs can be translated. What its actions are here:
//!
//! | action | here |
//! |---|---|
//! | `AsyncSend`, `AsyncReceive` | [`Mailbox::send`], [`Mailbox::receive`]: neither waits; each gives a handle |
//! | `TestAny`, `WaitAny` | [`test_any`], [`wait_any`], and [`wait_all`]: any handles; `test` and `wait`: one handle |
//! | `AsyncMutexLock` | [`AsyncMutex::request`], which gives a handle as well |
//! | `MutexTest`, `MutexWait` | the same functions as for communications |
//! | `MutexUnlock` | to drop the [`Guard`], or the [`Request`] itself |
//! | `LocalComp` | any other code |
//!
//! The actors of the paper are threads here. It does not say which of several communications that are done a `WaitAny`
//! tells of; here all are explored.
//!
//! # Which steps are independent
//!
//! The theorems of section 3.3 hold by what steps access, with one exception: a test or a wait for **several** handles
//! depends on each of them, also where another of them was done before (theorem 6 leaves that out). Which of two
//! independent communications comes first must not be seen, or they were not independent. For one handle the theorem
//! holds as it stands. Beyond the paper, an unlock by dropping a guard belongs to the step before, unless somebody
//! tests.
//!
//! # Off model threads
//!
//! All of it works on real threads with the same meaning; a `wait_any` then tells of the first in the list that is
//! done.

mod list;
mod mailbox;
mod mutex;

pub use mailbox::{Mailbox, Receiving, Sending};
pub use mutex::{AsyncMutex, Guard, Request};

use dpor_scheduler::{
    Access, AccessKind, Awaits, Condition, Guard as Enabled, Location, Operation, OperationKind, Variable, access_of,
    awaiting, note, observe_each, perform, release,
};
use std::cell::Cell;

/// A handle of something that is done at some time, and then stays done: [`Sending`], [`Receiving`], [`Request`].
#[expect(private_bounds, reason = "sealed")]
pub trait Completion: Sealed {}

/// The parts of a handle that waiting needs.
trait Sealed {
    fn part(&self) -> &Part;
}

impl<C: Sealed + ?Sized> Completion for C {}

/// The condition for which a handle waits.
struct Part {
    /// The mailbox or mutex, for reports.
    object: Location,
    /// The location that is written when it is done, and the one that stands for it in the look-ahead of pending
    /// operations.
    places: [Location; 2],
    /// It is done when the variable has at least this value.
    variable: Variable,
    least: i64,
    /// What who waits for nothing else than that it is done awaits at the first of the places.
    awaits: Awaits,
    /// Whether some thread tests it; otherwise what completes it belongs to the previous step.
    observed: bool,
    /// Whether its owner has learnt that it is done.
    known: Cell<bool>,
}

impl Part {
    fn place(&self) -> Location {
        self.places[0]
    }

    fn done(&self) -> Condition {
        Condition::AtLeast(self.variable, self.least)
    }

    fn pending(&self) -> Condition {
        Condition::LessThan(self.variable, self.least)
    }

    /// The reads of who looks whether it is done.
    fn looks(&self) -> [Access; 2] {
        self.places.map(|place| access_of(place, AccessKind::Read))
    }

    /// The reads of who waits until it is done.
    fn waits(&self) -> [Access; 2] {
        let [place, ahead] = self.places;
        [
            awaiting(place, AccessKind::Read, self.awaits),
            access_of(ahead, AccessKind::Read),
        ]
    }

    /// Waits until it is done, then takes effect by `take`.
    #[track_caller]
    fn wait<R>(&self, take: impl FnOnce() -> R) -> R {
        if self.known.get() {
            return release(OperationKind::TakeMessage, self.place(), |_| take());
        }
        let (accesses, guards) = (self.waits(), [Enabled::when(self.done())]);
        let operation = Operation::guarded(OperationKind::WaitAny, self.object, &accesses, &guards);
        perform(&operation, |_, touch| {
            touch.all();
            take()
        })
    }

    #[track_caller]
    fn test(&self) -> bool {
        self.known.get() || test(&[self]).is_some()
    }
}

/// Waits until one of the handles is done; returns its index. If several are done, each of them is explored.
///
/// To wait for that handle afterwards is no further step.
///
/// ```
/// # shim_std::model(|| {
/// use shim_std::comm::{self, AsyncMutex, Mailbox};
/// use shim_std::{sync::Arc, thread};
///
/// let (mailbox, mutex) = (Arc::new(Mailbox::new()), AsyncMutex::new(()));
/// let other = Arc::clone(&mailbox);
/// thread::spawn(move || {
///     other.send(7);
/// });
/// let (message, lock) = (mailbox.receive(), mutex.request());
/// match comm::wait_any(&[&message, &lock]) {
///     0 => assert_eq!(message.wait(), 7),
///     _ => drop(lock.wait()),
/// }
/// # });
/// ```
///
/// # Panics
/// If there are none.
#[track_caller]
pub fn wait_any(handles: &[&dyn Completion]) -> usize {
    assert!(!handles.is_empty(), "wait_any: there is nothing to wait for");
    let parts = parts(handles);
    let guards: Vec<_> = parts.iter().map(|part| Enabled::when(part.done())).collect();
    let accesses: Vec<_> = parts.iter().flat_map(|part| part.looks()).collect();
    let operation = Operation::guarded(OperationKind::WaitAny, object(&parts), &accesses, &guards);
    let done = perform(&operation, |done, touch| {
        touch.all();
        note(|| format!("number {done} of {}", parts.len()));
        done as usize
    });
    parts[done].known.set(true);
    done
}

/// Returns the index of a handle that is done, if any. If several are done, each of them is explored.
///
/// To wait for that handle afterwards is no further step.
#[must_use]
#[track_caller]
pub fn test_any(handles: &[&dyn Completion]) -> Option<usize> {
    test(&parts(handles))
}

/// Waits until all of the handles are done, in one step.
#[track_caller]
pub fn wait_all(handles: &[&dyn Completion]) {
    let parts = parts(handles);
    if parts.is_empty() {
        return;
    }
    let guards = [all(parts.iter().map(|part| part.done()))];
    let accesses: Vec<_> = parts.iter().flat_map(|part| part.waits()).collect();
    let operation = Operation::guarded(OperationKind::WaitAny, object(&parts), &accesses, &guards);
    perform(&operation, |_, touch| touch.all());
    parts.iter().for_each(|part| part.known.set(true));
}

#[track_caller]
fn test(parts: &[&Part]) -> Option<usize> {
    if parts.is_empty() {
        return None;
    }
    let observed: Vec<_> = parts
        .iter()
        .filter(|part| part.observed)
        .map(|part| part.place())
        .collect();
    observe_each(&observed);
    let none = all(parts.iter().map(|part| part.pending()));
    let done = parts.iter().map(|part| Enabled::when(part.done()));
    let guards: Vec<_> = done.chain([none]).collect();
    let accesses: Vec<_> = parts.iter().flat_map(|part| part.looks()).collect();
    let operation = Operation::guarded(OperationKind::TestAny, object(parts), &accesses, &guards);
    let chosen = perform(&operation, |chosen, touch| {
        touch.all();
        chosen as usize
    });
    let done = parts.get(chosen);
    note(|| match done {
        Some(_) => format!("number {chosen} of {} is done", parts.len()),
        None => "none is done".to_string(),
    });
    done?.known.set(true);
    Some(chosen)
}

fn parts<'a>(handles: &[&'a dyn Completion]) -> Vec<&'a Part> {
    handles.iter().map(|handle| handle.part()).collect()
}

/// The object for reports; none if there are several.
fn object(parts: &[&Part]) -> Location {
    match parts {
        [part] => part.object,
        _ => Location(0),
    }
}

/// The conjunction of the conditions.
fn all(conditions: impl Iterator<Item = Condition>) -> Enabled {
    conditions.fold(Enabled::always(), |all, condition| all.and([condition]))
}
