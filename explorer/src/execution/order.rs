//! The order of dependency of an execution, and what follows from it: `notdep(e, E)`, initials.
//!
//! It is the smallest partial order in which the steps of one thread, the creation of a thread and its first step, and
//! two dependent steps ([`Footprint::conflicts_with`]) come as they ran. Executions with the same order are equivalent
//! (Mazurkiewicz, *Trace Theory*, 1987), and one of them is enough. It says nothing of whether a program has a data
//! race: for that a memory model has a happens-before of its own, which orders less.
//!
//! Each event has its clock in this order. It comes from the clock of the event before it in its thread and those of
//! the accesses that it conflicts with. Of a location, only the last run of these counts: all that is earlier is
//! ordered before it.
//!
//! Invariant: a list of accesses has an entry for each event that touched the location, in the order of events, and
//! none of an event that was dropped.

use super::trace::{Event, EventIndex, Trace};
use super::{Removed, VectorClock};
use crate::keys::KeyMap;
use crate::system::{AccessKind, Footprint, Location, ThreadId};
use smallvec::SmallVec;

/// One access to a location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessAt {
    /// The event that made it.
    pub event: EventIndex,
    /// How the event touched the location.
    pub kind: AccessKind,
    /// The index in the location's accesses at which its run starts: a write alone, or neighbours that all read or all
    /// update. Those of one run are independent, as far as the location is concerned, and everything before a run
    /// is ordered before each of them.
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
    pub fn new(accesses: &'a [AccessAt], kind: AccessKind) -> Self {
        let mut conflicts = Conflicts {
            accesses,
            kind,
            left: (0, accesses.len()),
        };
        conflicts.pass_over();
        conflicts
    }

    /// The next of them, which is the latest one.
    pub fn peek(&self) -> Option<AccessAt> {
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
    pub fn only_this_run(&mut self) {
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

/// The numbers of the locations that a step touched, in the order of its accesses.
pub(super) type Touched = SmallVec<[u32; 4]>;

/// The accesses of the execution, by location. Locations have numbers, so that each is looked up once for a step.
#[derive(Clone, Default, Debug)]
pub(super) struct Accesses {
    numbers: KeyMap<Location, u32>,
    lists: Vec<Vec<AccessAt>>,
    /// Number of locations left after the last sweep.
    kept: usize,
}

/// Number of locations, besides those kept, above which those of past executions are swept out.
const SWEEP_AT: usize = 1 << 16;

impl Accesses {
    /// Says whether there are so many more locations than after the last sweep that another one is worthwhile.
    pub fn have_grown(&self) -> bool {
        self.lists.len() > 2 * self.kept + SWEEP_AT
    }

    /// Forgets the locations that none of the events, which are all there are, has touched.
    pub fn sweep(&mut self, events: &mut [Event]) {
        let Accesses { numbers, lists, kept } = self;
        let mut renumbered: Vec<Option<u32>> = vec![None; lists.len()];
        let mut left = Vec::new();
        for (list, number) in lists.drain(..).zip(&mut renumbered) {
            if !list.is_empty() {
                *number = Some(left.len() as u32);
                left.push(list);
            }
        }
        numbers.retain(|_, number| {
            let new = renumbered[*number as usize];
            *number = new.unwrap_or_default();
            new.is_some()
        });
        for event in events {
            for number in &mut event.touched {
                // What an event has touched is in a list.
                *number = renumbered[*number as usize].unwrap_or_default();
            }
        }
        *lists = left;
        *kept = lists.len();
    }

    pub fn number(&mut self, location: Location) -> u32 {
        let next = self.lists.len() as u32;
        let number = *self.numbers.entry(location).or_insert(next);
        if number == next {
            self.lists.push(Vec::new());
        }
        number
    }

    pub fn of(&self, location: Location) -> &[AccessAt] {
        let number = self.numbers.get(&location);
        number.map_or(&[], |&number| self.lists[number as usize].as_slice())
    }

    /// The accesses of the location with this number that conflict with one of the given kind, latest first.
    pub fn conflicts(&self, number: u32, kind: AccessKind) -> Conflicts<'_> {
        Conflicts::new(&self.lists[number as usize], kind)
    }

    /// The accesses by events before this one that conflict with one of the location of the given kind, latest first.
    pub fn conflicts_before(&self, at: EventIndex, location: Location, kind: AccessKind) -> Conflicts<'_> {
        let accesses = self.of(location);
        Conflicts::new(&accesses[..accesses.partition_point(|access| access.event < at)], kind)
    }

    /// Orders an event after those of the earlier ones on which it depends.
    pub fn join_clocks(&self, event: &mut Event, earlier: &[Event]) {
        for (&number, access) in event.touched.iter().zip(event.step.footprint.accesses()) {
            let mut conflicts = self.conflicts(number, access.kind);
            conflicts.only_this_run();
            for conflict in conflicts {
                let conflict = &earlier[conflict.event];
                if event.clock.get(conflict.thread()) < conflict.index {
                    event.clock.join(&conflict.clock);
                }
            }
        }
    }

    /// Adds the accesses of an event.
    pub fn push(&mut self, event: &Event, at: EventIndex) {
        for (&number, access) in event.touched.iter().zip(event.step.footprint.accesses()) {
            AccessAt::push(&mut self.lists[number as usize], at, access.kind);
        }
    }

    /// Removes the accesses of the newest event.
    pub fn pop(&mut self, touched: &Touched) {
        for &number in touched {
            self.lists[number as usize].pop();
        }
    }
}

impl Trace {
    /// The thread's clock before its next step.
    pub(crate) fn thread_clock(&self, thread: ThreadId) -> VectorClock {
        self.known_clock(thread).cloned().unwrap_or_default()
    }

