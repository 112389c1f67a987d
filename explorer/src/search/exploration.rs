//! What the loop over executions, the search and its policy share.
//!
//! Invariant: every step that runs is counted here, also those that are repeated, or skipped because a state was saved.

use super::cursor::Cursor;
use super::faults::Faults;
use super::outcome::{End, Limits};
use crate::statistics::Statistics;
use crate::system::{Failure, Outlook, Status, Step, Stop, System, Transition};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// Why an execution is given up, and with it mostly the exploration.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The system needs more scheduling points: all that was explored is void.
    Refine,
    /// The program failed, in this schedule.
    Failed(Failure, Vec<Transition>),
    /// Part of the executions stays unexplored, for this reason.
    Incomplete(String),
    /// A limit was reached.
    Limit(String),
}

impl Halt {
    /// The observer has asked for an end.
    pub fn broken_off() -> Halt {
        Halt::Incomplete("exploration was broken off".to_owned())
    }

    /// The system cannot model what the program did.
    pub fn unsupported(failure: &Failure) -> Halt {
        Halt::Incomplete(format!("unsupported: {}", failure.message))
    }
}

/// The position of an exploration, its counters and its limits.
pub(crate) struct Exploration<S> {
    pub cursor: Cursor<S>,
    pub statistics: Statistics,
    pub limits: Limits,
    /// Number of steps of an execution after which it is another thread's turn to go on, for the first time.
    pub quantum: NonZeroUsize,
    /// Whether exploration goes on after a failure.
    pub keep_going: bool,
    pub faults: Faults,
    /// Why executions were cut, but for their length.
    pub cuts: Cuts,
    /// The start of this run; before it by the time that was spent on the program otherwise.
    pub started: Instant,
    /// The counters from before the exploration was interrupted.
    pub earlier: Statistics,
    /// Whether executions take so long that the clock is read after each.
    is_slow: bool,
}

/// Why executions were cut.
#[derive(Clone, Default, Debug)]
pub(crate) struct Cuts {
    /// Number of those of which it is unclear whether they could go on.
    pub unclear: u64,
    /// What cannot be modelled of the first one that has come to something like that.
    pub unsupported: Option<String>,
}

crate::codec!(struct Cuts { unclear, unsupported });

/// Number of steps of an execution after which it is another thread's turn to go on, if nothing else was asked for.
pub(crate) const QUANTUM: NonZeroUsize = NonZeroUsize::new(200).unwrap();

/// The number of the turn that begins after so many steps, if one does, but for the first one, which has number 0. The
/// `n`-th after that begins when one of `n` quanta is over.
pub(crate) fn turn_beginning(steps: usize, quantum: NonZeroUsize) -> Option<usize> {
    let quanta = steps / quantum;
    let turn = (2 * quanta).isqrt();
    (steps > 0 && steps % quantum == 0 && turn * (turn + 1) == 2 * quanta).then_some(turn)
}

/// Number of executions after which the clock is read, where they are not slow.
const EXECUTIONS_PER_LOOK: u64 = 16;
/// Mean duration of an execution above which executions are slow.
const SLOW: Duration = Duration::from_micros(100);

/// How a step that ran went.
pub(crate) enum Ran {
    /// The execution can go on.
    On,
    /// The program failed in this step.
    Failed(Failure),
}

impl<S: System> Exploration<S> {
    pub fn new(system: S, limits: Limits) -> Self {
        Exploration {
            cursor: Cursor::new(system),
            statistics: Statistics::default(),
            limits,
            quantum: QUANTUM,
            keep_going: false,
            faults: Faults::default(),
            cuts: Cuts::default(),
            started: Instant::now(),
            earlier: Statistics::default(),
            is_slow: false,
        }
    }

    /// Runs a transition and counts the step. What it did is in `step`, which is cleared before.
    pub fn run(&mut self, transition: Transition, step: &mut Step) -> Result<Ran, Halt> {
        step.clear();
        self.statistics.steps += 1;
        judged(self.cursor.system.step(transition, step))
    }

