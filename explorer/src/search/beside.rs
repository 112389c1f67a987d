//! A search under a bound on preemptions that goes on beside the main search, for what time leaves unexplored.
//!
//! A search that is broken off has seen one corner of the tree. The executions with few preemptions are a part that
//! one can name, most failures are among them, and they are explored soon. So where the main search is long, it is
//! interrupted now and then, and a second one explores the executions without preemption, then those with one, and so
//! on (iterative context bounding: Musuvathi and Qadeer, PLDI 2007; `strategy::bounded` has the search). If the main
//! search is broken off, the verdict says which bounds have been explored; if the second one finds a failure before the
//! main one ends, that decides the verdict. If it leaves nothing out, the main search goes on all the same: observers
//! see its executions only, and what they count is said of a complete test.
//!
//! The main search has made a number of steps before the first turn of the other, so that a small test costs no more,
//! and most of all steps afterwards ([`Turns`]). Turns are told by numbers of steps, and do not depend on the clock.
//!
//! Invariant: at the end of a turn the cursor's trace, and all counters, are those of the main search. The cursor has no
//! checkpoints then: the main search goes back to where it was by repeating the steps.

use super::Search;
use super::driver::Explorer;
use super::exploration::{Exploration, Halt};
use super::outcome::{End, Observer};
use crate::execution::Trace;
use crate::statistics::Statistics;
use crate::system::{Failure, System, Transition};
use std::mem::swap;
use std::num::NonZeroU64;
use std::ops::ControlFlow;

/// Maximum number of steps of a turn, but for its last execution: observers are kept waiting so long.
const TURN: u64 = 200_000;

/// When the second search goes on, in steps of the main one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turns {
    /// Number of steps of the main search before the first turn.
    pub after: u64,
    /// Number of steps that the main search makes for each of the second's. `None` lets the second come to its end in
    /// its first turn.
    pub ratio: Option<NonZeroU64>,
}

impl Turns {
    /// After 20,000 steps, a quarter of all.
    pub const LONG: Turns = Turns {
        after: 20_000,
        ratio: NonZeroU64::new(3),
    };
}

/// The second search, and what is its own of an [`Exploration`].
pub(super) struct Beside<S> {
    search: Box<dyn Search<S>>,
    trace: Trace,
    statistics: Statistics,
    unclear: u64,
    turns: Turns,
    /// The number of steps of the main search at which the next turn begins; `None` if there is none any more.
    next: Option<u64>,
    /// The last bound under which everything has been explored.
    explored: Option<u32>,
}

/// What a turn has come to.
pub(super) enum Turn {
    /// The main search goes on.
    Over,
    /// The verdict is known: an execution has failed.
    Failed(Failure, Vec<Transition>),
}

impl<S: System> Beside<S> {
    pub fn new(search: Box<dyn Search<S>>, turns: Turns) -> Self {
        let mut trace = Trace::new();
        trace.follow_waits(search.follows_waits());
        Beside {
            search,
            trace,
            statistics: Statistics::default(),
            unclear: 0,
            turns,
            next: Some(turns.after),
            explored: None,
        }
    }

    /// The last bound under which everything has been explored, if any.
    pub fn explored(&self) -> Option<u32> {
        self.explored
    }

    /// The present bound on preemptions.
    pub fn bound(&self) -> u32 {
        self.search.bound().unwrap_or(0)
    }

    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Whether it is this search's turn.
    pub fn is_due(&self, main: &Statistics) -> bool {
        self.next.is_some_and(|next| main.steps >= next)
    }

    /// Takes a turn.
    pub fn turn(&mut self, explorer: &mut Explorer<S>, observer: &mut dyn Observer<S>) -> Result<Turn, Halt> {
        let main = explorer.exploration().statistics.steps;
        let (until, pause) = match self.turns.ratio.map(NonZeroU64::get) {
            Some(ratio) => ((self.statistics.steps + TURN).min(main / ratio), ratio * TURN),
            None => (u64::MAX, 0),
        };
        self.change_places(explorer.exploration());
        let turn = self.executions(until, explorer, observer);
        self.change_places(explorer.exploration());
        if let Some(next) = &mut self.next {
            *next = main + pause.min(main).max(1);
        }
        turn
    }

    /// Puts what is this search's own into the exploration, and keeps what is the main search's; or the other way
    /// round.
    fn change_places(&mut self, exploration: &mut Exploration<S>) {
        exploration.cursor.exchange_trace(&mut self.trace);
        swap(&mut exploration.statistics, &mut self.statistics);
        swap(&mut exploration.unclear, &mut self.unclear);
    }

    fn executions(
        &mut self,
        until: u64,
        explorer: &mut Explorer<S>,
        observer: &mut dyn Observer<S>,
    ) -> Result<Turn, Halt> {
        while explorer.exploration().statistics.steps < until {
            let exploration = explorer.exploration();
            match self.search.execute(exploration, &mut ()) {
                Ok(End::Failed(failure)) => {
                    self.next = None;
                    exploration.statistics.complete += 1;
                    let mut all = self.statistics;
                    all.add(&exploration.statistics);
                    let cursor = &mut exploration.cursor;
                    let failed = End::Failed(failure.clone());
                    // The exploration ends here, whether the observer breaks it off or not.
                    let _ = observer.execution(&mut cursor.system, &failed, &cursor.trace, &all);
                    return Ok(Turn::Failed(failure, cursor.trace.schedule()));
                }
                Ok(End::Complete) => exploration.statistics.complete += 1,
                Ok(End::Blocked) => exploration.statistics.blocked += 1,
                Ok(End::Pruned) => exploration.statistics.pruned += 1,
                // What has been left out here, the main search may be able to explore: it knows states again.
                Ok(End::Cut) | Err(Halt::Incomplete(_)) => {
                    self.next = None;
                    return Ok(Turn::Over);
                }
                Err(halt) => return Err(halt),
            }
            let bound = self.bound();
            let goes_on = self.search.advance(exploration);
            if !goes_on || self.bound() > bound {
                self.explored = Some(bound);
            }
            if !goes_on {
                self.next = None;
                return Ok(Turn::Over);
            }
            if exploration.statistics.executions().is_multiple_of(16) {
                exploration.in_time()?;
            }
            if let ControlFlow::Break(reason) = observer.at_rest(explorer) {
                return Err(Halt::Incomplete(reason));
            }
        }
        Ok(Turn::Over)
    }
}
