//! diningphil: forks are actors, created before the philosophers. A fork that is taken does not take another request.

use crate::actors::protocol::{Actor, Constraint, Outbox, Protocol};
use dpor_explorer::Failure;

/// Dining philosophers, each of whom takes the left fork first.
#[derive(Clone, Copy, Debug)]
pub struct Philosophers {
    /// Number of philosophers.
    pub seats: usize,
}

/// An actor of [`Philosophers`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Seat {
    /// Whether it is taken.
    Fork(bool),
    /// The forks, and how many it has; 3 when it has eaten.
    Philosopher([Actor; 2], usize),
}

/// A message of [`Philosophers`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SeatMessage {
    /// To a philosopher: sit down to eat.
    Sit,
    /// To a fork: this philosopher takes it.
    Take(Actor),
    /// To a philosopher: it has one more fork.
    Taken,
    /// To a fork: it is put down.
    Put,
}

impl Protocol for Philosophers {
    type State = Seat;
    type Content = SeatMessage;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let forks: Vec<_> = (0..self.seats).map(|_| out.create(Seat::Fork(false))).collect();
        for seat in 0..self.seats {
            let pair = [forks[seat], forks[(seat + 1) % self.seats]];
            let philosopher = out.create(Seat::Philosopher(pair, 0));
            out.send(philosopher, SeatMessage::Sit);
        }
    }

    fn process(
        &self,
        me: Actor,
        state: &mut Seat,
        message: &SeatMessage,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String> {
        match (state, message) {
            (Seat::Philosopher(forks, _), SeatMessage::Sit) => out.send(forks[0], SeatMessage::Take(me)),
            (Seat::Philosopher(forks, has @ 0), SeatMessage::Taken) => {
                *has = 1;
                out.send(forks[1], SeatMessage::Take(me));
            }
            (Seat::Philosopher(forks, has @ 1), SeatMessage::Taken) => {
                *has = 3;
                forks.iter().for_each(|&fork| out.send(fork, SeatMessage::Put));
            }
            (Seat::Fork(taken @ false), SeatMessage::Take(philosopher)) => {
                *taken = true;
                out.send(*philosopher, SeatMessage::Taken);
            }
            (Seat::Fork(taken @ true), SeatMessage::Put) => *taken = false,
            (state, message) => return Err(super::misdirected::<Self>(state, message)),
        }
        Ok(())
    }

    fn mode(&self, state: &Seat) -> i64 {
        i64::from(*state == Seat::Fork(true))
    }

    fn constraint(&self, message: &SeatMessage) -> Constraint {
        match message {
            SeatMessage::Take(_) => Constraint::Equals(0),
            _ => Constraint::Always,
        }
    }

    fn judge(&self, states: &[&Seat], _left: usize) -> Result<(), Failure> {
        let hungry = |state: &&&Seat| matches!(state, Seat::Philosopher(_, has) if *has < 3);
        match states.iter().filter(hungry).count() {
            0 => Ok(()),
            n => Err(Failure {
                kind: "deadlock",
                message: format!("{n} philosophers stay hungry"),
            }),
        }
    }
}
