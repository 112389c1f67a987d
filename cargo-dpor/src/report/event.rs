//! What happens in a run of tests, in one stream that reporters receive.

use crate::build::{Binary, Test};
use crate::config::{ConfigFiles, RunSettings, Settings};
use crate::error::{Error, Exit};
use crate::interrupt::Signal;
use crate::outcome::Outcome;
use crate::report::result::{Summary, TestResult};
use crate::unseen::Unseen;
use dpor_protocol::Counts;
use serde::Serialize;
use std::path::PathBuf;

/// The note on a run in which no test had a second thread.
pub const NO_THREADS: &str = "no test used more than one thread, so that nothing was interleaved";

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
    /// The tests of a binary are to be explored, and accesses of some of its code are not seen.
    Unseen { binary: &'a Binary, unseen: &'a Unseen },
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
    /// It was looked for what keeps a test's states apart.
    Surveyed {
        test: &'a Test,
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
    pub config: &'a ConfigFiles,
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
