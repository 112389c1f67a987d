//! The state of a program: mailboxes, mutexes, actors; the effects of actions on it, and their footprints.

use super::program::{Action, Program};
use dpor_explorer::{AccessKind, Condition, Effect, Footprint, Guard, Location, Variable};
use smallvec::{SmallVec, smallvec};
use std::collections::VecDeque;

use AccessKind::{Read, Update, Write};

/// The whole state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct State {
    mailboxes: Vec<Mailbox>,
    mutexes: Vec<Mutex>,
    actors: Vec<Actor>,
}

/// The communications posted to a mailbox, in order. The n-th send and the n-th receive are one communication, which is
/// done; the rest of the longer list is the mailbox's queue.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct Mailbox {
    /// The senders and the values.
    sends: Vec<(usize, i64)>,
    /// The receivers.
    receives: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct Mutex {
    /// The actors that want it and the numbers of their requests; the first owns it.
    queue: VecDeque<(usize, usize)>,
    /// Number of requests so far.
    requests: usize,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct Actor {
    counter: usize,
    /// The communications that it has posted.
    handles: Vec<Option<Communication>>,
    /// The numbers of its requests, for each mutex.
    requests: Vec<Option<usize>>,
    /// The last value received.
    received: Option<i64>,
}

/// A communication, and which half of it the actor has posted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Communication {
    mailbox: usize,
    number: usize,
    receives: bool,
}

const SENDS: u64 = 1;
const RECEIVES: u64 = 2;
const COMMUNICATION: u64 = 3;
const REQUESTS: u64 = 4;
const RELEASE: u64 = 5;

fn name(kind: u64, object: usize, number: usize) -> Location {
    Location(kind << 48 | (object as u64) << 24 | number as u64)
}

/// The variable that counts the halves of a communication.
fn halves(communication: Communication) -> Variable {
    Variable(name(COMMUNICATION, communication.mailbox, communication.number).0)
}

/// The variable that says whether a request was given up.
fn released(mutex: usize, request: usize) -> Variable {
    Variable(name(RELEASE, mutex, request).0)
}

impl State {
    /// The initial state: all is empty.
    pub fn new(program: &Program) -> State {
        let actor = Actor {
            handles: vec![None; program.handles],
            requests: vec![None; program.mutexes],
            ..Actor::default()
        };
        State {
            mailboxes: vec![Mailbox::default(); program.mailboxes],
            mutexes: vec![Mutex::default(); program.mutexes],
            actors: vec![actor; program.actors.len()],
        }
    }

    /// The index of the actor's next action.
    pub fn counter(&self, actor: usize) -> usize {
        self.actors[actor].counter
    }

