//! pipesort: each stage of a pipeline keeps the smallest number that it has met and hands on the others.

use crate::actors::protocol::{Actor, Outbox, Protocol};

/// Sorting in a pipeline of as many stages as numbers.
#[derive(Clone, Debug)]
pub struct Pipesort {
    /// What is sorted.
    pub numbers: Vec<u64>,
}

/// An actor of [`Pipesort`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PipeActor {
    /// The entry.
    Main,
    /// What it keeps, and the next stage.
    Stage(Option<u64>, Option<Actor>),
}

/// A message of [`Pipesort`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PipeMessage {
    /// To the main actor.
    Begin,
    /// To a stage: this is the next one.
    Number(u64),
}

impl Protocol for Pipesort {
    type State = PipeActor;
    type Content = PipeMessage;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let main = out.create(PipeActor::Main);
        out.send(main, PipeMessage::Begin);
    }

    fn process(
        &self,
        _me: Actor,
        state: &mut PipeActor,
        message: &PipeMessage,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String> {
        match (state, message) {
            (PipeActor::Main, PipeMessage::Begin) => {
                let mut next = None;
                for _ in &self.numbers {
                    next = Some(out.create(PipeActor::Stage(None, next)));
                }
                for &number in &self.numbers {
                    out.send(next.expect("there are numbers"), PipeMessage::Number(number));
                }
            }
            (PipeActor::Stage(kept @ None, _), PipeMessage::Number(number)) => *kept = Some(*number),
            (PipeActor::Stage(Some(kept), Some(next)), PipeMessage::Number(number)) => {
                let larger = (*kept).max(*number);
                *kept = (*kept).min(*number);
                out.send(*next, PipeMessage::Number(larger));
            }
            (state, message) => return Err(super::misdirected::<Self>(state, message)),
        }
        Ok(())
    }
}
