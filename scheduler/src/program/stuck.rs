//! Executions in which no thread can run.

use super::Program;
use crate::api::time;
use crate::detect::spin::{Awaiting, Spin};
use crate::failure::failure;
use crate::machine::Machine;
use crate::machine::threads::Record;
use crate::operation::OperationKind;
use crate::report::BlockedReport;
use dpor_explorer::{Failure, Outlook, SplitMix64, Stop, System, ThreadId, Transition};
use dpor_protocol::FailureKind;
use smallvec::SmallVec;

impl Program {
    /// Holds back threads that only repeat themselves, from here on.
    pub fn hold_spinning(&mut self) {
        let Machine { session, execution, .. } = Self::machine();
        session.spin_blocks = true;
        execution.threads.reevaluate();
    }

    /// Answers [`System::outlook`] for an execution in which no thread can run.
    ///
    /// A thread is held back where it stands, and that may be inside a round that others can notice: with a lock in its
    /// hands, say, for which another waits. In the program itself it would go round, and the other might get the lock.
    /// So if a thread is held back whose rounds write, the end is tried out: the program runs on with nobody held back.
    /// It is stuck if it can always come back to the state that it is in now; that is, if this state is in a strongly
    /// connected component of the graph of states that has no way out. A random walk leaves any other component sooner
    /// or later, for good.
    ///
    /// What comes after an end that has a way out is reached by another execution. Say that `R` is the round after
    /// which the thread is held back, `F` what others did since, and that after a part `r` of one more round, another
    /// thread can make its step `t`. The state is the same before and after `R`, which ran alone, and `F` writes
    /// nothing that `R` touches. So `F.r.t` is possible before `R` as well, and leads to the state that `F` and `R` and
    /// then `r.t` lead to. `t` is blocked after `R` and not after `r`, so that it is in a race with what comes after
    /// `r` in `R`, which [`System::pending`] shows to the explorer (with all that `t` waits for), and likewise each
    /// step of `F` with what it depends on in `R`; the reversals of these races begin before `R` or in it, where the
    /// thread was not held back yet.
    pub(super) fn outlook_of_held(&mut self) -> Outlook {
        let Machine {
            session,
            execution,
            traced,
            ..
        } = Self::machine();
        let held = |record: &Record| record.alive && record.spin.awaiting().is_some_and(Awaiting::writes);
        let counts = |record: &Record| record.alive && record.spin.awaiting().is_some_and(Awaiting::leaves_count_out);
        let counts = execution.threads.iter().any(|(_, record)| counts(record));
        // A traced execution is that of a failure that has been judged.
        if traced.is_some() || !counts && !execution.threads.iter().any(|(_, record)| held(record)) {
            return Outlook::Stuck;
        }
        let refinements = session.refinements.clone();
        for (_, record) in execution.threads.iter_mut() {
            record.passage.clear();
            Spin::forget(&mut record.spin);
        }
        execution.threads.reevaluate();
        execution.watch.trying_out = true;
        let outlook = self.try_out();
        let Machine { session, execution, .. } = Self::machine();
        execution.watch.trying_out = false;
        session.refinements = refinements;
        match outlook {
            // As the program is written, it counts its rounds, and something else happens at some count.
            Outlook::Stuck if counts => Outlook::Unclear,
            outlook => outlook,
        }
    }

    /// Runs on with randomly chosen threads, to see whether the program comes back to its present state.
    fn try_out(&mut self) -> Outlook {
        /// Approximate number of steps of each thread before an equal state counts: by then, a thread that waits for
        /// another to go round has left its loop.
        const ROUNDS: usize = 1000;
        /// Maximum number of steps of each thread.
        const MOST_ROUNDS: usize = 10 * ROUNDS;
        let threads = Self::machine().execution.threads.iter();
        let alive: SmallVec<[ThreadId; 8]> = threads.filter(|(_, record)| record.alive).map(|(id, _)| id).collect();
        let places = || -> SmallVec<[u64; 8]> {
            let place = |&thread: &ThreadId| Self::machine().execution.threads[thread].place();
            alive.iter().map(place).collect()
        };
        let fingerprint = || {
            let machine = Self::machine();
            machine.bring_up_to_date();
            machine.fingerprint()
        };
        let (places_before, before) = (places(), fingerprint());
        let mut random = SplitMix64::new(0);
        for step in 1..=MOST_ROUNDS * alive.len() {
            let enabled: SmallVec<[Transition; 8]> = Transition::enabled(self.threads()).collect();
            if enabled.is_empty() {
                return Outlook::GoesOn;
            }
            let transition = enabled[random.below(enabled.len())];
            let result = self.advance(transition, true);
            Self::machine().step.record.clear();
            let threads = &Self::machine().execution.threads;
            if matches!(result, Err(Stop::Unsupported(_))) {
                return Outlook::Unclear;
            }
            if result.is_err() || alive.iter().any(|&thread| !threads[thread].alive) {
                return Outlook::GoesOn;
            }
            // The state is hashed only if it may be the same.
            if step >= ROUNDS * alive.len() && places() == places_before && fingerprint() == before {
                return Outlook::Stuck;
            }
        }
        Outlook::Unclear
    }
}

/// The failure of an execution in which no thread can run and the test has not ended.
pub(super) fn failure_of(blocked: &[BlockedReport]) -> Failure {
    use std::fmt::Write;
    let spinning = blocked.iter().any(|thread| thread.spinning);
    let (kind, mut message) = match (spinning, blocked.len()) {
        (true, 1) => (FailureKind::Livelock, "1 thread repeats itself for ever".to_owned()),
        (true, n) => (
            FailureKind::Livelock,
            format!("{n} threads wait or repeat themselves for ever"),
        ),
        (false, 1) => (FailureKind::Deadlock, "1 thread waits for ever".to_owned()),
        (false, n) => (FailureKind::Deadlock, format!("{n} threads wait for ever")),
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
        if let Some(after) = thread.endless {
            let _ = write!(message, ", for {}", time::in_words(after));
            message.push_str(match time::is_longer_than_any_run(after) {
                true => ", which no run takes",
                false => ", and timeouts do not fire",
            });
        }
        let holders: &[_] = match thread.kind {
            OperationKind::Join => &[],
            _ => &thread.holders,
        };
        for (holder, source) in holders {
            let _ = write!(message, ", held by {holder}");
            if let Some(source) = source {
                let _ = write!(message, " since {source}");
            }
        }
    }
    failure(kind, message)
}
