//! pipesort: each stage of a pipeline keeps the smallest number that it has met and hands on the others. The first
//! actor sends the numbers, one after each message to itself.

use crate::actors::protocol::{Actor, Outbox, Protocol};

/// Sorting in a pipeline of as many stages as numbers.
#[derive(Clone, Debug)]
pub struct Pipesort {
    /// The numbers to sort.
    pub numbers: Vec<u64>,
}

/// An actor of [`Pipesort`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PipeActor {
    /// Sends the numbers: how many are sent, and to whom.
    Source(usize, Option<Actor>),
    /// The number that it keeps, and the next stage, if it has one.
    Stage(Option<u64>, Option<Actor>),
}

/// A message of [`Pipesort`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PipeMessage {
    /// To the source: send the next number, if there is one.
    Feed,
    /// To a stage.
    Number(u64),
}

impl Protocol for Pipesort {
    type State = PipeActor;
    type Content = PipeMessage;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let source = out.create(PipeActor::Source(0, None));
        out.send(source, PipeMessage::Feed);
    }

    fn process(
        &self,
        me: Actor,
        state: &mut PipeActor,
        message: &PipeMessage,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String> {
        match (state, message) {
            (PipeActor::Source(sent, first), PipeMessage::Feed) => {
                let Some(&number) = self.numbers.get(*sent) else {
                    return Ok(());
                };
                *sent += 1;
                let first = *first.get_or_insert_with(|| out.create(PipeActor::Stage(None, None)));
                out.send(first, PipeMessage::Number(number));
                out.send(me, PipeMessage::Feed);
            }
            (PipeActor::Stage(kept @ None, _), PipeMessage::Number(number)) => *kept = Some(*number),
            (PipeActor::Stage(Some(kept), next), PipeMessage::Number(number)) => {
                let next = *next.get_or_insert_with(|| out.create(PipeActor::Stage(None, None)));
                out.send(next, PipeMessage::Number((*kept).max(*number)));
                *kept = (*kept).min(*number);
            }
            (state, message) => return Err(super::misdirected::<Self>(state, message)),
        }
        Ok(())
    }
}
