//! The arguments that set how tests are explored.

use crate::cli::options::{CheckOptions, EnvironmentOptions, OptionArgs};
use crate::config::{Jobs, Limit, Policy, RunSettings, Settings, Value};
use clap::Args;
use dpor_explorer::Strategy;
use dpor_protocol::{Memory, Timeouts};
use std::path::PathBuf;
use std::time::Duration;

/// Options of the exploration.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Exploration")]
pub struct ExploreArgs {
    /// How to search for schedules: states, context, source, optimal, unfolding, exhaustive, random or pct; dpor and
    /// trans to compare with [default: states]
    ///
    /// `states` explores each state of the program once, `context` merges orders of the same steps that lead to one
    /// state, `source` explores one interleaving of each equivalence class, `optimal` does so and gives fewer up or
    /// none, `exhaustive` explores every interleaving; `random` and `pct:DEPTH` draw them and are never complete.
    /// `context:OPTIONS` takes a list of eager, lazy or stored (when states are compared), anticipate and guide;
    /// cdpor1, cdpor2 and cdpor3 are those of the paper. `dpor` (Flanagan and Godefroid) and `trans` (TransDPOR) take
    /// nosleep, and fifo, eca or lca. `unfolding` gives no execution up, at a price in steps; `unfolding:k=NUMBER`
    /// takes k-partial alternatives.
    #[arg(long)]
    pub strategy: Option<Strategy>,
    /// Explore executions without preemptions first, then with one, and so on up to N, until nothing is left out; or
    /// `none` [default: none]
    ///
    /// A preemption is a switch away from a thread that could have gone on. For `states` and `context` (which then
    /// compare no states), `source` and `exhaustive`.
    #[arg(long, value_name = "N", value_parser = read::<Limit<u32>>)]
    pub preemptions: Option<Limit<u32>>,
    /// The seed of `--strategy random` and `pct` [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub checks: OptionArgs<CheckOptions>,
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
    /// When a wait with a timeout times out: `fire` (at once or not: both are explored), `last` (only when nothing else
    /// can go on) or `never` [default: fire]
    #[arg(long, value_name = "WHEN", value_parser = read::<Timeouts>)]
    pub timeouts: Option<Timeouts>,
    /// What atomics promise: `rc11` (what their orderings say: weak memory) or `sc` (sequential consistency, whatever
    /// orderings they request) [default: rc11; sc with the strategies `optimal`, `unfolding` and `trans`, which cannot
    /// do more]
    #[arg(long, value_name = "MODEL", value_parser = read::<Memory>)]
    pub memory: Option<Memory>,
    #[command(flatten)]
    pub environment: OptionArgs<EnvironmentOptions>,
}

impl ModelArgs {
    /// Copies the values given on the command line into settings.
    pub fn set(&self, settings: &mut Settings) {
        settings.max_executions.command_line(self.max_executions);
        settings.max_time.command_line(self.max_time);
        settings.max_steps.command_line(self.max_steps);
        settings.max_depth.command_line(self.max_depth);
        settings.stall.command_line(self.stall);
        settings.timeouts.command_line(self.timeouts);
        settings.memory.command_line(self.memory);
        self.environment.set(settings);
    }
}

impl ExploreArgs {
    /// Copies the values given on the command line into the settings of tests.
    pub fn set(&self, settings: &mut Settings) {
        self.model.set(settings);
        settings.strategy.command_line(self.strategy);
        settings.preemptions.command_line(self.preemptions);
        settings.seed.command_line(self.seed);
        self.checks.set(settings);
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
pub fn read<T: Value>(text: &str) -> Result<T, String> {
    T::read(text)
}
