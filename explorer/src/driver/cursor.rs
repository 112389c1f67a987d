//! How the search goes back to a state: to a saved one on the way, if there is one, and otherwise from the start.
//!
//! A state is saved when the search comes back to it for the first time, because most states are left once and for all.
//! Which ones are saved changes no count but [`Statistics::skipped`](crate::Statistics::skipped): what is explored is
//! the same.
//!
//! Invariant: the checkpoints are of states on the way to the current one, and the steps before each of them are those
//! of the trace. Steps that are added to the trace or taken away behind a checkpoint leave it valid.

use super::{Explorer, Next};
use crate::system::System;

/// Minimum number of steps to repeat for which saving a state is cheaper.
const WORTH_SAVING: usize = 2;

impl<S: System> Explorer<S> {
    /// Goes to the state after the steps of the trace.
    pub(super) fn go_back(&mut self) -> Result<(), Next> {
        let target = self.trace.len();
        let saved = self.rewind(target)?;
        let from = saved.unwrap_or_else(|| {
            self.system.restart();
            0
        });
        self.repeat_steps(from..target)?;
        if self.rewinds
            && target - from >= WORTH_SAVING
            && let Some(rewindable) = self.system.rewindable()
            && let Some(checkpoint) = rewindable.checkpoint()
        {
            self.checkpoints.push((target, checkpoint));
        }
        Ok(())
    }

    /// Goes to the last saved state on the way to the state after `target` steps. Returns the number of steps that lead
    /// there.
    fn rewind(&mut self, target: usize) -> Result<Option<usize>, Next> {
        let kept = self.checkpoints.partition_point(|&(steps, _)| steps <= target);
        self.forget_checkpoints(kept);
        let (Some(&(steps, checkpoint)), Some(rewindable)) = (self.checkpoints.last(), self.system.rewindable()) else {
            return Ok(None);
        };
        if !rewindable.rewind(checkpoint) {
            self.forget_checkpoints(0);
            return Ok(None);
        }
        self.statistics.steps += steps as u64;
        self.statistics.skipped += steps as u64;
        self.verify_state(steps)?;
        Ok(Some(steps))
    }

    /// Forgets all checkpoints but the first ones.
    pub(super) fn forget_checkpoints(&mut self, kept: usize) {
        let Some(&(_, first)) = self.checkpoints.get(kept) else {
            return;
        };
        self.checkpoints.truncate(kept);
        if let Some(rewindable) = self.system.rewindable() {
            rewindable.forget_from(first);
        }
    }
}
