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
use crate::random::SplitMix64;
use crate::system::{Step, Transition};
use crate::thread::ThreadId;
use smallvec::SmallVec;

/// An event's index in the execution.
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

    /// The events at or before this one in the happens-before order.
    pub fn clock(&self) -> &VectorClock {
        &self.clock
    }

    /// Says whether `earlier`, an event that comes before this one, happens before it.
    pub fn happens_after(&self, earlier: &Event) -> bool {
        self.clock.get(earlier.thread()) >= earlier.index
    }
}

/// Events left out of the reversal of a race.
pub type Removed = SmallVec<[EventIndex; 2]>;

/// The races of an operation, latest event first, each with the events to leave out of its reversal.
pub type Races = SmallVec<[(EventIndex, Removed); 1]>;

/// One access to a location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessAt {
    /// The event that made it.
    pub event: EventIndex,
    /// How the event touched the location.
    pub kind: AccessKind,
    /// The index in the location's accesses at which its run starts: a write alone, or neighbours that all read or all
    /// update. Those of one run are independent, as far as the location is concerned, and everything before a run
    /// happens before each of them.
    run: u32,
}

impl AccessAt {
    fn push(accesses: &mut Vec<AccessAt>, event: EventIndex, kind: AccessKind) {
        let run = match accesses.last() {
            Some(last) if last.kind == kind && kind != AccessKind::Write => last.run,
            _ => accesses.len() as u32,
        };
        accesses.push(AccessAt { event, kind, run });
    }
}

/// Iterates backwards over the accesses of a location that conflict with one of the given kind.
#[derive(Clone, Debug)]
pub(crate) struct Conflicts<'a> {
    accesses: &'a [AccessAt],
    kind: AccessKind,
    /// The range of accesses that are left: from the first index to before the second.
    left: (usize, usize),
}

impl<'a> Conflicts<'a> {
    fn new(accesses: &'a [AccessAt], kind: AccessKind) -> Self {
        let mut conflicts = Conflicts {
            accesses,
            kind,
            left: (0, accesses.len()),
        };
        conflicts.pass_over();
        conflicts
    }

    /// The next of them, which is the latest one.
    fn peek(&self) -> Option<AccessAt> {
        let (from, to) = self.left;
        (from < to).then(|| self.accesses[to - 1])
    }

    /// Skips a run that does not conflict.
    fn pass_over(&mut self) {
        if let Some(next) = self.peek().filter(|next| !next.kind.conflicts_with(self.kind)) {
            self.left.1 = next.run as usize;
        }
    }

    /// Drops everything before the run of the next access.
    fn only_this_run(&mut self) {
        if let Some(next) = self.peek() {
            self.left.0 = next.run as usize;
        }
    }
}

impl Iterator for Conflicts<'_> {
    type Item = AccessAt;

    fn next(&mut self) -> Option<AccessAt> {
        let next = self.peek()?;
        self.left.1 -= 1;
        self.pass_over();
        Some(next)
    }
}

/// Number of keys in the tables above which those of past executions are swept out.
const SWEEP_AT: usize = 1 << 16;

#[derive(Clone, Default, Debug)]
struct ThreadHistory {
    events: Vec<EventIndex>,
    spawned_by: Option<EventIndex>,
    /// The clock that the thread's steps come after because of its waits, from each event on at which the clock grew.
    waited: Vec<(EventIndex, VectorClock)>,
}

/// The execution so far: its events, and indices by thread, location and variable.
#[derive(Clone, Default, Debug)]
pub struct Trace {
    /// The first `len` events are the execution; the rest is kept for its storage.
    events: Vec<Event>,
    len: usize,
    threads: Vec<ThreadHistory>,
    accesses: KeyMap<Location, Vec<AccessAt>>,
    changes: KeyMap<Variable, Vec<Change>>,
    /// Whether to record what threads have waited for.
    follows_waits: bool,
}

/// A change of a variable.
#[derive(Clone, Copy, Debug)]
struct Change {
    event: EventIndex,
    before: i64,
    after: i64,
    /// Index in the variable's changes of the first one that this change continues. A variable can be created at the
    /// address of an earlier one: changes that do not fit together are those of different variables.
    birth: u32,
}

