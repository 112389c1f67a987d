//! How executions and explorations end.

use super::{End, Explorer, MILLION, Next, Verdict};
use crate::keys::KeySet;
use crate::strategy::{Refusal, StepName};
use crate::system::{Failure, Outlook, System};
use crate::thread::{BitSet, Status, ThreadId};
use crate::trace::Event;

impl<S: System> Explorer<S> {
    pub(super) fn exhausted(&mut self) -> Verdict {
        if let Some((failure, schedule)) = self.first_failure.take() {
            return Verdict::Failed { failure, schedule };
        }
        match self.statistics.cut {
            0 => match self.left_out() {
                Some(reason) => Verdict::Incomplete { reason },
                None => Verdict::Complete,
            },
            _ if self.unclear > 0 => Verdict::Incomplete {
                reason: format!(
                    "in {} executions, threads repeat themselves, and it is unclear whether they would do so for ever",
                    self.unclear
                ),
            },
            n => Verdict::Incomplete {
                reason: format!("{n} executions were cut at the bound of {} steps", self.limits.depth),
            },
        }
    }

    pub(crate) fn incomplete(&mut self, reason: String) -> Verdict {
        match self.first_failure.take() {
            Some((failure, schedule)) => Verdict::Failed { failure, schedule },
            None => Verdict::Incomplete { reason },
        }
    }

    pub(super) fn limit_reached(&self) -> Option<String> {
        let statistics = &self.statistics;
        let executions = statistics.executions() - self.earlier.executions();
        if let Some(limit) = self.limits.executions.filter(|&limit| executions >= limit) {
            return Some(self.under_bound(format!("the limit of {limit} executions was reached")));
        }
        let steps = statistics.steps - self.earlier.steps;
        if let Some(limit) = self.limits.steps.filter(|&limit| steps >= limit) {
            return Some(self.under_bound(format!("the limit of {limit} steps was reached")));
        }
        // Reading the clock costs as much as a short execution.
        if statistics.executions().is_multiple_of(16) {
            return self.out_of_time();
        }
        None
    }

    pub(crate) fn out_of_time(&self) -> Option<String> {
        let limit = self.limits.time.filter(|&limit| self.started.elapsed() >= limit)?;
        Some(self.under_bound(format!("the time limit of {limit:?} was reached")))
    }

    /// Judges an execution in which no thread is enabled, given the system's verdict. The system's state may be lost.
    pub(crate) fn end_with(&mut self, verdict: Result<(), Failure>) -> End {
        match verdict {
            Ok(()) => End::Complete,
            Err(failure) => match self.system.outlook() {
                Outlook::Stuck => End::Failed(failure),
                Outlook::GoesOn => End::Blocked,
                Outlook::Unclear => {
                    self.unclear += 1;
                    End::Cut
                }
            },
        }
    }

    /// Judges an execution that has reached the bound on its length. If its second half was fair (every thread enabled
    /// in it ran in it, twice, and took each of its alternatives), the program is long or does not terminate: other
    /// executions would be as long, so the exploration ends here. Otherwise a fair scheduler might have ended it.
    pub(super) fn too_long(&mut self) -> Result<End, Next> {
        let len = self.trace.len();
        // Threads that the main thread has left behind may run as long as they like.
        if self.system.threads().first() == Some(&Status::Finished) {
            return Ok(End::Cut);
        }
        let windows = [len / 2..len * 3 / 4, len * 3 / 4..len];
        let fair = windows.into_iter().all(|window| {
            let (states, events) = (&self.states[window.clone()], &self.trace.events()[window]);
            let ran: BitSet = events.iter().map(|e| e.thread().0).collect();
            let operation = |event: &Event, alternative: u32| (event.step().signature, alternative);
            let taken: KeySet<_> = events
                .iter()
                .map(|e| operation(e, e.transition().alternative))
                .collect();
            states.iter().zip(events).all(|(state, event)| {
                let mut alternatives = state.alternatives(event.thread()).into_iter().flat_map(BitSet::iter);
                state.enabled.iter().all(|(thread, _)| ran.contains(thread.0))
                    && alternatives.all(|alternative| taken.contains(&operation(event, alternative)))
            })
        });
        if !fair {
            return Ok(End::Cut);
        }
        let reason = format!(
            "an execution did not end within {len} steps, although every thread that could run did run: the test is \
             long (--max-depth), or does not end"
        );
        self.statistics.cut += 1;
        Err(Next::Done(self.incomplete(reason)))
    }

    /// The estimate of [`Statistics::explored`], with or without the present execution; 0 where there is no such tree.
    pub(super) fn explored(&self, with_present: bool) -> u32 {
        if !self.search.backtracks || self.unfolding.is_some() {
            return 0;
        }
        let (mut explored, mut share) = (0.0, 1.0);
        for state in &self.states[..self.depth] {
            let done = state.sleep.len() - state.inherited;
            let wanted = state.backtrack.iter();
            let left = wanted.flat_map(|thread| state.awake_transitions(ThreadId(thread)));
            let left = left.filter(|&transition| Some(transition) != state.current).count();
            share /= (done + left + 1) as f64;
            explored += share * done as f64;
        }
        let present = if with_present { share } else { 0.0 };
        ((explored + present) * f64::from(MILLION)) as u32
    }

    /// Why the strategy gives up, if it does.
    pub(super) fn refusal(&self) -> Option<String> {
        let Refusal { independent, shared } = self.rules.refusal()?;
        let name = |step: &StepName| {
            let operation = self.system.describe(step.signature);
            format!("step {} of {} (`{operation}`)", step.index, step.thread)
        };
        let [one, other] = independent.each_ref().map(name);
        Some(format!(
            "`{}` requires a transitive dependency: {one} and {other} are independent, but both race with {}",
            self.strategy,
            name(shared)
        ))
    }

    pub(super) fn not_deterministic(&self, message: String) -> Next {
        Next::Done(Verdict::Failed {
            failure: Failure {
                kind: "nondeterminism",
                message,
            },
            schedule: self.trace.schedule(),
        })
    }

    pub(crate) fn broken_off(&mut self) -> Next {
        Next::Done(self.incomplete("exploration was broken off".to_owned()))
    }
}
