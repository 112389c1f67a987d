//! The arguments of the other commands.

use crate::cli::cargo::CargoArgs;
use crate::cli::explore::{ConfigArgs, ExploreArgs, ModelArgs, read};
use crate::cli::help::after;
use crate::cli::output::{FileArgs, OpenArgs, ReportArgs};
use crate::cli::select::SelectArgs;
use crate::error::EXIT_CODES;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, after_long_help = after("\
\x20 cargo dpor replay dpor1-…\n      run the schedule of a failure again\n\
\x20 cargo dpor replay target/dpor/seeds/1f2e3d4c -p bank\n      of a long one, of a package"))]
pub struct ReplayArgs {
    /// The seed that a failure printed, or the file that contains it
    pub seed: String,
    /// Give up, as incomplete, when a single step takes longer than this
    #[arg(long, value_name = "DURATION", value_parser = read::<Duration>)]
    pub stall: Option<Duration>,
    /// Write a page that shows the schedule to this folder, for a browser
    #[arg(long = "report", value_name = "FOLDER", help_heading = "Report")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub open: OpenArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub cargo: CargoArgs,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, after_long_help = after("\
\x20 cargo dpor diff-states sums_under_one_lock\n      the first pair of orders that lead to different states\n\
\x20 cargo dpor diff-states sums_under_one_lock --pair 3\n      the third\n\
\x20 cargo dpor diff-states sums_under_one_lock --all-states\n      what keeps all states of the test apart"))]
pub struct DiffStatesArgs {
    /// The test: its name, or a part of it that no other test has
    #[arg(value_name = "TEST")]
    pub name: String,
    /// Which pair of orders that lead to different states to show, counted in the order of discovery
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub pair: u64,
    /// Explore the test as `test` does, and tell which parts keep its states apart, and in which places those differ
    /// that are alike
    #[arg(long, conflicts_with = "pair")]
    pub all_states: bool,
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub cargo: CargoArgs,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, after_long_help = after("\
\x20 cargo dpor list\n      what would be explored\n\
\x20 cargo dpor list --workspace --ignored\n      ignored tests of all packages"))]
pub struct ListArgs {
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub cargo: CargoArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
cargo dpor completions bash      in ~/.bashrc: source <(cargo dpor completions bash)\n  \
cargo dpor completions zsh > ~/.zfunc/_cargo-dpor      where ~/.zfunc is in $fpath\n  \
cargo dpor completions fish > ~/.config/fish/conf.d/cargo-dpor.fish")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
cargo dpor man | man -l -               read the page\n  \
cargo dpor man test > cargo-dpor-test.1 keep that of a command")]
pub struct ManArgs {
    /// The command to document, instead of all of them
    pub command: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, after_long_help = after("\
\x20 cargo dpor init\n      write dpor.toml beside the workspace's Cargo.toml\n\
\x20 cargo dpor init --ci github\n      and .github/workflows/dpor.yml; a dpor.toml that is there stays as it is"))]
pub struct InitArgs {
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Also write a workflow
    #[arg(long, value_enum, value_name = "WHERE")]
    pub ci: Option<Ci>,
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// The service that runs workflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ci {
    /// GitHub Actions
    Github,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, after_long_help = after("\
\x20 cargo dpor show-config\n      settings, overrides, and where each comes from\n\
\x20 cargo dpor show-config tests::long -p bank\n      what holds for one test\n\
\x20 cargo dpor show-config --max-time 5s\n      with a flag"))]
pub struct ShowConfigArgs {
    /// Show the settings of the test with this name, overrides included
    #[arg(value_name = "TEST")]
    pub name: Option<String>,
    #[command(flatten)]
    pub explore: ExploreArgs,
    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub cargo: CargoArgs,
}
