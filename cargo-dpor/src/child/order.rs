//! The task of a test process.

use crate::build::Test;
use dpor_explorer::{Shard, Strategy};
use dpor_protocol::{Config, Limits, Mode, Options, RaceSuppression, Save, StrongerOrdering};
use std::time::{Duration, Instant};

/// The task of a test process, except for the test.
#[derive(Clone, Debug)]
pub struct Order {
    pub mode: Mode,
    pub strategy: String,
    pub random_seed: u64,
    pub limits: Limits,
    /// The options of the model that are on.
    pub options: Options,
    /// The code whose accesses to memory are in no data race.
    pub suppressions: Vec<RaceSuppression>,
    /// The orderings that operations on atomics have instead of weaker ones that they request.
    pub stronger: Vec<StrongerOrdering>,
    /// Whether to report each execution, up to a bound.
    pub executions: bool,
    /// Whether to report what the first execution prints.
    pub printed: bool,
    /// The place where to save the exploration, if it can be resumed.
    pub save: Option<Save>,
    /// The part to explore; `None` for the whole.
    pub shard: Option<Shard>,
    /// Maximum duration of a step.
    pub stall: Duration,
}

impl Order {
    /// The order in the form in which a process gets it: for this test, with the numbers of the descriptors that it
    /// inherits.
    pub fn config(&self, test: &Test, pipe: i32, map: i32) -> Config {
        Config {
            test: test.id(),
            mode: self.mode.clone(),
            strategy: self.strategy.clone(),
            random_seed: self.random_seed,
            limits: self.limits,
            options: self.options,
            suppressions: self.suppressions.clone(),
            stronger: self.stronger.clone(),
            executions: self.executions,
            printed: self.printed,
            save: self.save.clone(),
            shard: self.shard.map(|shard| shard.to_string()),
            pipe,
            map,
        }
    }

    /// The order to do this about the same test beside its own exploration: with `states`, and no longer than this
    /// time. Nothing is saved, nor reported of single executions.
    pub fn beside(&self, mode: Mode, time: Duration) -> Order {
        Order {
            mode,
            strategy: Strategy::States.to_string(),
            limits: Limits {
                executions: None,
                steps: None,
                preemptions: None,
                seconds: Some(time.as_secs_f64()),
                ..self.limits
            },
            executions: false,
            printed: false,
            save: None,
            ..self.clone()
        }
    }

    /// The time that a process has to end by itself when the command ends. An exploration is saved or surveyed
    /// meanwhile, and a replay is short, and shows how the test fails; anything else is no longer of use.
    pub fn grace(&self) -> Duration {
        match self.mode {
            Mode::Explore | Mode::Survey => Duration::from_secs(5),
            Mode::Replay { .. } => Duration::from_secs(1),
            Mode::Simplify { .. } | Mode::DiffStates { .. } | Mode::Locate { .. } => Duration::ZERO,
        }
    }

    /// When an exploration that has started then has been going on for so long that its process must be ended: it gets
    /// half as much again as its limit, and what a step may take.
    pub fn overtime(&self, started: Instant) -> Option<Instant> {
        let seconds = self.limits.seconds.filter(|_| matches!(self.mode, Mode::Explore))?;
        let limit = Duration::try_from_secs_f64(seconds * 1.5).ok()?;
        started.checked_add(limit.checked_add(self.stall)?)
    }
}
