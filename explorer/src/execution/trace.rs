//! The current execution: its events, and indices of them by thread, location and variable.
//!
//! A step becomes an event in two parts: [`Trace::scratch`] is the record that the system fills in, and
//! [`Trace::commit`] makes it the newest event, with its clock. Between the two, races of the step are looked for.
//!
//! Invariant: each list of an index is in the order of events, so that [`Trace::truncate`] only pops.

use super::VectorClock;
use super::graph::Follows;
use super::order::{Accesses, Touched};
use super::reversal::Change;
use crate::keys::KeyMap;
use crate::random::SplitMix64;
use crate::system::{
    Access, AccessKind, Awaits, Effect, Footprint, GraphEvent, Location, Step, ThreadId, Transition, Variable,
};

/// An event's index in the execution.
pub type EventIndex = usize;

/// One step of the execution.
#[derive(Clone, Default, Debug)]
pub struct Event {
    transition: Option<Transition>,
    pub(super) index: u32,
    pub(super) step: Step,
    /// [`System::lessons`](crate::system::System::lessons) when it ran.
    lessons: u32,
    pub(super) clock: VectorClock,
    /// The numbers of the locations of the footprint's accesses.
    pub(super) touched: Touched,
}

impl Event {
    /// The transition taken.
    pub fn transition(&self) -> Transition {
        self.transition.expect("only a recorded event is handed out")
    }

    /// The thread that moved.
    pub fn thread(&self) -> ThreadId {
        self.transition().thread
    }

    /// The event's index among its thread's events, counted from 1.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// What the step did.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// [`System::lessons`](crate::system::System::lessons) when it ran.
    pub(crate) fn lessons(&self) -> u32 {
        self.lessons
    }

    /// The events at or before this one in the order of dependency.
    pub fn clock(&self) -> &VectorClock {
        &self.clock
    }

    /// Says whether this event is ordered after `earlier`, which ran before it.
    pub fn ordered_after(&self, earlier: &Event) -> bool {
        self.clock.get(earlier.thread()) >= earlier.index
    }
}

/// Number of keys in the tables above which those of past executions are swept out.
const SWEEP_AT: usize = 1 << 16;

#[derive(Clone, Default, Debug)]
pub(super) struct ThreadHistory {
    pub events: Vec<EventIndex>,
    pub spawned_by: Option<EventIndex>,
    /// The clock that the thread's steps come after because of its waits, from each event on at which the clock grew.
    waited: Vec<(EventIndex, VectorClock)>,
}

/// The execution so far: its events, and indices by thread, location and variable.
#[derive(Clone, Default, Debug)]
pub struct Trace {
    /// The first `len` events are the execution; the rest is kept for its storage.
    pub(super) events: Vec<Event>,
    pub(super) len: usize,
    pub(super) threads: Vec<ThreadHistory>,
    pub(super) accesses: Accesses,
    pub(super) changes: KeyMap<Variable, Vec<Change>>,
    /// What to record besides.
    follows: Follows,
    /// Number of leading events that were handed out at the end of an execution before.
    seen: EventIndex,
}

impl Trace {
    /// The empty execution.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what to record besides; for an empty execution.
    pub(crate) fn follow(&mut self, follows: Follows) {
        debug_assert!(self.is_empty());
        self.follows = follows;
    }

    /// What is recorded besides.
    pub(crate) fn follows(&self) -> Follows {
        self.follows
    }

