//! The cursor: the system, and the execution that has led to where it is.
//!
//! Exploration is stateless (Godefroid, *Model Checking for Programming Languages using VeriSoft*, POPL 1997): to go
//! back to a state, the program is restarted and the transitions that led there are run again. Where a state on the way
//! is saved, the system goes back to that, and only the transitions after it are run again.
//!
//! A state is saved when the search comes back to it for the first time, because most states are left once and for all.
//! So is, of the steps that are repeated to come back to it, the state in the middle, the one in the middle of the
//! rest, and so on: the search is about to leave the states before it one after the other, and would repeat nearly as
//! many steps for each. Where the policy says so, some states are saved when the search first comes to them. Which ones
//! are saved changes no count but [`Statistics::skipped`]: what is explored is the same.
//!
//! Invariant: the checkpoints are of states on the way to the end of the trace, in ascending order, and the steps
//! before each of them are those of the trace.

use super::exploration::Halt;
use crate::execution::Trace;
use crate::statistics::Statistics;
use crate::system::{Checkpoint, Failure, Fingerprint, Step, Stop, System, Transition};

/// Minimum number of steps to repeat for which saving a state is cheaper.
const WORTH_SAVING: usize = 2;
/// Minimum number of steps from one state that is saved ahead to the next. To repeat as many takes twice as long as to
/// save a state of some 10 KB.
const SPACING: usize = 4;
/// The part of the way up to a state that is saved ahead in which no other one is saved: one in so many.
const OF_THE_WAY: usize = 32;

/// A system, and the current execution.
pub(crate) struct Cursor<S> {
    pub system: S,
    /// The execution. The system is at its end, unless the search is about to go there.
    pub trace: Trace,
    /// Whether to go back to saved states.
    pub rewinds: bool,
    /// Whether to compare states that the same transitions reach again.
    pub verifies: bool,
    /// The states saved on the way, with the numbers of steps before them.
    checkpoints: Vec<(usize, Checkpoint)>,
    /// The known fingerprints of states on the way, by the numbers of steps before them.
    fingerprints: Vec<Option<Fingerprint>>,
}

/// The number of steps before the state to be saved on the way from one state to another; not before the other one if
/// there is none.
fn middle(from: usize, target: usize) -> usize {
    from + ((target - from) / 2).max(WORTH_SAVING)
}

impl<S: System> Cursor<S> {
    pub fn new(system: S) -> Self {
        Cursor {
            system,
            trace: Trace::new(),
            rewinds: true,
            verifies: false,
            checkpoints: Vec::new(),
            fingerprints: Vec::new(),
        }
    }

    /// Drops all steps of the execution but the first `len`. The system stays where it is until [`Cursor::go_to`].
    pub fn truncate(&mut self, len: usize) {
        self.trace.truncate(len);
        self.fingerprints.truncate(len + 1);
        if self.checkpoints.last().is_some_and(|&(steps, _)| steps > len) {
            let kept = self.checkpoints.partition_point(|&(steps, _)| steps <= len);
            self.forget_checkpoints(kept);
        }
    }

    /// Exchanges the execution for that of another search, and forgets what was saved on its way.
    pub fn exchange_trace(&mut self, other: &mut Trace) {
        self.forget_checkpoints(0);
        self.fingerprints.clear();
        std::mem::swap(&mut self.trace, other);
    }

    /// Forgets all checkpoints but the first ones.
    pub fn forget_checkpoints(&mut self, kept: usize) {
        let Some(&(_, first)) = self.checkpoints.get(kept) else {
            return;
        };
        self.checkpoints.truncate(kept);
        if let Some(rewindable) = self.system.rewindable() {
            rewindable.forget_from(first);
        }
    }

    /// Takes the fingerprint of the current state, which is that at the end of the execution, and notes it for
    /// [`Cursor::verify`].
    pub fn fingerprint(&mut self) -> Option<Fingerprint> {
        let fingerprint = self.system.fingerprint()?;
        let steps = self.trace.len();
        if self.fingerprints.len() <= steps {
            self.fingerprints.resize(steps + 1, None);
        }
        self.fingerprints[steps] = Some(fingerprint);
        Some(fingerprint)
    }

    /// The fingerprint of the state after so many steps, if it has been taken.
    pub fn known_fingerprint(&self, steps: usize) -> Option<Fingerprint> {
        self.fingerprints.get(steps).copied().flatten()
    }

    /// The known fingerprints of the states on the way.
    pub fn fingerprints(&self) -> &Vec<Option<Fingerprint>> {
        &self.fingerprints
    }

