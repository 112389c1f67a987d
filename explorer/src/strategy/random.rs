//! A seeded random walk: every execution chooses uniformly among the enabled transitions of each state.
//! For programs that are too large to exhaust; it can find failures and never proves anything.

use super::{Race, Rules, all_enabled};
use crate::driver::State;
use crate::random::SplitMix64;
use crate::statistics::Statistics;
use crate::system::Transition;
use crate::thread::ThreadId;
use crate::trace::Trace;

pub(super) struct Random {
    numbers: SplitMix64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random {
            numbers: SplitMix64::new(seed),
        }
    }
}

impl Rules for Random {
    fn open(&mut self, state: &mut State, _previous: Option<ThreadId>) {
        state.backtrack = all_enabled(state);
    }

    fn pick(&mut self, state: &State) -> Option<Transition> {
        let thread = self.numbers.below(state.enabled.len());
        let (thread, alternatives) = &state.enabled[thread];
        let alternative = self.numbers.below(alternatives.len());
        let alternative = alternatives.iter().nth(alternative)?;
        Some(Transition {
            thread: *thread,
            alternative,
        })
    }

    fn sleeps(&self) -> bool {
        false
    }

    fn detects_races(&self) -> bool {
        false
    }

    fn reverse(&mut self, _states: &mut [State], _trace: &Trace, _race: Race<'_>, _statistics: &mut Statistics) {}

    fn backtracks(&self) -> bool {
        false
    }
}
