//! What `cargo dpor` asks a test process to do.

use super::base64;
use crate::{Options, RaceSuppression, StrongerOrdering, VERSION};
use dpor_explorer::codec;
use std::path::PathBuf;

/// The order to a test process, in the file whose descriptor the environment variable [`crate::ENV`] names. A variable
/// could not hold it: the seed of a long schedule exceeds what the system allows.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The name of the test in seeds. It is longer than the name within the binary, so that a seed finds its test in a
    /// workspace.
    pub test: String,
    /// Whether to explore, or to run one schedule.
    pub mode: Mode,
    /// The name of the strategy, `source` for example.
    pub strategy: String,
    /// The seed of the `random` strategy.
    pub random_seed: u64,
    /// The budgets of the exploration.
    pub limits: Limits,
    /// The options of the model that are on.
    pub options: Options,
    /// The code whose accesses to memory are in no data race.
    pub suppressions: Vec<RaceSuppression>,
    /// The orderings that operations on atomics have instead of weaker ones that they request.
    pub stronger: Vec<StrongerOrdering>,
    /// Whether to report each execution, as far as a report has room.
    pub executions: bool,
    /// Whether to report what the first execution of an exploration prints.
    pub printed: bool,
    /// The place where the exploration is saved while it runs, if it is to be saved.
    pub save: Option<Save>,
    /// The part to explore, such as `2/4`; `None` for the whole.
    pub shard: Option<String>,
    /// The inherited file descriptor that takes messages.
    pub pipe: i32,
    /// The inherited file descriptor of the file with the [`crate::SharedSchedule`].
    pub map: i32,
}

dpor_explorer::codec!(struct Config {
    test, mode, strategy, random_seed, limits, options, suppressions, stronger, executions, printed, save, shard,
    pipe, map,
});

/// The file in which an exploration is saved, for a process that resumes it later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// The file.
    pub file: PathBuf,
    /// Its first line, which identifies the exploration.
    pub identity: String,
    /// Resume the exploration in the file.
    pub resume: bool,
}

dpor_explorer::codec!(struct Save { file, identity, resume });

/// The task of a test process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Explore all schedules.
    Explore,
    /// Run the schedule of a seed and report each step.
    Replay {
        /// The seed as printed.
        seed: String,
    },
    /// Look for the simplest schedule that fails as a seed's does, and for where it parts from one that passes.
    Simplify {
        /// The seed as printed.
        seed: String,
        /// The kind of its failure.
        kind: String,
        /// Maximum duration of the search.
        millis: u64,
        /// Look for a simpler schedule; otherwise only for where this one parts from one that passes.
        shorten: bool,
    },
    /// Show how the states differ to which two orders of the same steps lead.
    DiffStates {
        /// The number of the pair among the pairs of orders that lead to different states, counted from 1.
        pair: u64,
    },
    /// Explore all schedules, and tell what keeps their states apart.
    Survey,
    /// Name the functions of the program at these return addresses of
    /// [`SharedSchedule::callers`](crate::SharedSchedule::callers). Nothing is run.
    Locate {
        /// The addresses, innermost first.
        callers: Vec<u64>,
    },
}

dpor_explorer::codec!(enum Mode {
    0 => Explore,
    1 => Replay { seed },
    2 => Simplify { seed, kind, millis, shorten },
    3 => DiffStates { pair },
    4 => Locate { callers },
    5 => Survey,
});

/// Budgets of an exploration; when one is exhausted, the verdict is `incomplete`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Maximum number of executions.
    pub executions: Option<u64>,
    /// Maximum number of steps of all executions together.
    pub steps: Option<u64>,
    /// Maximum time, in seconds.
    pub seconds: Option<f64>,
    /// Maximum number of preemptions of one execution; bounds are tried from 0 on.
    pub preemptions: Option<u32>,
    /// Maximum number of steps of one execution.
    pub depth: u32,
}

dpor_explorer::codec!(struct Limits { executions, steps, seconds, preemptions, depth });

