//! pi: workers compute parts of a sum, and a collector, created after them, adds these up and lets them go.

use crate::actors::protocol::{Actor, Outbox, Protocol};

/// An approximation of pi.
#[derive(Clone, Copy, Debug)]
pub struct Pi {
    /// Number of workers.
    pub workers: usize,
}

/// An actor of [`Pi`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PiActor {
    /// The entry.
    Main,
    /// One that computes.
    Worker,
    /// The sum and who has added to it, in this order.
    Collector(u64, Vec<Actor>),
}

/// A message of [`Pi`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PiMessage {
    /// To the main actor.
    Begin,
    /// To a worker: compute the n-th part, and send it there.
    Compute(usize, Actor),
    /// To the collector: a part, from this worker.
    Add(u64, Actor),
    /// To a worker: there is nothing more to do.
    Stop,
}

impl Protocol for Pi {
    type State = PiActor;
    type Content = PiMessage;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let main = out.create(PiActor::Main);
        out.send(main, PiMessage::Begin);
    }

    fn process(
        &self,
        me: Actor,
        state: &mut PiActor,
        message: &PiMessage,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String> {
        match (state, message) {
            (PiActor::Main, PiMessage::Begin) => {
                let workers: Vec<_> = (0..self.workers).map(|_| out.create(PiActor::Worker)).collect();
                let collector = out.create(PiActor::Collector(0, Vec::new()));
                for (number, worker) in workers.into_iter().enumerate() {
                    out.send(worker, PiMessage::Compute(number, collector));
                }
            }
            (PiActor::Worker, PiMessage::Compute(number, collector)) => {
                let part = 1_000_000 / (1 + *number as u64);
                out.send(*collector, PiMessage::Add(part, me));
            }
            (PiActor::Collector(sum, workers), PiMessage::Add(part, worker)) => {
                *sum += part;
                workers.push(*worker);
                if workers.len() == self.workers {
                    for worker in workers {
                        out.send(*worker, PiMessage::Stop);
                    }
                }
            }
            (PiActor::Worker, PiMessage::Stop) => {}
            (state, message) => return Err(super::misdirected::<Self>(state, message)),
        }
        Ok(())
    }
}
