//! The operations of a channel without a buffer.
//!
//! A sender that finds the receiver waiting puts the message into its hands and is done. Else it queues and
//! waits until the message is taken. Likewise a receiver takes from the oldest sender that waits, or waits
//! with open hands; only then does `try_send` succeed. All of them touch the tail.

use super::channel::{Channel, Node, Received, Refused};
use super::waiting::{Selected, Wait, Waiter};
use crate::thread::Thread;
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, access, access_of, location, note, observe,
    perform, time,
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

    /// Offers a message in the current step; waits with it only if `patient`. The thread that gets it has to be woken,
    /// if that is part of the model.
    fn offer(&self, node: *mut Node<T>, patient: bool, wakes: &mut Option<Thread>) -> Offered {
        // SAFETY: called inside `perform` only.
        let queue = unsafe { self.queue() };
        if self.open.get() == 1 {
            queue.handed = node;
            self.open.set(0);
            self.served.set(1);
            access(self.tail(), AccessKind::Write);
            access(self.hands(), AccessKind::Write);
            *wakes = self.waiting_receivers.select_first(Selected::Operation);
            return Offered::Taken;
        }
        access(self.receiver_alive(), AccessKind::Read);
        if self.receiver.get() == 0 {
            note(|| "no receiver".to_string());
            return Offered::Disconnected;
        }
        if !patient {
            access(self.tail(), AccessKind::Read);
            note(|| "nobody receives".to_string());
            return Offered::Full;
        }
        queue.push(node);
        self.length.set(self.length.get() + 1);
        access(self.tail(), AccessKind::Write);
        // SAFETY: it is null, or is that of the present thread, which waits next.
        if let Some(waiter) = unsafe { (*node).waiter.as_ref() } {
            self.waiting_senders.register(waiter);
        }
        Offered::Waits
    }

    /// Sends to the receiver; blocks until it has taken the message.
    #[track_caller]
    pub(super) fn meet(&self, message: T) -> Result<(), T> {
        let node = Node::alloc(message);
        let accesses = [
            access_of(self.tail(), AccessKind::Write),
            access_of(self.receiver_alive(), AccessKind::Read),
        ];
        let waiter = Waiter::new();
        // SAFETY: nobody else has the node yet.
        unsafe { (*node).waiter = waiter.as_ref().map_or(ptr::null(), ptr::from_ref) };
        let operation = Operation::always(OperationKind::Send, self.location(), &accesses);
        let mut wakes = None;
        match perform(&operation, |_| self.offer(node, true, &mut wakes)) {
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
            |_| {
                access(location(taken), AccessKind::Read);
                if taken.get() == 0 {
                    // SAFETY: inside `perform`.
                    unsafe { self.queue() }.remove(node);
                    self.length.set(self.length.get() - 1);
                    access(self.receiver_alive(), AccessKind::Read);
                    access(self.tail(), AccessKind::Write);
                    note(|| "no receiver".to_string());
                }
            },
        );
    }

    /// Sends if the receiver is waiting.
    #[track_caller]
    pub(super) fn try_meet(&self, message: T) -> Result<(), Refused<T>> {
        let node = Node::alloc(message);
        let accesses = [
            access_of(self.tail(), AccessKind::Write),
            access_of(self.receiver_alive(), AccessKind::Read),
        ];
        let operation = Operation::always(OperationKind::TrySend, self.location(), &accesses);
        let mut wakes = None;
        let offered = perform(&operation, |_| self.offer(node, false, &mut wakes));
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

    /// Takes from a waiting sender, in the current step; waits for one only if `patient`. The sender has to be woken,
    /// if that is part of the model.
    fn collect(&self, patient: bool, waiter: Option<&Waiter>, wakes: &mut Option<Thread>) -> Found<T> {
        // SAFETY: called inside `perform` only.
        if let Some(node) = unsafe { self.queue() }.pop() {
            // SAFETY: its sender waits, and frees the node only after it has seen `taken`.
            let node = unsafe { &mut *node };
            self.length.set(self.length.get() - 1);
            node.taken.set(1);
            access(self.tail(), AccessKind::Write);
            access(location(&node.taken), AccessKind::Write);
            // SAFETY: it is null, or is on the stack of the sender, which waits.
            if let Some(waiter) = unsafe { node.waiter.as_ref() } {
                *wakes = Some(self.waiting_senders.select(waiter, Selected::Operation));
            }
            return node.message.take().map_or(Found::Disconnected, Found::Message);
        }
        access(self.sender_count(), AccessKind::Read);
        if self.senders.get() == 0 {
            note(|| "no sender".to_string());
            access(self.tail(), AccessKind::Read);
            return Found::Disconnected;
        }
        if !patient {
            note(|| "nobody sends".to_string());
            access(self.tail(), AccessKind::Read);
            return Found::Nothing;
        }
        self.open.set(1);
        access(self.tail(), AccessKind::Write);
        if let Some(waiter) = waiter {
            self.waiting_receivers.register(waiter);
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
        let accesses = [
            access_of(self.tail(), AccessKind::Write),
            access_of(self.sender_count(), AccessKind::Read),
        ];
        let mut wakes = None;
        let found = perform(&Operation::always(kind, self.location(), &accesses), |_| {
            self.collect(true, waiter.as_ref(), &mut wakes)
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
            perform(&Operation::always(kind, self.location(), &[]), |_| ());
            return Self::timed_out(timeout);
        }
        let accesses = [
            access_of(self.hands(), AccessKind::Write),
            access_of(self.sender_count(), AccessKind::Read),
            access_of(self.tail(), AccessKind::Write),
        ];
        let handed = self.wait_for_supply(&accesses, kind, timeout, || {
            if self.served.get() == 1 {
                self.served.set(0);
                access(self.hands(), AccessKind::Write);
                // SAFETY: inside `perform`.
                return Ok(unsafe { self.queue() }.handed);
            }
            self.open.set(0);
            access(self.hands(), AccessKind::Read);
            access(self.tail(), AccessKind::Write);
            access(self.sender_count(), AccessKind::Read);
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
        time::advance(timeout.unwrap_or_default());
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
        let accesses = [
            access_of(self.tail(), AccessKind::Write),
            access_of(self.sender_count(), AccessKind::Read),
        ];
        let operation = Operation::always(OperationKind::TryRecv, self.location(), &accesses);
        let mut wakes = None;
        let found = perform(&operation, |_| self.collect(false, None, &mut wakes));
        self.wake_sender(wakes);
        match found {
            Found::Message(message) => Received::Message(message),
            Found::Nothing | Found::Waits => Received::Nothing,
            Found::Disconnected => Received::Disconnected,
        }
    }
}
