//! The part of a channel that its two halves share, and the operations of a channel with a buffer.
//!
//! Locations are finer than the channel. The *i*-th send writes the tail and slot *i*; the *i*-th receive
//! writes the head and slot *i*; a send into a bounded buffer also reads the slot whose message must be gone
//! for there to be room. So a send and a receive are independent unless one waits for the other.
//! Sends read, and the receiver's drop writes, whether the receiver lives; clones and drops of senders are
//! `Update`s of their number, which a receiver reads when it finds nothing else.
//!
//! Each message is a node of its own, allocated by its sender and freed by its receiver: how much memory a
//! thread takes does not depend on how sends and receives interleave.

use super::waiting::{Wait, Waiter, Waiters};
use crate::share::Shared;
use crate::show::show;
use dpor_scheduler::{
    Access, AccessKind, Awaits, Condition, Guard, Location, Operation, OperationKind, Touch, Word, access_of, awaiting,
    location, note, observe, order, perform, release, sub_location, time,
};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Capacity of a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Capacity {
    Unbounded,
    Bounded(u64),
    /// None: a message goes from hand to hand.
    Rendezvous,
}

/// A message in transit.
pub(super) struct Node<T> {
    pub(super) message: Option<T>,
    pub(super) next: *mut Node<T>,
    /// Rendezvous only: 1 when the message has been taken.
    pub(super) taken: Word,
    /// Rendezvous only: its waiting sender, if that is part of the model. Null otherwise.
    pub(super) waiter: *const Waiter,
}

impl<T> Node<T> {
    pub(super) fn alloc(message: T) -> *mut Node<T> {
        Box::into_raw(Box::new(Node {
            message: Some(message),
            next: ptr::null_mut(),
            taken: Word::new(0),
            waiter: ptr::null(),
        }))
    }

    /// Frees a node and returns its message, if it still has one.
    ///
    /// # Safety
    /// `node` comes from `alloc` and nobody else has it.
    pub(super) unsafe fn free(node: *mut Node<T>) -> Option<T> {
        // SAFETY: promised by the caller.
        unsafe { Box::from_raw(node) }.message
    }
}

/// Records a message, for reports.
fn tell_message<T>(index: u64, message: &Option<T>) {
    note(|| match message.as_ref().and_then(show) {
        Some(text) => format!("message {index}: {text}"),
        None => format!("message {index}"),
    });
}

/// The messages, oldest first. Only touched while an operation takes effect.
pub(super) struct Queue<T> {
    head: *mut Node<T>,
    tail: *mut Node<T>,
    /// Rendezvous only: the message that a sender has handed to the waiting receiver.
    pub(super) handed: *mut Node<T>,
}

impl<T> Queue<T> {
    pub(super) fn push(&mut self, node: *mut Node<T>) {
        if self.head.is_null() {
            self.head = node;
        } else {
            // SAFETY: the tail of a queue that is not empty is a node of the queue, alive until it is popped.
            unsafe { (*self.tail).next = node };
        }
        self.tail = node;
    }

    pub(super) fn pop(&mut self) -> Option<*mut Node<T>> {
        let node = self.head;
        if node.is_null() {
            return None;
        }
        // SAFETY: nodes in the queue are alive.
        self.head = unsafe { (*node).next };
        if self.head.is_null() {
            // Equal queues are equal bytes, whatever happened before.
            self.tail = ptr::null_mut();
        }
        Some(node)
    }

    /// Removes a node from wherever it is.
    pub(super) fn remove(&mut self, node: *mut Node<T>) {
        let mut before = ptr::null_mut::<Node<T>>();
        let mut at = self.head;
        while at != node {
            before = at;
            // SAFETY: nodes in the queue are alive, and the one that is looked for comes later.
            at = unsafe { (*at).next };
        }
        // SAFETY: as above.
        let next = unsafe { (*node).next };
        if before.is_null() {
            self.head = next;
        } else {
            // SAFETY: as above.
            unsafe { (*before).next = next };
        }
        if self.tail == node {
            self.tail = before;
        }
    }
}

/// The result of a receive.
pub(super) enum Received<T> {
    Message(T),
    Nothing,
    Disconnected,
}

