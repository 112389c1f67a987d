//! Doubts about a test's result beyond its verdict, and their effect on the exit code.

use crate::config::{Policy, Settings};
use crate::outcome::Outcome;
use dpor_protocol::{Verdict, WeakReport};

/// What the exit code has to show about a test; the worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Racing atomics request weaker orderings than were explored.
    WeakOrderings,
    /// Nothing was interleaved.
    Vacuous,
    Incomplete,
    Failed,
}

impl Fault {
    /// A short, stable name.
    pub fn name(self) -> &'static str {
        match self {
            Fault::WeakOrderings => "weak-orderings",
            Fault::Vacuous => "vacuous",
            Fault::Incomplete => "incomplete",
            Fault::Failed => "failed",
        }
    }
}

/// The worst fault that the exit code has to show, if any.
pub fn fault(outcome: &Outcome, settings: &Settings) -> Option<Fault> {
    let fails = |policy: Policy| policy == Policy::Fail;
    match outcome.verdict {
        Verdict::Failed => Some(Fault::Failed),
        Verdict::Incomplete if fails(settings.incomplete.value) => Some(Fault::Incomplete),
        _ if vacuous(outcome).is_some() && fails(settings.vacuous.value) => Some(Fault::Vacuous),
        _ if !weak_orderings(outcome).is_empty() && fails(settings.weak_orderings.value) => Some(Fault::WeakOrderings),
        _ => None,
    }
}

/// Why a complete test may have tested nothing: there was nothing to interleave.
pub fn vacuous(outcome: &Outcome) -> Option<String> {
    // In another shard, they may have met what this one has not.
    let whole = outcome.verdict == Verdict::Complete && outcome.shard.is_none();
    let sharing = outcome.sharing.as_ref().filter(|_| whole)?;
    sharing.vacuous(&outcome.counts)
}

/// Racing atomic operations that request weaker orderings than were explored.
pub fn weak_orderings(outcome: &Outcome) -> &[WeakReport] {
    outcome.sharing.as_ref().map_or(&[], |sharing| &sharing.weak)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Origin;
    use crate::report::samples::outcome;
    use dpor_protocol::{Counts, SharingReport};

    fn met(verdict: Verdict, threads: u64, executions: u64, conflict: bool) -> Outcome {
        let mut outcome = outcome(verdict);
        outcome.counts = Counts {
            threads,
            complete: executions,
            ..Counts::default()
        };
        outcome.sharing = Some(SharingReport { conflict, weak: vec![] });
        outcome
    }

    #[test]
    fn what_is_vacuous() {
        let reason = |threads, executions, conflict| vacuous(&met(Verdict::Complete, threads, executions, conflict));
        assert_eq!(
            reason(1, 1, false).as_deref(),
            Some("one thread, and nothing to choose")
        );
        assert_eq!(reason(1, 2, false), None);
        assert_eq!(
            reason(3, 2, false).as_deref(),
            Some("its 3 threads never touch the same thing")
        );
        assert_eq!(
            reason(2, 1, true).as_deref(),
            Some("its 2 threads take turns, so that there is one order only")
        );
        assert_eq!(reason(2, 2, true), None);
        // Who has failed, or may go on, has not been seen as a whole.
        assert_eq!(vacuous(&met(Verdict::Failed, 1, 1, false)), None);
        assert_eq!(vacuous(&met(Verdict::Incomplete, 2, 1, false)), None);
        // What a pruned or blocked execution shows is another order.
        let mut outcome = met(Verdict::Complete, 2, 1, true);
        outcome.counts.pruned = 1;
        assert_eq!(vacuous(&outcome), None);
        (outcome.counts.pruned, outcome.counts.checks) = (0, 1);
        assert_eq!(vacuous(&outcome), None);
        (outcome.counts.checks, outcome.shard) = (0, "1/2".parse().ok());
        assert_eq!(vacuous(&outcome), None);
        outcome.shard = None;
        assert!(vacuous(&outcome).is_some());
        outcome.sharing = None;
        assert_eq!(vacuous(&outcome), None);
    }

    #[test]
    fn what_the_exit_code_tells() {
        let judged = |outcome: &Outcome, settings: &[(&str, &str)]| {
            let mut all = Settings::default();
            for (key, value) in settings {
                all.set(key, value, &Origin::CommandLine).unwrap();
            }
            fault(outcome, &all)
        };
        let failed = met(Verdict::Failed, 2, 1, true);
        assert_eq!(judged(&failed, &[("incomplete", "ok")]), Some(Fault::Failed));
        let incomplete = met(Verdict::Incomplete, 2, 1, true);
        assert_eq!(judged(&incomplete, &[]), Some(Fault::Incomplete));
        assert_eq!(judged(&incomplete, &[("incomplete", "ok")]), None);
        let vacuous = met(Verdict::Complete, 1, 1, false);
        assert_eq!(judged(&vacuous, &[]), None);
        assert_eq!(judged(&vacuous, &[("vacuous", "fail")]), Some(Fault::Vacuous));
        let mut weak = met(Verdict::Complete, 2, 2, true);
        weak.sharing.as_mut().unwrap().weak.push(WeakReport {
            operation: "load".into(),
            orderings: "Relaxed".into(),
            location: None,
        });
        assert_eq!(judged(&weak, &[("vacuous", "fail")]), None);
        assert_eq!(judged(&weak, &[("weak-orderings", "fail")]), Some(Fault::WeakOrderings));
        // An incomplete test can have them as well.
        weak.verdict = Verdict::Incomplete;
        let both = [("incomplete", "ok"), ("weak-orderings", "fail")];
        assert_eq!(judged(&weak, &both), Some(Fault::WeakOrderings));
    }
}
