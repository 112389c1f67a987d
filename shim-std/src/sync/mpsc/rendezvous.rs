//! The operations of a channel without a buffer.
//!
//! A sender that finds the receiver waiting puts the message into its hands and is done. Else it queues and
//! waits until the message is taken. Likewise a receiver takes from the oldest sender that waits, or waits
//! with open hands; only then does `try_send` succeed. All of them touch the tail.

use super::channel::{Channel, Node, Received, Refused};
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, access, access_of, location, note, observe,
    perform,
};
use std::time::Duration;

/// What became of a message at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offered {
    Taken,
    Waits,
    Full,
    Disconnected,
}

/// What a receiver found at once.
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

    /// Offers a message in the current step; waits with it only if `patient`.
    fn offer(&self, node: *mut Node<T>, patient: bool) -> Offered {
        // SAFETY: called inside `perform` only.
        let queue = unsafe { self.queue() };
        if self.open.get() == 1 {
            queue.handed = node;
            self.open.set(0);
            self.served.set(1);
            access(self.tail(), AccessKind::Write);
            access(self.hands(), AccessKind::Write);
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
        let operation = Operation::always(OperationKind::Send, self.location(), &accesses);
        match perform(&operation, |_| self.offer(node, true)) {
            Offered::Taken => return Ok(()),
            Offered::Waits => self.wait_until_taken(node),
            Offered::Full | Offered::Disconnected => {}
        }
        // SAFETY: the node was not offered, or came back, or its message was taken and its sender has it.
        unsafe { Node::free(node) }.map_or(Ok(()), Err)
    }

    /// Waits until the message is taken, or takes back the node when there is no receiver to do it.
    #[track_caller]
    fn wait_until_taken(&self, node: *mut Node<T>) {
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
        let offered = perform(&operation, |_| self.offer(node, false));
        if offered == Offered::Taken {
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

    /// Takes from a sender that waits, in the current step; waits for one only if `patient`.
    fn collect(&self, patient: bool) -> Found<T> {
        // SAFETY: called inside `perform` only.
        if let Some(node) = unsafe { self.queue() }.pop() {
            // SAFETY: its sender waits, and frees the node only after it has seen `taken`.
            let node = unsafe { &mut *node };
            self.length.set(self.length.get() - 1);
            node.taken.set(1);
            access(self.tail(), AccessKind::Write);
            access(location(&node.taken), AccessKind::Write);
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
        if timeout.is_some() {
            observe(self.sender_count());
        }
        let accesses = [
            access_of(self.tail(), AccessKind::Write),
            access_of(self.sender_count(), AccessKind::Read),
        ];
        match perform(&Operation::always(kind, self.location(), &accesses), |_| {
            self.collect(true)
        }) {
            Found::Message(message) => return Received::Message(message),
            Found::Nothing | Found::Disconnected => return Received::Disconnected,
            Found::Waits => {}
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
            Err(false) => {
                note(|| "timed out".to_string());
                dpor_scheduler::time::advance(timeout.unwrap_or_default());
                Received::Nothing
            }
        }
    }

    /// Receives from a sender that waits.
    #[track_caller]
    pub(super) fn try_greet(&self) -> Received<T> {
        observe(self.sender_count());
        let accesses = [
            access_of(self.tail(), AccessKind::Write),
            access_of(self.sender_count(), AccessKind::Read),
        ];
        let operation = Operation::always(OperationKind::TryRecv, self.location(), &accesses);
        match perform(&operation, |_| self.collect(false)) {
            Found::Message(message) => Received::Message(message),
            Found::Nothing | Found::Waits => Received::Nothing,
            Found::Disconnected => Received::Disconnected,
        }
    }
}
