//! The command line.

mod foreign;
mod libtest;

use crate::config::{Jobs, Limit, Policy, RunSettings, Settings, Value};
use crate::error::EXIT_CODES;
use clap::error::ErrorKind;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use dpor_explorer::{Shard, Strategy};
use foreign::Place;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Explores every thread interleaving that matters of unmodified Rust tests.
#[derive(Debug, Parser)]
#[command(name = "cargo-dpor", bin_name = "cargo dpor", version, about)]
#[command(after_help = EXIT_CODES, after_long_help = after("\
\x20 cargo dpor test                 explore all tests of the package\n\
\x20 cargo dpor replay dpor1-…       run the schedule of a failure again\n\
\x20 cargo dpor help test            all flags of a command"))]
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
    /// Show the configuration and where each value comes from
    ShowConfig(ShowConfigArgs),
    /// Write a dpor.toml that shows every key, and on request a workflow
    Init(InitArgs),
    /// Print a script that completes command lines of cargo dpor in a shell
    Completions(CompletionsArgs),
    /// Print a manual page
    Man(ManArgs),
}

impl Command {
    /// Cargo's flags, for a command that has them.
    pub fn cargo(&self) -> Option<&CargoArgs> {
        Some(match self {
            Command::Test(args) => &args.cargo,
            Command::Replay(args) => &args.cargo,
            Command::DiffStates(args) => &args.cargo,
            Command::List(args) => &args.cargo,
            Command::ShowConfig(args) => &args.cargo,
            Command::Init(_) | Command::Completions(_) | Command::Man(_) => return None,
        })
    }

    /// The format in which the command prints.
    pub fn message_format(&self) -> MessageFormat {
        match self {
            Command::Test(args) => args.report.message_format,
            Command::Replay(args) => args.report.message_format,
            Command::DiffStates(args) => args.report.message_format,
            Command::List(args) => args.report.message_format,
            Command::ShowConfig(args) => args.report.message_format,
            Command::Init(_) | Command::Completions(_) | Command::Man(_) => MessageFormat::Human,
        }
    }
}

/// The text below the flags in `--help`.
fn after(examples: &str) -> String {
    format!("Examples:\n{examples}\n\n{EXIT_CODES}")
}

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

