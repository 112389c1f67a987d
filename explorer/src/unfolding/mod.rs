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
//! * `U ∩ Q` is taken when `U` has doubled, not at every return; the extensions of the current configurations stay in
//!   `U`.

mod alternatives;
mod events;
mod extensions;

#[cfg(feature = "faults")]
use crate::driver::Fault;
use crate::driver::{End, Explorer, Next, Observer};
use crate::system::{Failure, Step, Stop, System};
use crate::thread::{BitSet, Status};
use alternatives::Found;
use events::{Event, EventId, Events, Histories};
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
pub(crate) struct Unfolding {
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

    /// Whether the search for an alternative took too long.
    pub fn gave_up(&self) -> bool {
        self.gave_up
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
                let Event {
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
    fn leave(&mut self, keeps: bool) -> Option<EventId> {
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

impl<S: System> Explorer<S> {
    /// Goes on to the next maximal configuration, and runs it.
    pub(crate) fn unfold(&mut self, observer: &mut dyn Observer<S>) -> Next {
        match self.descend() {
            Ok(end) => self.conclude(end, observer),
            Err(next) => next,
        }
    }

    /// Adds events until none is left to add.
    fn descend(&mut self) -> Result<End, Next> {
        if self.unfolding().gave_up {
            let reason = self.out_of_time().unwrap_or_default();
            return Err(Next::Done(self.incomplete(reason)));
        }
        if self.unfolding().frames.is_empty() {
            self.begin()?;
        }
        loop {
            let unfolding = self.unfolding();
            let Some(event) = unfolding.choose() else {
                let blocked = unfolding.frames.last().is_some_and(|frame| !frame.enabled.is_empty());
                return self.run_configuration(blocked);
            };
            if unfolding.configuration.len() >= self.limits.depth as usize {
                let len = self.limits.depth;
                let reason = format!("an execution did not end within {len} steps, and there may be more of them");
                return Err(Next::Done(self.incomplete(reason)));
            }
            self.extend_by(event)?;
        }
    }

    /// Runs the configuration from the start, as an execution that observers can inspect.
    fn run_configuration(&mut self, blocked: bool) -> Result<End, Next> {
        self.trace.truncate(0);
        self.system.restart();
        self.unfolding().position = None;
        for at in 0..self.unfolding().configuration.len() {
            let event = self.unfolding().configuration[at];
            let mut step = std::mem::take(self.trace.scratch());
            let ended = self.run_event(event, &mut step);
            *self.trace.scratch() = step;
            let failure = ended?;
            let transition = self.unfolding().events[event].transition;
            self.trace.commit(transition);
            if let Some(failure) = failure {
                return Ok(End::Failed(failure));
            }
        }
        if blocked {
            return Ok(End::Blocked);
        }
        let enabled = self
            .system
            .threads()
            .iter()
            .position(|status| matches!(status, Status::Enabled(_)));
        if let Some(thread) = enabled {
            let reason =
                format!("the steps' footprints are incomplete: t{thread} can go on where no step of it was expected");
            return Err(Next::Done(self.incomplete(reason)));
        }
        let verdict = self.system.finish();
        Ok(self.end_with(verdict))
    }

    /// Runs an event again, which must behave as before; returns the failure in which it ended, if it should end in
    /// one.
    fn run_event(&mut self, event: EventId, step: &mut Step) -> Result<Option<Failure>, Next> {
        let transition = self.unfolding().events[event].transition;
        let status = self.system.threads().get(transition.thread.index());
        let enabled = status.and_then(Status::alternatives);
        let enabled = enabled.is_some_and(|alternatives| alternatives.contains(transition.alternative));
        step.clear();
        self.statistics.steps += 1;
        let result = if enabled {
            self.system.step(transition, step)
        } else {
            Ok(())
        };
        let known = &self.unfolding().events[event];
        let same = enabled && step.signature == known.step.signature && step.footprint == known.step.footprint;
        match result {
            Ok(()) if same && known.failure.is_none() => Ok(None),
            Err(Stop::Failed(failure)) if known.failure.is_some() => Ok(Some(failure)),
            Err(Stop::Refine) => Err(Next::Restart),
            Err(Stop::Unsupported(failure)) => {
                Err(Next::Done(self.incomplete(format!("unsupported: {}", failure.message))))
            }
            Ok(()) | Err(Stop::Failed(_)) => {
                let signature = known.step.signature;
                let did = if enabled { "did something else" } else { "could not run" };
                let reason = format!(
                    "the steps' footprints are incomplete: `{}` of {} {did} after another order of steps that seemed \
                     to be independent",
                    self.system.describe(signature),
                    transition.thread
                );
                Err(Next::Done(self.incomplete(reason)))
            }
        }
    }

    /// Goes back to the deepest configuration with an alternative to what was explored from it. Says whether there is
    /// one.
    pub(crate) fn find_alternative(&mut self) -> bool {
        let mut unfolding = self.unfolding.take().expect("the strategy is to unfold");
        let found = loop {
            #[cfg(feature = "faults")]
            let keeps = matches!(self.fault, Some(Fault::KeepSleeping(_))) && self.is_occasion();
            #[cfg(not(feature = "faults"))]
            let keeps = false;
            let Some(explored) = unfolding.leave(keeps) else {
                break false;
            };
            unfolding.disabled.push(explored);
            let sleeping = unfolding.disabled.len() as u64;
            self.statistics.peak_sleeping = self.statistics.peak_sleeping.max(sleeping);
            match unfolding.alternative(&mut || self.out_of_time().is_some()) {
                Found::Alternative(guide) => {
                    self.statistics.backtracks += 1;
                    let frame = unfolding.frames.last_mut().expect("the configuration has a frame");
                    frame.guide = guide;
                    break true;
                }
                Found::Nothing => {}
                Found::GaveUp => {
                    unfolding.gave_up = true;
                    break true;
                }
            }
        };
        self.unfolding = Some(unfolding);
        found
    }

    /// Counts the places at which a seeded fault can occur; says whether it occurs here.
    #[cfg(feature = "faults")]
    fn is_occasion(&mut self) -> bool {
        self.occasions += 1;
        matches!(self.fault, Some(Fault::DropRace(n) | Fault::KeepSleeping(n)) if self.occasions.is_multiple_of(n))
    }
}
