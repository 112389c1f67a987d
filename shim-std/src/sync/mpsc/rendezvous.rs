//! The operations of a channel without a buffer.
//!
//! A sender that finds the receiver waiting puts the message into its hands and is done. Else it queues and
//! waits until the message is taken. Likewise a receiver takes from the oldest sender that waits, or waits
//! with open hands; only then does `try_send` succeed. All of them touch the tail.

use super::channel::{Channel, Node, Received, Refused};
use super::waiting::{Selected, Wait, Waiter};
use crate::thread::Thread;
use dpor_scheduler::{
    Access, AccessKind, Condition, Guard, Location, Operation, OperationKind, Touch, access_of, location, note,
    observe, perform, time,
};
use std::ptr;
use std::time::Duration;

/// The immediate result of offering a message.
#[derive(PartialEq, Eq)]
enum Offered {
    Taken,
    Waits,
    Full,
    Disconnected,
}

/// The immediate result of a receive.
enum Found<T> {
    Message(T),
    Waits,
    Nothing,
    Disconnected,
}

impl<T> Channel<T> {
    fn hands(&self) -> Location {
        location(&self.served)
    }

    /// The accesses of a pending offer. A receiver that waits may have to be woken.
    fn offer_accesses(&self) -> [Access; 4] {
        [
            access_of(self.tail(), AccessKind::Write),
            access_of(self.receiver_alive(), AccessKind::Read),
            access_of(self.hands(), AccessKind::Write),
            access_of(self.waiting_receivers.location(), AccessKind::Write),
        ]
    }

    /// Offers a message in the current step; waits with it only if `patient`. The thread that gets it has to be woken,
    /// if that is part of the model.
    fn offer(&self, node: *mut Node<T>, patient: bool, wakes: &mut Option<Thread>, touch: Touch<'_>) -> Offered {
        // SAFETY: called inside `perform` only.
        let queue = unsafe { self.queue() };
        if self.open.get() == 1 {
            queue.handed = node;
            self.open.set(0);
            self.served.set(1);
            touch.write(self.tail());
            touch.write(self.hands());
            *wakes = self.waiting_receivers.select_first(Selected::Operation, touch);
            return Offered::Taken;
        }
        touch.read(self.receiver_alive());
        if self.receiver.get() == 0 {
            note(|| "no receiver".to_string());
            return Offered::Disconnected;
        }
        if !patient {
            touch.read(self.tail());
            note(|| "nobody receives".to_string());
            return Offered::Full;
        }
        queue.push(node);
        self.length.set(self.length.get() + 1);
        touch.write(self.tail());
        // SAFETY: it is null, or is that of the present thread, which waits next.
        if let Some(waiter) = unsafe { (*node).waiter.as_ref() } {
            self.waiting_senders.register(waiter, touch);
        }
        Offered::Waits
    }

    /// Sends to the receiver; blocks until it has taken the message.
    #[track_caller]
    pub(super) fn meet(&self, message: T) -> Result<(), T> {
        let node = Node::alloc(message);
        let [tail, alive, hands, receivers] = self.offer_accesses();
        let senders = access_of(self.waiting_senders.location(), AccessKind::Write);
        let accesses = [tail, alive, hands, receivers, senders];
        let waiter = Waiter::new();
        // SAFETY: nobody else has the node yet.
        unsafe { (*node).waiter = waiter.as_ref().map_or(ptr::null(), ptr::from_ref) };
        let operation = Operation::always(OperationKind::Send, self.location(), &accesses);
        let mut wakes = None;
        match perform(&operation, |_, touch| self.offer(node, true, &mut wakes, touch)) {
            Offered::Taken => {
                self.wake_receiver(wakes);
                return Ok(());
            }
            Offered::Waits => self.wait_until_taken(node, waiter.as_ref()),
            Offered::Full | Offered::Disconnected => {}
        }
        // SAFETY: the node was not offered, or came back, or its message was taken and its sender has it.
        unsafe { Node::free(node) }.map_or(Ok(()), Err)
    }