    /// The actor's next action, if it has not ended.
    pub fn next<'a>(&self, program: &'a Program, actor: usize) -> Option<&'a Action> {
        program.actors[actor].get(self.counter(actor))
    }

    /// Whether the actor's next action is enabled; `None` if the actor has ended.
    pub fn enabled(&self, program: &Program, actor: usize) -> Option<bool> {
        Some(match self.next(program, actor)? {
            Action::WaitAny { handles } => self.first_done(actor, handles).is_some(),
            Action::MutexWait { mutexes } => mutexes.iter().any(|&mutex| self.owns(actor, mutex)),
            _ => true,
        })
    }

    /// Whether the actor owns the mutex.
    pub fn owns(&self, actor: usize, mutex: usize) -> bool {
        self.mutexes[mutex]
            .queue
            .front()
            .is_some_and(|&(owner, _)| owner == actor)
    }

    /// Whether the actor has requested the mutex and has not given it up.
    pub fn requests(&self, actor: usize, mutex: usize) -> bool {
        self.actors[actor].requests[mutex].is_some()
    }

    /// The mailbox and the number of the communication that the actor's next action would complete or begin.
    pub fn posts(&self, program: &Program, actor: usize) -> Option<(usize, usize)> {
        match *self.next(program, actor)? {
            Action::Send { mailbox, .. } => Some((mailbox, self.mailboxes[mailbox].sends.len())),
            Action::Receive { mailbox, .. } => Some((mailbox, self.mailboxes[mailbox].receives.len())),
            _ => None,
        }
    }

    /// The mailboxes and the numbers of the communications with these handles, and whether they are done.
    pub fn communications(
        &self,
        actor: usize,
        handles: &[usize],
    ) -> impl Iterator<Item = ((usize, usize), bool)> + use<'_> {
        let posted: Vec<_> = handles
            .iter()
            .filter_map(|&handle| self.actors[actor].handles[handle])
            .collect();
        posted
            .into_iter()
            .map(|communication| ((communication.mailbox, communication.number), self.done(communication)))
    }

    fn done(&self, communication: Communication) -> bool {
        let mailbox = &self.mailboxes[communication.mailbox];
        communication.number < mailbox.sends.len() && communication.number < mailbox.receives.len()
    }

    fn first_done(&self, actor: usize, handles: &[usize]) -> Option<Communication> {
        let mut posted = handles.iter().filter_map(|&handle| self.actors[actor].handles[handle]);
        posted.find(|&communication| self.done(communication))
    }

    /// The guards of the actor's next action, as data.
    pub(super) fn guards(&self, program: &Program, actor: usize) -> SmallVec<[Guard; 1]> {
        let me = &self.actors[actor];
        match self.next(program, actor) {
            Some(Action::WaitAny { handles }) => {
                let posted = handles.iter().filter_map(|&handle| me.handles[handle]);
                smallvec![Guard::always().and(posted.map(|communication| Condition::AtLeast(halves(communication), 2)))]
            }
            // The first of its requests before which all others are released: as a conjunction of disjunctions.
            Some(Action::MutexWait { mutexes }) => {
                let requested = mutexes.iter().filter_map(|&mutex| Some((mutex, me.requests[mutex]?)));
                let mut clauses: Vec<Vec<Condition>> = vec![Vec::new()];
                for (mutex, request) in requested {
                    let earlier = (0..request).map(|earlier| Condition::Equals(released(mutex, earlier), 1));
                    clauses = earlier
                        .flat_map(|condition| {
                            clauses
                                .iter()
                                .map(move |clause| [clause.as_slice(), &[condition]].concat())
                        })
                        .collect();
                }
                smallvec![clauses.into_iter().fold(Guard::always(), Guard::and)]
            }
            _ => SmallVec::new(),
        }
    }

    /// The footprint of the actor's next action.
    pub(super) fn footprint(&self, program: &Program, actor: usize) -> Footprint {
        let mut footprint = Footprint::new();
        let me = &self.actors[actor];
        let Some(action) = self.next(program, actor) else {
            return footprint;
        };
        match action {
            Action::Send { mailbox, .. } => {
                footprint.add(name(SENDS, *mailbox, 0), Write);
                let number = self.mailboxes[*mailbox].sends.len();
                footprint.add(name(COMMUNICATION, *mailbox, number), Update);
            }
            Action::Receive { mailbox, .. } => {
                footprint.add(name(RECEIVES, *mailbox, 0), Write);
                let number = self.mailboxes[*mailbox].receives.len();
                footprint.add(name(COMMUNICATION, *mailbox, number), Update);
            }
            Action::TestAny { handles, .. } | Action::WaitAny { handles } => {
                for communication in handles.iter().filter_map(|&handle| me.handles[handle]) {
                    footprint.add(name(COMMUNICATION, communication.mailbox, communication.number), Read);
                    if self.done(communication) {
                        break;
                    }
                }
            }
            &Action::Lock(mutex) => {
                if me.requests[mutex].is_none() {
                    footprint.add(name(REQUESTS, mutex, 0), Write);
                }
            }
            &Action::Unlock(mutex) => {
                if let Some(request) = me.requests[mutex] {
                    footprint.add(name(RELEASE, mutex, request), Write);
                }
            }
            Action::MutexTest { mutexes, .. } | Action::MutexWait { mutexes } => {
                for (mutex, own) in mutexes.iter().filter_map(|&mutex| Some((mutex, me.requests[mutex]?))) {
                    let owner = self.mutexes[mutex].queue.front().map_or(own, |&(_, request)| request);
                    // Up to the first that is not released, which is the owner's.
                    for request in (0..own).take_while(|&request| request <= owner) {
                        footprint.add(name(RELEASE, mutex, request), Read);
                    }
                    if owner == own {
                        break;
                    }
                }
            }
            Action::Compare { .. } => {}
        }
        footprint
    }

    /// Runs the actor's next action; returns its effects on the variables of guards.
    ///
    /// # Panics
    /// If the actor has ended.
    pub(super) fn run(&mut self, program: &Program, actor: usize, effects: &mut SmallVec<[Effect; 2]>) {
        let action = self.next(program, actor).expect("the actor has not ended");
        let mut skip = 0;
        match action {
            Action::Send { mailbox, value, handle } => {
                let number = self.mailboxes[*mailbox].sends.len();
                self.mailboxes[*mailbox].sends.push((actor, *value));
                self.post(actor, *mailbox, number, *handle, false, effects);
            }
            Action::Receive { mailbox, handle } => {
                let number = self.mailboxes[*mailbox].receives.len();
                self.mailboxes[*mailbox].receives.push(actor);
                self.post(actor, *mailbox, number, *handle, true, effects);
            }
            Action::TestAny { handles, .. } | Action::WaitAny { handles } => match self.first_done(actor, handles) {
                // Of several, it is not said which is done.
                Some(communication) if communication.receives && handles.len() == 1 => {
                    let (_, value) = self.mailboxes[communication.mailbox].sends[communication.number];
                    self.actors[actor].received = Some(value);
                }
                Some(_) => {}
                None => skip = action.otherwise_skip(),
            },
            &Action::Lock(mutex) => {
                if self.actors[actor].requests[mutex].is_none() {
                    let requested = &mut self.mutexes[mutex];
                    self.actors[actor].requests[mutex] = Some(requested.requests);
                    requested.queue.push_back((actor, requested.requests));
                    requested.requests += 1;
                }
            }
            &Action::Unlock(mutex) => {
                if let Some(request) = self.actors[actor].requests[mutex].take() {
                    self.mutexes[mutex].queue.retain(|&(other, _)| other != actor);
                    effects.push(Effect {
                        variable: released(mutex, request),
                        before: 0,
                        after: 1,
                    });
                }
            }
            Action::MutexTest { mutexes, .. } | Action::MutexWait { mutexes } => {
                if !mutexes.iter().any(|&mutex| self.owns(actor, mutex)) {
                    skip = action.otherwise_skip();
                }
            }
            Action::Compare { value, .. } => {
                if self.actors[actor].received != Some(*value) {
                    skip = action.otherwise_skip();
                }
            }
        }
        self.actors[actor].counter += 1 + skip;
    }

    fn post(
        &mut self,
        actor: usize,
        mailbox: usize,
        number: usize,
        handle: usize,
        receives: bool,
        effects: &mut SmallVec<[Effect; 2]>,
    ) {
        let communication = Communication {
            mailbox,
            number,
            receives,
        };
        self.actors[actor].handles[handle] = Some(communication);
        let after = if self.done(communication) { 2 } else { 1 };
        effects.push(Effect {
            variable: halves(communication),
            before: after - 1,
            after,
        });
    }
}

impl Action {
    /// Number of actions to skip if the answer is no.
    fn otherwise_skip(&self) -> usize {
        match *self {
            Action::TestAny { otherwise_skip, .. }
            | Action::MutexTest { otherwise_skip, .. }
            | Action::Compare { otherwise_skip, .. } => otherwise_skip,
            _ => 0,
        }
    }
}
