//! What is shown. Commands send [`Event`]s; a [`Reporter`] makes something of them, for people or for machines.

/// Prints into a `String`, which takes anything.
macro_rules! put {
    ($out:expr, $($text:tt)*) => { writeln!($out, $($text)*).expect("a String takes anything") };
}

mod failure;
mod human;
mod pair;
mod source;
mod steps;

pub use failure::same_failure;
pub use human::{Amount, Human};
pub use source::SourceTree;

use crate::build::Test;
use crate::child::Outcome;
use dpor_protocol::{Counts, Verdict};
use std::time::Duration;

/// Something that happened in a run of tests.
#[derive(Debug)]
pub enum Event<'a> {
    /// The facades are about to be built.
    FacadesBuilding,
    /// All tests are known.
    RunStarted { tests: &'a [Test] },
    /// A test begins.
    TestStarted { test: &'a Test },
    /// A test goes on.
    TestProgress { test: &'a Test, counts: &'a Counts },
    /// A test failed, and is run once more to see how.
    Replaying { test: &'a Test },
    /// A test has ended.
    TestFinished { test: &'a Test, result: &'a TestResult },
    /// All tests have ended, or the rest is not run.
    RunFinished { summary: &'a Summary },
    /// Two orders of a test's steps were looked for that lead to different states: the given one of all such pairs.
    Compared {
        test: &'a Test,
        number: u64,
        outcome: &'a Outcome,
        /// The command that shows the failure, if it is one, again.
        again: Option<&'a str>,
    },
    /// A schedule was replayed because the user asked for it.
    Replayed {
        test: &'a Test,
        seed: &'a str,
        outcome: &'a Outcome,
    },
}

/// Receives events.
pub trait Reporter {
    /// Takes in one event. Events of tests that run at the same time are mixed.
    fn event(&mut self, event: Event<'_>);
}

/// The result of one test.
#[derive(Clone, Debug)]
pub struct TestResult {
    /// The exploration.
    pub outcome: Outcome,
    /// The failing schedule, run once more.
    pub replay: Option<Outcome>,
    /// The command that shows the failure again.
    pub again: Option<String>,
}

/// The results of a run of tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub complete: usize,
    pub failed: usize,
    pub incomplete: usize,
    /// Tests that were not run because of `--fail-fast`.
    pub not_run: usize,
    /// Tests that were not asked for.
    pub left_out: usize,
    pub time: Duration,
}

impl Summary {
    /// Counts one more test.
    pub fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Complete => self.complete += 1,
            Verdict::Failed => self.failed += 1,
            Verdict::Incomplete => self.incomplete += 1,
        }
    }
}
