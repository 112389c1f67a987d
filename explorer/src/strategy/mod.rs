//! Strategies: the rules by which the driver chooses what to explore.
//!
//! The driver owns the search (re-execution, the stack of states, limits, statistics); a strategy says
//! which transitions a new state starts with, whether transitions fall asleep, and what a race adds.

mod exhaustive;
mod random;
mod source;

use crate::driver::State;
use crate::footprint::Footprint;
use crate::statistics::Statistics;
use crate::system::Transition;
use crate::thread::{BitSet, ThreadId};
use crate::trace::{EventIndex, Removed, Trace};
use std::fmt;
use std::str::FromStr;

/// How to explore.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// Every interleaving of steps.
    Exhaustive,
    /// Source-DPOR with sleep sets: at least one execution of every Mazurkiewicz trace.
    #[default]
    Source,
    /// A seeded random walk; never complete.
    Random {
        /// The seed of the first execution.
        seed: u64,
    },
}

impl Strategy {
    pub(crate) fn rules(self) -> Box<dyn Rules> {
        match self {
            Strategy::Exhaustive => Box::new(exhaustive::Exhaustive),
            Strategy::Source => Box::new(source::Source),
            Strategy::Random { seed } => Box::new(random::Random::new(seed)),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Exhaustive => f.write_str("exhaustive"),
            Strategy::Source => f.write_str("source"),
            Strategy::Random { seed: 0 } => f.write_str("random"),
            Strategy::Random { seed } => write!(f, "random:{seed}"),
        }
    }
}

/// The name of a strategy was not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownStrategy(String);

impl fmt::Display for UnknownStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown strategy `{}`; there are `source`, `exhaustive`, `random` and `random:SEED`",
            self.0
        )
    }
}

impl std::error::Error for UnknownStrategy {}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Self, UnknownStrategy> {
        match name {
            "exhaustive" => Ok(Strategy::Exhaustive),
            "source" => Ok(Strategy::Source),
            "random" => Ok(Strategy::Random { seed: 0 }),
            other => other
                .strip_prefix("random:")
                .and_then(|seed| seed.parse().ok())
                .map(|seed| Strategy::Random { seed })
                .ok_or_else(|| UnknownStrategy(name.to_owned())),
        }
    }
}

/// An operation that has just run or is pending, and one event that it is in a reversible race with.
pub(crate) struct Race<'a> {
    pub event: EventIndex,
    /// What must be left out of `notdep` of the event.
    pub removed: &'a Removed,
    pub thread: ThreadId,
    pub footprint: &'a Footprint,
}

/// A strategy's choice rules.
pub(crate) trait Rules {
    /// Fills the backtrack set of a state that is visited for the first time. `previous` is the thread
    /// that moved last.
    fn open(&mut self, state: &mut State, previous: Option<ThreadId>);

    /// Picks the next transition from a state, among those that are neither asleep nor explored.
    fn pick(&mut self, state: &State) -> Option<Transition> {
        state
            .backtrack
            .iter()
            .find_map(|t| state.awake_transitions(ThreadId(t)).next())
    }

    /// Whether explored transitions sleep in the states below their siblings.
    fn sleeps(&self) -> bool;

    /// Whether races are to be reported to [`Rules::reverse`].
    fn detects_races(&self) -> bool;

    /// Notes in the states of the current execution what must be explored because of a race.
    fn reverse(&mut self, states: &mut [State], trace: &Trace, race: Race<'_>, statistics: &mut Statistics);

    /// Whether the search goes back to earlier states; otherwise every execution starts afresh.
    fn backtracks(&self) -> bool {
        true
    }
}

/// All threads that are enabled in the state.
pub(crate) fn all_enabled(state: &State) -> BitSet {
    state.enabled.iter().map(|(thread, _)| thread.0).collect()
}
