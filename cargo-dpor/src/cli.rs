//! The command line.

use crate::error::EXIT_CODES;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use dpor_explorer::{Context, Strategy};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Explores every thread interleaving that matters of unmodified Rust tests.
#[derive(Debug, Parser)]
#[command(name = "cargo-dpor", bin_name = "cargo dpor", version, about, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Explore tests
    Test(TestArgs),
    /// Run one schedule again, step by step
    Replay(ReplayArgs),
    /// Show why two orders of the same steps of a test count as different
    DiffStates(DiffStatesArgs),
    /// List the tests
    List(ListArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct TestArgs {
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub explore: ExploreArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    /// Write what came of each test to a file as well, in JUnit's format
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    pub junit: Option<PathBuf>,
    #[command(flatten)]
    pub cargo: CargoArgs,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct ReplayArgs {
    /// The seed that a failure printed, or the file that has it
    pub seed: String,
    /// Say that there is no progress when a step takes longer than this
    #[arg(long, value_name = "SECS", default_value = "10", value_parser = duration)]
    pub stall: Duration,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub cargo: CargoArgs,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct DiffStatesArgs {
    /// The test: its name, or a part of it that no other test has
    #[arg(value_name = "TEST")]
    pub name: String,
    /// Which pair of orders that lead to different states to show, in the order in which they are met
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub pair: u64,
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub cargo: CargoArgs,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct ListArgs {
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub cargo: CargoArgs,
}

/// Which tests.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Test selection")]
pub struct SelectArgs {
    /// Only tests whose name contains one of these
    #[arg(value_name = "FILTERS")]
    pub filters: Vec<String>,
    /// Filters are whole names, those of --skip too
    #[arg(long)]
    pub exact: bool,
    /// Only ignored tests
    #[arg(long, conflicts_with = "include_ignored")]
    pub ignored: bool,
    /// Ignored tests too
    #[arg(long)]
    pub include_ignored: bool,
    /// Leave out tests whose name contains this
    #[arg(long, value_name = "FILTER")]
    pub skip: Vec<String>,
}

/// How to explore.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Exploration")]
pub struct ExploreArgs {
    /// How to search for schedules: context, source, unfolding, exhaustive, random or pct; dpor and trans to compare with
    ///
    /// `context` merges what leads to the same state, `source` explores one interleaving of each equivalence class,
    /// `exhaustive` every interleaving; `random` and `pct:DEPTH` draw them and are never complete. `context:OPTIONS` takes a list of eager, lazy or
    /// stored (when states are compared), anticipate and guide; cdpor1, cdpor2 and cdpor3 are those of the paper.
    /// `dpor` (Flanagan and Godefroid) and `trans` (TransDPOR) take nosleep, and fifo, eca or lca.
    /// `unfolding` gives no execution up, at a price in steps; `unfolding:k=NUMBER` takes k-partial alternatives.
    #[arg(long, default_value_t = Strategy::Context(Context::default()))]
    pub strategy: Strategy,
    /// The seed of `--strategy random` and `pct`
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    #[command(flatten)]
    pub model: ModelArgs,
    /// Fail a test that leaves memory behind which was not freed and is not reachable
    #[arg(long)]
    pub leaks: bool,
    /// Check the checker: keep states whole, compare them byte by byte, and expect each where it was met before
    #[arg(long)]
    pub exact_states: bool,
    /// Look for so long for a simpler schedule that fails in the same way; 0 for not at all
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration)]
    pub simplify: Duration,
    /// Stop after the first failing test
    #[arg(long)]
    pub fail_fast: bool,
    /// Run all tests, failures or not (the default)
    #[arg(long, conflicts_with = "fail_fast")]
    pub no_fail_fast: bool,
    /// Tests to explore at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub test_jobs: u16,
}

/// How much to explore, and of what model.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Exploration")]
pub struct ModelArgs {
    /// Give up a test after so many executions [default: none; 10000 for `random` and `pct`]
    #[arg(long, value_name = "N")]
    pub max_executions: Option<u64>,
    /// Give up a test after this time (such as 500ms, 30s, 5m, 1h)
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub max_time: Option<Duration>,
    /// Give up a test after so many steps of all executions together
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
    /// Cut an execution after so many steps
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub max_depth: u32,
    /// Say that there is no progress when a step takes longer than this
    #[arg(long, value_name = "SECS", default_value = "10", value_parser = duration)]
    pub stall: Duration,
    /// Let waits on condition variables end without a notification
    #[arg(long)]
    pub spurious_wakeups: bool,
    /// Let compare_exchange_weak fail without a reason
    #[arg(long)]
    pub spurious_cas: bool,
}

/// Who is told what happens.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Report")]
pub struct ReportArgs {
    /// For whom to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = MessageFormat::Human)]
    pub message_format: MessageFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// People
    #[default]
    Human,
    /// Programs: a line of JSON for each event
    Json,
    /// People, with annotations that GitHub finds in the log of a workflow
    Github,
}

/// Flags that are Cargo's own, with Cargo's meaning.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cargo options")]
pub struct CargoArgs {
    /// Package to test
    #[arg(short, long, value_name = "SPEC")]
    pub package: Vec<String>,
    /// All packages of the workspace
    #[arg(long, alias = "all")]
    pub workspace: bool,
    /// Leave out a package
    #[arg(long, value_name = "SPEC", requires = "workspace")]
    pub exclude: Vec<String>,
    /// The library's unit tests
    #[arg(long)]
    pub lib: bool,
    /// The unit tests of all binaries
    #[arg(long)]
    pub bins: bool,
    /// The unit tests of a binary
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<String>,
    /// All targets that have tests on by default
    #[arg(long)]
    pub tests: bool,
    /// An integration test
    #[arg(long, value_name = "NAME")]
    pub test: Vec<String>,
    /// The tests of all examples
    #[arg(long)]
    pub examples: bool,
    /// The tests of an example
    #[arg(long, value_name = "NAME")]
    pub example: Vec<String>,
    /// All targets
    #[arg(long)]
    pub all_targets: bool,
    /// Features to activate
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,
    /// All features
    #[arg(long)]
    pub all_features: bool,
    /// Not the default feature
    #[arg(long)]
    pub no_default_features: bool,
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Build with the release profile
    #[arg(short, long, conflicts_with = "profile")]
    pub release: bool,
    /// Build with this profile
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Folder for everything built; `dpor` inside of it is used
    #[arg(long, value_name = "FOLDER")]
    pub target_dir: Option<PathBuf>,
    /// Cargo.lock must not change
    #[arg(long)]
    pub locked: bool,
    /// No network
    #[arg(long)]
    pub offline: bool,
    /// Both of the two
    #[arg(long)]
    pub frozen: bool,
    /// Build jobs
    #[arg(short, long, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<String>,
    /// Say more; twice for very much
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Say nothing but failures and the summary
    #[arg(short, long)]
    pub quiet: bool,
    /// Colours
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    pub fn name(self) -> &'static str {
        match self {
            Color::Auto => "auto",
            Color::Always => "always",
            Color::Never => "never",
        }
    }
}

impl CargoArgs {
    /// The flags that choose what is built: what a `replay` of a failure needs again.
    pub fn selection(&self) -> Vec<OsString> {
        let mut out: Vec<OsString> = Vec::new();
        let mut flag = |given: bool, name: &str| {
            if given {
                out.push(name.into());
            }
        };
        flag(self.workspace, "--workspace");
        flag(self.lib, "--lib");
        flag(self.bins, "--bins");
        flag(self.tests, "--tests");
        flag(self.examples, "--examples");
        flag(self.all_targets, "--all-targets");
        flag(self.all_features, "--all-features");
        flag(self.no_default_features, "--no-default-features");
        flag(self.release, "--release");
        let lists = [
            ("--package", &self.package),
            ("--exclude", &self.exclude),
            ("--bin", &self.bin),
            ("--test", &self.test),
            ("--example", &self.example),
            ("--features", &self.features),
        ];
        for (name, values) in lists {
            for value in values {
                out.extend([name.into(), value.into()]);
            }
        }
        if let Some(profile) = &self.profile {
            out.extend(["--profile".into(), profile.into()]);
        }
        if let Some(path) = &self.manifest_path {
            out.extend(["--manifest-path".into(), path.into()]);
        }
        out
    }

    /// The flags about the lock file and the network.
    pub fn network(&self) -> Vec<&'static str> {
        [
            (self.locked, "--locked"),
            (self.offline, "--offline"),
            (self.frozen, "--frozen"),
        ]
        .into_iter()
        .filter_map(|(given, name)| given.then_some(name))
        .collect()
    }
}

/// Parses the arguments of the process. Cargo runs `cargo dpor x` as `cargo-dpor dpor x`; both forms are understood.
///
/// # Errors
/// What clap has to say, help included.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|first| first == "dpor") {
        arguments.remove(1);
    }
    Cli::try_parse_from(arguments)
}

/// A number with an optional unit; seconds without one.
fn duration(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[number.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        unit => return Err(format!("unknown unit `{unit}`: use ms, s, m or h")),
    };
    let value: f64 = number
        .parse()
        .map_err(|_| "not a number with an optional unit, such as 30s".to_string())?;
    Duration::try_from_secs_f64(value * scale).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests;
