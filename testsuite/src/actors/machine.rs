//! Runs actor programs step by step.

use super::protocol::{Actor, Constraint, Outbox, Protocol};
use crate::oracle::Exact;
use dpor_explorer::{
    AccessKind, BitSet, Condition, Effect, Failure, Fingerprint, Guard, Location, Pending, Status, Step, Stop, System,
    ThreadId, Transition, Variable,
};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The creator of something: a message's step, or the start.
type Creator = Option<ThreadId>;

/// A message that was sent and not yet processed.
#[derive(Clone)]
struct Message<C> {
    to: Actor,
    content: C,
    constraint: Constraint,
}

#[derive(Clone)]
struct ActorData<S> {
    state: S,
    /// Its index among everything created in this execution.
    created: u64,
}

/// An actor program that can be run.
#[derive(Clone)]
pub struct Actors<P: Protocol> {
    protocol: P,
    /// Messages by thread, those that are not pending as `None`.
    messages: Vec<Option<Message<P::Content>>>,
    /// The receiver's creation time, for messages that were sent in this execution.
    ages: Vec<u64>,
    actors: Vec<Option<ActorData<P::State>>>,
    statuses: Vec<Status>,
    created: u64,
    /// The message of the last step's failure.
    failed: Option<String>,
    /// Names of threads and of actors by creator and number; kept over restarts.
    threads: HashMap<(Creator, usize), ThreadId>,
    names: HashMap<(Creator, usize), Actor>,
    /// The creation paths of threads and actors.
    thread_paths: Vec<Vec<u8>>,
    actor_paths: Vec<Vec<u8>>,
}

/// The last state of an execution, without regard to the numbers that messages and actors were given, if states do not
/// show them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Terminal {
    /// The actors, by creation path.
    pub actors: Vec<ActorEnd>,
    /// The messages that nobody has processed, by creation path.
    pub left: Vec<Vec<u8>>,
    /// The failure found by [`Protocol::judge`] or in a step.
    pub failure: Option<String>,
}

/// An actor at the end.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ActorEnd {
    /// Its creation path.
    pub path: Vec<u8>,
    /// Its state, in words.
    pub state: String,
}

impl fmt::Display for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for actor in &self.actors {
            write!(f, "actor {:?} {}; ", actor.path, actor.state)?;
        }
        for message in &self.left {
            write!(f, "left {message:?}; ")?;
        }
        write!(f, "{}", self.failure.as_deref().unwrap_or("complete"))
    }
}

impl<P: Protocol> Actors<P> {
    /// The program in its initial state.
    pub fn new(protocol: P) -> Self {
        let mut system = Actors {
            protocol,
            messages: Vec::new(),
            ages: Vec::new(),
            actors: Vec::new(),
            statuses: Vec::new(),
            created: 0,
            failed: None,
            threads: HashMap::new(),
            names: HashMap::new(),
            thread_paths: Vec::new(),
            actor_paths: Vec::new(),
        };
        system.restart();
        system
    }

    fn actor(&self, actor: Actor) -> &ActorData<P::State> {
        self.actors[actor.0 as usize].as_ref().expect("the actor exists")
    }

    fn message(&self, thread: ThreadId) -> &Message<P::Content> {
        self.messages[thread.index()].as_ref().expect("the message is pending")
    }

    /// Runs what creates actors and sends messages, and enters these.
    fn run<R>(
        &mut self,
        creator: Creator,
        action: impl FnOnce(&P, &mut Outbox<'_, P>) -> R,
    ) -> (R, SmallVec<[ThreadId; 1]>) {
        let (names, actor_paths) = (&mut self.names, &mut self.actor_paths);
        let parent = creator.map_or(&[][..], |thread| &self.thread_paths[thread.index()]);
        let mut name = |number| {
            *names.entry((creator, number)).or_insert_with(|| {
                actor_paths.push([parent, &[number as u8]].concat());
                Actor(actor_paths.len() as u32 - 1)
            })
        };
        let mut out = Outbox {
            sent: Vec::new(),
            created: Vec::new(),
            name: &mut name,
        };
        let result = action(&self.protocol, &mut out);
        let Outbox { sent, created, .. } = out;
        self.actors.resize_with(self.actor_paths.len(), || None);
        for (actor, state) in created {
            self.actors[actor.0 as usize] = Some(ActorData {
                state,
                created: self.created,
            });
            self.created += 1;
        }
        let spawned = sent.into_iter().enumerate().map(|(number, (to, content))| {
            let thread = self.thread(creator, number);
            let constraint = self.protocol.constraint(&content);
            self.ages[thread.index()] = self.actor(to).created;
            self.messages[thread.index()] = Some(Message {
                to,
                content,
                constraint,
            });
            thread
        });
        (result, spawned.collect())
    }

    fn thread(&mut self, creator: Creator, number: usize) -> ThreadId {
        let next = ThreadId(self.thread_paths.len() as u32);
        let thread = *self.threads.entry((creator, number)).or_insert(next);
        if thread == next {
            let parent = creator.map_or(&[][..], |thread| &self.thread_paths[thread.index()]);
            let path = [parent, &[number as u8]].concat();
            self.thread_paths.push(path);
            self.messages.push(None);
            self.ages.push(0);
        }
        thread
    }

    fn judge(&self) -> Result<(), Failure> {
        let states: Vec<_> = self.actors.iter().flatten().map(|actor| &actor.state).collect();
        self.protocol.judge(&states, self.messages.iter().flatten().count())
    }

    fn mode(&self, actor: Actor) -> i64 {
        self.protocol.mode(&self.actor(actor).state)
    }

    fn refresh(&mut self) {
        let status = |message: &Option<Message<P::Content>>| match message {
            None => Status::Finished,
            Some(message) if accepts(message.constraint, self.mode(message.to)) => Status::Enabled(BitSet::of(0)),
            Some(_) => Status::Blocked,
        };
        self.statuses = self.messages.iter().map(status).collect();
    }

    fn guards(&self, thread: ThreadId) -> SmallVec<[Guard; 1]> {
        let message = self.message(thread);
        let mode = Variable(u64::from(message.to.0));
        match message.constraint {
            Constraint::Always => smallvec![],
            Constraint::Equals(n) => smallvec![Guard::when(Condition::Equals(mode, n))],
            Constraint::AtLeast(n) => smallvec![Guard::when(Condition::AtLeast(mode, n))],
            Constraint::LessThan(n) => smallvec![Guard::when(Condition::LessThan(mode, n))],
        }
    }
}

fn accepts(constraint: Constraint, mode: i64) -> bool {
    match constraint {
        Constraint::Always => true,
        Constraint::Equals(n) => mode == n,
        Constraint::AtLeast(n) => mode >= n,
        Constraint::LessThan(n) => mode < n,
    }
}

impl<P: Protocol> System for Actors<P> {
    fn restart(&mut self) {
        self.messages.iter_mut().for_each(|message| *message = None);
        self.actors.iter_mut().for_each(|actor| *actor = None);
        self.created = 0;
        self.failed = None;
        self.run(None, |protocol, out| protocol.start(out));
        self.refresh();
    }