/// Why a message was not sent.
pub(super) enum Refused<T> {
    Full(T),
    Disconnected(T),
}

/// The guards of operations. Made once for a channel, so that operations need not allocate.
struct Guards {
    /// There is something to receive (a message, or the end of all senders); there is not.
    supply: [Guard; 2],
    /// There is room, or no receiver any more.
    sendable: Guard,
}

/// A channel.
pub(super) struct Channel<T> {
    pub(super) capacity: Capacity,
    /// Number of messages in the queue.
    pub(super) length: Word,
    /// Number of senders.
    pub(super) senders: Word,
    /// 1 while the receiver lives.
    pub(super) receiver: Word,
    /// Rendezvous only: 1 while the receiver waits with open hands.
    pub(super) open: Word,
    /// Rendezvous only: 1 while the receiver has something in its hands that it has not looked at.
    pub(super) served: Word,
    sent: AtomicU64,
    received: AtomicU64,
    queue: UnsafeCell<Queue<T>>,
    guards: Guards,
    pub(super) waiting_senders: Waiters,
    pub(super) waiting_receivers: Waiters,
}

const TAIL: u64 = 0;
const HEAD: u64 = 1;
const SLOTS: u64 = 2;

impl<T> Channel<T> {
    pub(super) fn alloc(capacity: Capacity) -> Shared<Channel<T>> {
        let mut channel = Shared::new(Channel {
            capacity,
            length: Word::new(0),
            senders: Word::new(1),
            receiver: Word::new(1),
            open: Word::new(0),
            served: Word::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            queue: UnsafeCell::new(Queue {
                head: ptr::null_mut(),
                tail: ptr::null_mut(),
                handed: ptr::null_mut(),
            }),
            guards: Guards {
                supply: [Guard::always(), Guard::always()],
                sendable: Guard::always(),
            },
            waiting_senders: Waiters::new(),
            waiting_receivers: Waiters::new(),
        });
        // Guards name words by address, and those are known only now.
        if let Some(channel) = channel.get_mut() {
            let supply = if capacity == Capacity::Rendezvous {
                &channel.served
            } else {
                &channel.length
            }
            .variable();
            let senders = channel.senders.variable();
            channel.guards = Guards {
                supply: [
                    Guard::always().and([Condition::AtLeast(supply, 1), Condition::Equals(senders, 0)]),
                    Guard::when(Condition::Equals(supply, 0)).and([Condition::AtLeast(senders, 1)]),
                ],
                sendable: match capacity {
                    Capacity::Bounded(bound) => Guard::always().and([
                        Condition::LessThan(channel.length.variable(), i64::try_from(bound).unwrap_or(i64::MAX)),
                        Condition::Equals(channel.receiver.variable(), 0),
                    ]),
                    _ => Guard::always(),
                },
            };
        }
        channel
    }

    pub(super) fn location(&self) -> Location {
        location(self)
    }

    pub(super) fn tail(&self) -> Location {
        sub_location(location(&self.queue), TAIL)
    }

    fn head(&self) -> Location {
        sub_location(location(&self.queue), HEAD)
    }

    fn slot(&self, index: u64) -> Location {
        sub_location(location(&self.queue), SLOTS + index % (u64::from(u16::MAX) - SLOTS))
    }

    /// The slot whose message must be gone before the send with this index has room.
    fn room(&self, index: u64) -> Option<Location> {
        match self.capacity {
            Capacity::Bounded(bound) => index.checked_sub(bound).map(|old| self.slot(old)),
            _ => None,
        }
    }

    /// The queue, while an operation takes effect.
    ///
    /// # Safety
    /// Only inside the closure of `perform`, and not while another reference from here lives.
    #[expect(clippy::mut_from_ref, reason = "the scheduler lets one thread at a time in")]
    pub(super) unsafe fn queue(&self) -> &mut Queue<T> {
        // SAFETY: `perform` runs one closure at a time; the rest the caller promises.
        unsafe { &mut *self.queue.get() }
    }

