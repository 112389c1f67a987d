//! Every interleaving of steps: the oracle for all other strategies.

use super::{Rules, Search, all_enabled};
use crate::driver::State;
use crate::thread::ThreadId;

pub(super) struct Exhaustive;

impl Rules for Exhaustive {
    fn search(&self) -> Search {
        Search::EVERYTHING
    }

    fn open(&mut self, state: &mut State, _previous: Option<ThreadId>) {
        state.backtrack = all_enabled(state);
    }
}
