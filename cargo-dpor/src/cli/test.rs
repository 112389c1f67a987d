//! The arguments of `cargo dpor test`.

use crate::cli::cargo::CargoArgs;
use crate::cli::explore::{ConfigArgs, ExploreArgs};
use crate::cli::help::after;
use crate::cli::output::{FileArgs, OpenArgs, ReportArgs};
use crate::cli::select::SelectArgs;
use crate::error::EXIT_CODES;
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use dpor_explorer::Shard;
use std::str::FromStr;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, after_long_help = after("\
\x20 cargo dpor test\n      explore all tests of the package\n\
\x20 cargo dpor test queue --test it\n      those of one file whose name contains `queue`\n\
\x20 cargo dpor test --max-time 30s --incomplete ok\n      spend 30 seconds on each; what is not finished is no fault\n\
\x20 cargo dpor test --strategy random --max-executions 1000 --seed 7\n      look at 1000 random schedules\n\
\x20 cargo dpor test --shard 2/4\n      the second quarter of the work on each, for one of four machines\n\
\x20 cargo dpor test --report target/dpor/pages --open\n      look at what came of it in a browser\n\
\x20 cargo dpor test --message-format github --junit target/junit.xml\n      in a workflow"))]
pub struct TestArgs {
    #[command(flatten)]
    pub select: SelectArgs,
    /// List the tests without exploring them
    #[arg(long, help_heading = "Test selection")]
    pub list: bool,
    /// What to do if there are no tests to run
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = NoTests::Fail, help_heading = "Test selection")]
    pub no_tests: NoTests,
    /// Resume the last run where it was interrupted, or where it gave up because of a limit
    #[arg(long, help_heading = "Exploration")]
    pub resume: bool,
    /// Explore part K of N of every test; a test is complete if all N parts are
    ///
    /// For N machines that need not know of each other: they explore different executions of each test. All need the
    /// same sources, toolchain, settings and flags.
    #[arg(long, value_name = "K/N", help_heading = "Exploration")]
    pub shard: Option<Shard>,
    #[command(flatten)]
    pub explore: ExploreArgs,
    /// Stop after this number of failing tests; `all` for no limit
    #[arg(long, value_name = "N", help_heading = "Exploration", conflicts_with_all = ["fail_fast", "no_fail_fast"])]
    pub max_fail: Option<MaxFail>,
    /// Show what each test printed in its first execution
    ///
    /// A test has as many outputs as executions, which are held back. What the failing execution printed is always
    /// shown.
    #[arg(long, alias = "nocapture", help_heading = "Report")]
    pub no_capture: bool,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub open: OpenArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Build the tests without exploring them
    #[arg(long, help_heading = "Cargo options", conflicts_with = "list")]
    pub no_run: bool,
    #[command(flatten)]
    pub cargo: CargoArgs,
}

impl TestArgs {
    /// Checks what clap does not: `--list` can also come from the flags behind `--`.
    ///
    /// # Errors
    /// If the flags contradict each other.
    pub fn check(&self) -> Result<(), clap::Error> {
        let files = [
            ("--report", self.files.html.is_some()),
            ("--junit", self.files.junit.is_some()),
            ("--open", self.open.open),
        ];
        match files.into_iter().find(|(_, given)| *given && self.list) {
            None => Ok(()),
            Some((flag, _)) => {
                let what = format!("--list explores no test, so that there are no results for {flag}\n");
                Err(clap::Error::raw(ErrorKind::ArgumentConflict, what))
            }
        }
    }
}

/// The result of a run without tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum NoTests {
    /// The run succeeds
    Pass,
    /// The run succeeds, with a warning
    Warn,
    /// The run fails
    #[default]
    #[value(alias = "auto")]
    Fail,
}

/// Number of failing tests after which no other test is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxFail(pub Option<usize>);

impl FromStr for MaxFail {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<MaxFail, &'static str> {
        match (text, text.parse()) {
            ("all", _) => Ok(MaxFail(None)),
            (_, Ok(0)) => Err("it must be at least 1, or `all`"),
            (_, Ok(number)) => Ok(MaxFail(Some(number))),
            _ => Err("it must be a number, or `all`"),
        }
    }
}
