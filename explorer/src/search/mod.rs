//! The search: how an exploration goes from one execution to the next.
//!
//! | module | what |
//! |---|---|
//! | [`driver`] | [`Explorer`]: the loop over executions; it knows no strategy and no stack |
//! | `aside` | a search that takes turns with the main one |
//! | `beside` | a second search under bounds, for what time leaves unexplored |
//! | `scouts` | random executions ahead, for what makes exploration start again |
//! | [`exploration`] | what the loop, the search and its policy share: the cursor, counters, limits |
//! | [`cursor`] | the system and the execution so far; goes back by rewinding or by repeating steps |
//! | [`depth_first`] | the search along a stack of nodes, which asks a policy what to explore |
//! | [`policy`] | the hooks of such a policy |
//! | [`node`] | the stack and its nodes: what is enabled, what is to be explored, what sleeps |
//! | [`outcome`] | limits, ends, verdicts, reports, and who receives them |
//! | [`save`] | an exploration as bytes |
//! | [`faults`] | seeded faults, for tests of the oracle |
//!
//! A strategy is a name (`crate::vocabulary`), which the registry in `crate::strategy` turns into a [`Search`]: mostly
//! a [`DepthFirst`](depth_first::DepthFirst) one with a [`Policy`](policy::Policy).
//!
//! Invariant: nothing in this folder imports a strategy. What is particular to one is its policy's own state.

mod aside;
mod beside;
pub(crate) mod cursor;
pub(crate) mod depth_first;
pub(crate) mod driver;
pub(crate) mod exploration;
pub(crate) mod faults;
pub(crate) mod node;
pub(crate) mod outcome;
pub(crate) mod policy;
pub(crate) mod save;
mod scouts;

pub use beside::Turns;
pub use driver::Explorer;
use exploration::{Exploration, Halt};
#[cfg(feature = "faults")]
pub use faults::Fault;
pub use outcome::{End, Limits, Observer, Report, Verdict};
pub use save::{CannotResume, Snapshot};

use crate::execution::Follows;
use crate::system::System;
use faults::Faults;

/// A way to go through the executions of a system.
pub(crate) trait Search<S: System> {
    /// Runs the next execution to its end, and leaves it in the cursor's trace.
    fn execute(&mut self, exploration: &mut Exploration<S>, observer: &mut dyn Observer<S>) -> Result<End, Halt>;

    /// Chooses the next execution. Says whether there is one.
    fn advance(&mut self, exploration: &mut Exploration<S>) -> bool;

    /// The part of the executions that is explored, in millionths, with or without the present one; 0 if it cannot be
    /// told.
    fn explored(&self, _with_present: bool) -> u32 {
        0
    }

    /// Why the search cannot explore the program, if so.
    fn refusal(&self, _system: &S) -> Option<String> {
        None
    }

    /// The present bound on preemptions, if any.
    fn bound(&self) -> Option<u32> {
        None
    }

    /// What a finished search has left out, if anything.
    fn left_out(&self) -> Option<String> {
        None
    }

    /// What the trace has to record besides.
    fn follows(&self) -> Follows {
        Follows::NOTHING
    }

    /// Saves the search between two executions. Returns `None` if nothing is left to explore.
    fn save(&self) -> Option<Vec<u8>>;

    /// Restores what [`Search::save`] has saved; `None` if it is of another search.
    fn restore(&mut self, saved: &[u8]) -> Option<()>;

    /// Takes the keys of the states that were explored since the last call, if they are to be saved.
    fn take_keys(&mut self) -> Vec<u128> {
        Vec::new()
    }

    /// Adds keys of states that were explored before.
    fn add_keys(&mut self, _keys: &mut dyn Iterator<Item = u128>) {}
}

/// What a search has to know before it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub limits: Limits,
    /// Whether the search is going to be saved.
    pub resumable: bool,
    pub faults: Faults,
}

/// The names of searches. Implemented by the registry, so that this folder imports no strategy.
pub(crate) trait Named {
    /// The search of this name, before its first execution.
    fn search<S: System>(self, settings: &Settings) -> Box<dyn Search<S>>;
}
