//! Every interleaving of steps: the oracle for all other strategies.

use super::{Race, Rules, all_enabled};
use crate::driver::State;
use crate::statistics::Statistics;
use crate::thread::ThreadId;
use crate::trace::Trace;

pub(super) struct Exhaustive;

impl Rules for Exhaustive {
    fn open(&mut self, state: &mut State, _previous: Option<ThreadId>) {
        state.backtrack = all_enabled(state);
    }

    fn sleeps(&self) -> bool {
        false
    }

    fn detects_races(&self) -> bool {
        false
    }

    fn reverse(&mut self, _states: &mut [State], _trace: &Trace, _race: Race<'_>, _statistics: &mut Statistics) {}
}
