//! Explorations that can be interrupted: what is known between two executions, as bytes, and how to go on from there.
//!
//! Nothing of the program is saved. The execution that comes next begins with steps that ran before: they are run once
//! more, and must touch what they touched then. So whoever goes on must have the same program, with all that it touches
//! at the same addresses.

use super::{Explorer, State};
use crate::codec::{from_bytes, to_bytes};
use crate::context::Rarity;
use crate::footprint::Footprint;
use crate::learned::Learned;
use crate::statistics::Statistics;
use crate::system::{System, Transition};
use crate::thread::Status;
use crate::unfolding::Unfolding;
use std::fmt;
use std::mem::{swap, take};

/// An exploration between two executions, and what it has found explored since it was last saved.
#[derive(Debug)]
pub struct Snapshot {
    /// How many executions have ended.
    pub executions: u64,
    /// All but the keys.
    pub bytes: Vec<u8>,
    /// Keys of states that are explored, which earlier snapshots do not have.
    pub keys: Vec<u128>,
    /// The keys of earlier snapshots do not count any more: exploration has started again.
    pub anew: bool,
}

/// Why an exploration cannot go on from a snapshot.
#[derive(Debug, PartialEq, Eq)]
pub enum CannotResume {
    /// It is none.
    Damaged,
    /// The search was another one.
    Other,
    /// The program does something else than it did: at this step, counted from 1.
    Diverged(usize),
}

impl fmt::Display for CannotResume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotResume::Damaged => f.write_str("what was saved of it is damaged"),
            CannotResume::Other => f.write_str("it was explored in another way"),
            CannotResume::Diverged(step) => write!(f, "the program does something else than it did, at step {step}"),
        }
    }
}

impl std::error::Error for CannotResume {}

/// What the search knows.
#[derive(Default)]
struct Knowledge {
    states: Vec<State>,
    statistics: Statistics,
    unclear: u64,
    preemptions: Option<u32>,
    learned: Learned,
    rarity: Rarity,
    unfolding: Option<Unfolding>,
}

crate::codec!(struct Knowledge { states, statistics, unclear, preemptions, learned, rarity, unfolding });

/// A step of the execution that comes next.
struct Repeated {
    transition: Transition,
    signature: u64,
    footprint: Footprint,
}

crate::codec!(struct Repeated { transition, signature, footprint });

/// Everything, but for the keys of states.
struct Saved {
    knowledge: Knowledge,
    rules: Vec<u8>,
    trace: Vec<Repeated>,
}

crate::codec!(struct Saved { knowledge, rules, trace });

/// The keys of states that are explored since the exploration was last saved.
#[derive(Default)]
pub(crate) struct Unsaved {
    pub keys: Vec<u128>,
    pub anew: bool,
}

impl<S: System> Explorer<S> {
    /// Whether the exploration is to be saved. Failures then end it.
    #[must_use]
    pub fn resumable(mut self, resumable: bool) -> Self {
        self.unsaved = resumable.then(Unsaved::default);
        self
    }

    /// The exploration as it is. `None` while an execution runs, if nothing is left to explore, and if the exploration
    /// is not [`resumable`](Explorer::resumable) or goes on after failures.
    pub fn save(&mut self) -> Option<Snapshot> {
        let gave_up = self.unfolding.as_ref().is_some_and(Unfolding::gave_up);
        if !self.at_rest || self.keep_going || gave_up {
            return None;
        }
        let Unsaved { keys, anew } = take(self.unsaved.as_mut()?);
        self.states.truncate(self.depth);
        let mut saved = Saved {
            knowledge: Knowledge::default(),
            rules: self.rules.save(),
            trace: self.repeated(),
        };
        self.exchange(&mut saved.knowledge);
        saved.knowledge.statistics.time = self.earlier.time + self.started.elapsed();
        let bytes = to_bytes(&saved);
        self.exchange(&mut saved.knowledge);
        Some(Snapshot {
            executions: self.statistics.executions(),
            bytes,
            keys,
            anew,
        })
    }

    /// Has [`Explorer::run`] go on from where a snapshot was made of an exploration of the same program with the same
    /// strategy and the same bound on an execution's length. Limits of executions, steps and time are for what comes
    /// from now on.
    ///
    /// The system must be as it was then, but for the execution: it must know of the threads, and of the scheduling
    /// points that it has learnt to need.
    ///
    /// # Errors
    /// If that is not possible; the exploration will then begin at the beginning.
    pub fn resume(&mut self, bytes: &[u8], keys: impl IntoIterator<Item = u128>) -> Result<(), CannotResume> {
        let saved: Saved = from_bytes(bytes).ok_or(CannotResume::Damaged)?;
        self.start_over();
        self.take_over(saved, keys).inspect_err(|_| self.start_over())?;
        self.at_rest = true;
        self.unsaved = self.unsaved.is_some().then(Unsaved::default);
        Ok(())
    }

    fn take_over(&mut self, saved: Saved, keys: impl IntoIterator<Item = u128>) -> Result<(), CannotResume> {
        let Saved {
            mut knowledge,
            rules,
            trace,
        } = saved;
        if knowledge.unfolding.is_some() != self.unfolding.is_some()
            || knowledge.preemptions.is_some() != self.preemptions.is_some()
            || knowledge.preemptions > self.limits.preemptions
        {
            return Err(CannotResume::Other);
        }
        self.exchange(&mut knowledge);
        self.depth = self.states.len();
        self.earlier = self.statistics;
        self.rules = self.fresh_rules();
        self.rules.restore(&rules).ok_or(CannotResume::Other)?;
        self.stored.extend(keys);
        self.system.restart();
        for (at, step) in trace.iter().enumerate() {
            let status = self.system.threads().get(step.transition.thread.index());
            let alternatives = status.and_then(Status::alternatives);
            let enabled = alternatives.is_some_and(|all| all.contains(step.transition.alternative));
            let ran = enabled && self.system.step(step.transition, self.trace.scratch()).is_ok();
            let same = ran && {
                let now = self.trace.uncommitted();
                now.signature == step.signature && now.footprint == step.footprint
            };
            if !same {
                return Err(CannotResume::Diverged(at + 1));
            }
            self.trace.commit(step.transition);
            let known = self.states.get(at + 1).and_then(|state| state.fingerprint);
            if known.is_some() && self.system.fingerprint() != known {
                return Err(CannotResume::Diverged(at + 1));
            }
        }
        Ok(())
    }

    /// The steps with which the next execution begins, and that have run before.
    fn repeated(&self) -> Vec<Repeated> {
        let events = self.trace.events().iter();
        let repeated = |event: &crate::trace::Event| Repeated {
            transition: event.transition(),
            signature: event.step().signature,
            footprint: event.step().footprint.clone(),
        };
        events.map(repeated).collect()
    }

    fn exchange(&mut self, with: &mut Knowledge) {
        swap(&mut self.states, &mut with.states);
        swap(&mut self.statistics, &mut with.statistics);
        swap(&mut self.unclear, &mut with.unclear);
        swap(&mut self.preemptions, &mut with.preemptions);
        swap(&mut self.learned, &mut with.learned);
        swap(&mut self.rarity, &mut with.rarity);
        swap(&mut self.unfolding, &mut with.unfolding);
    }
}
