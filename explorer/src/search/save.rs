//! Saving an exploration between two executions, as bytes, and resuming it.
//!
//! Nothing of the program is saved. The execution that comes next begins with steps that ran before: they are run once
//! more, and must touch what they touched then. So whoever goes on must have the same program, with all that it touches
//! at the same addresses. What a search and its policy have learnt, they save themselves
//! ([`Search::save`](super::Search::save)).

use super::exploration::{Cuts, Exploration};
use crate::execution::Event;
use crate::statistics::Statistics;
use crate::system::{Fingerprint, Footprint, System, Transition};
use std::fmt;

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

/// A step of the next execution that has run before.
struct Repeated {
    transition: Transition,
    signature: u64,
    footprint: Footprint,
    lessons: u32,
}

crate::codec!(struct Repeated { transition, signature, footprint, lessons });

/// Everything but the keys of states.
pub(super) struct Saved {
    statistics: Statistics,
    cuts: Cuts,
    /// What the search has saved.
    pub search: Vec<u8>,
    /// The steps at the start of the next execution, which have run before.
    trace: Vec<Repeated>,
    /// The known fingerprints of the states between them.
    fingerprints: Vec<Option<Fingerprint>>,
}

crate::codec!(struct Saved { statistics, cuts, search, trace, fingerprints });

impl Saved {
    pub fn new<S: System>(exploration: &Exploration<S>, search: Vec<u8>) -> Saved {
        let events = exploration.cursor.trace.events().iter();
        let repeated = |event: &Event| Repeated {
            transition: event.transition(),
            signature: event.step().signature,
            footprint: event.step().footprint.clone(),
            lessons: event.lessons(),
        };
        Saved {
            statistics: Statistics {
                time: exploration.time(),
                ..exploration.statistics
            },
            cuts: exploration.cuts.clone(),
            search,
            trace: events.map(repeated).collect(),
            fingerprints: exploration.cursor.fingerprints().clone(),
        }
    }

    /// Restores what was saved, and runs the steps of the next execution that have run before.
    pub fn restore<S: System>(self, exploration: &mut Exploration<S>) -> Result<(), CannotResume> {
        exploration.statistics = self.statistics;
        exploration.earlier = self.statistics;
        exploration.cuts = self.cuts;
        let cursor = &mut exploration.cursor;
        cursor.restore_fingerprints(self.fingerprints);
        cursor.system.restart();
        for (at, step) in self.trace.iter().enumerate() {
            cursor.system.recollect(step.lessons);
            let enabled = step.transition.is_enabled(cursor.system.threads());
            let ran = enabled && cursor.system.step(step.transition, cursor.trace.scratch()).is_ok();
            let same = ran && {
                cursor.trace.ran(step.lessons);
                let now = cursor.trace.uncommitted();
                now.signature == step.signature && now.footprint == step.footprint
            };
            if !same {
                return Err(CannotResume::Diverged(at + 1));
            }
            cursor.trace.commit(step.transition);
            let known = cursor.known_fingerprint(at + 1);
            if known.is_some() && cursor.system.fingerprint() != known {
                return Err(CannotResume::Diverged(at + 1));
            }
        }
        cursor.system.recollect(u32::MAX);
        Ok(())
    }
}
