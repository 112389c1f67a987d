//! The last message of a test process.

use dpor_explorer::Statistics;
use dpor_protocol::{Counts, FailureReport, Message, Verdict};
use std::time::Duration;

/// The last message about an exploration or a replay.
pub(super) struct LastWord {
    pub verdict: Verdict,
    /// The reason why it is incomplete.
    pub reason: Option<String>,
    pub note: Option<String>,
    pub counts: Counts,
    pub failure: Option<FailureReport>,
    /// The failing schedule, as printed.
    pub seed: Option<String>,
}

impl LastWord {
    /// A verdict about which there is nothing else to say.
    pub fn just(verdict: Verdict) -> LastWord {
        LastWord {
            verdict,
            reason: None,
            note: None,
            counts: Counts::default(),
            failure: None,
            seed: None,
        }
    }

    pub fn incomplete(reason: String) -> LastWord {
        LastWord {
            reason: Some(reason),
            ..LastWord::just(Verdict::Incomplete)
        }
    }

    /// A failure, and the schedule that ends in it if it is one of a single schedule.
    pub fn failed(failure: FailureReport, seed: Option<String>) -> LastWord {
        LastWord {
            failure: Some(failure),
            seed,
            ..LastWord::just(Verdict::Failed)
        }
    }
}

impl From<LastWord> for Message {
    fn from(word: LastWord) -> Message {
        let LastWord {
            verdict,
            reason,
            note,
            counts,
            failure,
            seed,
        } = word;
        Message::Finished {
            verdict,
            reason,
            note,
            counts,
            failure: failure.map(Box::new),
            seed,
        }
    }
}

/// The last word of a process that has nothing more to say than it has said.
pub(crate) fn done() -> Message {
    LastWord::just(Verdict::Complete).into()
}

/// The last word of a process that cannot do what it was asked to do, or not all of it.
pub(crate) fn incomplete(reason: String) -> Message {
    LastWord::incomplete(reason).into()
}

pub(crate) fn counts(statistics: &Statistics, threads: usize, time: Duration) -> Counts {
    Counts {
        complete: statistics.complete,
        blocked: statistics.blocked,
        pruned: statistics.pruned,
        cut: statistics.cut,
        steps: statistics.steps,
        states: statistics.states,
        compared: statistics.compared,
        equal: statistics.equal,
        checks: statistics.checks,
        races: statistics.races,
        refinements: statistics.refinements,
        peak_depth: statistics.peak_depth,
        explored: statistics.explored,
        threads: threads as u64,
        millis: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    }
}
