//! Executions in which nobody can run.

use super::Program;
use crate::report::BlockedReport;
use crate::spin::Awaiting;
use crate::thread::Record;
use dpor_explorer::{Failure, SplitMix64, System, ThreadId, Transition};
use smallvec::SmallVec;
use std::mem;

impl Program {
    /// From here on, threads that only repeat themselves are held back.
    pub fn hold_spinning(&mut self) {
        let runtime = Self::runtime();
        runtime.spin_blocks = true;
        runtime.stale = true;
        runtime.threads.iter_mut().for_each(|record| record.moved = true);
    }

    /// From here on, threads that only repeat themselves go on.
    fn release_spinning(&mut self) {
        self.hold_spinning();
        Self::runtime().spin_blocks = false;
    }

    pub(super) fn goes_on_if_released(&mut self) -> bool {
        let runtime = Self::runtime();
        let held = |record: &Record| record.alive && record.spin.awaiting().is_some_and(Awaiting::writes);
        // A traced execution is that of a failure that has been judged.
        if runtime.trace.is_some() || !runtime.threads.iter().any(held) {
            return false;
        }
        let refinements = runtime.refinements.clone();
        let in_place = mem::replace(&mut runtime.learn_in_place, true);
        self.release_spinning();
        let goes_on = self.try_out();
        let runtime = Self::runtime();
        runtime.refinements = refinements;
        runtime.learn_in_place = in_place;
        runtime.spin_blocks = true;
        goes_on
    }

    /// Runs on, threads in turn by chance. Says whether the program gets anywhere: to the end of a thread, to an operation that it
    /// has not come to before, to a failure, or to where nobody can go on.
    ///
    /// A loop that takes a lock and gives it back is held back where it stands, which may be with the lock; others that wait for
    /// the lock are not for ever.
    fn try_out(&mut self) -> bool {
        /// So many steps a thread gets, about. With fewer than that a loop is left by whoever waits for another to go round.
        const ROUNDS: usize = 1000;
        let alive: SmallVec<[ThreadId; 8]> = (0..Self::runtime().threads.len())
            .filter(|&thread| Self::runtime().threads[thread].alive)
            .map(|thread| ThreadId(thread as u32))
            .collect();
        let mut random = SplitMix64::new(0);
        for _ in 0..ROUNDS * alive.len() {
            let enabled: SmallVec<[Transition; 8]> = Transition::enabled(self.threads()).collect();
            if enabled.is_empty() {
                return true;
            }
            let transition = enabled[random.below(enabled.len())];
            if self.advance(transition, true).is_err() {
                return true;
            }
            if alive
                .iter()
                .any(|thread| !Self::runtime().threads[thread.index()].alive)
            {
                return true;
            }
        }
        false
    }
}

/// The failure of an execution in which nobody can run and the test has not ended.
pub(super) fn failure(blocked: &[BlockedReport]) -> Failure {
    use std::fmt::Write;
    let spinning = blocked.iter().any(|thread| thread.spinning);
    let (kind, mut message) = match (spinning, blocked.len()) {
        (true, 1) => ("livelock", "1 thread repeats itself for ever".to_owned()),
        (true, n) => ("livelock", format!("{n} threads wait or repeat themselves for ever")),
        (false, 1) => ("deadlock", "1 thread waits for ever".to_owned()),
        (false, n) => ("deadlock", format!("{n} threads wait for ever")),
    };
    for thread in blocked {
        let waits = if thread.spinning {
            "repeats itself at"
        } else {
            "waits at"
        };
        let _ = write!(
            message,
            "\n  {} ({}) {waits} {}",
            thread.thread, thread.name, thread.kind
        );
        if let Some(source) = &thread.source {
            let _ = write!(message, " {source}");
        }
        if let Some((holder, source)) = &thread.holder {
            let _ = write!(message, ", held by {holder}");
            if let Some(source) = source {
                let _ = write!(message, " since {source}");
            }
        }
    }
    Failure { kind, message }
}
