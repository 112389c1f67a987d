//! Random executions ahead of the main search, for what makes exploration start again.
//!
//! What a system learns, that threads use the same memory, say, or that a release is observed, makes all void that was
//! explored before. A depth-first search changes the end of the first execution in every way before it comes to its
//! beginning, so it may learn such a thing when nearly all has been explored. Random executions differ everywhere. So
//! where the main search is long, some are run now and then, a third of them by priorities (`strategy::pct`), in
//! which one thread can be far ahead of another. The more has been explored, the more there is to lose: they run
//! whenever the main search has become four times as large. The number of their states is half of that of the main
//! search, but of what it reaches beyond some number only a sixteenth: what random executions find at all, they mostly
//! find soon. If they learn something, they go on until they have learnt nothing in as many states.
//!
//! Nothing follows from what they do not find. If one of them fails, that is the verdict. Turns are told by numbers of
//! states, and do not depend on the clock. It is a search [aside](super::aside).

use super::aside::{Aside, Turn};
use super::driver::Explorer;
use super::exploration::Halt;
use super::outcome::{End, Observer};
use super::{Named, Settings};
use crate::statistics::Statistics;
use crate::system::System;
use crate::vocabulary::Strategy;
use std::ops::ControlFlow;

/// The factor by which the number of states of the main search grows from one turn to the next.
const GROWTH: u64 = 4;
/// Number of states of the main search up to which a turn has half as many.
const MANY: u64 = 1 << 13;
/// The number of random changes of priorities in an execution by priorities, and one.
const PRIORITIES: u32 = 3;

/// The random executions.
pub(super) struct Scouts<S> {
    /// Searches that take turns within a turn.
    all: [Aside<S>; 3],
    /// The number of states of the main search at which the next turn begins.
    next: u64,
}

impl<S: System> Scouts<S> {
    /// Random executions other than those of another seed, first when the main search has so many states.
    pub fn new(seed: u64, first: u64, settings: &Settings) -> Self {
        let strategies = [
            Strategy::Random { seed },
            Strategy::Pct {
                depth: PRIORITIES,
                seed,
            },
            Strategy::Random { seed: !seed },
        ];
        Scouts {
            all: strategies.map(|strategy| Aside::new(strategy.search(settings))),
            next: first,
        }
    }

    /// Whether it is their turn.
    pub fn are_due(&self, main: &Statistics) -> bool {
        main.states >= self.next
    }

    /// Counts their executions, too.
    pub fn add_to(&self, statistics: &mut Statistics) {
        self.all.iter().for_each(|aside| statistics.add(&aside.statistics));
    }

    /// Takes a turn.
    ///
    /// # Errors
    /// The exploration starts again, or a limit is reached.
    pub fn turn(&mut self, explorer: &mut Explorer<S>, observer: &mut dyn Observer<S>) -> Result<Turn, Halt> {
        let main = explorer.exploration().statistics.states;
        let each = (main.min(MANY) / 2 + main.saturating_sub(MANY) / 16) / self.all.len() as u64;
        self.next = main.saturating_mul(GROWTH);
        let mut learnt = false;
        for aside in &mut self.all {
            aside.change_places(explorer.exploration());
            let turn = executions(aside, each, &mut learnt, explorer, observer);
            aside.change_places(explorer.exploration());
            match turn {
                Ok(Turn::Over) => {}
                // The system is another one now. What the main search has explored must not be gone on with, nor saved.
                _ if learnt => return Err(Halt::Refine),
                turn => return turn,
            }
        }
        if learnt { Err(Halt::Refine) } else { Ok(Turn::Over) }
    }
}

/// Runs executions with so many states since the last that makes exploration start again: there may be more to learn.
fn executions<S: System>(
    aside: &mut Aside<S>,
    states: u64,
    learnt: &mut bool,
    explorer: &mut Explorer<S>,
    observer: &mut dyn Observer<S>,
) -> Result<Turn, Halt> {
    let mut until = explorer.exploration().statistics.states + states;
    while explorer.exploration().statistics.states < until {
        let exploration = explorer.exploration();
        let end = aside.search.execute(exploration, &mut ());
        let is_left_out = matches!(end, Err(Halt::Incomplete(_)));
        match end {
            // It is found again.
            Ok(End::Failed(_)) if *learnt => return Err(Halt::Refine),
            Ok(End::Failed(failure)) => return Ok(aside.failed(failure, exploration, observer)),
            Ok(end) => exploration.statistics.count(&end),
            Err(Halt::Refine) => {
                *learnt = true;
                until = exploration.statistics.states + states;
                exploration.in_time()?;
            }
            // The main search comes to that, or it is said of it why it does not.
            Err(Halt::Incomplete(_)) => {}
            Err(halt) => return Err(halt),
        }
        aside.search.advance(exploration);
        if is_left_out {
            break;
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
