//! The current execution as a sequence of events with its happens-before order.
//!
//! Terms follow Abdulla, Aronis, Jonsson and Sagonas, *Source Sets: A Foundation for Optimal Dynamic
//! Partial Order Reduction* (JACM 2017) and Albert et al. (CAV 2017): `pre(E, e)`, `notdep(e, E)`, races,
//! initials. Deviation: an operation that can block races with an event `e` if its guard holds after
//! `pre(E, e).notdep(e, E)`, and an event after which it does not hold hides no earlier race. For a lock
//! that is held across steps this yields the race with the *lock* operation of the earlier critical
//! section instead of the irreversible one with its *unlock*. Where several independent events each
//! disable the operation (read locks that are not released, against a write lock), no single one can be
//! reversed: the others are taken out of `notdep(e, E)` with it.

use crate::clock::VectorClock;
use crate::footprint::{Access, AccessKind, Awaits, Footprint, Location};
use crate::guard::{Condition, Effect, Guard, Variable};
use crate::keys::KeyMap;
use crate::system::{Step, Transition};
use crate::thread::ThreadId;
use smallvec::SmallVec;

/// An event's place in the execution.
pub type EventIndex = usize;

/// One step of the execution.
#[derive(Clone, Default, Debug)]
pub struct Event {
    transition: Option<Transition>,
    index: u32,
    step: Step,
    clock: VectorClock,
}

impl Event {
    /// The transition that was taken.
    pub fn transition(&self) -> Transition {
        self.transition.expect("only a recorded event is handed out")
    }

    /// The thread that moved.
    pub fn thread(&self) -> ThreadId {
        self.transition().thread
    }

    /// That this is the thread's n-th event, counted from 1.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// What the step did.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// The events at or before this one in the happens-before order.
    pub fn clock(&self) -> &VectorClock {
        &self.clock
    }

    /// Says whether `earlier`, an event that comes before this one, happens before it.
    pub fn happens_after(&self, earlier: &Event) -> bool {
        self.clock.get(earlier.thread()) >= earlier.index
    }
}

/// Events that are left out of the reversal of a race.
pub type Removed = SmallVec<[EventIndex; 2]>;

/// An access, and the event that made it.
pub(crate) type AccessAt = (EventIndex, AccessKind);

/// When the tables hold more keys than this, those of past executions are swept out.
const SWEEP_AT: usize = 1 << 16;

#[derive(Clone, Default, Debug)]
struct ThreadHistory {
    events: Vec<EventIndex>,
    spawned_by: Option<EventIndex>,
    /// What the thread's steps come after, from each event on at which it has waited for more.
    waited: Vec<(EventIndex, VectorClock)>,
}

/// The execution so far: its events, and indices by thread, location and variable.
#[derive(Clone, Default, Debug)]
pub struct Trace {
    /// The first `len` are the execution; the rest is kept for its storage.
    events: Vec<Event>,
    len: usize,
    threads: Vec<ThreadHistory>,
    accesses: KeyMap<Location, Vec<AccessAt>>,
    changes: KeyMap<Variable, Vec<Change>>,
    /// Whether to note what threads have waited for.
    follows_waits: bool,
}

/// A change of a variable.
#[derive(Clone, Copy, Debug)]
struct Change {
    event: EventIndex,
    before: i64,
    after: i64,
}

impl Trace {
    /// The empty execution.
    pub fn new() -> Self {
        Self::default()
    }

