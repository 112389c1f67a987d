//! le-erlang: the leader election of Erlang's `gen_leader`, as it was before Arts, Claessen and Svensson found it wrong
//! (*Semi-formal Development of a Fault-Tolerant Leader Election Protocol in Erlang*, FATES 2004).
//!
//! A candidate asks all others to be captured by it, and says how many it has captured and which it is. A candidate
//! accepts who is ahead of it, and is captured. An accept brings along whom its sender had captured; a captured
//! candidate passes on the accepts that it gets. Who has a majority, or all that are not down, is elected and tells the
//! others, who surrender. All watch each other, and are told when one goes down.
//!
//! What Erlang does by itself is made of messages, and they come in any order: that a process is down is a message to
//! each other one. A request to a process that is down is answered by that message, as watching it would be.

use crate::actors::protocol::{Actor, Outbox, Protocol};
use dpor_explorer::Failure;
use std::cmp::Reverse;

/// The election.
#[derive(Clone, Copy, Debug)]
pub struct ErlangLeader {
    /// Number of candidates.
    pub candidates: usize,
    /// One of them that fails at some time, and comes back.
    pub failing: Option<u32>,
}

/// A process: a candidate, and how often it has been started before. Accepts go to a process, requests to a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Process(Actor, u32);

/// The role of a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Role {
    Candidate,
    Captured,
    Surrendered,
    Elected,
    Down,
}

/// The state of a candidate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Candidate {
    starts: u32,
    role: Role,
    captured: Vec<Actor>,
    /// The process that has captured it, or was elected.
    leader: Option<Process>,
    /// Whether that was elected.
    elected: bool,
    down: Vec<Actor>,
    watched: Vec<Actor>,
}

/// A message of [`ErlangLeader`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ErlangMessage {
    /// To all: let yourself be captured by this process, which has captured this number of others.
    Capture(Process, usize),
    /// To the process: this one is captured, with those that it had captured.
    Accept(Process, Actor, Vec<Actor>),
    /// This one is elected.
    Elect(Process),
    /// This one is down.
    IsDown(Actor),
    /// Go down.
    Fail,
    /// Start again.
    Recover,
}

use ErlangMessage::{Accept, Capture, Elect, Fail, IsDown, Recover};

impl ErlangLeader {
    fn others(self, me: Actor) -> impl Iterator<Item = Actor> {
        let all = (0..self.candidates as u32).map(Actor);
        all.filter(move |&other| other != me)
    }

    /// A process that has just been started and has sent its requests.
    fn started(self, me: Actor, starts: u32) -> Candidate {
        Candidate {
            starts,
            role: Role::Candidate,
            captured: Vec::new(),
            leader: None,
            elected: false,
            down: Vec::new(),
            watched: self.others(me).collect(),
        }
    }

    /// Becomes the leader if enough are captured, and a candidate otherwise.
    fn check_majority(self, me: Actor, state: &mut Candidate, out: &mut Outbox<'_, Self>) {
        let own = state.captured.len() + 1;
        if 2 * own > self.candidates || own + state.down.len() == self.candidates {
            let process = Process(me, state.starts);
            (state.role, state.leader, state.elected) = (Role::Elected, Some(process), true);
            state.watched.iter().for_each(|&other| out.send(other, Elect(process)));
        } else {
            state.role = Role::Candidate;
        }
    }

    /// Stops the process, as if by an error.
    fn go_down(self, me: Actor, state: &mut Candidate, out: &mut Outbox<'_, Self>) {
        state.role = Role::Down;
        self.others(me).for_each(|other| out.send(other, IsDown(me)));
    }

    /// The reaction of a process to the message that another is down.
    fn is_down(self, me: Actor, state: &mut Candidate, node: Actor, out: &mut Outbox<'_, Self>) {
        if !state.watched.contains(&node) {
            return;
        }
        state.watched.retain(|&other| other != node);
        state.captured.retain(|&other| other != node);
        state.down.push(node);
        if state.elected && state.leader.is_some_and(|leader| leader.0 == node) {
            (state.leader, state.elected) = (None, false);
        }
        match (state.role, state.leader) {
            (Role::Candidate, _) => self.check_majority(me, state, out),
            (Role::Captured | Role::Surrendered, None) => {
                let request = Capture(Process(me, state.starts), state.captured.len());
                state.watched.iter().for_each(|&other| out.send(other, request.clone()));
                self.check_majority(me, state, out);
            }
            // Nobody has thought of this case: an error, also if it is another who is down.
            (Role::Captured, Some(_)) => self.go_down(me, state, out),
            (Role::Surrendered | Role::Elected | Role::Down, _) => {}
        }
    }
}

