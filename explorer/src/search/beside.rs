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
//! The main search has reached a number of states before the first turn of the other, so that a small test costs no
//! more. Then the second one may reach as many, and from some number on fewer ([`Turns`]): what the first bounds let
//! it find it has found by then, and each further one takes many times the states of the one before. Turns are told by
//! numbers of states, and do not depend on the clock, nor on which states are saved.
//!
//! It is a search [aside](super::aside).

use super::Search;
use super::aside::{Aside, Turn};
use super::driver::Explorer;
use super::exploration::Halt;
use super::outcome::{End, Observer};
use crate::statistics::Statistics;
use crate::system::System;
use std::num::NonZeroU64;
use std::ops::ControlFlow;

/// Maximum number of states of a turn, but for its last execution: observers are kept waiting so long.
const TURN: u64 = 50_000;

/// Maximum length of an execution, in the length of the main search's longest one so far, or in that of a long one. A
/// thread that goes on until another one moves would otherwise do so up to the bound, as nobody preempts it.
const LONGER: u32 = 4;
const LONG: u32 = 1_000;

/// When the second search goes on, in states that the main one has reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turns {
    /// Number of states of the main search before the first turn.
    pub after: u64,
    /// Number of states up to which the second search may reach as many as the main one.
    pub even: u64,
    /// Number of states that the main search reaches for each of the second's from then on. `None` lets the second come
    /// to its end in its first turn.
    pub ratio: Option<NonZeroU64>,
}

impl Turns {
    /// After 2,000 states, as many up to 8,192, and an eighth of what the main search reaches beyond.
    pub const LONG: Turns = Turns {
        after: 2_000,
        even: 1 << 13,
        ratio: NonZeroU64::new(8),
    };

    /// Number of states that the second search may have reached when the main one has reached so many.
    fn allow(self, main: u64) -> u64 {
        match self.ratio {
            Some(ratio) => main.min(self.even) + main.saturating_sub(self.even) / ratio,
            None => u64::MAX,
        }
    }
}

/// The second search, and when it goes on.
pub(super) struct Beside<S> {
    aside: Aside<S>,
    turns: Turns,
    /// The number of states of the main search at which the next turn begins; `None` if there is none any more.
    next: Option<u64>,
    /// The last bound under which everything has been explored.
    explored: Option<u32>,
}

impl<S: System> Beside<S> {
    pub fn new(search: Box<dyn Search<S>>, turns: Turns) -> Self {
        Beside {
            aside: Aside::new(search),
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
        self.aside.search.bound().unwrap_or(0)
    }

    pub fn statistics(&self) -> &Statistics {
        &self.aside.statistics
    }

    /// Whether it is this search's turn.
    pub fn is_due(&self, main: &Statistics) -> bool {
        self.next.is_some_and(|next| main.states >= next)
    }

    /// Takes a turn.
    pub fn turn(&mut self, explorer: &mut Explorer<S>, observer: &mut dyn Observer<S>) -> Result<Turn, Halt> {
        let main = explorer.exploration().statistics.states;
        let (turn, pause) = match self.turns.ratio.map(NonZeroU64::get) {
            Some(ratio) => (TURN, ratio.saturating_mul(TURN)),
            None => (u64::MAX, 0),
        };
        let until = self
            .aside
            .statistics
            .states
            .saturating_add(turn)
            .min(self.turns.allow(main));
        let exploration = explorer.exploration();
        let longest = u32::try_from(exploration.statistics.peak_depth).unwrap_or(u32::MAX);
        let most = longest.max(LONG).saturating_mul(LONGER);
        let depth = exploration.limits.depth;
        exploration.limits.depth = depth.min(most);
        self.aside.change_places(exploration);
        let turn = self.executions(until, explorer, observer);
        let exploration = explorer.exploration();
        self.aside.change_places(exploration);
        exploration.limits.depth = depth;
        if let Some(next) = &mut self.next {
            *next = main + pause.min(main).max(1);
        }
        turn
    }

    fn executions(
        &mut self,
        until: u64,
        explorer: &mut Explorer<S>,
        observer: &mut dyn Observer<S>,
    ) -> Result<Turn, Halt> {
        while explorer.exploration().statistics.states < until {
            let exploration = explorer.exploration();
            match self.aside.search.execute(exploration, &mut ()) {
                Ok(End::Failed(failure)) => {
                    self.next = None;
                    return Ok(self.aside.failed(failure, exploration, observer));
                }
                // What has been left out here, the main search may be able to explore: it knows states again.
                Ok(End::Cut) | Err(Halt::Incomplete(_)) => {
                    self.next = None;
                    return Ok(Turn::Over);
                }
                Ok(end) => exploration.statistics.count(&end),
                Err(halt) => return Err(halt),
            }
            let bound = self.bound();
            let goes_on = self.aside.search.advance(exploration);
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
