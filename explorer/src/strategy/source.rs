//! Source-DPOR with sleep sets: Abdulla, Aronis, Jonsson and Sagonas, *Source Sets: A Foundation for
//! Optimal Dynamic Partial Order Reduction* (JACM 2017), Algorithm 1; CAV 2017 calls it the baseline.
//!
//! Deviations: backtrack sets hold threads, and all alternatives of a thread's operation are explored
//! where the thread is; a race is not followed up where an initial of its reversal is asleep, since
//! everything that starts with it has been explored.

use super::{Race, Rules, Search, all_enabled};
use crate::driver::State;
use crate::statistics::Statistics;
use crate::system::Transition;
use crate::thread::{BitSet, ThreadId};
use crate::trace::Trace;

pub(super) struct Source;

impl Rules for Source {
    fn search(&self) -> Search {
        Search::REVERSALS
    }

    fn open(&mut self, state: &mut State, previous: Option<ThreadId>) {
        open_awake(state, previous);
    }

    fn reverse(&mut self, states: &mut [State], trace: &Trace, race: Race<'_>, statistics: &mut Statistics) {
        let prefer = race.thread;
        missing_initial(states, trace, race, prefer, statistics);
    }
}

/// Makes one thread the backtrack set: `preferred` if it is enabled and awake, otherwise the first such thread.
pub(super) fn open_awake(state: &mut State, preferred: Option<ThreadId>) {
    let awake = |thread: &ThreadId| state.awake_transitions(*thread).next().is_some();
    // A thread some of whose alternatives are asleep would hide their races: they do not run here.
    let fully = |thread: &ThreadId| state.is_fully_awake(*thread);
    let threads = || state.enabled.iter().map(|&(thread, _)| thread);
    let first = preferred.filter(fully).or_else(|| threads().find(fully));
    state.backtrack = match first {
        Some(thread) => BitSet::of(thread.0),
        None => threads().filter(awake).map(|thread| thread.0).collect(),
    };
}

/// Adds an initial of the race's reversal to the backtrack set of the state before the event, unless one is there or
/// asleep. Takes `prefer` if it is an initial.
pub(super) fn missing_initial(
    states: &mut [State],
    trace: &Trace,
    race: Race<'_>,
    prefer: ThreadId,
    statistics: &mut Statistics,
) {
    let state = &mut states[race.event];
    let mut candidate = None;
    for (thread, event) in trace.initials(race.event, race.removed, race.thread, race.footprint) {
        if state.backtrack.contains(thread.0) {
            return;
        }
        let Some(alternatives) = state.alternatives(thread) else {
            continue;
        };
        let asleep = match event {
            Some(event) => state.is_asleep(trace.events()[event].transition()),
            // In the reversed order the operation may take any of its alternatives.
            None => alternatives
                .iter()
                .all(|alternative| state.is_asleep(Transition { thread, alternative })),
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
            state.backtrack.insert(thread.0);
        }
        None => {
            statistics.fallbacks += 1;
            state.backtrack = all_enabled(state);
        }
    }
}