    /// Restores saved fingerprints.
    pub fn restore_fingerprints(&mut self, fingerprints: Vec<Option<Fingerprint>>) {
        self.fingerprints = fingerprints;
    }

    /// Goes to the state after the first `target` steps of the execution: from the last saved state before it, if there
    /// is one, and otherwise from the start. Counts the steps.
    pub fn go_to(&mut self, target: usize, statistics: &mut Statistics) -> Result<(), Halt> {
        let arrived = self.repeat_up_to(target, statistics);
        self.system.recollect(u32::MAX);
        arrived
    }

    fn repeat_up_to(&mut self, target: usize, statistics: &mut Statistics) -> Result<(), Halt> {
        let from = match self.rewind_within(target, statistics) {
            Some(steps) => {
                self.verify(steps)?;
                steps
            }
            None => {
                self.system.restart();
                0
            }
        };
        let mut scratch = Step::default();
        let mut next_saved = middle(from, target);
        for i in from..target {
            let event = &self.trace.events()[i];
            let (transition, expected) = (event.transition(), event.step().signature);
            statistics.steps += 1;
            self.system.recollect(event.lessons());
            self.repeat(i, transition, expected, &mut scratch)?;
            self.verify(i + 1)?;
            if i + 1 == next_saved && i + 1 < target {
                self.save(next_saved);
                next_saved = middle(next_saved, target);
            }
        }
        if target - from >= WORTH_SAVING {
            self.save(target);
        }
        Ok(())
    }

    /// Goes to the last saved state with at most so many steps before it, and returns that number. `None`, and the
    /// system stays where it is, if there is no such state.
    pub fn rewind_within(&mut self, most: usize, statistics: &mut Statistics) -> Option<usize> {
        let known = self.checkpoints.partition_point(|&(steps, _)| steps <= most);
        let &(steps, checkpoint) = self.checkpoints[..known].last()?;
        if !self.system.rewindable()?.rewind(checkpoint) {
            self.forget_checkpoints(0);
            return None;
        }
        statistics.steps += steps as u64;
        statistics.skipped += steps as u64;
        Some(steps)
    }

    /// Saves the state at the end of the execution, where the system is, unless the last saved one is only a few steps
    /// before. On a long way it is to be further before, so that few are saved of any way: hundreds at most.
    pub fn save_ahead(&mut self) {
        let now = self.trace.len();
        let last = self.checkpoints.last().map_or(0, |&(saved, _)| saved);
        if now - last >= SPACING.max(now / OF_THE_WAY) {
            self.save(now);
        }
    }

    /// Saves the current state, after so many steps, unless a later one is saved.
    fn save(&mut self, steps: usize) {
        let later = self.checkpoints.last().is_some_and(|&(saved, _)| saved >= steps);
        if self.rewinds
            && !later
            && let Some(rewindable) = self.system.rewindable()
            && let Some(checkpoint) = rewindable.checkpoint()
        {
            self.checkpoints.push((steps, checkpoint));
        }
    }

    /// Compares the state after `steps` steps with the one at the first visit, if states are verified.
    fn verify(&mut self, steps: usize) -> Result<(), Halt> {
        let known = self.known_fingerprint(steps);
        let Some(expected) = known.filter(|_| self.verifies && steps > 0) else {
            return Ok(());
        };
        if self.system.fingerprint() == Some(expected) {
            return Ok(());
        }
        Err(self.not_deterministic(format!(
            "the program is not deterministic: run again with the same schedule, the state after step {steps} ({}) is \
             another",
            self.trace.events()[steps - 1].thread()
        )))
    }

    /// Repeats a transition of an earlier execution.
    fn repeat(&mut self, i: usize, transition: Transition, expected: u64, step: &mut Step) -> Result<(), Halt> {
        let met = match self.system.repeat(transition, step) {
            Ok(Some(signature)) if signature == expected => return Ok(()),
            Ok(Some(signature)) => self.system.describe(signature),
            Ok(None) => format!("{} cannot run", transition.thread),
            Err(Stop::Refine) => return Err(Halt::Refine),
            Err(Stop::Failed(failure) | Stop::Unsupported(failure)) => failure.to_string(),
        };
        let expected = self.system.describe(expected);
        Err(self.not_deterministic(format!(
            "the program is not deterministic: run again with the same schedule, step {} ({}) was expected to be \
             `{expected}`, and was `{met}`",
            i + 1,
            transition.thread
        )))
    }

    fn not_deterministic(&self, message: String) -> Halt {
        let failure = Failure {
            kind: "nondeterminism",
            message,
        };
        Halt::Failed(failure, self.trace.schedule())
    }
}