    /// The accesses of a pending send. Other sends may go first and shift its slot, and receives may then make room at
    /// other slots: hence the head.
    fn send_accesses(&self) -> [Access; 4] {
        let index = self.sent.load(Ordering::Relaxed);
        let head = match self.capacity {
            Capacity::Bounded(_) => self.head(),
            _ => self.receiver_alive(),
        };
        [
            access_of(self.tail(), AccessKind::Write),
            access_of(self.slot(index), AccessKind::Write),
            access_of(self.receiver_alive(), AccessKind::Read),
            access_of(head, AccessKind::Read),
        ]
    }

    pub(super) fn receiver_alive(&self) -> Location {
        location(&self.receiver)
    }

    pub(super) fn sender_count(&self) -> Location {
        location(&self.senders)
    }

    /// Sends in the current step if the receiver lives. There is room; a `blocking` operation waits for it.
    fn put(&self, node: *mut Node<T>, blocking: bool, touch: Touch<'_>) -> bool {
        touch.relaxed().read(self.receiver_alive());
        if self.receiver.get() == 0 {
            note(|| "no receiver".to_string());
            // A full buffer would have blocked it while there was one: it depends on what else was sent.
            if matches!(self.capacity, Capacity::Bounded(_)) {
                touch.relaxed().read(self.tail());
            }
            if let Some(room) = self.room(self.sent.load(Ordering::Relaxed)) {
                touch.relaxed().found(self.head(), access_of(room, AccessKind::Read));
            }
            return false;
        }
        let index = self.sent.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the node is still that of who sends it.
        tell_message(index, unsafe { &(*node).message });
        // SAFETY: called inside `perform` only.
        unsafe { self.queue() }.push(node);
        self.length.set(self.length.get() + 1);
        touch.relaxed().write(self.tail());
        // Another slot than was declared, if other sends came first.
        touch.found(self.tail(), access_of(self.slot(index), AccessKind::Write));
        if let Some(room) = self.room(index) {
            let awaits = if blocking { Awaits::FirstWrite } else { Awaits::Nothing };
            touch.found(self.head(), awaiting(room, AccessKind::Read, awaits));
            order::settle(room);
        }
        true
    }

    /// Waits before a send that may block, if the thread's park token is part of the model ([`Waiters`]).
    #[track_caller]
    fn wait_for_room(&self) {
        let Capacity::Bounded(bound) = self.capacity else {
            return;
        };
        let Some(waiter) = Waiter::new() else { return };
        let bound = i64::try_from(bound).unwrap_or(i64::MAX);
        let wait = Wait {
            object: self.location(),
            parked: OperationKind::SendWait,
            timeout: None,
            give_up: None,
        };
        let ready = [
            Condition::LessThan(self.length.variable(), bound),
            Condition::Equals(self.receiver.variable(), 0),
        ];
        let is_ready = || self.length.get() < bound || self.receiver.get() == 0;
        let looks_at = [self.tail(), self.head(), self.receiver_alive()];
        self.waiting_senders
            .wait_until(&waiter, &wait, ready, is_ready, looks_at);
    }

    /// Waits before a receive that may block, if the thread's park token is part of the model ([`Waiters`]). Returns
    /// the timeout for what is left of the wait.
    #[track_caller]
    fn wait_for_message(&self, timeout: Option<Duration>) -> Option<Duration> {
        // Without time there is no wait.
        if timeout == Some(Duration::ZERO) {
            return timeout;
        }
        let Some(waiter) = Waiter::new() else { return timeout };
        observe(self.sender_count());
        let wait = Wait {
            object: self.location(),
            parked: OperationKind::RecvWait,
            timeout,
            give_up: None,
        };
        let ready = [
            Condition::AtLeast(self.length.variable(), 1),
            Condition::Equals(self.senders.variable(), 0),
        ];
        let is_ready = || self.length.get() > 0 || self.senders.get() == 0;
        let looks_at = [
            self.slot(self.received.load(Ordering::Relaxed)),
            self.head(),
            self.sender_count(),
        ];
        let late = self
            .waiting_receivers
            .wait_until(&waiter, &wait, ready, is_ready, looks_at);
        if late { Some(Duration::ZERO) } else { timeout }
    }