    /// The empty execution, for one who will ask what threads have waited for.
    pub(crate) fn following_waits(follows_waits: bool) -> Self {
        Trace {
            follows_waits,
            ..Self::default()
        }
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

    /// The record of the next step, cleared, to be filled by the system before [`Trace::commit`].
    pub(crate) fn scratch(&mut self) -> &mut Step {
        if self.events.len() == self.len {
            self.events.push(Event::default());
        }
        let step = &mut self.events[self.len].step;
        step.clear();
        step
    }

    /// The step that was filled in but is not part of the execution yet.
    pub(crate) fn uncommitted(&self) -> &Step {
        &self.events[self.len].step
    }

    /// Makes the step in [`Trace::scratch`] the execution's next event.
    pub(crate) fn commit(&mut self, transition: Transition) {
        let at = self.len;
        let thread = transition.thread;
        self.history(thread);
        let last = self.last_before_next(thread);
        let index = self.threads[thread.index()].events.len() as u32 + 1;
        let (earlier, rest) = self.events.split_at_mut(at);
        let event = &mut rest[0];
        event.transition = Some(transition);
        event.index = index;
        match last {
            Some(last) => event.clock.assign(&earlier[last].clock),
            None => event.clock.clear(),
        }
        for access in event.step.footprint.accesses() {
            let list = self.accesses.entry(access.location).or_default();
            for &(before, kind) in list.iter().rev() {
                if kind.conflicts_with(access.kind) {
                    event.clock.join(&earlier[before].clock);
                }
                // A write is dependent with everything before it.
                if kind == AccessKind::Write {
                    break;
                }
            }
            list.push((at, access.kind));
        }
        event.clock.set(thread, event.index);
        for effect in &event.step.effects {
            let Effect {
                variable,
                before,
                after,
            } = *effect;
            self.changes.entry(variable).or_default().push(Change {
                event: at,
                before,
                after,
            });
        }
        self.threads[thread.index()].events.push(at);
        if self.follows_waits {
            self.note_waits(at);
        }
        for i in 0..self.events[at].step.spawned.len() {
            let child = self.events[at].step.spawned[i];
            self.history(child);
            self.threads[child.index()].spawned_by = Some(at);
        }
        self.len += 1;
    }

    /// Forgets all events but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.len > len {
            self.len -= 1;
            let event = &self.events[self.len];
            let history = &mut self.threads[event.thread().index()];
            history.events.pop();
            history.waited.pop_if(|(since, _)| *since == self.len);
            for access in event.step.footprint.accesses() {
                if let Some(list) = self.accesses.get_mut(&access.location) {
                    list.pop();
                }
            }
            for effect in event.step.effects.iter().rev() {
                if let Some(changes) = self.changes.get_mut(&effect.variable) {
                    changes.pop();
                }
            }
            for &child in &event.step.spawned {
                self.threads[child.index()].spawned_by = None;
            }
        }
        if self.accesses.len() > SWEEP_AT {
            self.accesses.retain(|_, list| !list.is_empty());
        }
        if self.changes.len() > SWEEP_AT {
            self.changes.retain(|_, changes| !changes.is_empty());
        }
    }

    /// Notes what the thread of the event has waited for, and what the threads that it has created inherit.
    fn note_waits(&mut self, at: EventIndex) {
        let event = &self.events[at];
        let thread = event.thread();
        let awaited = |access: &&Access| access.awaits == Awaits::AllWrites;
        let mut accesses = event.step.footprint.accesses().iter().filter(awaited).peekable();
        if accesses.peek().is_some() {
            let mut waited = self.waited(thread).clone();
            for access in accesses {
                for &(before, kind) in self.accesses(access.location).iter() {
                    let earlier = &self.events[before];
                    if kind != AccessKind::Read && earlier.thread() != thread {
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

    /// What the thread's next step comes after in any execution, because the thread has waited for it.
    pub(crate) fn waited(&self, thread: ThreadId) -> &VectorClock {
        debug_assert!(self.follows_waits);
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

    /// The event that comes right before the thread's next one in program order: its last, or the one
    /// that created it.
    fn last_before_next(&self, thread: ThreadId) -> Option<EventIndex> {
        let history = self.threads.get(thread.index())?;
        history.events.last().copied().or(history.spawned_by)
    }

    /// How many steps the thread has made before the event at `at`.
    pub(crate) fn steps_before(&self, thread: ThreadId, at: EventIndex) -> u32 {
        let events = self.threads.get(thread.index()).map_or(&[][..], |t| &t.events);
        events.partition_point(|&event| event < at) as u32
    }

    /// The event that created the thread.
    pub(crate) fn creation(&self, thread: ThreadId) -> Option<EventIndex> {
        self.threads.get(thread.index())?.spawned_by
    }

    /// The accesses of a location, in order.
    pub(crate) fn accesses(&self, location: Location) -> &[AccessAt] {
        self.accesses.get(&location).map_or(&[], Vec::as_slice)
    }

    /// A digest of how many steps each thread has made.
    pub(crate) fn progress(&self) -> u128 {
        let mix = |(thread, history): (usize, &ThreadHistory)| {
            // SplitMix64's finaliser, twice over.
            let half = |salt: u64| {
                let z = (thread as u64) << 32 ^ history.events.len() as u64 ^ salt;
                let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                u128::from(z ^ (z >> 31))
            };
            half(0x9E37_79B9_7F4A_7C15) << 64 | half(0xD1B5_4A32_D192_ED03)
        };
        let moved = self
            .threads
            .iter()
            .enumerate()
            .filter(|(_, history)| !history.events.is_empty());
        moved.map(mix).fold(0, u128::wrapping_add)
    }

    /// The thread's clock before its next step.
    pub(crate) fn thread_clock(&self, thread: ThreadId) -> VectorClock {
        self.last_before_next(thread)
            .map_or_else(VectorClock::new, |last| self.events[last].clock.clone())
    }

    /// `notdep(e, E)`: the events after `e` that do not happen after it, in order.
    pub fn notdep(&self, e: EventIndex) -> impl Iterator<Item = EventIndex> + '_ {
        let earlier = &self.events[e];
        (e + 1..self.len).filter(move |&f| !self.events[f].happens_after(earlier))
    }

    /// What must be left out of `notdep(e, E)`, so that one of the guards holds after `pre(E, e)` and the rest
    /// of it: mostly nothing. `None` if the guards do not hold then either.
    fn reversal(&self, guards: &[Guard], e: EventIndex, current: &impl Fn(Variable) -> i64) -> Option<Removed> {
        let mut removed = Removed::new();
        if guards.is_empty() || self.enabled_without(guards, e, &removed, current) {
            return Some(removed);
        }
        for f in self.notdep(e) {
            let event = &self.events[f];
            if removed.iter().any(|&g| event.happens_after(&self.events[g])) || self.disables_like(e, f) {
                removed.push(f);
            }
        }
        (!removed.is_empty() && self.enabled_without(guards, e, &removed, current)).then_some(removed)
    }

    /// Says whether `f`, one of `notdep(e, E)`, changes a variable in the direction in which `e` does and its
    /// thread does not take that back in `notdep(e, E)`.
    fn disables_like(&self, e: EventIndex, f: EventIndex) -> bool {
        let thread = self.events[f].thread();
        self.events[e].step.effects.iter().any(|effect| {
            let Some(changes) = self.changes.get(&effect.variable) else {
                return false;
            };
            let delta = |at| -> i64 {
                let changes = changes.iter().filter(|change| change.event == at);
                changes.map(|change| change.after - change.before).sum()
            };
            let direction = delta(e).signum();
            if direction == 0 {
                return false;
            }
            // The longest prefix of the thread's events that leaves the variable nearest to where `e` found it.
            let (mut sum, mut least, mut end) = (0, 0, None);
            for g in self.notdep(e).filter(|&g| self.events[g].thread() == thread) {
                sum += direction * delta(g);
                if sum <= least {
                    (least, end) = (sum, Some(g));
                }
            }
            end.is_none_or(|end| f > end)
        })
    }

    /// The changes of a variable whose present value is `current`, and the value before the first of them.
    ///
    /// A variable can be made anew at an address where another one was. Changes that do not fit together, or with the
    /// present value, are those of different variables, of which the youngest counts.
    fn lifetime(&self, variable: Variable, current: i64) -> (i64, &[Change]) {
        let changes = self.changes.get(&variable).map_or(&[][..], Vec::as_slice);
        if changes.last().is_none_or(|last| last.after != current) {
            return (current, &[]);
        }
        let birth = changes.windows(2).rposition(|pair| pair[0].after != pair[1].before);
        let changes = &changes[birth.map_or(0, |at| at + 1)..];
        (changes[0].before, changes)
    }

    /// Says whether a condition on a variable holds in the state before the event; `None` if the execution does not tell.
    pub(crate) fn holds_before(&self, condition: Condition, event: EventIndex) -> Option<bool> {
        let changes = self.changes.get(&condition.variable()?)?;
        let next = changes.partition_point(|change| change.event < event);
        let value = match next {
            0 => changes.first()?.before,
            next => changes[next - 1].after,
        };
        // A variable that was made anew meanwhile is another one.
        let same = changes.windows(2).all(|pair| pair[0].after == pair[1].before);
        same.then(|| condition.holds_for(|_| value)).flatten()
    }

    /// Evaluates guards after `pre(E, e).notdep(e, E)` without the removed events; `current` gives the values
    /// of the guards' variables in the state before the operation.
    fn enabled_without(
        &self,
        guards: &[Guard],
        e: EventIndex,
        removed: &Removed,
        current: &impl Fn(Variable) -> i64,
    ) -> bool {
        let survives =
            |f: EventIndex| f < e || (f > e && !self.events[f].happens_after(&self.events[e]) && !removed.contains(&f));
        let value = |variable| {
            let current = current(variable);
            let (base, changes) = self.lifetime(variable, current);
            let survivors = changes.iter().filter(|change| survives(change.event));
            base + survivors.map(|change| change.after - change.before).sum::<i64>()
        };
        let changed = |location, steps: u32| {
            self.accesses.get(&location).is_some_and(|list| {
                let since = list.iter().rev().take_while(|&&(f, _)| f >= steps as usize);
                since
                    .into_iter()
                    .any(|&(f, kind)| kind != AccessKind::Read && survives(f))
            })
        };
        guards.iter().any(|guard| {
            guard.holds(|condition| match condition {
                Condition::ChangedSince { location, steps } => changed(location, steps),
                condition => condition.holds_for(value).unwrap_or(false),
            })
        })
    }

    /// The events that are in a reversible race with the next operation of `thread`, latest first, and
    /// what must be left out of their `notdep` to reverse each.
    ///
    /// `footprint` and `guards` describe the operation: as it was when it ran, or as it is pending.
    /// `current` gives the values of variables in the state before it.
    pub fn races(
        &self,
        thread: ThreadId,
        footprint: &Footprint,
        guards: &[Guard],
        current: impl Fn(Variable) -> i64,
    ) -> SmallVec<[(EventIndex, Removed); 4]> {
        let mut before = self.thread_clock(thread);
        let mut races = SmallVec::new();
        let mut cursors: SmallVec<[(&[AccessAt], AccessKind); 4]> = footprint
            .accesses()
            .iter()
            .filter_map(|access| Some((self.accesses.get(&access.location)?.as_slice(), access.kind)))
            .collect();
        while let Some(e) = cursors
            .iter()
            .filter_map(|(list, _)| list.last())
            .map(|&(e, _)| e)
            .max()
        {
            let event = &self.events[e];
            let conflicts = cursors.iter().any(|&(list, kind)| {
                list.last()
                    .is_some_and(|&(last, other)| last == e && kind.conflicts_with(other))
            });
            let covered = before.get(event.thread()) >= event.index;
            let possible = conflicts && !covered && event.thread() != thread;
            let reversal = possible.then(|| self.reversal(guards, e, &current)).flatten();
            let race = reversal.is_some();
            if let Some(removed) = reversal {
                before.join(&event.clock);
                races.push((e, removed));
            }
            for (list, _) in &mut cursors {
                if let Some((&(last, kind), rest)) = list.split_last()
                    && last == e
                {
                    // Everything earlier at this location happens before a write that is itself covered.
                    let done = kind == AccessKind::Write && (race || covered);
                    *list = if done { &[] } else { rest };
                }
            }
        }
        races
    }

    /// The initials of `v = notdep(e, E).p` without the removed events, where `p` is the next operation of `thread` with the given
    /// footprint: the events of `v` that no other event of `v` happens before. The operation itself is
    /// handed out as `None`.
    pub fn initials(
        &self,
        e: EventIndex,
        removed: &Removed,
        thread: ThreadId,
        footprint: &Footprint,
    ) -> SmallVec<[(ThreadId, Option<EventIndex>); 4]> {
        let before = self.thread_clock(thread);
        let mut firsts = Firsts::default();
        let mut initials = SmallVec::new();
        let mut operation_is_initial = true;
        for f in self.notdep(e).filter(|f| !removed.contains(f)) {
            let event = &self.events[f];
            if firsts.admit(event) {
                initials.push((event.thread(), Some(f)));
            }
            if before.get(event.thread()) >= event.index || event.step.footprint.conflicts_with(footprint) {
                operation_is_initial = false;
            }
        }
        if operation_is_initial {
            initials.push((thread, None));
        }
        initials
    }

    /// The events of `notdep(e, E)` that no other of them happens before.
    pub(crate) fn first_events(&self, e: EventIndex) -> impl Iterator<Item = EventIndex> {
        let mut firsts = Firsts::default();
        self.notdep(e).filter(move |&f| firsts.admit(&self.events[f]))
    }
}

/// The first event of each thread in a sequence that is gone through.
#[derive(Default)]
struct Firsts(SmallVec<[(ThreadId, u32); 8]>);

impl Firsts {
    /// Takes the next event of the sequence; says whether no earlier one happens before it.
    fn admit(&mut self, event: &Event) -> bool {
        if self.0.iter().any(|&(thread, _)| thread == event.thread()) {
            return false;
        }
        let first = self.0.iter().all(|&(thread, index)| event.clock.get(thread) < index);
        self.0.push((event.thread(), event.index));
        first
    }
}
