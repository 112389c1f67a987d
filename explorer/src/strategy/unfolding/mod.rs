//! Unfolding-based DPOR (UDPOR): Rodríguez, Sousa, Sharma and Kroening, *Unfolding-based Partial Order Reduction*
//! (CONCUR 2015), with the k-partial alternatives of Nguyen et al., *Quasi-Optimal Partial Order Reduction* (CAV 2018),
//! and with extensions computed incrementally as in Pham, Jéron and Quinson, *Unfolding-Based Dynamic Partial Order
//! Reduction of Asynchronous Distributed Programs* (FORTE 2019), Theorem 1.
//!
//! The search goes through configurations of the program's unfolding under the independence of footprints: sets of
//! events, each of which is a transition with all that happens before it. From `C` it goes to `C ∪ {e}` for one enabled
//! `e`, and then, to what contains `C` and not `e`, by an alternative: events that are known, go together with `C`, and
//! are in conflict with `e` and all that was avoided before (`D`). With alternatives to all of `D` each maximal
//! configuration, which is a Mazurkiewicz trace, is met exactly once, and no execution is given up.
//!
//! Deviations:
//! * What a step touches is known only after it ran. So an operation is run after each history that may matter to it,
//!   and an event has the footprint that it has there (`extensions`). No type of action is treated apart, and no bound
//!   on an event's direct causes is assumed.
//! * Theorem 1 needs persistence: an enabled action stays enabled. It does not hold for locks, which are supported all
//!   the same: the histories of an operation that is disabled after `C` are looked for as well, and so are those of
//!   actions in `C`, should a new event matter to them.
//! * That two steps are independent is not taken on trust: where a step that was run before is run again after another
//!   order of independent steps, it must do the same, and a maximal configuration must leave no thread enabled.
//!   Otherwise the exploration ends and says which step it was. So it can go for threads that wait in loops that write,
//!   and undo what they have written: whether one is held back can depend on the order of independent steps.
//! * A step that fails ends the execution, and disables what is independent of it. It is run last.
//! * An execution is run once its configuration is maximal. It goes on from what it has in common with the last one, by
//!   the cursor: from a saved state, if there is one. So does the run of a history, if such a state is on the way.
//! * `U ∩ Q` is taken when `U` has doubled, not at every return; the extensions of the current configurations stay in
//!   `U`.
//!
//! Invariant: the trace of the cursor is the beginning of `C`, as long as it is.

mod alternatives;
mod events;
mod extensions;

use crate::bits::BitSet;
use crate::codec::{Codec, from_bytes};
use crate::search::Search;
use crate::search::cursor::Cursor;
use crate::search::exploration::{Exploration, Halt, Ran};
use crate::search::outcome::{End, Observer};
use crate::system::{Failure, Status, Step, System};
use alternatives::Found;
use events::{EventId, Events, Histories, Occurrence};
use extensions::{Listed, Operation};
use std::num::NonZeroU32;

/// Maximum number of events: each has sets of events, and more would take gigabytes.
const MOST_EVENTS: usize = 1 << 15;

/// A call of `Explore(C, D, A)`.
#[derive(Default)]
struct Frame {
    /// The event last added to `C`.
    added: Option<EventId>,
    /// `en(C)`.
    enabled: Vec<EventId>,
    /// `A`.
    guide: BitSet,
    /// Length of `D` at the start of the call.
    disabled: usize,
    /// Number of operations and of histories at the start of the call.
    operations: usize,
    listed: usize,
    /// The operation that `added` ran.
    ran: Option<usize>,
}

crate::codec!(struct Frame { added, enabled, guide, disabled, operations, listed, ran });

/// The state of the search.
#[derive(Default)]
pub(super) struct Unfolding {
    /// Number of events of `D` with which alternatives must be in conflict; `None` for all.
    partial: Option<NonZeroU32>,
    /// `U`.
    events: Events,
    histories: Histories,
    /// `C`, in the order in which it was built.
    configuration: Vec<EventId>,
    members: BitSet,
    /// `D`.
    disabled: Vec<EventId>,
    frames: Vec<Frame>,
    /// The operations that threads have reached in `C`.
    operations: Vec<Operation>,
    /// The histories within `C` after which these operations are known.
    listed: Vec<Listed>,
    /// The events that the system has run since its restart, if known.
    position: Option<BitSet>,
    learnt: u64,
    scratch: Step,
    /// Whether the search for an alternative took too long.
    gave_up: bool,
}

crate::codec!(struct Unfolding {
    partial, events, histories, configuration, members, disabled, frames, operations, listed, learnt,
    gave_up } skip { position, scratch,
});

