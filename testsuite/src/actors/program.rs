//! Actor programs as data, for the oracle: a message is handled by a short list of actions.

use super::protocol::{Actor, Constraint, Outbox, Protocol};
use std::fmt;

/// An actor program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// Initial number of actors.
    pub actors: usize,
    /// The first messages: the receiver among these actors, and the handler.
    pub first: Vec<(usize, usize)>,
    /// The handlers. A handler sends only messages for later ones, so that every execution ends.
    pub handlers: Vec<Handler>,
}

/// The handling of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handler {
    /// When.
    pub constraint: Constraint,
    /// What.
    pub actions: Vec<Action>,
}

/// A part of what an actor does with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// The actor's number becomes this one.
    Set(i64),
    /// This is added to the actor's number.
    Add(i64),
    /// Another message, for a handler.
    Send(Target, usize),
    /// The same, if the actor's number is at least this one.
    SendFrom(i64, Target, usize),
    /// A new actor, with a message for a handler.
    Create(usize),
    /// Fails unless the actor's number is less than this one.
    AssertBelow(i64),
}

/// The receiver of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// One of the first actors.
    First(usize),
    /// The sender itself.
    Me,
    /// The sender of the message that is being processed.
    Sender,
}

/// An actor: its number, and a digest of the messages that it has processed, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Local {
    number: i64,
    seen: u64,
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    handler: usize,
    from: Actor,
}

impl Protocol for Program {
    type State = Local;
    type Content = Request;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let actors: Vec<_> = (0..self.actors).map(|_| out.create(Local::default())).collect();
        for &(to, handler) in &self.first {
            let from = actors[to];
            out.send(from, Request { handler, from });
        }
    }

    fn process(
        &self,
        me: Actor,
        state: &mut Local,
        message: &Request,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String> {
        state.seen = (state.seen + message.handler as u64 + 1).wrapping_mul(31);
        let receiver = |target| match target {
            Target::First(actor) => Actor(actor as u32),
            Target::Me => me,
            Target::Sender => message.from,
        };
        for &action in &self.handlers[message.handler].actions {
            match action {
                Action::Set(number) => state.number = number,
                Action::Add(number) => state.number += number,
                Action::SendFrom(least, ..) if state.number < least => {}
                Action::Send(target, handler) | Action::SendFrom(_, target, handler) => {
                    out.send(receiver(target), Request { handler, from: me });
                }
                Action::Create(handler) => {
                    let actor = out.create(Local::default());
                    out.send(actor, Request { handler, from: me });
                }
                Action::AssertBelow(bound) if state.number >= bound => {
                    return Err(format!("{} is not less than {bound}", state.number));
                }
                Action::AssertBelow(_) => {}
            }
        }
        Ok(())
    }

    fn mode(&self, state: &Local) -> i64 {
        state.number
    }

    fn constraint(&self, message: &Request) -> Constraint {
        self.handlers[message.handler].constraint
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} actors", self.actors)?;
        for (to, handler) in &self.first {
            writeln!(f, "actor {to} is sent h{handler}")?;
        }
        for (index, Handler { constraint, actions }) in self.handlers.iter().enumerate() {
            writeln!(f, "h{index}, {constraint:?}: {actions:?}")?;
        }
        Ok(())
    }
}
