//! DPOR: Flanagan and Godefroid, *Dynamic Partial-Order Reduction for Model Checking Software* (POPL 2005), Figure 3,
//! with and without sleep sets; the baseline of Tasharofi et al., *TransDPOR* (FASE/FORTE 2012).
//!
//! Deviations:
//!
//! * Figure 3 looks for races in each state, for the next operation of each thread, with the last event that it is in a
//!   race with. Here they are looked for when the execution has ended, with all earlier steps. To DPOR that makes no
//!   difference. To TransDPOR, which takes up only one, it does (see `super::trans`).
//! * Footprints are those of the steps, not of pending operations, except for what is blocked at the end.
//! * *May be co-enabled* is decided by guards: see `crate::trace`.
//! * Line 5 lets the algorithm choose *any* thread of the set E: the racing thread if it is enabled, or one that has to
//!   move before it. Here it is always the one whose step comes first in the reversal, also if that comes first only
//!   because it conflicts with the racing step itself. Any other may be asleep and yet not stand for the reversal;
//!   nobody would follow up its races in that state, and traces would be lost. Without sleep sets all choices are
//!   right.
//! * Where a message is added, all others to the same actor are that are awake. They are in races with it. What is
//!   added first is explored first. So does the tool with which TransDPOR was compared with DPOR, and so its figures
//!   come out.
//! * Backtrack sets hold threads, and all alternatives of a thread's operation are explored where the thread is.

use super::Dpor;
use super::source::open_awake;
use super::{Race, Rules, Search, all_enabled};
use crate::driver::State;
use crate::statistics::Statistics;
use crate::system::Transition;
use crate::thread::ThreadId;
use crate::trace::{EventIndex, Trace};
use smallvec::SmallVec;

pub(super) struct FlanaganGodefroid {
    options: Dpor,
}

impl FlanaganGodefroid {
    pub(super) fn new(options: Dpor) -> Self {
        FlanaganGodefroid { options }
    }
}

impl Rules for FlanaganGodefroid {
    fn search(&self) -> Search {
        self.options.search()
    }

    fn open(&mut self, state: &mut State, _previous: Option<ThreadId>) {
        open_awake(state, None);
        for thread in std::mem::take(&mut state.backtrack).iter() {
            add(state, ThreadId(thread));
        }
    }

    fn pick(&mut self, state: &State) -> Option<Transition> {
        let awake = |&thread: &ThreadId| state.awake_transitions(thread).next();
        state.queue.iter().find_map(awake)
    }

    fn reverse(&mut self, states: &mut [State], trace: &Trace, race: Race<'_>, statistics: &mut Statistics) {
        let state = &mut states[race.event];
        match leading_to(state, trace, &race) {
            Some((thread, _)) if state.backtrack.contains(thread.0) => {}
            Some((thread, _)) => statistics.backtracks += add(state, thread),
            None => {
                statistics.fallbacks += 1;
                for thread in all_enabled(state).iter() {
                    add(state, ThreadId(thread));
                }
            }
        }
    }
}

/// Adds the awake messages to the thread's actor to the backtrack set; or the thread, if it is no message. Returns the
/// number of those that were missing.
fn add(state: &mut State, thread: ThreadId) -> u64 {
    let threads = || state.enabled.iter().map(|&(thread, _)| thread).zip(&state.created);
    let actor = threads()
        .find(|&(enabled, _)| enabled == thread)
        .map(|(_, actor)| actor);
    let missing: SmallVec<[ThreadId; 4]> = threads()
        .filter(|&(_, created)| Some(created) == actor)
        .map(|(thread, _)| thread)
        .filter(|&thread| !state.backtrack.contains(thread.0) && state.awake_transitions(thread).next().is_some())
        .collect();
    for &thread in &missing {
        state.backtrack.insert(thread.0);
        state.queue.push(thread);
    }
    missing.len() as u64
}

/// The thread of the set E of line 5 that moves first, with the event in which it moves; the racing thread itself,
/// without an event, if nothing has to come before it. `None` if that thread is not enabled: then the operation was
/// pending there, and blocked.
pub(super) fn leading_to(state: &State, trace: &Trace, race: &Race<'_>) -> Option<(ThreadId, Option<EventIndex>)> {
    let Race {
        event,
        removed,
        thread,
        footprint,
        at,
        ..
    } = *race;
    let first = trace.first_of_reversal(event, removed, thread, footprint, at);
    let thread = first.map_or(thread, |first| trace.events()[first].thread());
    state.alternatives(thread).map(|_| (thread, first))
}