/// Options for viewing what is written.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Report")]
pub struct OpenArgs {
    /// Open the pages of --report in a browser; without it they are written to `dpor/report` in the target folder
    #[arg(long)]
    pub open: bool,
}

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
\x20 cargo dpor diff-states sums_under_one_lock --pair 3\n      the third"))]
pub struct DiffStatesArgs {
    /// The test: its name, or a part of it that no other test has
    #[arg(value_name = "TEST")]
    pub name: String,
    /// Which pair of orders that lead to different states to show, counted in the order of discovery
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub pair: u64,
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
    pub cargo: CargoArgs,
}

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
    libtest: Vec<String>,
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
    fn settle(&mut self) -> Result<(), clap::Error> {
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
    fn add(&mut self, other: &Names) {
        self.filters.extend_from_slice(&other.filters);
        self.skip.extend_from_slice(&other.skip);
        self.exact |= other.exact;
        self.ignored |= other.ignored;
        self.include_ignored |= other.include_ignored;
    }
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

/// Options of the exploration.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Exploration")]
pub struct ExploreArgs {
    /// How to search for schedules: context, source, unfolding, exhaustive, random or pct; dpor and trans to compare
    /// with [default: context]
    ///
    /// `context` merges what leads to the same state, `source` explores one interleaving of each equivalence class,
    /// `exhaustive` every interleaving; `random` and `pct:DEPTH` draw them and are never complete. `context:OPTIONS`
    /// takes a list of eager, lazy or stored (when states are compared), anticipate and guide; cdpor1, cdpor2 and
    /// cdpor3 are those of the paper. `dpor` (Flanagan and Godefroid) and `trans` (TransDPOR) take nosleep, and fifo,
    /// eca or lca. `unfolding` gives no execution up, at a price in steps; `unfolding:k=NUMBER` takes k-partial
    /// alternatives.
    #[arg(long)]
    pub strategy: Option<Strategy>,
    /// Explore executions without preemptions first, then with one, and so on up to N, until nothing is left out; or
    /// `none` [default: none]
    ///
    /// A preemption is a switch away from a thread that could have gone on. For `context` (which then compares no
    /// states), `source` and `exhaustive`.
    #[arg(long, value_name = "N", value_parser = read::<Limit<u32>>)]
    pub preemptions: Option<Limit<u32>>,
    /// The seed of `--strategy random` and `pct` [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub model: ModelArgs,
    /// Fail a test that leaves memory behind that is neither freed nor reachable
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub leaks: Option<bool>,
    /// Check the checker: keep states whole, compare them byte by byte, and expect each one where it was met before
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub exact_states: Option<bool>,
    /// Look for a simpler schedule that fails in the same way for at most this time; 0 to skip this [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = read::<Duration>)]
    pub simplify: Option<Duration>,
    /// Stop after the first failing test
    #[arg(long, alias = "ff")]
    pub fail_fast: bool,
    /// Run all tests, failures or not (the default)
    #[arg(long, alias = "nff", conflicts_with = "fail_fast")]
    pub no_fail_fast: bool,
    /// Number of tests to explore at the same time [default: 1]
    #[arg(long, value_name = "N", visible_alias = "test-threads")]
    pub test_jobs: Option<Jobs>,
    #[command(flatten)]
    pub verdicts: VerdictArgs,
}

/// Options of the exit code.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Verdicts")]
pub struct VerdictArgs {
    /// Whether incomplete tests change the exit code [default: fail]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub incomplete: Option<Policy>,
    /// Whether tests in which nothing is interleaved change the exit code [default: ok]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub vacuous: Option<Policy>,
    /// Whether racing atomics with orderings weaker than `SeqCst` change the exit code [default: ok]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub weak_orderings: Option<Policy>,
}

/// Options of the model, and budgets.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Exploration")]
pub struct ModelArgs {
    /// Give up a test after this number of executions, or `none` [default: none; 10000 for `random` and `pct`]
    #[arg(long, value_name = "N", value_parser = read::<Limit<u64>>)]
    pub max_executions: Option<Limit<u64>>,
    /// Give up a test after this time (such as 500ms, 30s, 5m, 1h), or `none` [default: 60s; none if it is run alone,
    /// by its name, or has another limit]
    #[arg(long, value_name = "DURATION", value_parser = read::<Limit<Duration>>)]
    pub max_time: Option<Limit<Duration>>,
    /// Give up a test after this number of steps of all executions together, or `none` [default: none]
    #[arg(long, value_name = "N", value_parser = read::<Limit<u64>>)]
    pub max_steps: Option<Limit<u64>>,
    /// Cut an execution after this number of steps [default: 100000]
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u32>,
    /// Give up, as incomplete, when a single step takes longer than this [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = read::<Duration>)]
    pub stall: Option<Duration>,
    /// Let waits on condition variables, futexes, park and park_timeout end without a wake-up
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub spurious_wakeups: Option<bool>,
    /// Let compare_exchange_weak fail without a reason
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub spurious_cas: Option<bool>,
}

impl ModelArgs {
    /// Copies the values given on the command line into settings.
    pub fn set(&self, settings: &mut Settings) {
        settings.max_executions.command_line(self.max_executions);
        settings.max_time.command_line(self.max_time);
        settings.max_steps.command_line(self.max_steps);
        settings.max_depth.command_line(self.max_depth);
        settings.stall.command_line(self.stall);
        settings.spurious_wakeups.command_line(self.spurious_wakeups);
        settings.spurious_cas.command_line(self.spurious_cas);
    }
}

impl ExploreArgs {
    /// Copies the values given on the command line into the settings of tests.
    pub fn set(&self, settings: &mut Settings) {
        self.model.set(settings);
        settings.strategy.command_line(self.strategy);
        settings.preemptions.command_line(self.preemptions);
        settings.seed.command_line(self.seed);
        settings.leaks.command_line(self.leaks);
        settings.exact_states.command_line(self.exact_states);
        settings.simplify.command_line(self.simplify);
        settings.incomplete.command_line(self.verdicts.incomplete);
        settings.vacuous.command_line(self.verdicts.vacuous);
        settings.weak_orderings.command_line(self.verdicts.weak_orderings);
    }

    /// Copies the values given on the command line into the settings of a run.
    pub fn set_run(&self, settings: &mut RunSettings) {
        let fail_fast = (self.fail_fast || self.no_fail_fast).then_some(self.fail_fast);
        settings.fail_fast.command_line(fail_fast);
        settings.test_jobs.command_line(self.test_jobs);
    }
}

/// Files to write.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Report")]
pub struct FileArgs {
    /// Write a page for each test to this folder, for a browser
    #[arg(long = "report", value_name = "FOLDER", value_parser = read::<PathBuf>)]
    pub html: Option<PathBuf>,
    /// Also write the results of the tests to this file, in JUnit's format
    #[arg(long, value_name = "FILE", value_parser = read::<PathBuf>)]
    pub junit: Option<PathBuf>,
}

impl FileArgs {
    /// Copies the values given on the command line into the settings of a run.
    pub fn set(&self, settings: &mut RunSettings) {
        settings.report.command_line(self.html.clone());
        settings.junit.command_line(self.junit.clone());
    }
}

/// Configuration to read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigArgs {
    /// Read this file instead of `dpor.toml` beside the workspace's Cargo.toml
    #[arg(long, value_name = "FILE")]
    pub config_file: Option<PathBuf>,
    /// Use this profile of the configuration, such as `[profile.ci]` in dpor.toml, which overrides the general
    /// settings; `default` for none
    #[arg(long, value_name = "NAME", env = "CARGO_DPOR_PROFILE")]
    pub config_profile: Option<String>,
}

