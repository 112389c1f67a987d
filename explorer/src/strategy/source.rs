//! Source-DPOR with sleep sets: Abdulla, Aronis, Jonsson and Sagonas, *Source Sets: A Foundation for
//! Optimal Dynamic Partial Order Reduction* (JACM 2017), Algorithm 1; CAV 2017 calls it the baseline.
//!
//! Deviations: backtrack sets hold threads, and all alternatives of a thread's operation are explored
//! where the thread is; a race is not followed up where an initial of its reversal is asleep, since
//! everything that starts with it has been explored.

use super::reversal::{Race, Reverses};
use crate::bits::BitSet;
use crate::execution::{Follows, Trace, UseOfGraph};
use crate::search::exploration::Exploration;
use crate::search::node::{Node, Stack};
use crate::search::policy::{Conduct, Policy};
use crate::statistics::Statistics;
use crate::system::{Pending, System, ThreadId, Transition};

pub(super) struct Source;

impl Reverses for Source {
    fn reverse(&mut self, stack: &mut Stack, trace: &Trace, race: Race<'_>, statistics: &mut Statistics) {
        missing_initial(stack, trace, race, race.thread, statistics);
    }
}

impl<S: System> Policy<S> for Source {
    fn conduct(&self) -> Conduct {
        Conduct {
            follows: Follows {
                graph: UseOfGraph::Dependency,
                ..Follows::NOTHING
            },
            ..Conduct::REVERSALS
        }
    }

    fn open(&mut self, node: &mut Node, _at: usize, next: Option<ThreadId>) {
        open_awake(node, next);
    }

    fn pick(&mut self, node: &Node, _at: usize) -> Option<Transition> {
        node.next_choice().or_else(|| node.first_awake())
    }

    fn ran(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId) {
        self.reverse_races_of_step(stack, exploration, thread);
    }

    fn pending(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId, operation: &Pending) {
        self.reverse_races_of_pending(stack, exploration, thread, operation);
    }
}

/// Makes one thread the backtrack set: `preferred` if it is enabled and awake, otherwise the first such thread.
pub(super) fn open_awake(node: &mut Node, preferred: Option<ThreadId>) {
    // A thread some of whose alternatives are asleep would hide their races: they do not run here. What reads, by its
    // execution graph, is in a race with a later store whatever it has found.
    let first = preferred
        .filter(|&thread| node.is_fully_awake(thread))
        .or_else(|| node.first_fully_awake())
        .or_else(|| node.first_partly_awake_reader());
    let awake = |thread: &ThreadId| node.first_awake_of(*thread).is_some();
    let threads = node.enabled.iter().map(|&(thread, _)| thread);
    node.backtrack = match first {
        Some(thread) => BitSet::of(thread.0),
        None => threads.filter(awake).map(|thread| thread.0).collect(),
    };
}

/// Adds an initial of the race's reversal to the backtrack set of the node before the event, unless one is there or
/// asleep. Takes `prefer` if it is an initial.
pub(super) fn missing_initial(
    stack: &mut Stack,
    trace: &Trace,
    race: Race<'_>,
    prefer: ThreadId,
    statistics: &mut Statistics,
) {
    let node = &mut stack[race.event];
    let mut candidate = None;
    for (thread, event) in trace.initials(race.event, race.removed, race.thread, race.footprint, race.at) {
        if node.backtrack.contains(thread.0) {
            return;
        }
        let Some(alternatives) = node.alternatives(thread) else {
            continue;
        };
        let asleep = match event {
            Some(event) => node.is_event_asleep(&trace.events()[event]),
            // It comes after what it has read from.
            None if trace.reads_from_notdep(race.source, race.event) => continue,
            // In the reversed order the operation may take any of its alternatives.
            None => alternatives
                .iter()
                .all(|alternative| node.is_asleep(Transition { thread, alternative })),
        };
        if asleep {
            return;
        }
        if candidate.is_none() || thread == prefer {
            candidate = Some(thread);
        }
    }
    match candidate {
        Some(thread) => {
            statistics.backtracks += 1;
            node.backtrack.insert(thread.0);
        }
        None => {
            statistics.fallbacks += 1;
            node.backtrack = node.all_enabled();
        }
    }
}
