//! leader: election in a ring in which messages go one way (Dolev, Klawe and Rodeh 1982; Peterson 1982). An active
//! process learns the numbers of the two active ones before it, and stays active, with the first one's number, if that
//! is the largest of the three. Processes that are passive hand on what comes.
//!
//! The algorithm takes for granted that messages arrive in the order in which they are sent. Actors' messages do not.

use crate::actors::protocol::{Actor, Outbox, Protocol};

/// Leader election in a ring.
#[derive(Clone, Debug)]
pub struct Leader {
    /// The processes' numbers, in the order of the ring.
    pub numbers: Vec<u64>,
}

/// An actor of [`Leader`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Process {
    right: Actor,
    active: bool,
    /// The number that it stands for.
    largest: u64,
    /// The number of the active process before it.
    neighbour: u64,
}

/// A message of [`Leader`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LeaderMessage {
    /// The sender's number.
    First(u64),
    /// The number of the active process before the sender.
    Second(u64),
}

impl Protocol for Leader {
    type State = Process;
    type Content = LeaderMessage;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let ring = self.numbers.len() as u32;
        let process = |(at, &number): (usize, &u64)| Process {
            right: Actor((at as u32 + 1) % ring),
            active: true,
            largest: number,
            neighbour: 0,
        };
        let processes: Vec<_> = self.numbers.iter().enumerate().map(process).collect();
        for process in processes {
            out.create(process);
        }
        for (at, &number) in self.numbers.iter().enumerate() {
            out.send(Actor((at as u32 + 1) % ring), LeaderMessage::First(number));
        }
    }

    fn process(
        &self,
        _me: Actor,
        state: &mut Process,
        message: &LeaderMessage,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String> {
        match *message {
            LeaderMessage::First(number) if state.active => {
                if number != state.largest {
                    out.send(state.right, LeaderMessage::Second(number));
                    state.neighbour = number;
                }
            }
            LeaderMessage::Second(number) if state.active => {
                if state.neighbour > number && state.neighbour > state.largest {
                    state.largest = state.neighbour;
                    out.send(state.right, LeaderMessage::First(state.neighbour));
                } else {
                    state.active = false;
                }
            }
            _ => out.send(state.right, message.clone()),
        }
        Ok(())
    }
}
