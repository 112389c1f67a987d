//! The events of an unfolding that are kept: causality and conflict.

use crate::bits::BitSet;
use crate::keys::KeyMap;
use crate::system::{Failure, Footprint, Step, Transition};
use smallvec::SmallVec;
use std::collections::HashMap;

/// An event's number. Numbers of dropped events are reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct EventId(pub u32);

crate::codec!(struct EventId { 0 });

/// The causally maximal events of a history, in ascending order: the direct causes of an event. They identify the
/// history.
pub(super) type Causes = SmallVec<[EventId; 4]>;

/// An event `⟨a, H⟩` of the unfolding: the occurrence of a transition after a history. (An event of an *execution* is a
/// step of it, `crate::execution::Event`.)
#[derive(Clone, Debug)]
pub(super) struct Occurrence {
    pub transition: Transition,
    /// `⌈e⌉`.
    pub history: BitSet,
    pub causes: Causes,
    /// The step that it takes after its history.
    pub step: Step,
    /// The failure in which the execution ends with this step.
    pub failure: Option<Failure>,
    /// Events in immediate conflict with this one: dependent with it, neither before nor after it, and without a
    /// conflict between the one or its history and the other's history. All other conflicts are inherited from these.
    pub conflicts: BitSet,
    /// The conflicts of this event and of those in its history.
    pub inherited: BitSet,
}

crate::codec!(struct Occurrence { transition, history, causes, step, failure, conflicts, inherited });

impl Occurrence {
    /// Says whether two events, neither of which is before the other, are themselves in conflict.
    fn conflicts_with(&self, other: &Occurrence) -> bool {
        self.transition.thread == other.transition.thread || self.step.footprint.conflicts_with(&other.step.footprint)
    }

    /// Says whether an operation of another thread with this footprint would be dependent with the event.
    pub fn touches(&self, footprint: &Footprint) -> bool {
        self.step.footprint.conflicts_with(footprint)
    }
}

/// The set `U`.
#[derive(Clone, Default, Debug)]
pub(super) struct Events {
    slots: Vec<Option<Occurrence>>,
    free: Vec<EventId>,
    index: HashMap<(Transition, Causes), EventId>,
    /// Number of events left after the last collection.
    kept: usize,
    /// Events for which no alternatives are made, for a seeded fault.
    #[cfg(feature = "faults")]
    pub dropped: BitSet,
}