    /// The thread's clock before its next step, unless nothing comes before that.
    pub(super) fn known_clock(&self, thread: ThreadId) -> Option<&VectorClock> {
        let last = self.last_before_next(thread)?;
        Some(&self.events[last].clock)
    }

    /// The thread's clock before its event at `at`, or its next step, unless nothing comes before that.
    pub(crate) fn clock_before(&self, thread: ThreadId, at: EventIndex) -> Option<&VectorClock> {
        let history = self.threads.get(thread.index())?;
        let last = history.events[..self.steps_before(thread, at) as usize].last();
        let last = last.copied().or(history.spawned_by)?;
        Some(&self.events[last].clock)
    }

    /// The accesses of a location, in the order of events.
    pub(super) fn accesses_of(&self, location: Location) -> &[AccessAt] {
        self.accesses.of(location)
    }

    /// The accesses of a location that conflict with one of the given kind, latest first.
    pub(crate) fn conflicts(&self, location: Location, kind: AccessKind) -> Conflicts<'_> {
        Conflicts::new(self.accesses.of(location), kind)
    }

    /// `notdep(e, E)`: the events after `e` that are not ordered after it, as they ran.
    pub fn notdep(&self, e: EventIndex) -> impl Iterator<Item = EventIndex> + '_ {
        let earlier = &self.events[e];
        (e + 1..self.len).filter(move |&f| !self.events[f].ordered_after(earlier))
    }

    /// The first event of `notdep(e, E)` without the removed ones that is ordered before an operation of `thread` with
    /// the given footprint. The operation is the event at `at`, or pending if there is none.
    pub(crate) fn first_of_reversal(
        &self,
        e: EventIndex,
        removed: &Removed,
        thread: ThreadId,
        footprint: &Footprint,
        at: EventIndex,
    ) -> Option<EventIndex> {
        let mut before = self.clock_before(thread, at).cloned().unwrap_or_default();
        let between = || self.notdep(e).take_while(|&f| f < at).filter(|f| !removed.contains(f));
        for f in between() {
            let event = &self.events[f];
            if event.step.footprint.conflicts_with(footprint) {
                before.join(&event.clock);
            }
        }
        between().find(|&f| before.get(self.events[f].thread()) >= self.events[f].index)
    }

    /// All events that come first in `notdep(e, E)` without the removed events and are ordered before the next
    /// operation of `thread` with the given footprint: whichever part of `notdep(e, E)` comes before the operation, one
    /// of them comes first, or the operation itself.
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
        let initials = self.initials(e, removed, thread, footprint, self.len);
        let initials = initials.filter_map(|(_, first)| first);
        initials
            .filter(|&f| before.get(self.events[f].thread()) >= self.events[f].index)
            .collect()
    }

    /// The initials of `v = notdep(e, E).p` without the removed events, where `p` is an operation of `thread` with the
    /// given footprint, the event at `at` or pending if there is none: the events of `v` that no other event of `v` is
    /// ordered before. The operation itself is yielded as `None`.
    pub fn initials<'a>(
        &'a self,
        e: EventIndex,
        removed: &'a Removed,
        thread: ThreadId,
        footprint: &'a Footprint,
        at: EventIndex,
    ) -> impl Iterator<Item = (ThreadId, Option<EventIndex>)> + 'a {
        let before = self.clock_before(thread, at);
        let mut firsts = Firsts::default();
        let mut operation_is_initial = true;
        let mut notdep = self.notdep(e).filter(|f| !removed.contains(f));
        std::iter::from_fn(move || {
            for f in notdep.by_ref() {
                let event = &self.events[f];
                operation_is_initial = operation_is_initial
                    && before.is_none_or(|before| before.get(event.thread()) < event.index)
                    && !event.step.footprint.conflicts_with(footprint);
                if firsts.admit(event) {
                    return Some((event.thread(), Some(f)));
                }
            }
            std::mem::take(&mut operation_is_initial).then_some((thread, None))
        })
    }

    /// The events of `notdep(e, E)` that no other event of it is ordered before.
    pub(crate) fn first_events(&self, e: EventIndex) -> impl Iterator<Item = EventIndex> {
        let mut firsts = Firsts::default();
        self.notdep(e).filter(move |&f| firsts.admit(&self.events[f]))
    }
}

/// The first event of each thread in a sequence.
#[derive(Default)]
struct Firsts(SmallVec<[(ThreadId, u32); 8]>);

impl Firsts {
    /// Takes the next event of the sequence; says whether no earlier one is ordered before it.
    fn admit(&mut self, event: &Event) -> bool {
        if self.0.iter().any(|&(thread, _)| thread == event.thread()) {
            return false;
        }
        let first = self.0.iter().all(|&(thread, index)| event.clock.get(thread) < index);
        self.0.push((event.thread(), event.index));
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Transition;

    fn write(trace: &mut Trace, thread: u32, location: u64) {
        trace.scratch().footprint.add(Location(location), AccessKind::Write);
        let thread = ThreadId(thread);
        trace.commit(Transition { thread, alternative: 0 });
    }

    #[test]
    fn locations_of_past_executions_are_swept_out() {
        let mut trace = Trace::new();
        write(&mut trace, 0, 1);
        for location in 2..2 * SWEEP_AT as u64 {
            write(&mut trace, 1, location);
            trace.truncate(1);
        }
        write(&mut trace, 0, 2);
        assert!(trace.accesses.lists.len() < 2 * SWEEP_AT - 2);
        write(&mut trace, 2, 1);
        let events = trace.events();
        assert!(events[2].ordered_after(&events[0]) && !events[2].ordered_after(&events[1]));
        let writes = |location| trace.conflicts(Location(location), AccessKind::Read).count();
        assert_eq!([1, 2, 3].map(writes), [2, 1, 0]);
    }
}