    /// Announces that there is room again.
    #[track_caller]
    fn made_room<R>(&self, received: &Received<R>) {
        if let (Received::Message(_), Capacity::Bounded(_)) = (received, self.capacity) {
            self.waiting_senders.notify(self.location());
        }
    }

    /// Sends; blocks while the buffer is full.
    #[track_caller]
    pub(super) fn send(&self, message: T) -> Result<(), T> {
        let node = Node::alloc(message);
        self.wait_for_room();
        let accesses = self.send_accesses();
        let operation = Operation {
            kind: OperationKind::Send,
            object: self.location(),
            accesses: &accesses,
            alternatives: match self.capacity {
                Capacity::Bounded(_) => std::slice::from_ref(&self.guards.sendable),
                _ => &[],
            },
            timeout: None,
        };
        if perform(&operation, |_, touch| self.put(node, true, touch)) {
            self.waiting_receivers.notify(self.location());
            return Ok(());
        }
        // SAFETY: the node was not put into the queue.
        unsafe { Node::free(node) }.map_or(Ok(()), Err)
    }

    /// Sends if there is room.
    #[track_caller]
    pub(super) fn try_send(&self, message: T) -> Result<(), Refused<T>> {
        let node = Node::alloc(message);
        let accesses = self.send_accesses();
        let operation = Operation::always(OperationKind::TrySend, self.location(), &accesses);
        let (sent, full) = perform(&operation, |_, touch| {
            let index = self.sent.load(Ordering::Relaxed);
            let full = match self.capacity {
                Capacity::Bounded(bound) => u64::try_from(self.length.get()).is_ok_and(|length| length >= bound),
                _ => false,
            };
            if full && self.receiver.get() != 0 {
                touch.relaxed().read(self.receiver_alive());
                touch.relaxed().read(self.tail());
                if let Some(room) = self.room(index) {
                    touch.relaxed().found(self.head(), access_of(room, AccessKind::Read));
                }
                note(|| "full".to_string());
                return (false, true);
            }
            (self.put(node, false, touch), false)
        });
        if sent {
            self.waiting_receivers.notify(self.location());
            return Ok(());
        }
        // SAFETY: the node was not put into the queue.
        let message = unsafe { Node::free(node) };
        message.map_or(Ok(()), |message| {
            Err(if full {
                Refused::Full(message)
            } else {
                Refused::Disconnected(message)
            })
        })
    }

    fn receive_accesses(&self, blocking: bool) -> [Access; 3] {
        let slot = self.slot(self.received.load(Ordering::Relaxed));
        [
            access_of(self.head(), AccessKind::Write),
            match blocking {
                true => awaiting(slot, AccessKind::Write, Awaits::FirstWrite),
                false => access_of(slot, AccessKind::Write),
            },
            access_of(self.sender_count(), AccessKind::Read),
        ]
    }

    /// Receives what is available, in the current step. A `blocking` operation waits for it, without a timeout.
    fn take(&self, blocking: bool, touch: Touch<'_>) -> Received<*mut Node<T>> {
        let index = self.received.load(Ordering::Relaxed);
        // SAFETY: called inside `perform` only.
        if let Some(node) = unsafe { self.queue() }.pop() {
            self.received.store(index + 1, Ordering::Relaxed);
            self.length.set(self.length.get() - 1);
            touch.relaxed().write(self.head());
            match blocking {
                true => touch.awaiting(self.slot(index), AccessKind::Write, Awaits::FirstWrite),
                false => touch.write(self.slot(index)),
            }
            if !matches!(self.capacity, Capacity::Bounded(_)) {
                order::settle(self.slot(index));
            }
            // SAFETY: who pops a node of a buffer has it for itself.
            tell_message(index, unsafe { &(*node).message });
            return Received::Message(node);
        }
        touch.relaxed().read(self.slot(index));
        touch.relaxed().read(self.sender_count());
        if self.senders.get() == 0 {
            order::acquire(self.sender_count());
            note(|| "no sender".to_string());
            Received::Disconnected
        } else {
            note(|| "empty".to_string());
            Received::Nothing
        }
    }

