//! Saving an exploration between two executions, as bytes, and resuming it.
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

/// An exploration between two executions, with the states explored since it was last saved.
#[derive(Debug)]
pub struct Snapshot {
    /// Number of executions that have ended.
    pub executions: u64,
    /// Everything but the keys.
    pub bytes: Vec<u8>,
    /// Keys of explored states that are not in earlier snapshots.
    pub keys: Vec<u128>,
    /// Whether the keys of earlier snapshots are void, because exploration has started again.
    pub anew: bool,
}

/// Why an exploration cannot resume from a snapshot.
#[derive(Debug, PartialEq, Eq)]
pub enum CannotResume {
    /// The bytes are no snapshot.
    Damaged,
    /// The snapshot is of another search.
    Other,
    /// The program behaves differently than before: at this step, counted from 1.
    Diverged(usize),
}

impl fmt::Display for CannotResume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotResume::Damaged => f.write_str("the saved exploration is damaged"),
            CannotResume::Other => f.write_str("it was explored in another way"),
            CannotResume::Diverged(step) => write!(f, "the program does something else than it did, at step {step}"),
        }
    }
}

impl std::error::Error for CannotResume {}

/// What the search has learnt.
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

/// A step of the next execution that has run before.
struct Repeated {
    transition: Transition,
    signature: u64,
    footprint: Footprint,
}

crate::codec!(struct Repeated { transition, signature, footprint });

/// Everything but the keys of states.
struct Saved {
    knowledge: Knowledge,
    rules: Vec<u8>,
    trace: Vec<Repeated>,
}

crate::codec!(struct Saved { knowledge, rules, trace });

/// The keys of states explored since the exploration was last saved.
#[derive(Default)]
pub(crate) struct Unsaved {
    pub keys: Vec<u128>,
    pub anew: bool,
}

impl<S: System> Explorer<S> {
    /// Sets whether the exploration is to be saved. Failures then end it.
    #[must_use]
    pub fn resumable(mut self, resumable: bool) -> Self {
        self.unsaved = resumable.then(Unsaved::default);
        self
    }

    /// Saves the exploration. Returns `None` while an execution runs, if nothing is left to explore, and if the
    /// exploration is not [`resumable`](Explorer::resumable) or goes on after failures.
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

    /// Makes [`Explorer::run`] resume from a snapshot of an exploration of the same program with the same strategy and
    /// the same bound on an execution's length. Limits of executions, steps and time apply from now on.
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

    /// The steps at the start of the next execution that have run before.
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
