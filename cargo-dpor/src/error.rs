//! Errors other than a test's failure, and the exit codes.

use dpor_protocol::SeedError;
use std::path::PathBuf;
use std::process::ExitCode;

/// How `cargo dpor` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Every test is complete, or nothing else is to be shown.
    Complete = 0,
    /// A test failed.
    Failed = 1,
    /// Wrong use: a wrong flag, a seed that is invalid or fits nothing, no test to run.
    Usage = 2,
    /// No test failed, and at least one is incomplete, if that is to be shown.
    Incomplete = 3,
    /// The user's code does not build.
    Build = 4,
    /// cargo-dpor could not do its work.
    Internal = 5,
    /// Nothing worse, but a test is vacuous or has weak orderings, and that is to be shown.
    Doubtful = 6,
    /// SIGHUP has ended it.
    HungUp = 129,
    /// SIGINT (Ctrl-C) has ended it.
    Interrupted = 130,
    /// SIGTERM has ended it.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// The table of exit codes in `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  every test is complete
  1  a test failed (replay: the schedule failed again)
  2  wrong use: a wrong flag, wrong configuration, no test to run, a seed that is damaged or
     does not fit the code (diff-states: no pair of that number)
  3  no test failed, and at least one is incomplete (0 with `--incomplete ok`)
  4  the code to test does not build
  5  cargo-dpor could not do its work: no usable compiler, a folder that cannot be written, …
  6  nothing of that, but a test is vacuous (with `--vacuous fail`), or racing atomics have
     weak orderings (with `--weak-orderings fail`)
  130  interrupted by Ctrl-C; 143 by SIGTERM, 129 by SIGHUP (`--resume` goes on)";

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Seed(#[from] SeedError),
    #[error(
        "this seed belongs to none of the {count} tests found here\n  \
         the test was renamed or removed, or is in another package or target: give the flags that `cargo dpor test` had"
    )]
    SeedWithoutTest { count: usize },
    #[error("no tests to run: {0}")]
    NoTests(String),
    #[error("the code to test does not build")]
    Build,
    #[error("`cargo metadata` failed: {0}")]
    Metadata(String),
    #[error("cannot build the facades of the standard library ({what})\n{output}")]
    Facades { what: String, output: String },
    #[error("cannot list the tests of {}: {why}", .binary.display())]
    Listing { binary: PathBuf, why: String },
    #[error("{file}:{line}: {what}")]
    Config { file: String, line: usize, what: String },
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
    #[error("{what}\n  {advice}")]
    Toolchain { what: String, advice: &'static str },
    #[error("`{command}` failed: {why}")]
    Tool { command: String, why: String },
}

impl Error {
    /// Makes an [`Error::Io`] from an I/O error, given what was tried.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }

    /// The exit code for this error.
    pub fn exit(&self) -> Exit {
        match self {
            Error::Usage(_)
            | Error::Seed(_)
            | Error::SeedWithoutTest { .. }
            | Error::NoTests(_)
            | Error::Config { .. } => Exit::Usage,
            Error::Build | Error::Metadata(_) => Exit::Build,
            Error::Facades { .. }
            | Error::Listing { .. }
            | Error::Io { .. }
            | Error::Toolchain { .. }
            | Error::Tool { .. } => Exit::Internal,
        }
    }
}