    fn unpack(received: Received<*mut Node<T>>) -> Received<T> {
        match received {
            // SAFETY: who pops a node of a buffer has it for itself.
            Received::Message(node) => unsafe { Node::free(node) }.map_or(Received::Disconnected, Received::Message),
            Received::Nothing => Received::Nothing,
            Received::Disconnected => Received::Disconnected,
        }
    }

    /// Receives; blocks while there is nothing and a sender lives.
    #[track_caller]
    pub(super) fn recv(&self) -> Received<T> {
        self.wait_for_message(None);
        let accesses = self.receive_accesses(true);
        let take = |touch: Touch<'_>| self.take(true, touch);
        let received = self.wait_for_supply(&accesses, OperationKind::Recv, None, take);
        self.made_room(&received);
        Self::unpack(received)
    }

    /// Receives what is available now.
    #[track_caller]
    pub(super) fn try_recv(&self) -> Received<T> {
        observe(self.sender_count());
        let accesses = self.receive_accesses(false);
        let operation = Operation::always(OperationKind::TryRecv, self.location(), &accesses);
        let received = perform(&operation, |_, touch| self.take(false, touch));
        self.made_room(&received);
        Self::unpack(received)
    }

    /// Receives; blocks until the timeout fires.
    #[track_caller]
    pub(super) fn recv_timeout(&self, timeout: Duration) -> Received<T> {
        observe(self.sender_count());
        let left = self.wait_for_message(Some(timeout));
        let accesses = self.receive_accesses(false);
        let received = self.wait_for_supply(&accesses, OperationKind::RecvTimeout, left, |touch| {
            self.take(false, touch)
        });
        if let Received::Nothing = received {
            time::timed_out(timeout);
        }
        self.made_room(&received);
        Self::unpack(received)
    }

    /// Waits until there is something to receive or the timeout fires.
    #[track_caller]
    pub(super) fn wait_for_supply<R>(
        &self,
        accesses: &[Access],
        kind: OperationKind,
        timeout: Option<Duration>,
        apply: impl FnOnce(Touch<'_>) -> R,
    ) -> R {
        let operation = Operation {
            kind,
            object: self.location(),
            accesses,
            alternatives: &self.guards.supply[..1 + usize::from(time::firing(timeout).is_some())],
            timeout: time::alternative(1, timeout),
        };
        perform(&operation, |_, touch| apply(touch))
    }

    /// Adds a sender, which was cloned.
    #[track_caller]
    pub(super) fn add_sender(&self) {
        release(OperationKind::CloneSender, self.sender_count(), |touch| {
            self.senders.set(self.senders.get() + 1);
            touch.relaxed().update(self.sender_count());
        });
    }

    /// Removes a sender, which was dropped.
    pub(super) fn drop_sender(&self) {
        let last = release(OperationKind::DropSender, self.sender_count(), |touch| {
            self.senders.set(self.senders.get() - 1);
            touch.update(self.sender_count());
            self.senders.get() == 0
        });
        if last {
            self.waiting_receivers.disconnect(self.location());
        }
    }

    /// Removes the receiver, which was dropped, and drops the messages that it has not received.
    pub(super) fn drop_receiver(&self) {
        let accesses = [access_of(self.receiver_alive(), AccessKind::Write)];
        let mut rest = perform(
            &Operation::always(OperationKind::DropReceiver, self.location(), &accesses),
            |_, touch| {
                self.receiver.set(0);
                touch.relaxed().write(self.receiver_alive());
                if self.capacity == Capacity::Rendezvous {
                    // Senders that wait take back their own.
                    return ptr::null_mut();
                }
                // SAFETY: inside `perform`.
                let queue = unsafe { self.queue() };
                // Their messages are dropped by this thread.
                for index in self.received.load(Ordering::Relaxed)..self.sent.load(Ordering::Relaxed) {
                    order::acquire(self.slot(index));
                }
                queue.tail = ptr::null_mut();
                std::mem::replace(&mut queue.head, ptr::null_mut())
            },
        );
        self.waiting_senders.disconnect(self.location());
        while !rest.is_null() {
            let node = rest;
            // SAFETY: the queue has let go of the list, so it is all ours; a node is freed after its link is read.
            rest = unsafe { (*node).next };
            // SAFETY: as above.
            drop(unsafe { Node::free(node) });
        }
    }
}
