//! Strategies: the registry of their names, and the policies behind them.
//!
//! | module | what |
//! |---|---|
//! | `exhaustive` | every interleaving |
//! | `source` | Source-DPOR, the base of `context` |
//! | `optimal` | Source-DPOR with wakeup trees, by which few executions are given up, or none |
//! | `dpor`, `trans` | DPOR as published first, and TransDPOR; `actors` has the orders that the two know |
//! | `context` | context-sensitive DPOR: orders of steps that lead to the same state are explored once |
//! | `states` | each state expanded once, with what can follow it |
//! | `unfolding` | the search through configurations of the unfolding, with no stack of nodes |
//! | `bounded` | a bound on preemptions that grows |
//! | `pct`, `random` | samples |
//! | `reversal` | what those have in common that reverse races |
//! | `wait` | what an operation waits for |
//!
//! Invariant: only this file knows all strategies. A policy imports the search, and no policy but the one on which it
//! is built.

mod actors;
mod bounded;
mod context;
mod dpor;
mod exhaustive;
mod optimal;
mod pct;
mod random;
mod reversal;
mod source;
mod states;
mod trans;
mod unfolding;
mod wait;

pub use crate::vocabulary::{Check, Context, Dpor, Order, Strategy, UnknownStrategy};

use crate::search::depth_first::DepthFirst;
use crate::search::policy::Policy;
use crate::search::{Named, Search, Settings};
use crate::system::System;

impl Named for Strategy {
    fn search<S: System>(self, settings: &Settings) -> Box<dyn Search<S>> {
        if let Some(most) = settings.limits.preemptions
            && self.can_be_bounded()
        {
            let exhaustive = self == Strategy::Exhaustive;
            return depth_first(bounded::Bounded::new(most, exhaustive, settings.faults));
        }
        match self {
            Strategy::Exhaustive => depth_first(exhaustive::Exhaustive),
            Strategy::Source => depth_first(source::Source),
            Strategy::Optimal => depth_first(optimal::Optimal::new(settings.faults)),
            Strategy::Dpor(options) => depth_first(dpor::FlanaganGodefroid::new(options)),
            Strategy::Trans(options) => depth_first(trans::TransDpor::new(options, settings.faults)),
            Strategy::Context(context) => depth_first(context::ContextSensitive::new(context, settings.resumable)),
            Strategy::States => depth_first(states::States::new(settings.resumable, settings.faults)),
            Strategy::Unfolding { partial } => Box::new(unfolding::Unfolding::new(partial)),
            Strategy::Pct { depth, seed } => depth_first(pct::Pct::new(depth, seed)),
            Strategy::Random { seed } => depth_first(random::Random::new(seed)),
        }
    }
}

fn depth_first<S: System>(policy: impl Policy<S> + 'static) -> Box<dyn Search<S>> {
    Box::new(DepthFirst::new(policy))
}
