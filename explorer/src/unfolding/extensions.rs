//! Extensions of configurations, computed incrementally (Pham et al. 2019, Theorem 1).
//!
//! An extension of `C` is an event `⟨a, H⟩` with `H ⊆ C` where `a` is enabled after `H` and depends on each maximal
//! event of `H`. The possible `H` are found from the smallest one, the history of what comes before `a` in its thread:
//! if `a`, as it would be after `H`, is dependent with an event of `C` that is not in `H`, then `H` with that event and
//! what is before it is another one. All are met like this: without a maximal event `e` of `H`, `a` would be dependent
//! with `e` as well, since otherwise `e` could make no difference to it.
//!
//! When `e` is added to `C`, only histories with `e` in them are new. They come from those before which had `a`
//! dependent with `e`, and from operations that come after `e` in a thread.

use super::events::{Causes, Event, EventId, History, HistoryId};
use super::{Frame, MOST_EVENTS, Unfolding};
#[cfg(feature = "faults")]
use crate::driver::Fault;
use crate::driver::{Explorer, Next};
use crate::footprint::Footprint;
use crate::system::{Step, Stop, System, Transition};
use crate::thread::{BitSet, Status, ThreadId};
use smallvec::SmallVec;

/// A thread's next operation after its events so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub thread: ThreadId,
    /// The event of `C` that is this operation.
    pub successor: Option<EventId>,
}

crate::codec!(struct Operation { thread, successor });

/// A history within `C` after which an operation is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    pub operation: usize,
    pub history: HistoryId,
}

crate::codec!(struct Listed { operation, history });

/// A history to look at.
type New = (usize, BitSet);

impl Unfolding {
    /// Says whether the event can be the one that extends a history: the operation is dependent with it, and with
    /// nothing that comes before it outside the history.
    fn extends(&self, event: EventId, operation: Operation, members: &BitSet, footprint: &Footprint) -> bool {
        let event_ = &self.events[event];
        let after_operation = operation
            .successor
            .is_some_and(|successor| successor == event || event_.history.contains(successor.0));
        event_.transition.thread != operation.thread
            && !after_operation
            && event_.touches(footprint)
            && !event_
                .history
                .difference(members)
                .any(|before| self.events[EventId(before)].touches(footprint))
    }

    /// The history extended by the event and everything before it.
    fn extended(&self, members: &BitSet, event: EventId) -> BitSet {
        let mut extended = self.events.local(event);
        extended.extend_from(members);
        extended
    }
}

impl<S: System> Explorer<S> {
    /// The search's state.
    pub(super) fn unfolding(&mut self) -> &mut Unfolding {
        self.unfolding.as_mut().expect("the strategy is to unfold")
    }

    /// Sets up the empty configuration.
    pub(super) fn begin(&mut self) -> Result<(), Next> {
        self.system.restart();
        let alive = self
            .system
            .threads()
            .iter()
            .zip(0..)
            .filter(|(status, _)| **status != Status::Finished);
        let threads: Vec<_> = alive.map(|(_, thread)| ThreadId(thread)).collect();
        let unfolding = self.unfolding();
        unfolding.position = Some(BitSet::new());
        unfolding.frames.push(Frame::default());
        let mut new = Vec::new();
        for thread in threads {
            new.push((unfolding.operations.len(), BitSet::new()));
            unfolding.operations.push(Operation {
                thread,
                successor: None,
            });
        }
        self.statistics.states += 1;
        self.look_at(new)
    }

    /// Goes from `C` to `C ∪ {e}`, and computes its extensions.
    pub(super) fn extend_by(&mut self, event: EventId) -> Result<(), Next> {
        self.statistics.states += 1;
        let unfolding = self.unfolding();
        let Event {
            transition,
            step,
            failure,
            conflicts,
            ..
        } = &unfolding.events[event];
        let (thread, spawned, fails) = (transition.thread, step.spawned.clone(), failure.is_some());
        let parent = unfolding.frames.last().expect("the empty configuration is below");
        let mut frame = Frame {
            added: Some(event),
            disabled: unfolding.disabled.len(),
            operations: unfolding.operations.len(),
            listed: unfolding.listed.len(),
            ran: unfolding
                .operations
                .iter()
                .rposition(|operation| operation.thread == thread),
            guide: parent.guide.clone(),
            enabled: Vec::new(),
        };
        frame.guide.remove(event.0);
        if !fails {
            let stay = |other: &&EventId| **other != event && !conflicts.contains(other.0);
            frame.enabled = parent.enabled.iter().filter(stay).copied().collect();
        }
        if let Some(ran) = frame.ran {
            unfolding.operations[ran].successor = Some(event);
        }
        unfolding.frames.push(frame);
        unfolding.configuration.push(event);
        unfolding.members.insert(event.0);
        if fails {
            return Ok(());
        }
        let mut new: Vec<New> = Vec::new();
        for listed in &unfolding.listed {
            let history = &unfolding.histories[listed.history];
            let operation = unfolding.operations[listed.operation];
            if unfolding.extends(event, operation, &history.members, &history.footprint) {
                new.push((listed.operation, unfolding.extended(&history.members, event)));
            }
        }
        let local = unfolding.events.local(event);
        for thread in std::iter::once(thread).chain(spawned) {
            new.push((unfolding.operations.len(), local.clone()));
            unfolding.operations.push(Operation {
                thread,
                successor: None,
            });
        }
        self.look_at(new)
    }

