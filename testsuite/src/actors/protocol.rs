//! The parts of a toy actor program.

use dpor_explorer::Failure;
use std::fmt::Debug;
use std::hash::Hash;

/// An actor of a running program. Names are given in the order in which actors are first created, and are the same in
/// each execution that creates the actor in the same way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Actor(pub u32);

/// The receiver's states in which a message can be processed. States are distinguished by the number that
/// [`Protocol::mode`] gives them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Constraint {
    /// In all modes.
    Always,
    /// In this mode.
    Equals(i64),
    /// In this mode and higher ones.
    AtLeast(i64),
    /// In modes lower than this one.
    LessThan(i64),
}

/// An actor program: what its actors do.
pub trait Protocol {
    /// An actor's state.
    type State: Clone + Eq + Hash + Debug;
    /// The content of a message.
    type Content: Clone + Eq + Hash + Debug;

    /// Creates the first actors and sends the first messages.
    fn start(&self, out: &mut Outbox<'_, Self>);

    /// Processes a message in one step.
    ///
    /// # Errors
    /// A violated assertion, which ends the execution.
    fn process(
        &self,
        me: Actor,
        state: &mut Self::State,
        message: &Self::Content,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String>;

    /// The number of the state that constraints are about.
    fn mode(&self, _state: &Self::State) -> i64 {
        0
    }

    /// The states in which the message can be processed.
    fn constraint(&self, _message: &Self::Content) -> Constraint {
        Constraint::Always
    }

    /// Judges the end, when no message can be processed: the states of all actors, and how many messages are left.
    ///
    /// # Errors
    /// What is wrong with it; by default, that messages are left.
    fn judge(&self, _states: &[&Self::State], left: usize) -> Result<(), Failure> {
        match left {
            0 => Ok(()),
            n => Err(Failure {
                kind: "deadlock",
                message: format!("{n} messages are never processed"),
            }),
        }
    }
}

/// The actors and messages that a step creates and sends.
pub struct Outbox<'a, P: Protocol + ?Sized> {
    pub(super) sent: Vec<(Actor, P::Content)>,
    pub(super) created: Vec<(Actor, P::State)>,
    pub(super) name: &'a mut dyn FnMut(usize) -> Actor,
}

impl<P: Protocol + ?Sized> Outbox<'_, P> {
    /// Creates an actor.
    pub fn create(&mut self, state: P::State) -> Actor {
        let actor = (self.name)(self.created.len());
        self.created.push((actor, state));
        actor
    }

    /// Sends a message.
    pub fn send(&mut self, to: Actor, message: P::Content) {
        self.sent.push((to, message));
    }
}
