//! The registry of Tasharofi et al., *TransDPOR* (FASE 2012), figure 1: a master registers itself, and makes two
//! workers that register themselves.

use shim_std::actor::{Actor, Address, ReplyTo, Turn};

// ANCHOR: registry
/// Keeps the names of those who have registered, in order.
#[derive(Default)]
pub struct Registry {
    names: Vec<&'static str>,
}

/// The messages to a registry.
#[derive(Debug)]
pub enum Message {
    /// Somebody registers.
    Register(&'static str),
    /// Somebody asks for all names; answered when there are three.
    Names(ReplyTo<Vec<&'static str>>),
}

impl Actor for Registry {
    type Message = Message;

    fn accepts(&self, message: &Message) -> bool {
        matches!(message, Message::Register(_)) || self.names.len() == 3
    }

    fn handle(turn: &mut Turn<'_, Registry>, message: Message) {
        match message {
            Message::Register(name) => turn.names.push(name),
            Message::Names(to) => to.answer(turn.names.clone()),
        }
    }
}
// ANCHOR_END: registry

/// A worker that registers itself on request.
pub struct Worker {
    /// Its name.
    pub name: &'static str,
}

impl Actor for Worker {
    type Message = Address<Registry>;

    fn handle(turn: &mut Turn<'_, Worker>, registry: Address<Registry>) {
        registry.send(Message::Register(turn.name));
    }
}