impl Unfolding {
    pub fn new(partial: Option<NonZeroU32>) -> Self {
        Unfolding {
            partial,
            ..Self::default()
        }
    }

    /// The next event to add: one of `A`, or one that is not avoided; a failure comes last.
    fn choose(&self) -> Option<EventId> {
        let frame = self.frames.last()?;
        let free = || {
            frame
                .enabled
                .iter()
                .copied()
                .filter(|event| !self.disabled.contains(event))
        };
        let last = frame.added.map(|event| self.events[event].transition.thread);
        let guided = free().find(|event| frame.guide.contains(event.0));
        guided.or_else(|| {
            free().min_by_key(|&event| {
                let Occurrence {
                    failure, transition, ..
                } = &self.events[event];
                (failure.is_some(), Some(transition.thread) != last, transition.thread)
            })
        })
    }

    /// An alternative to `D` after `C`.
    fn alternative(&self, late: &mut dyn FnMut() -> bool) -> Found {
        let most = self.partial.map(|partial| partial.get() as usize);
        alternatives::find(&self.events, &self.members, &self.disabled, most, late)
    }

    /// Removes the event that was added last, and drops events that are no longer needed. Events avoided since then are
    /// no longer avoided, unless a seeded fault keeps this.
    fn leave<S: System>(&mut self, cursor: &mut Cursor<S>, keeps: bool) -> Option<EventId> {
        let frame = self.frames.pop()?;
        if !keeps {
            self.disabled.truncate(frame.disabled);
        }
        if self.events.have_grown() {
            self.forget();
        }
        for listed in self.listed.drain(frame.listed..) {
            self.histories[listed.history].listed = false;
        }
        self.operations.truncate(frame.operations);
        if let Some(ran) = frame.ran {
            self.operations[ran].successor = None;
        }
        let added = frame.added?;
        self.configuration.pop();
        cursor.truncate(cursor.trace.len().min(self.configuration.len()));
        self.members.remove(added.0);
        Some(added)
    }

    /// `U := U ∩ Q`, where `Q` consists of `C`, `D`, and the events in conflict with an event of them, with their
    /// histories.
    fn forget(&mut self) {
        let mut kept = self.members.clone();
        let mut used = self.members.clone();
        for event in &self.disabled {
            used.insert(event.0);
            kept.extend_from(&self.events.local(*event));
        }
        for event in used.iter() {
            for conflicting in self.events[EventId(event)].conflicts.iter() {
                kept.extend_from(&self.events.local(EventId(conflicting)));
            }
        }
        for event in self.histories.listed_events() {
            kept.extend_from(&self.events.local(event));
        }
        self.events.retain(&kept);
        self.histories.retain(&kept);
        self.position = None;
    }
}

impl Unfolding {
    /// The first byte of what is saved.
    const KIND: u8 = 1;

    /// Adds events until none is left to add.
    fn descend<S: System>(&mut self, exploration: &mut Exploration<S>) -> Result<End, Halt> {
        if self.gave_up {
            exploration.in_time()?;
            return Err(Halt::Incomplete(
                "the search for an alternative took too long".to_owned(),
            ));
        }
        if self.frames.is_empty() {
            self.begin(exploration)?;
        }
        loop {
            let Some(event) = self.choose() else {
                let blocked = self.frames.last().is_some_and(|frame| !frame.enabled.is_empty());
                return self.run_configuration(exploration, blocked);
            };
            if self.configuration.len() >= exploration.limits.depth as usize {
                let len = exploration.limits.depth;
                return Err(Halt::Incomplete(format!(
                    "an execution did not end within {len} steps, and there may be more of them"
                )));
            }
            self.extend_by(exploration, event)?;
        }
    }

    /// Runs the configuration as an execution that observers can inspect. It goes on from what it has in common with
    /// the last one, which the trace still has.
    fn run_configuration<S: System>(&mut self, exploration: &mut Exploration<S>, blocked: bool) -> Result<End, Halt> {
        self.position = None;
        let Exploration { cursor, statistics, .. } = exploration;
        cursor.go_to(cursor.trace.len(), statistics)?;
        for at in exploration.cursor.trace.len()..self.configuration.len() {
            let event = self.configuration[at];
            let mut step = std::mem::take(exploration.cursor.trace.scratch());
            let ended = self.run_event(exploration, event, &mut step);
            let trace = &mut exploration.cursor.trace;
            *trace.scratch() = step;
            let failure = ended?;
            trace.commit(self.events[event].transition);
            if let Some(failure) = failure {
                return Ok(End::Failed(failure));
            }
        }
        if blocked {
            return Ok(End::Blocked);
        }
        let system = &mut exploration.cursor.system;
        let is_enabled = |status: &Status| matches!(status, Status::Enabled(_));
        if let Some(thread) = system.threads().iter().position(is_enabled) {
            return Err(Halt::Incomplete(format!(
                "the steps' footprints are incomplete: t{thread} can go on where no step of it was expected"
            )));
        }
        let verdict = system.finish();
        Ok(exploration.end_with(verdict))
    }