    #[track_caller]
    fn wake_receiver(&self, thread: Option<Thread>) {
        if let Some(thread) = thread {
            self.waiting_receivers.wake(&thread, Selected::Operation);
        }
    }

    #[track_caller]
    fn wake_sender(&self, thread: Option<Thread>) {
        if let Some(thread) = thread {
            self.waiting_senders.wake(&thread, Selected::Operation);
        }
    }

    /// Waits until the message is taken, or takes back the node when no receiver is left to take it.
    #[track_caller]
    fn wait_until_taken(&self, node: *mut Node<T>, waiter: Option<&Waiter>) {
        if let Some(waiter) = waiter {
            let wait = Wait {
                object: self.location(),
                parked: OperationKind::SendWait,
                timeout: None,
                give_up: None,
            };
            self.waiting_senders.linger(waiter, &wait);
            self.waiting_senders.settle(self.location());
        }
        // SAFETY: the node is freed by its sender, which is who waits here.
        let taken = unsafe { &(*node).taken };
        let accesses = [
            access_of(location(taken), AccessKind::Read),
            access_of(self.receiver_alive(), AccessKind::Read),
            access_of(self.tail(), AccessKind::Write),
        ];
        let over = [Guard::always().and([
            Condition::Equals(taken.variable(), 1),
            Condition::Equals(self.receiver.variable(), 0),
        ])];
        perform(
            &Operation::guarded(OperationKind::Send, self.location(), &accesses, &over),
            |_, touch| {
                touch.read(location(taken));
                if taken.get() == 0 {
                    // SAFETY: inside `perform`.
                    unsafe { self.queue() }.remove(node);
                    self.length.set(self.length.get() - 1);
                    touch.read(self.receiver_alive());
                    touch.write(self.tail());
                    note(|| "no receiver".to_string());
                }
            },
        );
    }

    /// Sends if the receiver is waiting.
    #[track_caller]
    pub(super) fn try_meet(&self, message: T) -> Result<(), Refused<T>> {
        let node = Node::alloc(message);
        let accesses = self.offer_accesses();
        let operation = Operation::always(OperationKind::TrySend, self.location(), &accesses);
        let mut wakes = None;
        let offered = perform(&operation, |_, touch| self.offer(node, false, &mut wakes, touch));
        if offered == Offered::Taken {
            self.wake_receiver(wakes);
            return Ok(());
        }
        // SAFETY: the node was not offered.
        let message = unsafe { Node::free(node) };
        message.map_or(Ok(()), |message| {
            Err(if offered == Offered::Full {
                Refused::Full(message)
            } else {
                Refused::Disconnected(message)
            })
        })
    }

    /// The accesses of an operation that takes from a waiting sender, which may have to be woken.
    fn collect_accesses(&self) -> [Access; 3] {
        [
            access_of(self.tail(), AccessKind::Write),
            access_of(self.sender_count(), AccessKind::Read),
            access_of(self.waiting_senders.location(), AccessKind::Write),
        ]
    }

    /// Takes from a waiting sender, in the current step; waits for one only if `patient`. The sender has to be woken,
    /// if that is part of the model.
    fn collect(
        &self,
        patient: bool,
        waiter: Option<&Waiter>,
        wakes: &mut Option<Thread>,
        touch: Touch<'_>,
    ) -> Found<T> {
        // SAFETY: called inside `perform` only.
        if let Some(node) = unsafe { self.queue() }.pop() {
            // SAFETY: its sender waits, and frees the node only after it has seen `taken`.
            let node = unsafe { &mut *node };
            self.length.set(self.length.get() - 1);
            node.taken.set(1);
            touch.write(self.tail());
            // Its sender goes on only after this, or without a receiver.
            touch.found(self.tail(), access_of(location(&node.taken), AccessKind::Write));
            // SAFETY: it is null, or is on the stack of the sender, which waits.
            if let Some(waiter) = unsafe { node.waiter.as_ref() } {
                *wakes = Some(self.waiting_senders.select(waiter, Selected::Operation, touch));
            }
            return node.message.take().map_or(Found::Disconnected, Found::Message);
        }
        touch.read(self.sender_count());
        if self.senders.get() == 0 {
            note(|| "no sender".to_string());
            touch.read(self.tail());
            return Found::Disconnected;
        }
        if !patient {
            note(|| "nobody sends".to_string());
            touch.read(self.tail());
            return Found::Nothing;
        }
        self.open.set(1);
        touch.write(self.tail());
        if let Some(waiter) = waiter {
            self.waiting_receivers.register(waiter, touch);
        }
        Found::Waits
    }

