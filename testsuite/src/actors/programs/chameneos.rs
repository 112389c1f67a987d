//! chameneos: creatures ask a broker for a partner, change colour when they have met, and ask again, until the broker
//! has arranged as many meetings as it was to.

use crate::actors::protocol::{Actor, Outbox, Protocol};

/// The chameneos-redux benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Chameneos {
    /// Number of creatures.
    pub creatures: usize,
    /// Number of meetings.
    pub meetings: usize,
}

/// An actor of [`Chameneos`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ChameneosActor {
    /// The entry.
    Main,
    /// Number of meetings left, and the waiting creature.
    Broker(usize, Option<(Actor, u8)>),
    /// The broker, the colour and how many others it has met.
    Creature(Actor, u8, usize),
}

/// A message of [`Chameneos`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ChameneosMessage {
    /// To the main actor.
    Begin,
    /// To a creature: go to the broker.
    Go,
    /// To the broker: this creature, of this colour, wants to meet another.
    Meet(Actor, u8),
    /// To a creature: it has met one of this colour.
    Met(u8),
    /// To a creature: there are no more meetings.
    Fade,
}

impl Protocol for Chameneos {
    type State = ChameneosActor;
    type Content = ChameneosMessage;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let main = out.create(ChameneosActor::Main);
        out.send(main, ChameneosMessage::Begin);
    }

    fn process(
        &self,
        me: Actor,
        state: &mut ChameneosActor,
        message: &ChameneosMessage,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String> {
        match (state, message) {
            (ChameneosActor::Main, ChameneosMessage::Begin) => {
                let broker = out.create(ChameneosActor::Broker(self.meetings, None));
                for colour in 0..self.creatures {
                    let creature = out.create(ChameneosActor::Creature(broker, colour as u8 % 3, 0));
                    out.send(creature, ChameneosMessage::Go);
                }
            }
            (ChameneosActor::Creature(broker, colour, _), ChameneosMessage::Go) => {
                out.send(*broker, ChameneosMessage::Meet(me, *colour));
            }
            (ChameneosActor::Broker(left, waiting), ChameneosMessage::Meet(creature, colour)) => match waiting.take() {
                _ if *left == 0 => out.send(*creature, ChameneosMessage::Fade),
                None => *waiting = Some((*creature, *colour)),
                Some((other, its)) => {
                    *left -= 1;
                    out.send(other, ChameneosMessage::Met(*colour));
                    out.send(*creature, ChameneosMessage::Met(its));
                }
            },
            (ChameneosActor::Creature(broker, colour, met), ChameneosMessage::Met(other)) => {
                // The third colour, unless both are the same.
                if *colour != *other {
                    *colour = 3 - *colour - *other;
                }
                *met += 1;
                out.send(*broker, ChameneosMessage::Meet(me, *colour));
            }
            (ChameneosActor::Creature(..), ChameneosMessage::Fade) => {}
            (state, message) => return Err(super::misdirected::<Self>(state, message)),
        }
        Ok(())
    }
}
