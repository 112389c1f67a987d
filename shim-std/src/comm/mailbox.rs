//! Mailboxes.
//!
//! The i-th send and the i-th receive of a mailbox meet, whichever comes first. Locations are finer than the mailbox: a
//! send writes the *tail*, a receive writes the *head*, and both update *place i*, which whoever tests or waits reads.
//! So a send and a receive are always independent, and a test or a wait depends on the send and the receive that it is
//! about.
//!
//! Each side allocates its own node before it knows whether the other is there: how much memory a thread takes does not
//! depend on who comes first.

use super::list::{List, Node};
use super::{Part, Sealed};
use crate::show::show;
use dpor_scheduler::{
    AccessKind, Awaits, Location, Operation, OperationKind, Word, access_of, location, note, perform, sub_location,
};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;

/// A receive, with the place for its message.
struct Slot<T> {
    message: *mut Node<T>,
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        if !self.message.is_null() {
            // SAFETY: a message that was put into a slot is the slot's.
            drop(unsafe { Node::free(self.message) });
        }
    }
}

/// The sends and receives that have not met, or have met and were not taken.
struct Queues<T> {
    sends: List<T>,
    receives: List<Slot<T>>,
    met: List<Slot<T>>,
}

impl<T> Queues<T> {
    fn send(&mut self, message: *mut Node<T>) -> bool {
        match self.receives.pop() {
            Some(slot) => self.meet(message, slot),
            None => {
                self.sends.push(message);
                false
            }
        }
    }

    fn receive(&mut self, slot: *mut Node<Slot<T>>) -> bool {
        match self.sends.pop() {
            Some(message) => self.meet(message, slot),
            None => {
                self.receives.push(slot);
                false
            }
        }
    }

    fn meet(&mut self, message: *mut Node<T>, slot: *mut Node<Slot<T>>) -> bool {
        // SAFETY: both were taken out of their list, or are in none yet.
        unsafe { (*slot).value.message = message };
        self.met.push(slot);
        true
    }

    /// Removes a receive that has met its send, with its message.
    fn take(&mut self, slot: *mut Node<Slot<T>>) -> *mut Node<T> {
        let found = self.met.take(|node| ptr::eq(node, slot));
        debug_assert!(found.is_some(), "a receive that is done has met its send");
        // SAFETY: the slot was in the list and is in none now.
        unsafe { std::mem::replace(&mut (*slot).value.message, ptr::null_mut()) }
    }
}

/// A mailbox: sends and receives meet in it, each in the order of their arrival (first in, first out).
///
/// Neither waits: both give a handle of the communication, which is *done* when it has met its counterpart. To wait for
/// that is another step. So `mailbox.send(x).wait()` goes on once the message is being received, and
/// `mailbox.receive().wait()` is what is often called receive.
///
/// ```
/// # shim_std::model(|| {
/// use shim_std::{comm::Mailbox, sync::Arc, thread};
///
/// let mailbox = Arc::new(Mailbox::new());
/// let early = mailbox.receive();
/// let other = Arc::clone(&mailbox);
/// let handle = thread::spawn(move || {
///     other.send("first");
///     other.send("second").wait();
/// });
/// assert_eq!(early.wait(), "first");
/// assert_eq!(mailbox.receive().wait(), "second");
/// handle.join().unwrap();
/// # });
/// ```
///
/// A handle that is dropped withdraws nothing: its communication takes part as before, and a message that nobody can
/// take any more is dropped with the mailbox.
pub struct Mailbox<T> {
    /// Number of sends so far.
    sent: Word,
    /// Number of receives so far.
    received: Word,
    queues: UnsafeCell<Queues<T>>,
}

// SAFETY: a mailbox owns the messages in it.
unsafe impl<T: Send> Send for Mailbox<T> {}
// SAFETY: the queues are touched inside of operations only, of which one takes effect at a time; a message goes from
// one thread to another.
unsafe impl<T: Send> Sync for Mailbox<T> {}
impl<T> UnwindSafe for Mailbox<T> {}
impl<T> RefUnwindSafe for Mailbox<T> {}

impl<T> Mailbox<T> {
    /// Creates an empty mailbox.
    #[must_use]
    pub const fn new() -> Mailbox<T> {
        Mailbox {
            sent: Word::new(0),
            received: Word::new(0),
            queues: UnsafeCell::new(Queues {
                sends: List::new(),
                receives: List::new(),
                met: List::new(),
            }),
        }
    }