    /// Runs an event again, which must behave as before; returns the failure in which it ended. It may also end in one
    /// if it did not before: two steps that are in a data race are independent, and the second one fails, whichever
    /// that is.
    fn run_event<S: System>(
        &self,
        exploration: &mut Exploration<S>,
        event: EventId,
        step: &mut Step,
    ) -> Result<Option<Failure>, Halt> {
        let known = &self.events[event];
        let transition = known.transition;
        let enabled = transition.is_enabled(exploration.cursor.system.threads());
        if enabled {
            let ran = exploration.run(transition, step)?;
            let same = step.signature == known.step.signature && step.footprint == known.step.footprint;
            match (ran, &known.failure) {
                (Ran::On, None) if same => return Ok(None),
                (Ran::Failed(failure), _) => return Ok(Some(failure)),
                _ => {}
            }
        }
        let did = if enabled { "did something else" } else { "could not run" };
        Err(Halt::Incomplete(format!(
            "the steps' footprints are incomplete: `{}` of {} {did} after another order of steps that seemed to be \
             independent",
            exploration.cursor.system.describe(known.step.signature),
            transition.thread
        )))
    }

    /// Brings the system to the state of a configuration within `C`: from where it is, if that is on the way, or from a
    /// saved state, or from the start. Returns false if the configuration fails, as each larger one will when it is
    /// run.
    fn go_to<S: System>(&mut self, exploration: &mut Exploration<S>, members: &BitSet) -> Result<bool, Halt> {
        let position = self.position.take().filter(|position| position.is_subset(members));
        let done = match position {
            Some(position) => position,
            None => self.go_back(exploration, members),
        };
        let mut step = std::mem::take(&mut self.scratch);
        let mut fails = false;
        for &event in &self.configuration {
            if members.contains(event.0) && !done.contains(event.0) {
                fails = self.run_event(exploration, event, &mut step)?.is_some();
                if fails {
                    break;
                }
            }
        }
        self.scratch = step;
        self.position = (!fails).then(|| members.clone());
        Ok(!fails)
    }

    /// Goes to a saved state from which a configuration within `C` can be reached, or to the start. Returns the events
    /// that lead there.
    fn go_back<S: System>(&self, exploration: &mut Exploration<S>, members: &BitSet) -> BitSet {
        let Exploration { cursor, statistics, .. } = exploration;
        // The trace is the beginning of `C`.
        let common = self.configuration[..cursor.trace.len()].iter();
        let common = common.take_while(|event| members.contains(event.0)).count();
        let steps = cursor.rewind_within(common, statistics).unwrap_or_else(|| {
            cursor.system.restart();
            0
        });
        self.configuration[..steps].iter().map(|event| event.0).collect()
    }
}

impl<S: System> Search<S> for Unfolding {
    /// Goes on to the next maximal configuration, and runs it.
    fn execute(&mut self, exploration: &mut Exploration<S>, _observer: &mut dyn Observer<S>) -> Result<End, Halt> {
        self.descend(exploration)
    }

    /// Goes back to the deepest configuration with an alternative to what was explored from it.
    fn advance(&mut self, exploration: &mut Exploration<S>) -> bool {
        loop {
            let keeps = exploration.faults.keep_avoiding();
            let Some(explored) = self.leave(&mut exploration.cursor, keeps) else {
                return false;
            };
            self.disabled.push(explored);
            let sleeping = self.disabled.len() as u64;
            exploration.statistics.peak_sleeping = exploration.statistics.peak_sleeping.max(sleeping);
            match self.alternative(&mut || exploration.in_time().is_err()) {
                Found::Alternative(guide) => {
                    exploration.statistics.backtracks += 1;
                    let frame = self.frames.last_mut().expect("the configuration has a frame");
                    frame.guide = guide;
                    return true;
                }
                Found::Nothing => {}
                Found::GaveUp => {
                    self.gave_up = true;
                    return true;
                }
            }
        }
    }

    fn save(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![Self::KIND];
        self.encode(&mut bytes);
        (!self.gave_up).then_some(bytes)
    }

    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        *self = from_bytes(saved.strip_prefix(&[Self::KIND])?)?;
        Some(())
    }
}
