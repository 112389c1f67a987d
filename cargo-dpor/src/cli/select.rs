//! The selection of tests.

use clap::error::ErrorKind;
use clap::{Args, ValueEnum};

/// Selection of tests.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Test selection")]
pub struct SelectArgs {
    #[command(flatten)]
    pub names: Names,
    /// nextest's flag for ignored tests
    #[arg(long, value_enum, value_name = "WHICH", hide = true, conflicts_with_all = ["ignored", "include_ignored"])]
    run_ignored: Option<RunIgnored>,
    /// Filters and flags with libtest's meaning
    #[arg(last = true, value_name = "ARGS", allow_hyphen_values = true)]
    pub libtest: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RunIgnored {
    Default,
    #[value(alias = "ignored-only")]
    Only,
    All,
}

impl SelectArgs {
    /// Merges what was given in several ways.
    ///
    /// # Errors
    /// If that contradicts itself.
    pub fn settle(&mut self) -> Result<(), clap::Error> {
        match self.run_ignored.take() {
            Some(RunIgnored::Only) => self.names.ignored = true,
            Some(RunIgnored::All) => self.names.include_ignored = true,
            Some(RunIgnored::Default) | None => {}
        }
        if self.names.ignored && self.names.include_ignored {
            let what = "ignored tests can be asked for alone or with the others, but not both\n";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, what));
        }
        Ok(())
    }
}

/// Selection of tests by their names.
#[derive(Clone, Debug, Default, Args)]
pub struct Names {
    /// Only tests whose name contains one of these
    #[arg(value_name = "FILTERS")]
    pub filters: Vec<String>,
    /// Match whole names, also for --skip
    #[arg(long)]
    pub exact: bool,
    /// Only ignored tests
    #[arg(long, conflicts_with = "include_ignored")]
    pub ignored: bool,
    /// Include ignored tests
    #[arg(long)]
    pub include_ignored: bool,
    /// Leave out tests whose name contains this
    #[arg(long, value_name = "FILTER")]
    pub skip: Vec<String>,
}

impl Names {
    /// Adds what was given elsewhere.
    pub fn add(&mut self, other: &Names) {
        self.filters.extend_from_slice(&other.filters);
        self.skip.extend_from_slice(&other.skip);
        self.exact |= other.exact;
        self.ignored |= other.ignored;
        self.include_ignored |= other.include_ignored;
    }
}