impl Candidate {
    fn is_up(&mut self, node: Actor) {
        if !self.watched.contains(&node) {
            self.down.retain(|&other| other != node);
            self.watched.push(node);
        }
    }
}

impl Protocol for ErlangLeader {
    type State = Candidate;
    type Content = ErlangMessage;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let all: Vec<_> = (0..self.candidates as u32).map(Actor).collect();
        for &candidate in &all {
            out.create(self.started(candidate, 0));
        }
        for &candidate in &all {
            let request = Capture(Process(candidate, 0), 0);
            self.others(candidate)
                .for_each(|other| out.send(other, request.clone()));
        }
        if let Some(failing) = self.failing {
            out.send(Actor(failing), Fail);
        }
    }

    fn process(
        &self,
        me: Actor,
        state: &mut Candidate,
        message: &ErlangMessage,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String> {
        match (state.role, message) {
            (_, Fail) => {
                if state.role != Role::Down {
                    self.go_down(me, state, out);
                }
                out.send(me, Recover);
            }
            (_, Recover) => {
                *state = self.started(me, state.starts + 1);
                let request = Capture(Process(me, state.starts), 0);
                self.others(me).for_each(|other| out.send(other, request.clone()));
            }
            (Role::Down, &Capture(Process(other, _), _)) => out.send(other, IsDown(me)),
            (Role::Down, Accept(..) | Elect(_) | IsDown(_)) => {}
            (Role::Candidate, &Capture(other, captured)) => {
                state.is_up(other.0);
                // Of two with as many, the one that comes first on everybody's list is ahead.
                if (captured, Reverse(other.0)) > (state.captured.len(), Reverse(me)) {
                    (state.role, state.leader) = (Role::Captured, Some(other));
                    out.send(other.0, Accept(other, me, state.captured.clone()));
                }
            }
            (Role::Captured | Role::Surrendered, &Capture(other, _)) => state.is_up(other.0),
            (Role::Elected, &Capture(Process(other, _), _)) => {
                state.is_up(other);
                out.send(other, Elect(Process(me, state.starts)));
            }
            (_, &Accept(to, ..)) if to != Process(me, state.starts) => {}
            (Role::Candidate, Accept(_, from, captured)) => {
                state.is_up(*from);
                for &other in [from].into_iter().chain(captured) {
                    if !state.captured.contains(&other) {
                        state.captured.push(other);
                    }
                }
                self.check_majority(me, state, out);
            }
            (Role::Captured, Accept(_, from, captured)) => {
                if let Some(leader) = state.leader {
                    out.send(leader.0, Accept(leader, *from, captured.clone()));
                }
                state.is_up(*from);
            }
            (Role::Surrendered, Accept(_, from, _)) => state.is_up(*from),
            (Role::Elected, &Accept(_, from, _)) => {
                state.is_up(from);
                out.send(from, Elect(Process(me, state.starts)));
            }
            (Role::Elected, Elect(other)) => return Err(format!("two leaders: {me:?} and {:?}", other.0)),
            (_, &Elect(leader)) => {
                state.is_up(leader.0);
                (state.role, state.leader, state.elected) = (Role::Surrendered, Some(leader), true);
                state.captured.clear();
            }
            (_, &IsDown(node)) => self.is_down(me, state, node, out),
        }
        Ok(())
    }

    fn judge(&self, states: &[&Candidate], _left: usize) -> Result<(), Failure> {
        let failure = |message: &str| {
            Err(Failure {
                kind: "election",
                message: message.to_owned(),
            })
        };
        match states.iter().filter(|state| state.role == Role::Elected).count() {
            0 => failure("no leader"),
            1 => Ok(()),
            _ => failure("two leaders"),
        }
    }
}