    /// Runs a transition as the next step of the execution, and counts it. It is not yet an event.
    pub fn run_next(&mut self, transition: Transition) -> Result<Ran, Halt> {
        self.statistics.steps += 1;
        let Cursor { system, trace, .. } = &mut self.cursor;
        let lessons = system.lessons();
        let result = system.step(transition, trace.scratch());
        trace.ran(lessons);
        judged(result)
    }

    /// Ends an execution in which the program has done what cannot be modelled.
    ///
    /// # Errors
    /// If no execution has come to its end: others are likely to come to the same. Also if others would find what this
    /// one leaves behind.
    pub fn cut(&mut self, reason: String) -> Result<End, Halt> {
        if self.statistics.complete == 0 || !self.cursor.system.leaves_nothing() {
            return Err(Halt::Incomplete(reason));
        }
        self.cuts.unsupported.get_or_insert(reason);
        Ok(End::Cut)
    }

    /// Judges an execution in which no thread is enabled, given the system's verdict. The system's state may be lost.
    pub fn end_with(&mut self, verdict: Result<(), Failure>) -> End {
        match verdict {
            Ok(()) => End::Complete,
            Err(failure) => match self.cursor.system.outlook() {
                Outlook::Stuck => End::Failed(failure),
                Outlook::GoesOn => End::Blocked,
                Outlook::Unclear => {
                    self.cuts.unclear += 1;
                    End::Cut
                }
            },
        }
    }

    /// Says whether the main thread has ended. The others, left behind, may run as long as they like.
    pub fn main_has_ended(&self) -> bool {
        self.cursor.system.threads().first() == Some(&Status::Finished)
    }

    /// The reason to stop if a limit has been reached between two executions.
    pub fn limit_reached(&mut self) -> Option<Halt> {
        let statistics = &self.statistics;
        let executions = statistics.executions() - self.earlier.executions();
        if let Some(limit) = self.limits.executions.filter(|&limit| executions >= limit) {
            return Some(Halt::Limit(format!("the limit of {limit} executions was reached")));
        }
        let steps = statistics.steps - self.earlier.steps;
        if let Some(limit) = self.limits.steps.filter(|&limit| steps >= limit) {
            return Some(Halt::Limit(format!("the limit of {limit} steps was reached")));
        }
        // Reading the clock costs as much as a short execution.
        if executions < EXECUTIONS_PER_LOOK || self.is_slow || executions.is_multiple_of(EXECUTIONS_PER_LOOK) {
            let mean = self.started.elapsed() / u32::try_from(executions.max(1)).unwrap_or(u32::MAX);
            self.is_slow = mean > SLOW;
            return self.in_time().err();
        }
        None
    }

    /// Stops if the time limit has been reached.
    pub fn in_time(&self) -> Result<(), Halt> {
        match self.limits.time.filter(|&limit| self.started.elapsed() >= limit) {
            Some(limit) => Err(Halt::Limit(format!("the time limit of {limit:?} was reached"))),
            None => Ok(()),
        }
    }

    /// Time spent so far, also before the exploration was interrupted.
    pub fn time(&self) -> Duration {
        self.earlier.time + self.started.elapsed()
    }
}

fn judged(result: Result<(), Stop>) -> Result<Ran, Halt> {
    match result {
        Ok(()) => Ok(Ran::On),
        Err(Stop::Failed(failure)) => Ok(Ran::Failed(failure)),
        Err(Stop::Refine) => Err(Halt::Refine),
        Err(Stop::Unsupported(failure)) => Err(Halt::unsupported(&failure)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_is_longer_than_the_one_before() {
        let begins = |steps| turn_beginning(steps, QUANTUM).map(|turn| (steps, turn));
        let turns: Vec<_> = (0..=2_000).filter_map(begins).collect();
        assert_eq!(turns, [(200, 1), (600, 2), (1_200, 3), (2_000, 4)]);
    }
}