    fn threads(&self) -> &[Status] {
        &self.statuses
    }

    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        let thread = transition.thread;
        assert!(
            self.statuses[thread.index()].alternatives().is_some(),
            "{transition} is not enabled"
        );
        let Pending {
            footprint,
            guards,
            values,
            ..
        } = self.pending(thread);
        (step.footprint, step.guards, step.values) = (footprint, guards, values);
        let mut hasher = DefaultHasher::new();
        self.thread_paths[thread.index()].hash(&mut hasher);
        step.signature = hasher.finish();
        let Message { to, content, .. } = self.messages[thread.index()].take().expect("the message is pending");
        let before = self.mode(to);
        let mut state = self.actor(to).state.clone();
        let (result, spawned) = self.run(Some(thread), |protocol, out| {
            protocol.process(to, &mut state, &content, out)
        });
        step.spawned = spawned;
        self.actors[to.0 as usize].as_mut().expect("the actor exists").state = state;
        let after = self.mode(to);
        if before != after {
            step.effects.push(Effect {
                variable: Variable(u64::from(to.0)),
                before,
                after,
            });
        }
        self.refresh();
        result.map_err(|message| {
            self.failed = Some(message.clone());
            Stop::Failed(Failure {
                kind: "assertion",
                message,
            })
        })
    }

    fn pending(&self, thread: ThreadId) -> Pending {
        let to = self.message(thread).to;
        let guards = self.guards(thread);
        let mode = (Variable(u64::from(to.0)), self.mode(to));
        Pending {
            footprint: [(Location(u64::from(to.0)), AccessKind::Write)].into_iter().collect(),
            values: guards.iter().map(|_| mode).collect(),
            guards,
            graph: None,
        }
    }

    fn created(&self, thread: ThreadId) -> u64 {
        self.ages[thread.index()]
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.judge()
    }

    fn fingerprint(&mut self) -> Option<Fingerprint> {
        let half = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            salt.hash(&mut hasher);
            for (index, actor) in self.actors.iter().enumerate() {
                if let Some(actor) = actor {
                    (index, &actor.state).hash(&mut hasher);
                }
            }
            for (index, message) in self.messages.iter().enumerate() {
                if let Some(message) = message {
                    (index, message.to, &message.content).hash(&mut hasher);
                }
            }
            u128::from(hasher.finish())
        };
        Some(Fingerprint(half(0) << 64 | half(1)))
    }
}

impl<P: Protocol + 'static> Exact for Actors<P> {
    type Terminal = Terminal;

    fn terminal(&self) -> Terminal {
        let actors = self.actors.iter().zip(&self.actor_paths);
        let mut actors: Vec<_> = actors
            .filter_map(|(actor, path)| {
                Some(ActorEnd {
                    path: path.clone(),
                    state: format!("{:?}", actor.as_ref()?.state),
                })
            })
            .collect();
        actors.sort();
        let messages = self.messages.iter().zip(&self.thread_paths);
        let left = messages.filter_map(|(message, path)| message.as_ref().map(|_| path.clone()));
        let mut left: Vec<_> = left.collect();
        left.sort();
        let judged = || self.judge().err().map(|failure| failure.to_string());
        let failure = self.failed.clone().or_else(judged);
        Terminal { actors, left, failure }
    }

    /// The index of the message among its sender's, after the path of the message that the sender processed.
    fn path(&self, thread: ThreadId) -> &[u8] {
        &self.thread_paths[thread.index()]
    }

    fn fails(terminal: &Terminal) -> bool {
        terminal.failure.is_some()
    }
}
