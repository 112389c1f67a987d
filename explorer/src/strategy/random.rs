//! A seeded random walk: every execution chooses uniformly among the enabled transitions of each state.
//! For programs that are too large to exhaust; it can find failures and never proves anything.

use super::{Race, Rules, all_enabled};
use crate::driver::State;
use crate::statistics::Statistics;
use crate::system::Transition;
use crate::thread::ThreadId;
use crate::trace::Trace;

pub(super) struct Random {
    state: u64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// SplitMix64 (Steele, Lea and Flood 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

impl Rules for Random {
    fn open(&mut self, state: &mut State, _previous: Option<ThreadId>) {
        state.backtrack = all_enabled(state);
    }

    fn pick(&mut self, state: &State) -> Option<Transition> {
        let thread = self.next() as usize % state.enabled.len();
        let (thread, alternatives) = &state.enabled[thread];
        let alternative = self.next() as usize % alternatives.len();
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
