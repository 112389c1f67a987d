//! Where the search is cut: the races of what is cut off, and cuts that are anticipated. See the head of this folder.

use super::policy::ContextSensitive;
use crate::execution::{EventIndex, Trace, VectorClock};
use crate::search::cursor::Cursor;
use crate::search::exploration::Exploration;
use crate::search::node::{Node, Sleeping, Stack};
use crate::statistics::Statistics;
use crate::strategy::wait::Wait;
use crate::system::{AccessKind, Footprint, Status, System, ThreadId};
use smallvec::SmallVec;
use std::borrow::Cow;

/// A race that a step after the present state may have with a step before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct UnseenRace {
    /// The earlier step, and so the node from which the other order starts.
    event: EventIndex,
    /// The thread of the later step.
    later: ThreadId,
    /// Whether the later step can come before the event as far as it depends on the event and its successors; nothing
    /// else has to be left out.
    possible_at_once: bool,
}

impl ContextSensitive {
    /// Adds to the backtrack sets of the current execution what reverses the races that steps after the present state
    /// may have with steps before it (see the head of this folder). Called where the exploration is cut because what
    /// follows, possibly after `last`, has been explored elsewhere. `last` would be the next step.
    pub(super) fn reverse_unseen_races<S: System>(
        &self,
        stack: &mut Stack,
        exploration: &mut Exploration<S>,
        last: Option<&Sleeping>,
    ) {
        if exploration.faults.skip_cut_races() {
            return;
        }
        let Exploration { cursor, statistics, .. } = exploration;
        let trace = &cursor.trace;
        let mut unseen = self.unseen_races(cursor, last);
        unseen.sort_unstable();
        unseen.dedup();
        for races in unseen.chunk_by(|one, other| one.event == other.event) {
            let node = races[0].event;
            let settled = node < trace.len() && want_first_of_notdep(&mut stack[node], trace, node, statistics);
            let rest = races.iter().filter(|race| !(settled && race.possible_at_once));
            let mut later = rest.map(|race| race.later).peekable();
            let enabled = &stack[node].enabled;
            let known = |thread: ThreadId| stack[node].backtrack.contains(thread.0);
            if later.peek().is_none() || enabled.iter().all(|&(thread, _)| known(thread)) {
                continue;
            }
            let event = match last {
                Some(last) if node == trace.len() => (last.transition.thread, &last.footprint),
                _ => (trace.events()[node].thread(), &trace.events()[node].step().footprint),
            };
            let later = later.map(|thread| (thread, next_that_conflicts(&cursor.system, thread, event.1)));
            let steps = |thread| trace.steps_before(thread, node);
            let cone = self.summary.may_come_before(later, steps, event);
            let Node { enabled, backtrack, .. } = &mut stack[node];
            for &(thread, _) in enabled.iter() {
                if cone.contains(thread.0) && backtrack.insert(thread.0) {
                    statistics.backtracks += 1;
                }
            }
        }
    }

    /// The races that steps after the present state may have with those before it, and with `last`.
    fn unseen_races<S: System>(&self, cursor: &Cursor<S>, last: Option<&Sleeping>) -> SmallVec<[UnseenRace; 16]> {
        let trace = &cursor.trace;
        let len = trace.len();
        let mut unseen = SmallVec::new();
        for thread in self.summary.threads().filter(|&thread| !self.has_ended(cursor, thread)) {
            let clock = trace.thread_clock(thread);
            for future in self.summary.future(thread, trace.steps_before(thread, len)) {
                if let Some(last) = last.filter(|last| last.transition.thread != thread) {
                    let mut accesses = last.footprint.accesses().iter();
                    if accesses.any(|a| a.location == future.location && a.kind.conflicts_with(future.kind)) {
                        unseen.push(UnseenRace {
                            event: len,
                            later: thread,
                            possible_at_once: false,
                        });
                    }
                }
                let mut before = Cow::Borrowed(&clock);
                for earlier in trace.conflicts(future.location, future.kind) {
                    let (g, kind) = (earlier.event, earlier.kind);
                    let event = &trace.events()[g];
                    let ordered = |clock: &VectorClock| clock.get(event.thread()) >= event.index();
                    let conflict = event.thread() != thread;
                    // Whether the future step is in a race with this one that hides those with what comes before it.
                    let hides = match future.wait {
                        Wait::Nothing => true,
                        // All that changes the variable after a write depends on the write: as long as that has not
                        // happened, the variable has the value that it has before it.
                        Wait::For { condition, only } if kind == AccessKind::Write => {
                            match trace.holds_before(condition, g) {
                                Some(false) => continue,
                                Some(true) => only,
                                None => false,
                            }
                        }
                        _ => false,
                    };
                    if conflict && !ordered(&before) && !ordered(future.after) {
                        unseen.push(UnseenRace {
                            event: g,
                            later: thread,
                            possible_at_once: hides,
                        });
                        if hides {
                            before.to_mut().join(event.clock());
                        }
                    }
                    if kind == AccessKind::Write && hides {
                        break;
                    }
                }
            }
        }
        unseen
    }

