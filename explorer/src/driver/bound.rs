//! The bound on preemptions, which grows from 0.

#[cfg(feature = "faults")]
use super::Fault;
use super::{Explorer, Report, Verdict};
use crate::strategy::Rules;
use crate::system::System;
use crate::thread::{Status, ThreadId};

impl<S: System> Explorer<S> {
    /// The rules of the strategy, under the present bound if there is one.
    pub(super) fn fresh_rules(&self) -> Box<dyn Rules> {
        #[cfg(feature = "faults")]
        let conservative = self.fault != Some(Fault::SkipBlockStarts);
        #[cfg(not(feature = "faults"))]
        let conservative = true;
        self.preemptions
            .and_then(|bound| self.strategy.bounded_rules(bound, conservative))
            .unwrap_or_else(|| self.strategy.rules())
    }

    /// Allows one more preemption if the present bound has left something out. Says whether it has.
    pub(super) fn widen(&mut self) -> bool {
        let (Some(bound), Some(limit)) = (self.preemptions, self.limits.preemptions) else {
            return false;
        };
        let widens = self.rules.left_out() && bound < limit;
        if widens {
            self.preemptions = Some(bound + 1);
            self.rules = self.fresh_rules();
        }
        widens
    }

    /// Notes in the state on top of the stack which thread would be preempted there, and the number of preemptions so
    /// far.
    pub(super) fn count_preemptions(&mut self) {
        let (below, above) = self.states.split_at_mut(self.depth);
        let state = &mut above[0];
        (state.holding, state.preemptions) = (None, 0);
        let (Some(parent), Some(event)) = (below.last(), self.trace.events().last()) else {
            return;
        };
        let last = event.thread();
        let preempted = |holding: ThreadId| holding != last;
        state.preemptions = parent.preemptions + u32::from(parent.holding.is_some_and(preempted));
        let goes_on = state.alternatives(last).is_some() && !self.system.gives_way(last);
        state.holding = goes_on.then_some(last);
    }

    /// Tells the rules which threads have just begun to wait in the state on top of the stack, or may now wait for
    /// another reason.
    pub(super) fn tell_of_waits(&mut self) {
        let Some(event) = self.trace.events().last() else {
            return;
        };
        for (i, status) in self.system.threads().iter().enumerate() {
            if *status != Status::Blocked {
                continue;
            }
            let thread = ThreadId(i as u32);
            let step = event.step();
            let pending = self.system.pending(thread);
            if self.states[self.depth - 1].alternatives(thread).is_some()
                || step.spawned.contains(&thread)
                || step.footprint.conflicts_with(&pending.footprint)
            {
                self.rules.may_wait(
                    &mut self.states,
                    &self.trace,
                    thread,
                    &pending.footprint,
                    &mut self.statistics,
                );
            }
        }
    }

    /// Adds the part explored under bounds to a reason to stop.
    pub(super) fn under_bound(&self, reason: String) -> String {
        match self.preemptions {
            None => reason,
            Some(0) => format!("{reason}, within the executions without preemptions"),
            Some(bound) => format!(
                "{reason}, within the executions with at most {}; those with fewer were explored",
                preemptions(bound)
            ),
        }
    }

    /// What the bound has left out of a finished search.
    pub(super) fn left_out(&self) -> Option<String> {
        let bound = self.preemptions.filter(|_| self.rules.left_out())?;
        let explored = match bound {
            0 => "without preemptions".to_owned(),
            bound => format!("with at most {}", preemptions(bound)),
        };
        Some(format!(
            "executions {explored} were explored, and there are others (--preemptions)"
        ))
    }
}

impl Report {
    /// A search's note on its bound on preemptions, which qualifies its verdict.
    pub fn about_preemptions(&self) -> Option<String> {
        match (&self.verdict, self.preemptions?) {
            (Verdict::Complete, 0) => Some("nothing needs a preemption".into()),
            (Verdict::Complete, n) => Some(format!("nothing needs more than {}", preemptions(n))),
            (Verdict::Failed { .. }, 0) => Some("this failure needs no preemption".into()),
            (Verdict::Failed { .. }, _) if self.statistics.cut > 0 => None,
            (Verdict::Failed { .. }, n) => Some(format!("no execution with fewer than {} fails", preemptions(n))),
            (Verdict::Incomplete { .. }, _) => None,
        }
    }
}

fn preemptions(bound: u32) -> String {
    match bound {
        1 => "1 preemption".to_owned(),
        n => format!("{n} preemptions"),
    }
}
