//! What `cargo dpor` asks a test process to do.

use crate::VERSION;
use serde::{Deserialize, Serialize};

/// The order to a test process, in the environment variable [`crate::ENV`] as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// [`VERSION`] of the process that wrote this.
    pub version: u32,
    /// The name under which seeds know the test. It is more than the name within the binary, so that a
    /// seed finds its test in a workspace.
    pub test: String,
    /// Explore, or run one schedule.
    pub mode: Mode,
    /// The name of the strategy, `source` for example.
    pub strategy: String,
    /// The seed of the `random` strategy.
    #[serde(default)]
    pub random_seed: u64,
    /// When to give up.
    pub limits: Limits,
    /// Waits on condition variables may end without a notification.
    pub spurious_wakeups: bool,
    /// `compare_exchange_weak` may fail although the value was the expected one.
    pub spurious_cas: bool,
    /// States are kept whole, and all that the strategy takes for granted about them is checked.
    #[serde(default)]
    pub exact_states: bool,
    /// The inherited file descriptor that takes messages.
    pub pipe: i32,
    /// The inherited file descriptor of the file that holds the [`crate::SharedSchedule`].
    pub map: i32,
}

/// What a test process is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Mode {
    /// Explore all schedules.
    Explore,
    /// Run the schedule of a seed and report each step.
    Replay {
        /// The seed as printed.
        seed: String,
    },
    /// Show where the states differ to which two orders of the same steps lead.
    DiffStates {
        /// Which one of the pairs of orders that lead to different states, from 1.
        pair: u64,
    },
}

/// Budgets of an exploration; one that is used up makes the verdict `incomplete`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The most executions.
    pub executions: Option<u64>,
    /// The most steps of all executions together.
    pub steps: Option<u64>,
    /// The longest time, in seconds.
    pub seconds: Option<f64>,
    /// The most steps of one execution.
    pub depth: u32,
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// A sentence that says what is wrong: no JSON of this shape, or another [`VERSION`].
    pub fn from_json(text: &str) -> Result<Config, String> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let Version { version } =
            serde_json::from_str(text).map_err(|e| format!("the configuration in {} is malformed: {e}", crate::ENV))?;
        if version != VERSION {
            return Err(format!(
                "the configuration in {} has version {version}, but this test was built for version {VERSION}",
                crate::ENV
            ));
        }
        serde_json::from_str(text).map_err(|e| format!("the configuration in {} is malformed: {e}", crate::ENV))
    }

    /// Writes the configuration as [`Config::from_json`] reads it.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a configuration has only string keys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            version: VERSION,
            test: "demo/lib/demo tests::a".into(),
            mode: Mode::Replay { seed: "dpor1-x".into() },
            strategy: "source".into(),
            random_seed: 7,
            limits: Limits {
                executions: Some(3),
                steps: None,
                seconds: Some(1.5),
                depth: 100,
            },
            spurious_wakeups: true,
            spurious_cas: false,
            exact_states: true,
            pipe: 5,
            map: 6,
        }
    }

    #[test]
    fn survives_the_journey() {
        assert_eq!(Config::from_json(&config().to_json()), Ok(config()));
        let other = Config {
            mode: Mode::DiffStates { pair: 2 },
            ..config()
        };
        assert_eq!(Config::from_json(&other.to_json()), Ok(other));
    }

    #[test]
    fn another_version_is_named() {
        let text = Config {
            version: 99,
            ..config()
        }
        .to_json();
        assert!(Config::from_json(&text).unwrap_err().contains("version 99"));
        assert!(
            Config::from_json("{\"version\":99}")
                .unwrap_err()
                .contains("version 99")
        );
        assert!(Config::from_json("nonsense").unwrap_err().contains("malformed"));
    }
}
