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

use super::events::{Causes, EventId, History, HistoryId, Occurrence};
use super::{Frame, MOST_EVENTS, Unfolding};
use crate::bits::BitSet;
use crate::search::exploration::{Exploration, Halt, Ran};
use crate::system::{Footprint, Pending, Status, Step, System, ThreadId, Transition};
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

    /// Sets up the empty configuration.
    pub(super) fn begin<S: System>(&mut self, exploration: &mut Exploration<S>) -> Result<(), Halt> {
        let system = &mut exploration.cursor.system;
        system.restart();
        let alive = system
            .threads()
            .iter()
            .zip(0..)
            .filter(|(status, _)| **status != Status::Finished);
        let threads: Vec<_> = alive.map(|(_, thread)| ThreadId(thread)).collect();
        self.position = Some(BitSet::new());
        self.frames.push(Frame::default());
        let mut new = Vec::new();
        for thread in threads {
            new.push((self.operations.len(), BitSet::new()));
            self.operations.push(Operation {
                thread,
                successor: None,
            });
        }
        exploration.statistics.states += 1;
        self.look_at(exploration, new)
    }

    /// Goes from `C` to `C ∪ {e}`, and computes its extensions.
    pub(super) fn extend_by<S: System>(
        &mut self,
        exploration: &mut Exploration<S>,
        event: EventId,
    ) -> Result<(), Halt> {
        exploration.statistics.states += 1;
        let Occurrence {
            transition,
            step,
            failure,
            conflicts,
            ..
        } = &self.events[event];
        let (thread, spawned, fails) = (transition.thread, step.spawned.clone(), failure.is_some());
        let parent = self.frames.last().expect("the empty configuration is below");
        let mut frame = Frame {
            added: Some(event),
            disabled: self.disabled.len(),
            operations: self.operations.len(),
            listed: self.listed.len(),
            ran: self.operations.iter().rposition(|operation| operation.thread == thread),
            guide: parent.guide.clone(),
            enabled: Vec::new(),
        };
        frame.guide.remove(event.0);
        if !fails {
            let stay = |other: &&EventId| **other != event && !conflicts.contains(other.0);
            frame.enabled = parent.enabled.iter().filter(stay).copied().collect();
        }
        if let Some(ran) = frame.ran {
            self.operations[ran].successor = Some(event);
        }
        self.frames.push(frame);
        self.configuration.push(event);
        self.members.insert(event.0);
        if fails {
            return Ok(());
        }
        let mut new: Vec<New> = Vec::new();
        for listed in &self.listed {
            let history = &self.histories[listed.history];
            let operation = self.operations[listed.operation];
            if self.extends(event, operation, &history.members, &history.footprint) {
                new.push((listed.operation, self.extended(&history.members, event)));
            }
        }
        let local = self.events.local(event);
        for thread in std::iter::once(thread).chain(spawned) {
            new.push((self.operations.len(), local.clone()));
            self.operations.push(Operation {
                thread,
                successor: None,
            });
        }
        self.look_at(exploration, new)
    }

    /// Learns what operations do after the histories, and after those within `C` that result from them, and lists them.
    fn look_at<S: System>(&mut self, exploration: &mut Exploration<S>, mut new: Vec<New>) -> Result<(), Halt> {
        while let Some((at, members)) = new.pop() {
            let operation = self.operations[at];
            let causes = self.events.maximal(&members);
            let known = match self.histories.find(operation.thread.0, &causes) {
                Some(known) => Some(known),
                None => self.run_after(exploration, operation.thread, members, causes)?,
            };
            // The thread has ended, or the history fails.
            let Some(id) = known else { continue };
            if std::mem::replace(&mut self.histories[id].listed, true) {
                continue;
            }
            self.listed.push(Listed {
                operation: at,
                history: id,
            });
            let history = &self.histories[id];
            for &event in &history.events {
                let member = self.members.contains(event.0);
                if !member && !self.events[event].conflicts.intersects(&self.members) {
                    let frame = self.frames.last_mut().expect("a configuration is being extended");
                    frame.enabled.push(event);
                }
            }
            let candidates = self
                .configuration
                .iter()
                .filter(|event| !history.members.contains(event.0));
            for &event in candidates {
                if self.extends(event, operation, &history.members, &history.footprint) {
                    new.push((at, self.extended(&history.members, event)));
                }
            }
        }
        Ok(())
    }

    /// Runs the history, and then each alternative of the thread's operation. Returns `None` if the thread has ended,
    /// or the history fails.
    fn run_after<S: System>(
        &mut self,
        exploration: &mut Exploration<S>,
        thread: ThreadId,
        members: BitSet,
        causes: Causes,
    ) -> Result<Option<HistoryId>, Halt> {
        self.learnt += 1;
        if self.events.len() > MOST_EVENTS {
            return Err(Halt::Incomplete(format!(
                "there are more than {MOST_EVENTS} events to remember"
            )));
        }
        if self.learnt.is_multiple_of(64) {
            exploration.in_time()?;
        }
        if !self.go_to(exploration, &members)? {
            return Ok(None);
        }
        let status = match exploration.cursor.system.threads().get(thread.index()) {
            None | Some(Status::Finished) => return Ok(None),
            Some(status) => status.clone(),
        };
        let pending = exploration.cursor.system.pending(thread);
        let mut footprint = Footprint::new();
        let mut events = SmallVec::new();
        let mut step = std::mem::take(&mut self.scratch);
        let alternatives = status.alternatives().cloned().unwrap_or_default();
        let mut failed = false;
        for alternative in alternatives.iter() {
            if alternative > 0 && exploration.faults.ignore_alternatives() {
                continue;
            }
            let transition = Transition { thread, alternative };
            let event = self.try_out(exploration, transition, &pending, &members, &causes, &mut step)?;
            failed |= event.is_some_and(|event| self.events[event].failure.is_some());
            events.extend(event);
            for access in step.footprint.accesses() {
                footprint.add(access.location, access.kind);
            }
        }
        self.scratch = step;
        if alternatives.is_empty() || !pending.guards.is_empty() || failed {
            for access in pending.footprint.accesses() {
                footprint.add(access.location, access.kind);
            }
        }
        if alternatives.is_empty() && exploration.faults.skip_blocked() {
            footprint.clear();
        }
        let history = History {
            members,
            footprint,
            events,
            listed: false,
        };
        Ok(Some(self.histories.insert(thread.0, causes, history)))
    }

    /// Runs a transition after a history. Returns the event if it depends on all maximal events of the history. One
    /// that fails has the accesses of the pending operation, too: it may have failed before it made them.
    fn try_out<S: System>(
        &mut self,
        exploration: &mut Exploration<S>,
        transition: Transition,
        pending: &Pending,
        members: &BitSet,
        causes: &Causes,
        step: &mut Step,
    ) -> Result<Option<EventId>, Halt> {
        if !self.go_to(exploration, members)? {
            return Ok(None);
        }
        self.position = None;
        let failure = match exploration.run(transition, step)? {
            Ran::On => None,
            Ran::Failed(failure) => {
                for access in pending.footprint.accesses() {
                    step.footprint.add(access.location, access.kind);
                }
                Some(failure)
            }
        };
        let after = |cause: &EventId| {
            let cause = &self.events[*cause];
            cause.transition.thread == transition.thread
                || cause.step.spawned.contains(&transition.thread)
                || cause.touches(&step.footprint)
        };
        if !causes.iter().all(after) {
            return Ok(None);
        }
        let failed = failure.is_some();
        let (event, new) = self.events.intern(transition, members, causes, step, failure);
        if !failed {
            let mut position = members.clone();
            position.insert(event.0);
            self.position = Some(position);
        }
        if new && self.events[event].conflicts.intersects(&self.members) {
            exploration.statistics.races += 1;
            #[cfg(feature = "faults")]
            if exploration.faults.drop_extension() {
                self.events.dropped.insert(event.0);
            }
        }
        Ok(Some(event))
    }
}
