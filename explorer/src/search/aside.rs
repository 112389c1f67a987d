//! A search that takes turns with the main one, on the same system.
//!
//! Invariant: at the end of a turn the cursor's trace, and all counters, are those of the main search. The cursor has
//! no checkpoints then: the main search goes back to where it was by repeating the steps.

use super::Search;
use super::exploration::{Cuts, Exploration};
use super::outcome::{End, Observer, Verdict};
use crate::execution::Trace;
use crate::statistics::Statistics;
use crate::system::{Failure, System, Transition};
use std::mem::swap;

/// A search, and what is its own of an [`Exploration`]; during its turns, what is the main search's.
pub(super) struct Aside<S> {
    pub search: Box<dyn Search<S>>,
    pub statistics: Statistics,
    trace: Trace,
    cuts: Cuts,
}

/// What a turn has come to.
pub(super) enum Turn {
    /// The main search goes on.
    Over,
    /// The verdict is known: an execution has failed.
    Failed(Failure, Vec<Transition>),
}

impl Turn {
    /// The verdict, if it is known.
    pub fn verdict(self) -> Option<Verdict> {
        match self {
            Turn::Over => None,
            Turn::Failed(failure, schedule) => Some(Verdict::Failed { failure, schedule }),
        }
    }
}

impl<S: System> Aside<S> {
    pub fn new(search: Box<dyn Search<S>>) -> Self {
        let mut trace = Trace::new();
        trace.follow(search.follows());
        Aside {
            search,
            statistics: Statistics::default(),
            trace,
            cuts: Cuts::default(),
        }
    }

    /// Puts what is this search's own into the exploration, and keeps what is the main search's; or the other way
    /// round.
    pub fn change_places(&mut self, exploration: &mut Exploration<S>) {
        exploration.cursor.exchange_trace(&mut self.trace);
        swap(&mut exploration.statistics, &mut self.statistics);
        swap(&mut exploration.cuts, &mut self.cuts);
    }

    /// Counts the present execution of a turn, which has failed, and reports it. Nothing is explored after that.
    pub fn failed(&self, failure: Failure, exploration: &mut Exploration<S>, observer: &mut dyn Observer<S>) -> Turn {
        let failed = End::Failed(failure.clone());
        exploration.statistics.count(&failed);
        let mut all = self.statistics;
        all.add(&exploration.statistics);
        let cursor = &mut exploration.cursor;
        // Whether the observer breaks the exploration off or not, it ends here.
        let _ = observer.execution(&mut cursor.system, &failed, &cursor.trace, &all);
        Turn::Failed(failure, cursor.trace.schedule())
    }
}
