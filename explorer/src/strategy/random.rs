//! A seeded random walk: every execution chooses uniformly among the enabled transitions of each state. For programs
//! that are too large to explore exhaustively; it can find failures and never proves anything.

use super::{Rules, Search, all_enabled};
use crate::codec::{from_bytes, to_bytes};
use crate::driver::State;
use crate::random::SplitMix64;
use crate::system::Transition;
use crate::thread::ThreadId;

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
    fn search(&self) -> Search {
        Search::SAMPLES
    }

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

    fn save(&self) -> Vec<u8> {
        to_bytes(&self.numbers)
    }

    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        self.numbers = from_bytes(saved)?;
        Some(())
    }
}