/// A value of a setting, as configuration files have it.
fn read<T: Value>(text: &str) -> Result<T, String> {
    T::read(text)
}

/// The format of the output.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Report")]
pub struct ReportArgs {
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = MessageFormat::Human)]
    pub message_format: MessageFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// Text for people
    #[default]
    Human,
    /// A line of JSON for each event, for programs
    Json,
    /// Text for people, with annotations that GitHub finds in the log of a workflow
    Github,
}

/// Cargo's own flags, with Cargo's meaning.
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
    /// All targets that are tested by default
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
    /// The tests of all benchmark targets
    #[arg(long)]
    pub benches: bool,
    /// The tests of a benchmark target
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// All targets
    #[arg(long)]
    pub all_targets: bool,
    /// Features to activate
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,
    /// All features
    #[arg(long)]
    pub all_features: bool,
    /// Without the default feature
    #[arg(long)]
    pub no_default_features: bool,
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Build with the release profile
    #[arg(short, long, conflicts_with = "profile")]
    pub release: bool,
    /// Build with this profile
    #[arg(long, value_name = "NAME", alias = "cargo-profile")]
    pub profile: Option<String>,
    /// Build for this target, which must be this machine's, whatever `build.target` is
    #[arg(long, value_name = "TRIPLE")]
    pub target: Vec<String>,
    /// Folder for everything built, in its subfolder `dpor`
    #[arg(long, value_name = "FOLDER")]
    pub target_dir: Option<PathBuf>,
    /// Do not change Cargo.lock
    #[arg(long)]
    pub locked: bool,
    /// Do not use the network
    #[arg(long)]
    pub offline: bool,
    /// Both --locked and --offline
    #[arg(long)]
    pub frozen: bool,
    /// Ignore the Rust version that packages require
    #[arg(long)]
    pub ignore_rust_version: bool,
    /// Override a value of Cargo's configuration, or read another configuration file
    #[arg(long, value_name = "KEY=VALUE|PATH")]
    pub config: Vec<String>,
    /// Build jobs
    #[arg(short, long, value_name = "N", alias = "build-jobs", allow_hyphen_values = true)]
    pub jobs: Option<String>,
    /// Write a page with the duration of each part of the build
    #[arg(long)]
    pub timings: bool,
    /// Report code that later compilers will reject
    #[arg(long)]
    pub future_incompat_report: bool,
    /// Print more; twice for very much
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Print only failures and the summary
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
    /// The flags that select what is built, which the `replay` of a failure needs again.
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
        flag(self.benches, "--benches");
        flag(self.all_targets, "--all-targets");
        flag(self.all_features, "--all-features");
        flag(self.no_default_features, "--no-default-features");
        flag(self.release, "--release");
        flag(self.ignore_rust_version, "--ignore-rust-version");
        let lists = [
            ("--package", &self.package),
            ("--exclude", &self.exclude),
            ("--bin", &self.bin),
            ("--test", &self.test),
            ("--example", &self.example),
            ("--bench", &self.bench),
            ("--features", &self.features),
            ("--config", &self.config),
            ("--target", &self.target),
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

    /// Whether only some of a package's targets are selected.
    pub fn selects_targets(&self) -> bool {
        let lists = [&self.bin, &self.test, &self.example, &self.bench];
        self.lib
            || self.bins
            || self.tests
            || self.examples
            || self.benches
            || lists.iter().any(|list| !list.is_empty())
    }

    /// The flags for the lock file and the network.
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

/// Parses the arguments of the process. Cargo runs `cargo dpor x` as `cargo-dpor dpor x`; both forms are accepted.
///
/// # Errors
/// What clap has to say, help included.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|first| first == "dpor") {
        arguments.remove(1);
    }
    let mut cli = Cli::try_parse_from(arguments).map_err(|error| foreign::explained(error, Place::Command))?;
    libtest::take_in(&mut cli.command)?;
    if let Command::Test(TestArgs { select, .. }) | Command::List(ListArgs { select, .. }) = &mut cli.command {
        select.settle()?;
    }
    Ok(cli)
}

#[cfg(test)]
mod tests;