impl Config {
    /// The configuration that `cargo dpor` has left for this process; `None` if another program has started it.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn inherited() -> Option<Result<Config, String>> {
        let number = std::env::var(crate::ENV).ok()?;
        let text = std::fs::read_to_string(format!("/proc/self/fd/{number}"));
        Some(match text {
            Ok(text) => Config::from_text(&text),
            Err(error) => Err(format!(
                "the configuration in descriptor {number} cannot be read: {error}"
            )),
        })
    }

    /// Reads a configuration.
    ///
    /// # Errors
    /// A sentence that says what is wrong: no text of this form, or another [`VERSION`].
    pub fn from_text(text: &str) -> Result<Config, String> {
        let malformed = || "the configuration is malformed".to_string();
        let (version, config) = text.split_once(' ').ok_or_else(malformed)?;
        let version: u32 = version.parse().map_err(|_| malformed())?;
        if version != VERSION {
            return Err(format!(
                "the configuration has version {version}, but this test was built for version {VERSION}"
            ));
        }
        let bytes = base64::decode(config).filter(|(_, whole)| *whole);
        let config = bytes.and_then(|(bytes, _)| codec::from_bytes(&bytes));
        config.ok_or_else(malformed)
    }

    /// Writes the configuration for [`Config::from_text`]: the version, a space, and its bytes in base64.
    pub fn to_text(&self) -> String {
        format!("{VERSION} {}", base64::encode(&codec::to_bytes(self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AtomicOperation, LeastOrderings, MemoryOrdering, ModelOption, SourceLocation};

    fn config() -> Config {
        Config {
            test: "demo/lib/demo tests::a".into(),
            mode: Mode::Replay { seed: "dpor1-x".into() },
            strategy: "source".into(),
            random_seed: 7,
            limits: Limits {
                executions: Some(3),
                steps: None,
                seconds: Some(1.5),
                preemptions: None,
                depth: 100,
            },
            options: [
                ModelOption::SpuriousWakeups,
                ModelOption::Leaks,
                ModelOption::ExactStates,
            ]
            .into_iter()
            .collect(),
            suppressions: vec!["seqlock::SeqLock::read".parse().unwrap()],
            stronger: vec![StrongerOrdering {
                location: SourceLocation {
                    file: "src/lib.rs".into(),
                    line: 3,
                    column: 9,
                },
                operation: AtomicOperation::CompareExchange,
                least: LeastOrderings {
                    success: MemoryOrdering::AcqRel,
                    failure: MemoryOrdering::Acquire,
                },
            }],
            executions: true,
            printed: true,
            save: Some(Save {
                file: "target/dpor/resume/0".into(),
                identity: "x".into(),
                resume: true,
            }),
            shard: Some("2/4".into()),
            pipe: 5,
            map: 6,
        }
    }

    #[test]
    fn survives_the_journey() {
        assert_eq!(Config::from_text(&config().to_text()), Ok(config()));
        let other = Config {
            mode: Mode::DiffStates { pair: 2 },
            ..config()
        };
        assert_eq!(Config::from_text(&other.to_text()), Ok(other));
        let other = Config {
            mode: Mode::Simplify {
                seed: "dpor1-x".into(),
                kind: "panic".into(),
                millis: 2000,
                shorten: true,
            },
            ..config()
        };
        assert_eq!(Config::from_text(&other.to_text()), Ok(other));
    }

    #[test]
    fn another_version_is_named() {
        let text = config().to_text();
        let (_, rest) = text.split_once(' ').unwrap();
        let error = Config::from_text(&format!("99 {rest}")).unwrap_err();
        assert!(error.contains("version 99"), "{error}");
        assert!(Config::from_text("99 nonsense").unwrap_err().contains("version 99"));
        for nonsense in ["nonsense", "", &format!("{VERSION} nonsense"), rest] {
            assert!(Config::from_text(nonsense).unwrap_err().contains("malformed"));
        }
    }
}