impl Trace {
    /// The empty execution.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the empty execution, which records what threads have waited for if `follows_waits`.
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

    /// The cleared record of the next step, which the system fills in before [`Trace::commit`].
    pub(crate) fn scratch(&mut self) -> &mut Step {
        if self.events.len() == self.len {
            self.events.push(Event::default());
        }
        let step = &mut self.events[self.len].step;
        step.clear();
        step
    }

    /// The step that was filled in but is not yet part of the execution.
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
            Some(last) => event.clock.clone_from(&earlier[last].clock),
            None => event.clock.clear(),
        }
        for access in event.step.footprint.accesses() {
            let list = self.accesses.entry(access.location).or_default();
            let mut conflicts = Conflicts::new(list, access.kind);
            conflicts.only_this_run();
            for conflict in conflicts {
                let conflict = &earlier[conflict.event];
                if event.clock.get(conflict.thread()) < conflict.index {
                    event.clock.join(&conflict.clock);
                }
            }
            AccessAt::push(list, at, access.kind);
        }
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

    /// Drops all events but the first `len`.
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

    /// The event right before the thread's next one in program order: its last, or the one that created it.
    fn last_before_next(&self, thread: ThreadId) -> Option<EventIndex> {
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
        let events = self.threads.get(thread.index()).map_or(&[][..], |t| &t.events);
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

    /// The accesses of a location that conflict with one of the given kind, latest first.
    pub(crate) fn conflicts(&self, location: Location, kind: AccessKind) -> Conflicts<'_> {
        Conflicts::new(self.accesses.get(&location).map_or(&[], Vec::as_slice), kind)
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

    /// The events to leave out of `notdep(e, E)` so that one of the guards holds after `pre(E, e)` and the rest of it:
    /// mostly none. `None` if the guards do not hold then either. Events that happen before `kept` are not left out.
    fn reversal(
        &self,
        guards: &[Guard],
        e: EventIndex,
        current: &impl Fn(Variable) -> i64,
        kept: &VectorClock,
    ) -> Option<Removed> {
        let none = Removed::new();
        if guards.is_empty() || self.enabled_without(guards, e, &none, current) {
            return Some(none);
        }
        let mut disabling = self.disabling_like(e);
        let reversal = |guards: &[Guard], disabling: &[(ThreadId, EventIndex)]| {
            let removed = self.removed(e, disabling, kept)?;
            self.enabled_without(guards, e, &removed, current).then_some(removed)
        };
        if let Some(removed) = reversal(guards, &disabling) {
            return Some(removed);
        }
        // Of a guard with several clauses, events that are independent of this one may have made others false.
        let like = disabling.len();
        guards.iter().find_map(|guard| {
            disabling.truncate(like);
            disabling.extend(self.disabling_besides(guard, e, current));
            (disabling.len() > like).then(|| reversal(std::slice::from_ref(guard), &disabling))?
        })
    }

    /// The events left out of `notdep(e, E)` if threads make no step from the given events on, except events that
    /// happen before `kept`.
    fn removed(&self, e: EventIndex, disabling: &[(ThreadId, EventIndex)], kept: &VectorClock) -> Option<Removed> {
        let first = disabling.iter().map(|&(_, since)| since).min()?;
        let mut removed = Removed::new();
        for f in self.notdep(e).filter(|&f| f >= first) {
            let event = &self.events[f];
            if kept.get(event.thread()) >= event.index {
                continue;
            }
            let disables = |&(thread, since): &(ThreadId, EventIndex)| thread == event.thread() && since <= f;
            if removed.iter().any(|&g| event.happens_after(&self.events[g])) || disabling.iter().any(disables) {
                removed.push(f);
            }
        }
        Some(removed)
    }

    /// The threads that change a variable in `notdep(e, E)` in the same direction as `e` and do not change it back
    /// there, each with the event from which on it does not.
    fn disabling_like(&self, e: EventIndex) -> SmallVec<[(ThreadId, EventIndex); 4]> {
        let effects = self.events[e].step.effects.iter();
        let disabling = effects.flat_map(|effect| self.moving(effect.variable, self.direction(e, effect.variable), e));
        disabling.collect()
    }

    /// The direction in which the event changes the variable: 1, -1, or 0.
    fn direction(&self, e: EventIndex, variable: Variable) -> i64 {
        let effects = self.events[e].step.effects.iter();
        let deltas = effects.filter(|effect| effect.variable == variable);
        deltas.map(|effect| effect.after - effect.before).sum::<i64>().signum()
    }

    /// If `e` moves a variable away from what the guard demands: the threads that do so in `notdep(e, E)` with other
    /// variables of the guard and do not move them back there, each with the event from which on it does not.
    fn disabling_besides(
        &self,
        guard: &Guard,
        e: EventIndex,
        current: &impl Fn(Variable) -> i64,
    ) -> SmallVec<[(ThreadId, EventIndex); 4]> {
        let effects = &self.events[e].step.effects;
        let changed = |variable| effects.iter().rev().find(|effect| effect.variable == variable);
        let conditions = || guard.clauses().flatten().filter_map(|c| Some((c, c.variable()?)));
        let disables = |(condition, variable): (&Condition, Variable)| {
            let direction = self.direction(e, variable);
            direction != 0 && changed(variable).is_some_and(|effect| condition.away(effect.after) == direction)
        };
        if !conditions().any(disables) {
            return SmallVec::new();
        }
        let none = Removed::new();
        let others = conditions().filter(|&(_, variable)| changed(variable).is_none());
        let moving = others.filter_map(|(condition, variable)| {
            let value = self.value_without(e, &none, variable, current(variable));
            let holds = condition.holds_for(|_| value)?;
            (!holds).then(|| self.moving(variable, condition.away(value), e))
        });
        moving.flatten().collect()
    }

    /// The threads that move a variable in the direction in `notdep(e, E)` and not back there, each with the event from
    /// which on it does not.
    fn moving(&self, variable: Variable, direction: i64, e: EventIndex) -> SmallVec<[(ThreadId, EventIndex); 4]> {
        let mut moves: SmallVec<[Moves; 4]> = SmallVec::new();
        let Some(changes) = self.changes.get(&variable).filter(|_| direction != 0) else {
            return SmallVec::new();
        };
        let changes = &changes[changes.partition_point(|change| change.event <= e)..];
        let changes = changes.chunk_by(|one, other| one.event == other.event);
        for changes in changes.filter(|changes| !self.events[changes[0].event].happens_after(&self.events[e])) {
            let f = changes[0].event;
            let delta: i64 = changes.iter().map(|change| change.after - change.before).sum();
            let thread = self.events[f].thread();
            match moves.iter_mut().find(|moves| moves.thread == thread) {
                Some(moves) => moves.add(f, direction * delta),
                None => {
                    let mut first = Moves::of(thread);
                    first.add(f, direction * delta);
                    moves.push(first);
                }
            }
        }
        let moves = moves.iter();
        moves
            .filter_map(|moves| Some((moves.thread, moves.away_since?)))
            .collect()
    }

    /// The changes of a variable with the present value `current`, and the value before the first of them.
    fn lifetime(&self, variable: Variable, current: i64) -> (i64, &[Change]) {
        let changes = self.changes.get(&variable).map_or(&[][..], Vec::as_slice);
        match changes.last() {
            Some(last) if last.after == current => {
                let changes = &changes[last.birth as usize..];
                (changes[0].before, changes)
            }
            _ => (current, &[]),
        }
    }

    /// Says whether a condition on a variable holds in the state before the event; `None` if the execution does not
    /// show it.
    pub(crate) fn holds_before(&self, condition: Condition, event: EventIndex) -> Option<bool> {
        let changes = self.changes.get(&condition.variable()?)?;
        let next = changes.partition_point(|change| change.event < event);
        let value = match next {
            0 => changes.first()?.before,
            next => changes[next - 1].after,
        };
        // A variable that was made anew meanwhile is another one.
        let same = changes.last().is_some_and(|last| last.birth == 0);
        same.then(|| condition.holds_for(|_| value)).flatten()
    }

    /// Says whether the event is in `pre(E, e).notdep(e, E)` without the removed events.
    fn survives(&self, f: EventIndex, e: EventIndex, removed: &Removed) -> bool {
        f < e || (!self.events[f].happens_after(&self.events[e]) && !removed.contains(&f))
    }

    /// The value of a variable after `pre(E, e).notdep(e, E)` without the removed events, if it is `current` after `E`.
    fn value_without(&self, e: EventIndex, removed: &Removed, variable: Variable, current: i64) -> i64 {
        let (first, changes) = self.lifetime(variable, current);
        let (before, rest) = changes.split_at(changes.partition_point(|change| change.event < e));
        let survivors = rest.iter().filter(|change| self.survives(change.event, e, removed));
        before.last().map_or(first, |last| last.after)
            + survivors.map(|change| change.after - change.before).sum::<i64>()
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
        let value = |variable| self.value_without(e, removed, variable, current(variable));
        let changed = |location, steps: u32| {
            let changes = self.conflicts(location, AccessKind::Read).map(|change| change.event);
            let mut since = changes.take_while(|&f| f >= steps as usize);
            since.any(|f| self.survives(f, e, removed))
        };
        guards.iter().any(|guard| {
            guard.holds(|condition| match condition {
                Condition::ChangedSince { location, steps } => changed(location, steps),
                condition => condition.holds_for(value).unwrap_or(false),
            })
        })
    }

    /// The events in a reversible race with the next operation of `thread`, latest first, each with the events to leave
    /// out of `notdep` to reverse it.
    ///
    /// `footprint` and `guards` describe the operation: as it was when it ran, or as it is pending.
    /// `current` gives the values of variables in the state before it.
    pub fn races(
        &self,
        thread: ThreadId,
        footprint: &Footprint,
        guards: &[Guard],
        current: impl Fn(Variable) -> i64,
    ) -> Races {
        let mut races = SmallVec::new();
        let mut conflicts: SmallVec<[Conflicts<'_>; 4]> = SmallVec::new();
        for access in footprint.accesses() {
            let with = self.conflicts(access.location, access.kind);
            if with.peek().is_some() {
                conflicts.push(with);
            }
        }
        if conflicts.is_empty() {
            return races;
        }
        let mut before = self.thread_clock(thread);
        let latest = |conflicts: &[Conflicts<'_>]| conflicts.iter().filter_map(|c| Some(c.peek()?.event)).max();
        while let Some(e) = latest(&conflicts) {
            let event = &self.events[e];
            let covered = before.get(event.thread()) >= event.index;
            let possible = !covered && event.thread() != thread;
            let reversal = possible
                .then(|| self.reversal(guards, e, &current, &VectorClock::new()))
                .flatten();
            let race = reversal.is_some();
            if let Some(removed) = reversal {
                before.join(&event.clock);
                races.push((e, removed));
            }
            for conflicts in &mut conflicts {
                if conflicts.peek().is_some_and(|next| next.event == e) {
                    if race || covered {
                        conflicts.only_this_run();
                    }
                    conflicts.next();
                }
            }
        }
        races
    }

    /// All events on which an operation depends and that may be co-enabled with it, latest first, whether or not others
    /// of them order them before it, each with the events to leave out of its reversal, except those that happen before
    /// `kept`. See [`Trace::races`].
    pub(crate) fn dependent_pairs(
        &self,
        thread: ThreadId,
        footprint: &Footprint,
        guards: &[Guard],
        current: impl Fn(Variable) -> i64,
        kept: &VectorClock,
    ) -> Races {
        let before = self.thread_clock(thread);
        let mut events = Vec::new();
        for access in footprint.accesses() {
            for AccessAt { event: e, kind, .. } in self.conflicts(access.location, access.kind) {
                let event = &self.events[e];
                let covered = before.get(event.thread()) >= event.index;
                if !covered && event.thread() != thread {
                    events.push(e);
                }
                // All that is earlier happens before it.
                if covered && kind == AccessKind::Write {
                    break;
                }
            }
        }
        events.sort_unstable_by(|a, b| b.cmp(a));
        events.dedup();
        let reversible = |e| Some((e, self.reversal(guards, e, &current, kept)?));
        events.into_iter().filter_map(reversible).collect()
    }

    /// The first event of `notdep(e, E)` without the removed ones that happens before an operation of `thread` with the
    /// given footprint. The operation is the event at `at`, or pending if there is none.
    pub(crate) fn first_of_reversal(
        &self,
        e: EventIndex,
        removed: &Removed,
        thread: ThreadId,
        footprint: &Footprint,
        at: EventIndex,
    ) -> Option<EventIndex> {
        let history = self.threads.get(thread.index())?;
        let last = history.events[..self.steps_before(thread, at) as usize].last();
        let mut before = match last.copied().or(history.spawned_by) {
            Some(last) => self.events[last].clock.clone(),
            None => VectorClock::new(),
        };
        let between = || self.notdep(e).take_while(|&f| f < at).filter(|f| !removed.contains(f));
        for f in between() {
            let event = &self.events[f];
            if event.step.footprint.conflicts_with(footprint) {
                before.join(&event.clock);
            }
        }
        between().find(|&f| before.get(self.events[f].thread()) >= self.events[f].index)
    }

    /// All events that come first in `notdep(e, E)` without the removed events and happen before the next operation of
    /// `thread` with the given footprint: whichever part of `notdep(e, E)` comes before the operation, one of them
    /// comes first, or the operation itself.
    pub(crate) fn firsts_of_reversal(
        &self,
        e: EventIndex,
        removed: &Removed,
        thread: ThreadId,
        footprint: &Footprint,
    ) -> SmallVec<[EventIndex; 2]> {
        let mut before = self.thread_clock(thread);
        for f in self.notdep(e).filter(|f| !removed.contains(f)) {
            let event = &self.events[f];
            if event.step.footprint.conflicts_with(footprint) {
                before.join(&event.clock);
            }
        }
        let initials = self.initials(e, removed, thread, footprint);
        let initials = initials.filter_map(|(_, first)| first);
        initials
            .filter(|&f| before.get(self.events[f].thread()) >= self.events[f].index)
            .collect()
    }

    /// The initials of `v = notdep(e, E).p` without the removed events, where `p` is the next operation of `thread`
    /// with the given footprint: the events of `v` that no other event of `v` happens before. The operation itself is
    /// yielded as `None`.
    pub fn initials<'a>(
        &'a self,
        e: EventIndex,
        removed: &'a Removed,
        thread: ThreadId,
        footprint: &'a Footprint,
    ) -> impl Iterator<Item = (ThreadId, Option<EventIndex>)> + 'a {
        let before = self.thread_clock(thread);
        let mut firsts = Firsts::default();
        let mut operation_is_initial = true;
        let mut notdep = self.notdep(e).filter(|f| !removed.contains(f));
        std::iter::from_fn(move || {
            for f in notdep.by_ref() {
                let event = &self.events[f];
                operation_is_initial = operation_is_initial
                    && before.get(event.thread()) < event.index
                    && !event.step.footprint.conflicts_with(footprint);
                if firsts.admit(event) {
                    return Some((event.thread(), Some(f)));
                }
            }
            std::mem::take(&mut operation_is_initial).then_some((thread, None))
        })
    }

    /// The events of `notdep(e, E)` that no other event of it happens before.
    pub(crate) fn first_events(&self, e: EventIndex) -> impl Iterator<Item = EventIndex> {
        let mut firsts = Firsts::default();
        self.notdep(e).filter(move |&f| firsts.admit(&self.events[f]))
    }
}

/// How a thread moves a variable away from a value and back.
struct Moves {
    thread: ThreadId,
    /// Distance from the value; negative on the other side.
    away: i64,
    /// Minimum distance so far; 0 at the start.
    nearest: i64,
    /// The event since which the distance has been larger than the minimum.
    away_since: Option<EventIndex>,
}

impl Moves {
    fn of(thread: ThreadId) -> Self {
        Moves {
            thread,
            away: 0,
            nearest: 0,
            away_since: None,
        }
    }

    fn add(&mut self, event: EventIndex, by: i64) {
        self.away += by;
        if self.away <= self.nearest {
            (self.nearest, self.away_since) = (self.away, None);
        } else {
            self.away_since.get_or_insert(event);
        }
    }
}

/// The first event of each thread in a sequence.
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