    /// The events in the order in which they ran.
    pub fn events(&self) -> &[Event] {
        &self.events[..self.len]
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Says whether nothing has run.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The transitions taken.
    pub fn schedule(&self) -> Vec<Transition> {
        self.events().iter().map(Event::transition).collect()
    }

    /// The index of the first event that was not part of the execution before, of those that an observer has seen.
    pub fn fresh(&self) -> EventIndex {
        self.seen
    }

    /// Notes that observers have seen the execution.
    pub(crate) fn was_seen(&mut self) {
        self.seen = self.len;
    }

    /// The event right before this one in program order: the last of its thread, or the one that created it.
    pub fn predecessor(&self, at: EventIndex) -> Option<&Event> {
        let history = self.threads.get(self.events()[at].thread().index())?;
        let own = history.events[..history.events.partition_point(|&event| event < at)].last();
        let before = own.copied().or(history.spawned_by)?;
        Some(&self.events[before])
    }

    /// [`System::lessons`](crate::system::System::lessons) at the last event before the `node`-th of this event's
    /// thread; 0 if there is none.
    pub(crate) fn lessons_before(&self, event: EventIndex, node: EventIndex) -> u32 {
        let thread = self.events()[event].thread();
        let before = &self.events_of(thread)[..self.steps_before(thread, node) as usize];
        before.last().map_or(0, |&last| self.events[last].lessons)
    }

    /// The events before this one that touched a location so that they conflict with an access of this kind, backwards.
    pub fn conflicts_before(
        &self,
        at: EventIndex,
        location: Location,
        kind: AccessKind,
    ) -> impl Iterator<Item = (&Event, AccessKind)> {
        let earlier = self.accesses.conflicts_before(at, location, kind);
        earlier.map(|access| (&self.events[access.event], access.kind))
    }

    /// The cleared record of the next step, which the system fills in before [`Trace::commit`].
    pub(crate) fn scratch(&mut self) -> &mut Step {
        if self.events.len() == self.len {
            self.events.push(Event::default());
        }
        let event = &mut self.events[self.len];
        event.touched.clear();
        event.step.clear();
        &mut event.step
    }

    /// The step in [`Trace::scratch`] has run, with so many [lessons](crate::system::System::lessons): makes its
    /// footprint what dependency goes by, and looks up its locations.
    pub(crate) fn ran(&mut self, lessons: u32) {
        let event = &mut self.events[self.len];
        event.lessons = lessons;
        let Step {
            footprint,
            guards,
            graph,
            ..
        } = &mut event.step;
        self.follows.shape(footprint, guards, graph);
        self.look_up_locations();
    }

    /// Looks up the locations of the step that was filled in: once for the search for races, for the event's clock, and
    /// for its removal.
    fn look_up_locations(&mut self) {
        let Event { step, touched, .. } = &mut self.events[self.len];
        let accesses = step.footprint.accesses();
        if touched.len() != accesses.len() {
            touched.clear();
            for access in accesses {
                touched.push(self.accesses.number(access.location));
            }
        }
    }

    /// The step that was filled in but is not yet part of the execution.
    pub(crate) fn uncommitted(&self) -> &Step {
        &self.events[self.len].step
    }

    /// Makes the step in [`Trace::scratch`] the execution's next event.
    pub(crate) fn commit(&mut self, transition: Transition) {
        let at = self.len;
        let thread = transition.thread;
        self.look_up_locations();
        self.history(thread);
        let last = self.last_before_next(thread);
        let index = self.threads[thread.index()].events.len() as u32 + 1;
        let (earlier, rest) = self.events.split_at_mut(at);
        let event = &mut rest[0];
        event.transition = Some(transition);
        event.index = index;
        match last {
            Some(last) => event.clock.clone_from(&earlier[last].clock),
            None => event.clock.clear(),
        }
        self.accesses.join_clocks(event, earlier);
        let source = event.step.graph.and_then(|graph| graph.source);
        if let Some(source) = source.filter(|_| self.follows.depends_by_graph()) {
            event.clock.join(&earlier[source as usize].clock);
        }
        self.accesses.push(event, at);
        event.clock.set(thread, event.index);
        for effect in &event.step.effects {
            let Effect {
                variable,
                before,
                after,
            } = *effect;
            let changes = self.changes.entry(variable).or_default();
            let birth = match changes.last() {
                Some(last) if last.after == before => last.birth,
                _ => changes.len() as u32,
            };
            changes.push(Change {
                event: at,
                before,
                after,
                birth,
            });
        }
        self.threads[thread.index()].events.push(at);
        if self.follows.waits {
            self.note_waits(at);
        }
        for i in 0..self.events[at].step.spawned.len() {
            let child = self.events[at].step.spawned[i];
            self.history(child);
            self.threads[child.index()].spawned_by = Some(at);
        }
        self.len += 1;
    }

    /// Drops all events but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.len > len {
            self.len -= 1;
            let event = &self.events[self.len];
            let history = &mut self.threads[event.thread().index()];
            history.events.pop();
            history.waited.pop_if(|(since, _)| *since == self.len);
            self.accesses.pop(&event.touched);
            for effect in event.step.effects.iter().rev() {
                if let Some(changes) = self.changes.get_mut(&effect.variable) {
                    changes.pop();
                }
            }
            for &child in &event.step.spawned {
                self.threads[child.index()].spawned_by = None;
            }
        }
        self.seen = self.seen.min(self.len);
        if self.accesses.have_grown() {
            self.accesses.sweep(&mut self.events[..self.len]);
        }
        if self.changes.len() > SWEEP_AT {
            self.changes.retain(|_, changes| !changes.is_empty());
        }
    }

    /// The event in the execution graph of the first event that was dropped last.
    pub(crate) fn dropped_graph(&self) -> Option<GraphEvent> {
        let dropped = self.events[self.len].step.graph;
        dropped.filter(|_| self.follows.depends_by_graph())
    }

    /// Takes the footprint of the first event that was dropped last.
    pub(crate) fn take_footprint(&mut self) -> Footprint {
        std::mem::take(&mut self.events[self.len].step.footprint)
    }

    /// Records what the event's thread has waited for, and what the threads that it created inherit.
    fn note_waits(&mut self, at: EventIndex) {
        let event = &self.events[at];
        let thread = event.thread();
        let awaited = |access: &&Access| access.awaits == Awaits::AllWrites;
        let mut accesses = event.step.footprint.accesses().iter().filter(awaited).peekable();
        if accesses.peek().is_some() {
            let mut waited = self.waited(thread).clone();
            for access in accesses {
                for before in self.conflicts(access.location, AccessKind::Read) {
                    let earlier = &self.events[before.event];
                    if earlier.thread() != thread {
                        waited.set(earlier.thread(), waited.get(earlier.thread()).max(earlier.index));
                    }
                }
            }
            self.threads[thread.index()].waited.push((at, waited));
        }
        for i in 0..self.events[at].step.spawned.len() {
            let child = self.events[at].step.spawned[i];
            let waited = self.waited(thread).clone();
            self.history(child);
            let inherited = &mut self.threads[child.index()].waited;
            inherited.clear();
            if waited != VectorClock::new() {
                inherited.push((at, waited));
            }
        }
    }

    /// The clock that the thread's next step comes after in every execution, because the thread has waited for it.
    pub(crate) fn waited(&self, thread: ThreadId) -> &VectorClock {
        debug_assert!(self.follows.waits);
        static NOTHING: VectorClock = VectorClock::new();
        let history = self.threads.get(thread.index());
        history
            .and_then(|history| history.waited.last())
            .map_or(&NOTHING, |(_, clock)| clock)
    }

    fn history(&mut self, thread: ThreadId) {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, ThreadHistory::default);
        }
    }

    /// The event right before the thread's next one in program order: its last, or the one that created it.
    pub(super) fn last_before_next(&self, thread: ThreadId) -> Option<EventIndex> {
        let history = self.threads.get(thread.index())?;
        history.events.last().copied().or(history.spawned_by)
    }

    /// When the thread's operation at `at`, or its next one, became pending: a larger value is later. Operations that
    /// one step makes pending are in the order of the thread's own next operation and those of the threads that it
    /// created.
    pub(crate) fn pending_since(&self, thread: ThreadId, at: EventIndex) -> (usize, usize) {
        let history = self.threads.get(thread.index());
        let own = history.and_then(|history| history.events[..self.steps_before(thread, at) as usize].last());
        match (own, history.and_then(|history| history.spawned_by)) {
            (Some(event), _) => (event + 1, 0),
            (None, Some(event)) => {
                let mut spawned = self.events[event].step.spawned.iter();
                (event + 1, 1 + spawned.position(|&child| child == thread).unwrap_or(0))
            }
            (None, None) => (0, thread.index()),
        }
    }

    /// Number of steps that the thread has made before the event at `at`.
    pub(crate) fn steps_before(&self, thread: ThreadId, at: EventIndex) -> u32 {
        let events = self.events_of(thread);
        if at >= self.len {
            return events.len() as u32;
        }
        events.partition_point(|&event| event < at) as u32
    }

    /// The thread's events.
    pub(crate) fn events_of(&self, thread: ThreadId) -> &[EventIndex] {
        self.threads.get(thread.index()).map_or(&[], |t| &t.events)
    }

    /// The event that created the thread.
    pub(crate) fn creation(&self, thread: ThreadId) -> Option<EventIndex> {
        self.threads.get(thread.index())?.spawned_by
    }

    /// A digest of the number of steps that each thread has made.
    pub(crate) fn progress(&self) -> u128 {
        let mix = |(thread, history): (usize, &ThreadHistory)| {
            let place = (thread as u64) << 32 ^ history.events.len() as u64;
            let half = |salt: u64| u128::from(SplitMix64::mix(place ^ salt));
            half(SplitMix64::GAMMA) << 64 | half(0xD1B5_4A32_D192_ED03)
        };
        let moved = self
            .threads
            .iter()
            .enumerate()
            .filter(|(_, history)| !history.events.is_empty());
        moved.map(mix).fold(0, u128::wrapping_add)
    }
}
