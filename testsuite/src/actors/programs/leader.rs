//! leader: processes in a ring send their numbers round; a number is stopped by a larger one, and whose number comes back is
//! the leader (Chang and Roberts 1979), who tells the others.

use crate::actors::protocol::{Actor, Constraint, Outbox, Protocol};

/// Leader election in a ring.
#[derive(Clone, Debug)]
pub struct Leader {
    /// The processes' numbers, in the order of the ring.
    pub numbers: Vec<u64>,
}

/// An actor of [`Leader`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LeaderActor {
    /// The entry.
    Main,
    /// Not in the ring yet.
    New,
    /// Its number, the next process, and the leader if it knows it.
    Process(u64, Actor, Option<u64>),
}

/// A message of [`Leader`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LeaderMessage {
    /// To the main actor.
    Begin,
    /// To a process: this is its number and that the next one.
    Join(u64, Actor),
    /// A number that goes round.
    Elect(u64),
    /// The leader's number.
    Elected(u64),
}

impl Protocol for Leader {
    type State = LeaderActor;
    type Content = LeaderMessage;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let main = out.create(LeaderActor::Main);
        out.send(main, LeaderMessage::Begin);
    }

    fn process(
        &self,
        _me: Actor,
        state: &mut LeaderActor,
        message: &LeaderMessage,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String> {
        match (&mut *state, message) {
            (LeaderActor::Main, LeaderMessage::Begin) => {
                let processes: Vec<_> = self.numbers.iter().map(|_| out.create(LeaderActor::New)).collect();
                let next = processes.iter().cycle().skip(1);
                for ((&process, &next), &number) in processes.iter().zip(next).zip(&self.numbers) {
                    out.send(process, LeaderMessage::Join(number, next));
                }
            }
            (LeaderActor::New, &LeaderMessage::Join(number, next)) => {
                *state = LeaderActor::Process(number, next, None);
                out.send(next, LeaderMessage::Elect(number));
            }
            (LeaderActor::Process(number, next, leader), &LeaderMessage::Elect(other)) => {
                if other == *number {
                    *leader = Some(other);
                    out.send(*next, LeaderMessage::Elected(other));
                } else if other > *number {
                    out.send(*next, LeaderMessage::Elect(other));
                }
            }
            (LeaderActor::Process(number, next, leader), &LeaderMessage::Elected(other)) => {
                if other != *number {
                    *leader = Some(other);
                    out.send(*next, LeaderMessage::Elected(other));
                }
            }
            (state, message) => return Err(super::misdirected::<Self>(state, message)),
        }
        Ok(())
    }

    fn mode(&self, state: &LeaderActor) -> i64 {
        i64::from(*state != LeaderActor::New)
    }

    /// Who is not in the ring yet takes no numbers.
    fn constraint(&self, message: &LeaderMessage) -> Constraint {
        match message {
            LeaderMessage::Elect(_) | LeaderMessage::Elected(_) => Constraint::Equals(1),
            LeaderMessage::Begin | LeaderMessage::Join(..) => Constraint::Always,
        }
    }
}
