//! Context-sensitive DPOR: Albert, Arenas, García de la Banda, Gómez-Zamalloa and Stuckey, *Context-Sensitive Dynamic
//! Partial Order Reduction* (CAV 2017), Algorithm 1. This is what chooses; what compares is in `crate::context`.
//!
//! Lines 3 to 10 are those of Source-DPOR. With *guiding* (§5.3, optimisation 2), each choice is for the thread with
//! which the shortest sleeping sequence begins, so that the sequence is followed while nothing has woken it.

use super::source::{Source, missing_initial};
use super::{Context, Race, Rules, Search};
use crate::driver::State;
use crate::statistics::Statistics;
use crate::system::Transition;
use crate::thread::{BitSet, ThreadId};
use crate::trace::Trace;

pub(super) struct ContextSensitive {
    context: Context,
    source: Source,
}

impl ContextSensitive {
    pub(super) fn new(context: Context) -> Self {
        ContextSensitive {
            context,
            source: Source,
        }
    }

    /// The awake transition with which the shortest sleeping sequence begins.
    fn guide(&self, state: &State) -> Option<Transition> {
        if !self.context.guide {
            return None;
        }
        let enabled = |transition: &Transition| {
            let alternatives = state.alternatives(transition.thread);
            alternatives.is_some_and(|alternatives| alternatives.contains(transition.alternative))
        };
        let sequences = state
            .sequences
            .iter()
            .map(|sequence| (sequence.len(), sequence.first()));
        let possible = sequences.filter(|(_, first)| enabled(first) && !state.is_asleep(*first));
        possible.min_by_key(|&(length, _)| length).map(|(_, first)| first)
    }
}

impl Rules for ContextSensitive {
    fn search(&self) -> Search {
        Search {
            context: Some(self.context),
            ..Search::REVERSALS
        }
    }

    fn open(&mut self, state: &mut State, previous: Option<ThreadId>) {
        let guided = self.guide(state).map(|transition| transition.thread);
        match guided.filter(|&thread| state.is_fully_awake(thread)) {
            Some(thread) => state.backtrack = BitSet::of(thread.0),
            None => self.source.open(state, previous),
        }
    }

    fn pick(&mut self, state: &State) -> Option<Transition> {
        let guided = self.guide(state);
        guided
            .filter(|transition| state.backtrack.contains(transition.thread.0))
            .or_else(|| self.source.pick(state))
    }

    fn reverse(&mut self, states: &mut [State], trace: &Trace, race: Race<'_>, statistics: &mut Statistics) {
        let prefer = if self.context.guide {
            // What the reversal begins with, so that its sequence, if it sleeps, can be followed.
            trace
                .notdep(race.event)
                .find(|f| !race.removed.contains(f))
                .map_or(race.thread, |first| trace.events()[first].thread())
        } else {
            race.thread
        };
        missing_initial(states, trace, race, prefer, statistics);
    }
}