    /// Receives from a sender; blocks until there is one, no more can come, or the timeout fires.
    #[track_caller]
    pub(super) fn greet(&self, timeout: Option<Duration>) -> Received<T> {
        let kind = if timeout.is_some() {
            OperationKind::RecvTimeout
        } else {
            OperationKind::Recv
        };
        let waiter = Waiter::new();
        if timeout.is_some() || waiter.is_some() {
            observe(self.sender_count());
        }
        let [tail, senders, waiting] = self.collect_accesses();
        let own = access_of(self.waiting_receivers.location(), AccessKind::Write);
        let accesses = [tail, senders, waiting, own];
        let mut wakes = None;
        let found = perform(&Operation::always(kind, self.location(), &accesses), |_, touch| {
            self.collect(true, waiter.as_ref(), &mut wakes, touch)
        });
        self.wake_sender(wakes);
        match found {
            Found::Message(message) => return Received::Message(message),
            Found::Nothing | Found::Disconnected => return Received::Disconnected,
            Found::Waits => {}
        }
        if let Some(waiter) = &waiter
            && self.linger(waiter, timeout) == Selected::Aborted
        {
            // Nobody puts anything into its hands any more, and whether senders are left does not count.
            perform(&Operation::always(kind, self.location(), &[]), |_, _| ());
            return Self::timed_out(timeout);
        }
        let accesses = [
            access_of(self.hands(), AccessKind::Write),
            access_of(self.sender_count(), AccessKind::Read),
            access_of(self.tail(), AccessKind::Write),
        ];
        let handed = self.wait_for_supply(&accesses, kind, timeout, |touch| {
            if self.served.get() == 1 {
                self.served.set(0);
                touch.write(self.hands());
                // SAFETY: inside `perform`.
                return Ok(unsafe { self.queue() }.handed);
            }
            self.open.set(0);
            touch.read(self.hands());
            touch.write(self.tail());
            touch.read(self.sender_count());
            Err(self.senders.get() == 0)
        });
        match handed {
            // SAFETY: what is put into the receiver's hands is its own.
            Ok(node) => unsafe { Node::free(node) }.map_or(Received::Disconnected, Received::Message),
            Err(true) => Received::Disconnected,
            Err(false) => Self::timed_out(timeout),
        }
    }

    fn timed_out(timeout: Option<Duration>) -> Received<T> {
        note(|| "timed out".to_string());
        time::timed_out(timeout.unwrap_or_default());
        Received::Nothing
    }

    /// Waits as a receiver with open hands whose park token is part of the model.
    #[track_caller]
    fn linger(&self, waiter: &Waiter, timeout: Option<Duration>) -> Selected {
        let wait = Wait {
            object: self.location(),
            parked: OperationKind::RecvWait,
            timeout,
            give_up: Some((self.tail(), &|| self.open.set(0))),
        };
        let selected = self.waiting_receivers.linger(waiter, &wait);
        if selected != Selected::Aborted {
            self.waiting_receivers.settle(self.location());
        }
        selected
    }

    /// Receives from a waiting sender.
    #[track_caller]
    pub(super) fn try_greet(&self) -> Received<T> {
        observe(self.sender_count());
        let accesses = self.collect_accesses();
        let operation = Operation::always(OperationKind::TryRecv, self.location(), &accesses);
        let mut wakes = None;
        let found = perform(&operation, |_, touch| self.collect(false, None, &mut wakes, touch));
        self.wake_sender(wakes);
        match found {
            Found::Message(message) => Received::Message(message),
            Found::Nothing | Found::Waits => Received::Nothing,
            Found::Disconnected => Received::Disconnected,
        }
    }
}