    /// Learns what operations do after the histories, and after those within `C` that result from them, and lists them.
    fn look_at(&mut self, mut new: Vec<New>) -> Result<(), Next> {
        while let Some((at, members)) = new.pop() {
            let unfolding = self.unfolding();
            let operation = unfolding.operations[at];
            let causes = unfolding.events.maximal(&members);
            let known = match unfolding.histories.find(operation.thread.0, &causes) {
                Some(known) => Some(known),
                None => self.run_after(operation.thread, members, causes)?,
            };
            // The thread has ended.
            let Some(id) = known else { continue };
            let unfolding = self.unfolding();
            if std::mem::replace(&mut unfolding.histories[id].listed, true) {
                continue;
            }
            unfolding.listed.push(Listed {
                operation: at,
                history: id,
            });
            let history = &unfolding.histories[id];
            for &event in &history.events {
                let member = unfolding.members.contains(event.0);
                if !member && !unfolding.events[event].conflicts.intersects(&unfolding.members) {
                    let frame = unfolding.frames.last_mut().expect("a configuration is being extended");
                    frame.enabled.push(event);
                }
            }
            let candidates = unfolding
                .configuration
                .iter()
                .filter(|event| !history.members.contains(event.0));
            for &event in candidates {
                if unfolding.extends(event, operation, &history.members, &history.footprint) {
                    new.push((at, unfolding.extended(&history.members, event)));
                }
            }
        }
        Ok(())
    }

    /// Runs the history, and then each alternative of the thread's operation. Returns `None` if the thread has ended.
    fn run_after(&mut self, thread: ThreadId, members: BitSet, causes: Causes) -> Result<Option<HistoryId>, Next> {
        let unfolding = self.unfolding();
        unfolding.learnt += 1;
        if unfolding.events.len() > MOST_EVENTS {
            let reason = format!("there are more than {MOST_EVENTS} events to remember");
            return Err(Next::Done(self.incomplete(reason)));
        }
        if unfolding.learnt.is_multiple_of(64)
            && let Some(reason) = self.out_of_time()
        {
            return Err(Next::Done(self.incomplete(reason)));
        }
        self.go_to(&members)?;
        let status = match self.system.threads().get(thread.index()) {
            None | Some(Status::Finished) => return Ok(None),
            Some(status) => status.clone(),
        };
        let pending = self.system.pending(thread);
        let mut footprint = Footprint::new();
        let mut events = SmallVec::new();
        let mut step = std::mem::take(&mut self.unfolding().scratch);
        let alternatives = status.alternatives().cloned().unwrap_or_default();
        let mut failed = false;
        for alternative in alternatives.iter() {
            #[cfg(feature = "faults")]
            if alternative > 0 && self.fault == Some(Fault::IgnoreAlternatives) {
                continue;
            }
            let transition = Transition { thread, alternative };
            let event = self.try_out(transition, &members, &causes, &mut step)?;
            failed |= event.is_some_and(|event| self.unfolding().events[event].failure.is_some());
            events.extend(event);
            for access in step.footprint.accesses() {
                footprint.add(access.location, access.kind);
            }
        }
        self.unfolding().scratch = step;
        if alternatives.is_empty() || !pending.guards.is_empty() || failed {
            for access in pending.footprint.accesses() {
                footprint.add(access.location, access.kind);
            }
        }
        #[cfg(feature = "faults")]
        if alternatives.is_empty() && self.fault == Some(Fault::SkipBlocked) {
            footprint.clear();
        }
        let history = History {
            members,
            footprint,
            events,
            listed: false,
        };
        Ok(Some(self.unfolding().histories.insert(thread.0, causes, history)))
    }

    /// Runs a transition after a history. Returns the event if it depends on all maximal events of the history.
    fn try_out(
        &mut self,
        transition: Transition,
        members: &BitSet,
        causes: &Causes,
        step: &mut Step,
    ) -> Result<Option<EventId>, Next> {
        self.go_to(members)?;
        step.clear();
        self.statistics.steps += 1;
        self.unfolding().position = None;
        let failure = match self.system.step(transition, step) {
            Ok(()) => None,
            Err(Stop::Failed(failure)) => Some(failure),
            Err(Stop::Refine) => return Err(Next::Restart),
            Err(Stop::Unsupported(failure)) => {
                return Err(Next::Done(self.incomplete(format!("unsupported: {}", failure.message))));
            }
        };
        let unfolding = self.unfolding();
        let after = |cause: &EventId| {
            let cause = &unfolding.events[*cause];
            cause.transition.thread == transition.thread
                || cause.step.spawned.contains(&transition.thread)
                || cause.touches(&step.footprint)
        };
        if !causes.iter().all(after) {
            return Ok(None);
        }
        let failed = failure.is_some();
        let (event, new) = unfolding.events.intern(transition, members, causes, step, failure);
        if !failed {
            let mut position = members.clone();
            position.insert(event.0);
            unfolding.position = Some(position);
        }
        if new && unfolding.events[event].conflicts.intersects(&unfolding.members) {
            self.statistics.races += 1;
            #[cfg(feature = "faults")]
            if matches!(self.fault, Some(Fault::DropRace(_))) && self.is_occasion() {
                self.unfolding().events.dropped.insert(event.0);
            }
        }
        Ok(Some(event))
    }

    /// Brings the system to the state of a configuration within `C`.
    fn go_to(&mut self, members: &BitSet) -> Result<(), Next> {
        let unfolding = self.unfolding();
        let position = unfolding.position.take().filter(|position| position.is_subset(members));
        let mut step = std::mem::take(&mut unfolding.scratch);
        if position.is_none() {
            self.system.restart();
        }
        let done = position.unwrap_or_default();
        let rest = self.unfolding().configuration.iter();
        let rest: Vec<_> = rest
            .filter(|event| members.contains(event.0) && !done.contains(event.0))
            .copied()
            .collect();
        for event in rest {
            self.run_event(event, &mut step)?;
        }
        let unfolding = self.unfolding();
        unfolding.scratch = step;
        unfolding.position = Some(members.clone());
        Ok(())
    }
}