    fn has_ended<S: System>(&self, cursor: &Cursor<S>, thread: ThreadId) -> bool {
        let created = cursor.trace.creation(thread).is_some() || self.summary.creator(thread).is_none();
        created && cursor.system.threads().get(thread.index()) == Some(&Status::Finished)
    }

    /// Optimisation 1 of §5.3, *anticipating cuts*: says whether a step that sleeps because of the context can no
    /// longer be woken, as nothing that may still happen conflicts with it.
    ///
    /// What may happen is over-approximated by what threads were seen to access after as many steps, and by what they
    /// are about to do. As long as nothing conflicts with the sleeping step, the others go on as they would after it,
    /// and the state after it is explored completely; the first that conflicts would be pending or have run there too.
    pub(super) fn nothing_wakes<S: System>(&self, stack: &Stack, exploration: &Exploration<S>) -> bool {
        let cursor = &exploration.cursor;
        let node = &stack[stack.depth()];
        let len = cursor.trace.len();
        // A thread that could also take an alternative that is awake goes on.
        let settled = |entry: &&Sleeping| {
            let alternatives = node.alternatives(entry.transition.thread);
            entry.by_context && alternatives.is_some_and(|all| all.len() == 1)
        };
        let nothing_conflicts = |entry: &Sleeping| {
            cursor.system.threads().iter().enumerate().all(|(i, status)| {
                let thread = ThreadId(i as u32);
                if thread == entry.transition.thread || self.has_ended(cursor, thread) {
                    return true;
                }
                let exists = *status != Status::Finished;
                let steps = cursor.trace.steps_before(thread, len);
                let about_to = exists && cursor.system.pending(thread).footprint.conflicts_with(&entry.footprint);
                !about_to && !self.summary.may_conflict(thread, steps, &entry.footprint)
            })
        };
        node.inherited_sleep().filter(settled).any(nothing_conflicts)
    }
}

/// Ensures that the backtrack set of the node before an event contains one of the threads that come first in what
/// does not depend on the event, or that one of them is asleep there. Says whether there is one.
fn want_first_of_notdep(node: &mut Node, trace: &Trace, event: EventIndex, statistics: &mut Statistics) -> bool {
    let mut candidate = None;
    for first in trace.first_events(event) {
        let transition = trace.events()[first].transition();
        if node.backtrack.contains(transition.thread.0) || node.is_asleep(transition) {
            return true;
        }
        if node.alternatives(transition.thread).is_some() {
            candidate = Some(transition.thread);
        }
    }
    if let Some(thread) = candidate {
        statistics.backtracks += 1;
        node.backtrack.insert(thread.0);
    }
    candidate.is_some()
}

/// The footprint of the thread's next step, if that surely conflicts with the event wherever it runs, because it
/// touches one location and the event writes it. The race is then with this step and with no later one of the
/// thread.
fn next_that_conflicts(system: &impl System, thread: ThreadId, event: &Footprint) -> Option<Footprint> {
    let status = system.threads().get(thread.index())?;
    let next = (*status != Status::Finished).then(|| system.pending(thread).footprint)?;
    let [access] = next.accesses() else {
        return None;
    };
    let mut writes = event.accesses().iter().filter(|a| a.kind == AccessKind::Write);
    writes.any(|a| a.location == access.location).then_some(next)
}