crate::codec!(struct Events { slots, free, index, kept } skip { #[cfg(feature = "faults")] dropped });

impl std::ops::Index<EventId> for Events {
    type Output = Occurrence;

    fn index(&self, id: EventId) -> &Occurrence {
        self.slots[id.0 as usize]
            .as_ref()
            .expect("an event that is in use is remembered")
    }
}

impl Events {
    pub fn len(&self) -> usize {
        self.index.len()
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = (EventId, &mut Occurrence)> {
        (0..)
            .map(EventId)
            .zip(&mut self.slots)
            .filter_map(|(id, slot)| Some((id, slot.as_mut()?)))
    }

    /// `[e]`.
    pub fn local(&self, id: EventId) -> BitSet {
        let mut local = self[id].history.clone();
        local.insert(id.0);
        local
    }

    /// The causally maximal events of a configuration.
    pub fn maximal(&self, configuration: &BitSet) -> Causes {
        let mut covered = BitSet::new();
        for event in configuration.iter() {
            covered.extend_from(&self[EventId(event)].history);
        }
        configuration.difference(&covered).map(EventId).collect()
    }

    /// Says whether the event and its history can be added to a configuration.
    pub fn compatible(&self, id: EventId, configuration: &BitSet) -> bool {
        !self[id].inherited.intersects(configuration)
    }

    /// The event of the transition after the history; also says whether it is new.
    pub fn intern(
        &mut self,
        transition: Transition,
        history: &BitSet,
        causes: &Causes,
        step: &Step,
        failure: Option<Failure>,
    ) -> (EventId, bool) {
        let key = (transition, causes.clone());
        if let Some(&known) = self.index.get(&key) {
            return (known, false);
        }
        let mut event = Occurrence {
            transition,
            history: history.clone(),
            causes: causes.clone(),
            step: step.clone(),
            failure,
            conflicts: BitSet::new(),
            inherited: BitSet::new(),
        };
        for before in history.iter() {
            event.inherited.extend_from(&self[EventId(before)].conflicts);
        }
        let id = self.free.pop().unwrap_or(EventId(self.slots.len() as u32));
        let mut possible = BitSet::new();
        for (other_id, other) in self.iter_mut() {
            let unordered = !history.contains(other_id.0);
            if unordered && event.conflicts_with(other) && !other.inherited.intersects(history) {
                possible.insert(other_id.0);
            }
        }
        for (other_id, other) in self.iter_mut() {
            if possible.contains(other_id.0) && !possible.intersects(&other.history) {
                event.conflicts.insert(other_id.0);
                other.conflicts.insert(id.0);
            }
        }
        for (other_id, other) in self.iter_mut() {
            if event.conflicts.contains(other_id.0) || event.conflicts.intersects(&other.history) {
                other.inherited.insert(id.0);
            }
        }
        event.inherited.extend_from(&event.conflicts);
        if id.0 as usize == self.slots.len() {
            self.slots.push(Some(event));
        } else {
            self.slots[id.0 as usize] = Some(event);
        }
        self.index.insert(key, id);
        (id, true)
    }

    /// Says whether the number of events has grown so much since the last collection that another one is worthwhile.
    pub fn have_grown(&self) -> bool {
        self.len() > 2 * self.kept + 16
    }

    /// Drops all events but these, which must be causally closed.
    pub fn retain(&mut self, kept: &BitSet) {
        for id in (0..self.slots.len() as u32).map(EventId) {
            if kept.contains(id.0) {
                continue;
            }
            if let Some(event) = self.slots[id.0 as usize].take() {
                self.index.remove(&(event.transition, event.causes));
                self.free.push(id);
            }
        }
        for (_, event) in self.iter_mut() {
            event.conflicts.retain_in(kept);
            event.inherited.retain_in(kept);
        }
        self.kept = self.len();
    }
}

/// A history, and the next operation of a thread after it.
#[derive(Clone, Debug)]
pub(super) struct History {
    pub members: BitSet,
    /// The footprint that decides what the operation does and whether it is enabled.
    pub footprint: Footprint,
    /// The events of the operation here: one for each enabled alternative that depends on all maximal events of the
    /// history.
    pub events: SmallVec<[EventId; 1]>,
    /// Whether it is within the current configuration, and listed.
    pub listed: bool,
}

crate::codec!(struct History { members, footprint, events, listed });

/// The number of a [`History`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HistoryId(pub u32);

crate::codec!(struct HistoryId { 0 });

/// The operations learnt after histories, by thread and the histories' maximal events.
#[derive(Clone, Default, Debug)]
pub(super) struct Histories {
    slots: Vec<Option<History>>,
    free: Vec<HistoryId>,
    index: KeyMap<(u32, Causes), HistoryId>,
}

crate::codec!(struct Histories { slots, free, index });

impl std::ops::Index<HistoryId> for Histories {
    type Output = History;

    fn index(&self, id: HistoryId) -> &History {
        self.slots[id.0 as usize]
            .as_ref()
            .expect("a history that is in use is remembered")
    }
}

impl std::ops::IndexMut<HistoryId> for Histories {
    fn index_mut(&mut self, id: HistoryId) -> &mut History {
        self.slots[id.0 as usize]
            .as_mut()
            .expect("a history that is in use is remembered")
    }
}

impl Histories {
    pub fn find(&self, thread: u32, causes: &Causes) -> Option<HistoryId> {
        self.index.get(&(thread, causes.clone())).copied()
    }

    pub fn insert(&mut self, thread: u32, causes: Causes, history: History) -> HistoryId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            HistoryId(self.slots.len() as u32 - 1)
        });
        self.slots[id.0 as usize] = Some(history);
        self.index.insert((thread, causes), id);
        id
    }

    /// The events of the listed histories.
    pub fn listed_events(&self) -> impl Iterator<Item = EventId> + '_ {
        let listed = self.slots.iter().flatten().filter(|history| history.listed);
        listed.flat_map(|history| history.events.iter().copied())
    }

    /// Drops the histories that name dropped events.
    pub fn retain(&mut self, kept: &BitSet) {
        let Histories { slots, free, index } = self;
        index.retain(|_, id| {
            let slot = &mut slots[id.0 as usize];
            let names_kept = |history: &History| {
                history.members.is_subset(kept) && history.events.iter().all(|event| kept.contains(event.0))
            };
            let stays = slot.as_ref().is_some_and(names_kept);
            if !stays {
                *slot = None;
                free.push(*id);
            }
            stays
        });
    }
}
