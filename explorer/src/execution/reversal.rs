//! Whether a race with an operation that can block is reversible: guards, evaluated where nothing ran.
//!
//! The guard of an operation ([`Guard`]) is a condition on integers, and each step tells its effects on them. The value
//! of an integer after a part of the execution is the one that it had at first, and the sum of the effects of the
//! events in that part: they are independent of what is left out. That is no part of the literature's algorithms, which
//! take a blocked operation to be disabled by one event.
//!
//! Invariant: the changes of a variable are in the order of events, and each but the first of a lifetime begins with
//! the value with which the one before it ended.

use super::trace::{EventIndex, Trace};
use super::{Removed, VectorClock};
use crate::system::{AccessKind, Condition, Guard, Location, ThreadId, Variable};
use smallvec::SmallVec;

/// Threads that disable an operation, each with the event since which it does.
type Disabling = SmallVec<[(ThreadId, EventIndex); 4]>;

/// A change of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub event: EventIndex,
    pub before: i64,
    pub after: i64,
    /// Index in the variable's changes of the first one that this change continues. A variable can be created at the
    /// address of an earlier one: changes that do not fit together are those of different variables.
    pub birth: u32,
}

impl Trace {
    /// The events to leave out of `notdep(e, E)` so that one of the guards holds after `pre(E, e)` and the rest of it:
    /// mostly none. `None` if the guards do not hold then either. Events ordered before `kept` are not left out.
    pub(super) fn reversal(
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

    /// The events left out of `notdep(e, E)` if threads make no step from the given events on, except events
    /// ordered before `kept`.
    fn removed(&self, e: EventIndex, disabling: &[(ThreadId, EventIndex)], kept: &VectorClock) -> Option<Removed> {
        let first = disabling.iter().map(|&(_, since)| since).min()?;
        let mut removed = Removed::new();
        for f in self.notdep(e).filter(|&f| f >= first) {
            let event = &self.events[f];
            if kept.get(event.thread()) >= event.index {
                continue;
            }
            let disables = |&(thread, since): &(ThreadId, EventIndex)| thread == event.thread() && since <= f;
            if removed.iter().any(|&g| event.ordered_after(&self.events[g])) || disabling.iter().any(disables) {
                removed.push(f);
            }
        }
        Some(removed)
    }

    /// The threads that change a variable in `notdep(e, E)` in the same direction as `e` and do not change it back
    /// there, each with the event from which on it does not.
    fn disabling_like(&self, e: EventIndex) -> Disabling {
        let mut disabling = Disabling::new();
        for effect in &self.events[e].step.effects {
            self.add_moving(effect.variable, self.direction(e, effect.variable), e, &mut disabling);
        }
        disabling
    }

    /// The direction in which the event changes the variable: 1, -1, or 0.
    fn direction(&self, e: EventIndex, variable: Variable) -> i64 {
        let effects = self.events[e].step.effects.iter();
        let deltas = effects.filter(|effect| effect.variable == variable);
        deltas.map(|effect| effect.after - effect.before).sum::<i64>().signum()
    }

    /// If `e` moves a variable away from what the guard demands: the threads that do so in `notdep(e, E)` with other
    /// variables of the guard and do not move them back there, each with the event from which on it does not.
    fn disabling_besides(&self, guard: &Guard, e: EventIndex, current: &impl Fn(Variable) -> i64) -> Disabling {
        let effects = &self.events[e].step.effects;
        let changed = |variable| effects.iter().rev().find(|effect| effect.variable == variable);
        let conditions = || guard.clauses().flatten().filter_map(|c| Some((c, c.variable()?)));
        let disables = |(condition, variable): (&Condition, Variable)| {
            let direction = self.direction(e, variable);
            direction != 0 && changed(variable).is_some_and(|effect| condition.away(effect.after) == direction)
        };
        if !conditions().any(disables) {
            return Disabling::new();
        }
        let (none, mut disabling) = (Removed::new(), Disabling::new());
        for (condition, variable) in conditions().filter(|&(_, variable)| changed(variable).is_none()) {
            let value = self.value_without(e, &none, variable, current(variable));
            if condition.holds_for(|_| value) == Some(false) {
                self.add_moving(variable, condition.away(value), e, &mut disabling);
            }
        }
        disabling
    }

    /// Adds the threads that move a variable in the direction in `notdep(e, E)` and not back there, each with the event
    /// from which on it does not.
    fn add_moving(&self, variable: Variable, direction: i64, e: EventIndex, disabling: &mut Disabling) {
        let Some(changes) = self.changes.get(&variable).filter(|_| direction != 0) else {
            return;
        };
        let changes = &changes[changes.partition_point(|change| change.event <= e)..];
        // As for most variables that say what happens once.
        if changes.is_empty() {
            return;
        }
        let mut moves: SmallVec<[Moves; 4]> = SmallVec::new();
        let changes = changes.chunk_by(|one, other| one.event == other.event);
        for changes in changes.filter(|changes| !self.events[changes[0].event].ordered_after(&self.events[e])) {
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
        disabling.extend(moves.filter_map(|moves| Some((moves.thread, moves.away_since?))));
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
        f < e || (!self.events[f].ordered_after(&self.events[e]) && !removed.contains(&f))
    }

    /// The value of a variable after `pre(E, e).notdep(e, E)` without the removed events, if it is `current` after `E`.
    fn value_without(&self, e: EventIndex, removed: &Removed, variable: Variable, current: i64) -> i64 {
        let (first, changes) = self.lifetime(variable, current);
        let (before, rest) = changes.split_at(changes.partition_point(|change| change.event < e));
        let survivors = rest.iter().filter(|change| self.survives(change.event, e, removed));
        before.last().map_or(first, |last| last.after)
            + survivors.map(|change| change.after - change.before).sum::<i64>()
    }

    /// Whether the event reads the location as one of the execution graph, whatever its footprint says.
    fn only_reads(&self, f: EventIndex, location: Location) -> bool {
        let event = self.events[f].step.graph;
        event.is_some_and(|event| event.location == location && !event.label.writes())
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
            let accesses = self.conflicts(location, AccessKind::Read).map(|access| access.event);
            let since = accesses.take_while(|&f| f >= steps as usize);
            let mut changes = since.filter(|&f| !self.only_reads(f, location));
            changes.any(|f| self.survives(f, e, removed))
        };
        guards.iter().any(|guard| {
            guard.holds(|condition| match condition {
                Condition::ChangedSince { location, steps } => changed(location, steps),
                condition => condition.holds_for(value).unwrap_or(false),
            })
        })
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
