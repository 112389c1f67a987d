//! Output. Commands send [`Event`]s in one stream; a [`Reporter`] shows them to people or to programs.

/// Prints into a `String`, which takes anything.
macro_rules! put {
    ($out:expr, $($text:tt)*) => { writeln!($out, $($text)*).expect("a String takes anything") };
}

mod browser;
mod change;
mod failure;
mod fit;
mod fold;
mod github;
mod html;
mod human;
mod json;
mod junit;
pub mod objects;
mod pair;
#[cfg(test)]
pub mod samples;
mod settings;
mod source;
mod steps;
mod table;
mod waits;
mod weak;
mod words;

pub use failure::{printed_whole, same_failure};
pub use github::GitHub;
pub use html::Html;
pub use human::{Amount, Human};
pub use json::Json;
pub use junit::Junit;

use crate::build::{Binary, Test};
use crate::child::Outcome;
use crate::config::{Config, RunSettings, Settings};
use crate::error::{Error, Exit};
use crate::interrupt::Signal;
use crate::judgement::{Fault, vacuous, weak_orderings};
use dpor_explorer::Shard;
use dpor_protocol::{Counts, Verdict};
use serde::Serialize;
pub use source::{SourceTree, short};
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::time::Duration;
use xxhash_rust::xxh3::Xxh3;

/// The width of an output that is no terminal.
const WIDTH: usize = 140;

/// The note on a run in which no test had a second thread.
const NO_THREADS: &str = "no test used more than one thread, so that nothing was interleaved";

/// Something that happened in a run of tests.
#[derive(Debug)]
pub enum Event<'a> {
    /// The facades are about to be built.
    FacadesBuilding,
    /// The tests are built. The compiler's relative paths are relative to one of these folders; the first is the
    /// workspace's.
    Built { folders: &'a [PathBuf] },
    /// Something looks like a mistake, but does no harm.
    Warning { message: &'a str },
    /// The user asks for the configuration.
    Configured { configuration: &'a Configuration<'a> },
    /// All tests are known, and the user asks for no more.
    Listed { tests: &'a [Test] },
    /// The tests are built, and the user asks for no more.
    Executables { binaries: &'a [Binary] },
    /// All tests are known.
    RunStarted {
        tests: &'a [Test],
        /// The part of an interrupted run that is to be resumed.
        resumed: Option<Resumed>,
    },
    /// A test begins.
    TestStarted { test: &'a Test },
    /// A test makes progress.
    TestProgress { test: &'a Test, counts: &'a Counts },
    /// A test failed, and its schedule runs once more to show how.
    Replaying { test: &'a Test },
    /// A test has ended.
    TestFinished { test: &'a Test, result: &'a TestResult },
    /// All tests have ended, or the rest will not run.
    RunFinished { summary: &'a Summary, exit: Exit },
    /// The command could not do its work. No other event follows.
    Stopped { error: &'a Error },
    /// A signal has ended the command. No other event follows.
    Interrupted {
        signal: Signal,
        /// `--resume` resumes from there.
        resumable: bool,
    },
    /// The requested pair of orders of a test's steps that lead to different states was looked for.
    Compared {
        test: &'a Test,
        number: u64,
        outcome: &'a Outcome,
        /// The command that shows the failure again, if it is one.
        again: Option<&'a str>,
    },
    /// A schedule was replayed on the user's request.
    Replayed {
        test: &'a Test,
        seed: &'a str,
        outcome: &'a Outcome,
        /// The command that shows it again.
        again: &'a str,
    },
}

/// Numbers of tests of an interrupted run that need not be explored from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Resumed {
    /// Tests that were complete.
    pub finished: usize,
    /// Tests that resume where they were interrupted.
    pub interrupted: usize,
}

/// Receives events.
pub trait Reporter {
    /// Receives one event. Events of tests that run at the same time are mixed.
    fn event(&mut self, event: &Event<'_>);

    /// Writes the rest of the output: there are no more events.
    ///
    /// # Errors
    /// If it cannot be.
    fn close(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// The configuration.
#[derive(Debug)]
pub struct Configuration<'a> {
    pub config: &'a Config,
    pub run: RunSettings,
    /// The name of the requested test.
    pub test: Option<&'a str>,
    /// Settings of tests, with the packages to which they apply.
    pub tests: Vec<(Vec<String>, Settings)>,
}

/// Forwards events to every reporter.
#[derive(Default)]
pub struct Listeners(Vec<Box<dyn Reporter>>);

impl Listeners {
    /// Adds a reporter, which receives the events from now on.
    pub fn add(&mut self, reporter: impl Reporter + 'static) {
        self.0.push(Box::new(reporter));
    }
}

impl Reporter for Listeners {
    fn event(&mut self, event: &Event<'_>) {
        for reporter in &mut self.0 {
            reporter.event(event);
        }
    }

    fn close(&mut self) -> Result<(), Error> {
        self.0.iter_mut().try_for_each(|reporter| reporter.close())
    }
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
    /// What the exit code is to show about it.
    pub fault: Option<Fault>,
}

impl TestResult {
    /// The run with the most details of the failure: the repeated one, if it ended in the same way.
    fn shown(&self) -> &Outcome {
        let replay = self.replay.as_ref();
        replay
            .filter(|replay| failure::same_failure(&self.outcome, replay))
            .unwrap_or(&self.outcome)
    }

    /// The whole failure as text of this width.
    fn failure_text(&self, test: &Test, sources: &SourceTree, width: usize) -> String {
        failure::Failure {
            test: &test.display_name(),
            outcome: &self.outcome,
            replay: self.replay.as_ref(),
            again: self.again.as_deref(),
            sources,
            width,
        }
        .render()
    }
}

/// A fingerprint of shards as it is printed. JSON has no numbers of that length.
fn digits(fingerprint: u64) -> String {
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
