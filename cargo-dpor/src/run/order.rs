//! The task of a test process, by settings; and the command that repeats it.

use crate::build::Test;
use crate::child::Order;
use crate::cli::CargoArgs;
use crate::config::Settings;
use dpor_protocol::{Limits, Mode};

/// Default budget of `--strategy random`.
pub const RANDOM_EXECUTIONS: u64 = 10_000;

/// The task of a test process under these settings.
pub fn order(settings: &Settings) -> Order {
    let mut limits = Limits {
        executions: settings.max_executions.value.0,
        steps: settings.max_steps.value.0,
        seconds: settings.max_time.value.0.map(|time| time.as_secs_f64()),
        preemptions: settings.preemptions.value.0,
        depth: settings.max_depth.value,
    };
    let timed = limits.seconds.is_some() && !settings.has_default_time();
    let boundless = limits.executions.is_none() && limits.steps.is_none() && !timed;
    if boundless && settings.strategy.value.is_random() {
        limits.executions = Some(RANDOM_EXECUTIONS);
    }
    Order {
        mode: Mode::Explore,
        strategy: settings.strategy.value.to_string(),
        random_seed: settings.seed.value,
        limits,
        options: settings.model_options(),
        suppressions: settings.suppressed_races.value.0.clone(),
        stronger: Vec::new(),
        executions: false,
        printed: false,
        save: None,
        shard: None,
        stall: settings.stall.value,
    }
}

/// The command that replays a seed, with this run's flags.
pub fn again(seed: &str, test: &Test, args: &CargoArgs) -> String {
    let mut line = format!("cargo dpor replay {seed}");
    let mut flags = args.clone();
    if flags.workspace {
        // One package is enough, and faster to build.
        let package = test.binary.id.split('/').next().unwrap_or_default();
        flags = CargoArgs {
            workspace: false,
            exclude: vec![],
            package: vec![package.into()],
            ..flags
        };
    }
    for argument in flags.selection() {
        let argument = argument.to_string_lossy();
        let plain = argument
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./=,@:+".contains(c));
        line.push(' ');
        line.push_str(&if plain {
            argument.into_owned()
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        });
    }
    if let Some(as_written) = args.as_written {
        line.push_str(if as_written {
            " --as-written"
        } else {
            " --as-written=false"
        });
    }
    line
}
