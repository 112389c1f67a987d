//! The results of tests, and of a run of them.

use crate::build::Test;
use crate::judgement::{Fault, vacuous, weak_orderings};
use crate::outcome::Outcome;
use crate::report::story;
use dpor_explorer::Shard;
use dpor_protocol::Verdict;
use std::hash::{Hash, Hasher};
use std::time::Duration;
use xxhash_rust::xxh3::Xxh3;

/// The result of one test.
#[derive(Clone, Debug)]
pub struct TestResult {
    /// The exploration.
    pub outcome: Outcome,
    /// The failing schedule, run once more.
    pub replay: Option<Outcome>,
    /// The command that shows the failure again.
    pub again: Option<String>,
    /// What the exit code is to show about it.
    pub fault: Option<Fault>,
}

impl TestResult {
    /// The run with the most details of the failure: the repeated one, if it ended in the same way.
    pub fn shown(&self) -> &Outcome {
        story::shown(&self.outcome, self.replay.as_ref())
    }
}

/// A fingerprint of shards as it is printed. JSON has no numbers of that length.
pub fn digits(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}

/// The results of a run of tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub complete: usize,
    pub failed: usize,
    pub incomplete: usize,
    /// Number of tests in which nothing was interleaved.
    pub vacuous: usize,
    /// Number of tests with racing atomics that request weaker orderings than were explored.
    pub weak_orderings: usize,
    /// Number of tests with more than one thread, or for which that is unknown.
    pub threaded: usize,
    /// The worst fault that the exit code is to show.
    pub fault: Option<Fault>,
    /// Number of tests that did not run because of `--fail-fast`, or because of a signal.
    pub not_run: usize,
    /// Number of tests that were not selected.
    pub left_out: usize,
    /// The part of each test that was explored; `None` for the whole.
    pub shard: Option<Shard>,
    /// The fingerprint that all shards of these tests share, in whatever order tests have ended.
    pub fingerprint: u64,
    pub time: Duration,
}

impl Summary {
    /// Counts one more test.
    pub fn add(&mut self, test: &Test, result: &TestResult) {
        let outcome = &result.outcome;
        match outcome.verdict {
            Verdict::Complete => self.complete += 1,
            Verdict::Failed => self.failed += 1,
            Verdict::Incomplete => self.incomplete += 1,
        }
        self.vacuous += usize::from(vacuous(outcome).is_some());
        self.weak_orderings += usize::from(!weak_orderings(outcome).is_empty());
        self.threaded += usize::from(outcome.counts.threads > 1 || outcome.sharing.is_none());
        self.fault = self.fault.max(result.fault);
        let mut hasher = Xxh3::new();
        (test.id(), outcome.fingerprint).hash(&mut hasher);
        self.fingerprint = self.fingerprint.wrapping_add(hasher.finish());
    }

    /// Number of tests that were run.
    pub fn total(&self) -> usize {
        self.complete + self.failed + self.incomplete
    }
}
