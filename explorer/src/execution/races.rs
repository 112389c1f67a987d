//! Races: pairs of dependent events of different threads that could come in the other order.
//!
//! Deviation from Abdulla et al. (2017): an operation that can block races with an event `e` if its guard holds after
//! `pre(E, e).notdep(e, E)` (`super::reversal` decides it), and an event after which it does not hold hides no earlier
//! race. For a lock that is held across steps this yields the race with the *lock* operation of the earlier critical
//! section instead of the irreversible one with its *unlock*. Where several independent events each disable the
//! operation (read locks that are not released, against a write lock), no single one can be reversed: the others are
//! taken out of `notdep(e, E)` with it.
//!
//! Invariant: the races of an operation are listed latest first, and no event of one is ordered before a later one's.

use super::VectorClock;
use super::order::{AccessAt, Conflicts};
use super::trace::{EventIndex, Trace};
use crate::system::{AccessKind, Footprint, Guard, ThreadId, Variable};
use smallvec::SmallVec;

/// Events left out of the reversal of a race.
pub type Removed = SmallVec<[EventIndex; 2]>;

/// The races of an operation, latest event first, each with the events to leave out of its reversal.
pub type Races = SmallVec<[(EventIndex, Removed); 1]>;

/// For each access of an operation, those that it conflicts with.
type ConflictsOfAccesses<'a> = SmallVec<[Conflicts<'a>; 4]>;

impl Trace {
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
        let mut conflicts: ConflictsOfAccesses<'_> = SmallVec::new();
        for access in footprint.accesses() {
            let with = self.conflicts(access.location, access.kind);
            if with.peek().is_some() {
                conflicts.push(with);
            }
        }
        self.races_among(&mut conflicts, thread, guards, current)
    }

    /// The events in a reversible race with the step that has just run and is not yet an event, like [`Trace::races`].
    pub(crate) fn races_of_step(&self, thread: ThreadId, guards: &[Guard], current: impl Fn(Variable) -> i64) -> Races {
        let step = &self.events[self.len];
        debug_assert_eq!(step.touched.len(), step.step.footprint.accesses().len());
        let mut conflicts: ConflictsOfAccesses<'_> = SmallVec::new();
        for (&number, access) in step.touched.iter().zip(step.step.footprint.accesses()) {
            let with = self.accesses.conflicts(number, access.kind);
            // Where nobody else was, there is nothing to look for.
            if with.peek().is_some() {
                conflicts.push(with);
            }
        }
        self.races_among(&mut conflicts, thread, guards, current)
    }

    /// The events in a reversible race with the next operation of `thread` among those that it conflicts with.
    fn races_among(
        &self,
        conflicts: &mut [Conflicts<'_>],
        thread: ThreadId,
        guards: &[Guard],
        current: impl Fn(Variable) -> i64,
    ) -> Races {
        let mut races = SmallVec::new();
        if conflicts.is_empty() {
            return races;
        }
        static NOTHING: VectorClock = VectorClock::new();
        // What comes before the operation in its thread cannot be left out.
        let own = self.known_clock(thread).unwrap_or(&NOTHING);
        // What is ordered before the operation, apart from `own`.
        let mut raced = VectorClock::new();
        let latest = |conflicts: &[Conflicts<'_>]| conflicts.iter().filter_map(|c| Some(c.peek()?.event)).max();
        while let Some(e) = latest(conflicts) {
            let event = &self.events[e];
            let covered = own.get(event.thread()) >= event.index || raced.get(event.thread()) >= event.index;
            let possible = !covered && event.thread() != thread;
            let reversal = possible.then(|| self.reversal(guards, e, &current, own)).flatten();
            let race = reversal.is_some();
            if let Some(removed) = reversal {
                raced.join(&event.clock);
                races.push((e, removed));
            }
            for conflicts in conflicts.iter_mut() {
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
    /// of them order them before it, each with the events to leave out of its reversal, except those ordered before
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
                // All that is earlier is ordered before it.
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
}