    /// Sends a message without waiting.
    #[track_caller]
    pub fn send(&self, message: T) -> Sending<'_> {
        let node = Node::alloc(message);
        let index = self.add(OperationKind::AsyncSend, &self.sent, |queues| (queues.send(node), node));
        Sending {
            part: self.part(index, &self.received),
            lifetime: PhantomData,
        }
    }

    /// Requests a message without waiting.
    #[track_caller]
    pub fn receive(&self) -> Receiving<'_, T> {
        let slot = Node::alloc(Slot {
            message: ptr::null_mut(),
        });
        let index = self.add(OperationKind::AsyncReceive, &self.received, |queues| {
            let met = queues.receive(slot);
            // SAFETY: the slot is in a list, or in the one of those that have met their send.
            (met, unsafe { (*slot).value.message })
        });
        Receiving {
            part: self.part(index, &self.sent),
            mailbox: self,
            slot,
            not_send: PhantomData,
        }
    }

    /// Counts a communication of one side and lets it meet its counterpart; returns its number. `meet` says whether it
    /// has met it, and which message it concerns, if any.
    #[track_caller]
    fn add(&self, kind: OperationKind, count: &Word, meet: impl FnOnce(&mut Queues<T>) -> (bool, *mut Node<T>)) -> i64 {
        let end = location(count);
        // Others may go first, and then it gets to another place than the next.
        let accesses = [
            access_of(end, AccessKind::Write),
            access_of(self.any_place(), AccessKind::Write),
        ];
        perform(&Operation::always(kind, self.object(), &accesses), |_, touch| {
            let index = count.get();
            count.set(index + 1);
            touch.write(end);
            touch.found(self.any_place(), access_of(self.place(index), AccessKind::Update));
            // SAFETY: inside of an operation.
            let (met, message) = meet(unsafe { &mut *self.queues.get() });
            note(|| {
                let state = if met { "done" } else { "pending" };
                // SAFETY: null, or a message that was not taken out yet.
                match unsafe { message.as_ref() }.and_then(|message| show(&message.value)) {
                    Some(text) => format!("number {index}: {text}, {state}"),
                    None => format!("number {index}, {state}"),
                }
            });
            index
        })
    }

    /// The mailbox, for reports.
    fn object(&self) -> Location {
        location(&self.sent)
    }

    /// The location at which the communications with this number meet.
    fn place(&self, index: i64) -> Location {
        sub_location(location(&self.sent), index.unsigned_abs())
    }

    /// Stands for all places in the look-ahead of pending communications, and conflicts with no step.
    fn any_place(&self) -> Location {
        location(&self.queues)
    }

    /// The communication with this number, which is done when the other side has reached it.
    fn part(&self, index: i64, other: &Word) -> Part {
        Part {
            object: self.object(),
            places: [self.place(index), self.any_place()],
            variable: other.variable(),
            least: index + 1,
            // Nobody else comes to this place than the send and the receive.
            awaits: Awaits::LastWrite,
            observed: false,
            known: Cell::new(false),
        }
    }
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Mailbox::new()
    }
}

impl<T> fmt::Debug for Mailbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

/// A send. It is done when a receive has received its message.
pub struct Sending<'a> {
    part: Part,
    lifetime: PhantomData<&'a ()>,
}

impl Sending<'_> {
    /// Waits until the message is received.
    #[track_caller]
    pub fn wait(self) {
        self.part.wait(|| ());
    }

    /// Says whether the message was received.
    #[must_use]
    #[track_caller]
    pub fn test(&self) -> bool {
        self.part.test()
    }
}

impl Sealed for Sending<'_> {
    fn part(&self) -> &Part {
        &self.part
    }
}

impl fmt::Debug for Sending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending").finish_non_exhaustive()
    }
}

/// A receive. It is done when it has received a message.
#[must_use = "the message that a dropped receive gets is lost"]
pub struct Receiving<'a, T> {
    part: Part,
    mailbox: &'a Mailbox<T>,
    slot: *mut Node<Slot<T>>,
    /// A receive belongs to the thread that made it.
    not_send: PhantomData<*const ()>,
}

impl<T> Receiving<'_, T> {
    /// Waits for the message.
    #[track_caller]
    pub fn wait(self) -> T {
        let message = self.part.wait(|| self.take_out());
        self.unpack(message)
    }

    /// Says whether there is a message.
    #[must_use]
    #[track_caller]
    pub fn test(&self) -> bool {
        self.part.test()
    }

    /// Takes the message if it has come.
    ///
    /// # Errors
    /// The receive itself, if it is not done.
    #[track_caller]
    pub fn take(self) -> Result<T, Self> {
        if self.test() { Ok(self.wait()) } else { Err(self) }
    }

    /// Takes the message, within an operation.
    fn take_out(&self) -> *mut Node<T> {
        // SAFETY: inside of an operation.
        unsafe { &mut *self.mailbox.queues.get() }.take(self.slot)
    }

    fn unpack(self, message: *mut Node<T>) -> T {
        // SAFETY: the slot is in no list any more, and known to nobody but this handle, which goes. So it is with the
        // message.
        unsafe {
            drop(Node::free(self.slot));
            Node::free(message)
        }
    }
}

impl<T> Sealed for Receiving<'_, T> {
    fn part(&self) -> &Part {
        &self.part
    }
}

impl<T> fmt::Debug for Receiving<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiving").finish_non_exhaustive()
    }
}
