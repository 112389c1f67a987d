//! The tests of one crate under the tool.

use crate::report::{self, BUT_FOR_RACES, COMPLETE_WITH_VALUES, Met, SEQUENTIALLY_COMPLETE};
use crate::wild::call::{self, Call};
use crate::wild::{Circumstances, Crate, Source, Table, fetch, logs};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The results of a crate's tests.
#[derive(Debug, Serialize, Deserialize)]
pub struct Run {
    /// The crate, with its version.
    pub id: String,
    /// Why there are no tests, or not all of them: the crate does not build, for example.
    pub error: Option<String>,
    /// All of it, in seconds.
    pub seconds: f64,
    /// The circumstances of the run.
    pub circumstances: Circumstances,
    /// Its tests.
    pub tests: Vec<Tested>,
}

/// The result of a test.
#[derive(Debug, Serialize, Deserialize)]
pub struct Tested {
    /// The target and the name: `lib::tests::a`, `mpsc::b`.
    pub name: String,
    /// Maximum number of threads of an execution.
    pub threads: u64,
    /// Complete executions.
    pub executions: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// The class of the result.
    pub class: Class,
}

/// The class of a test's result.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// All executions were explored.
    Complete,
    /// One failed.
    Failed {
        /// The kind, and the first line of the message.
        what: String,
        /// The seed.
        seed: Option<String>,
        /// The arguments of `cargo` that replay it, without the seed.
        again: Vec<String>,
    },
    /// Not all was explored, for this reason.
    Incomplete(String),
    /// The test did not run, for this reason.
    NotApplicable(String),
}

/// Maximum time without output while it runs tests, each of which ends with a line, besides the time for a test.
const SILENCE: Duration = Duration::from_secs(600);

impl Run {
    /// Fetches a crate, builds its tests, and runs them. [`Run::error`] has the error, if any. The result is kept for
    /// [`Run::last`].
    ///
    /// # Panics
    /// If the tool cannot be started, or nothing can be written.
    pub fn new(table: &Table, krate: &Crate, circumstances: &Circumstances) -> Run {
        let started = Instant::now();
        let mut run = Run {
            id: krate.id(),
            error: None,
            seconds: 0.0,
            circumstances: circumstances.clone(),
            tests: Vec::new(),
        };
        let result = fetch(table, krate).and_then(|source| run.all(krate, &source));
        run.error = result.err();
        run.seconds = started.elapsed().as_secs_f64();
        run.save();
        run
    }

    fn all(&mut self, krate: &Crate, source: &Source) -> Result<(), String> {
        let listing = Call {
            krate,
            source,
            log: "list",
            targets: &krate.targets,
            silence: SILENCE,
        };
        let list = call::tool(&listing, &["list", "--include-ignored"]);
        let all: BTreeSet<_> = list.text.lines().filter_map(report::listed).collect();
        if all.is_empty() {
            return Err(call::first_error(krate, "list").unwrap_or_else(|| format!("no tests: the tool {}", list.end)));
        }
        for name in krate.names() {
            if !all.iter().any(|test| self::name(test) == *name) {
                return Err(format!("the table speaks of a test that there is not: {name}"));
            }
        }
        let (skipped, chosen): (Vec<_>, Vec<_>) = all.iter().partition(|test| krate.skipped(&name(test)).is_some());
        for test in &skipped {
            let reason = krate.skipped(&name(test));
            self.tests
                .extend(reason.map(|reason| Tested::not_run(name(test), reason)));
        }
        let names: BTreeSet<&str> = skipped.iter().map(|(_, name)| name.as_str()).collect();
        if chosen.iter().all(|(_, name)| !names.contains(name.as_str())) {
            let flags: Vec<&str> = names.iter().flat_map(|name| ["--skip", name]).collect();
            self.explore(krate, source, "all", &krate.targets, &flags, &chosen);
        } else {
            // Flags choose tests by their names in all targets alike.
            let mut targets: BTreeMap<&str, Vec<&(String, String)>> = BTreeMap::new();
            chosen
                .iter()
                .for_each(|test| targets.entry(target(test)).or_default().push(test));
            for (target, tests) in targets {
                let flags: Vec<&str> = tests.iter().map(|(_, name)| name.as_str()).collect();
                let log = format!("target-{}", target.replace('/', "-"));
                self.explore(krate, source, &log, &only(target), &flags, &tests);
            }
        }
        Ok(())
    }

    /// Runs tests: those that `flags` choose in the targets `only`. If the tool comes to no good end, those that it has
    /// not come to are run one by one.
    fn explore(
        &mut self,
        krate: &Crate,
        source: &Source,
        log: &str,
        only: &[String],
        flags: &[&str],
        tests: &[&(String, String)],
    ) {
        let log = format!("test-{log}");
        let Circumstances {
            max_time,
            stall,
            test_jobs,
            memory,
            ..
        } = &self.circumstances;
        let (time, jobs) = (format!("{max_time}s"), test_jobs.to_string());
        let call = Call {
            krate,
            source,
            log: &log,
            targets: only,
            silence: SILENCE + Duration::from_secs(*max_time),
        };
        let limits = ["--max-time", &time, "--stall", stall];
        let bounds = [&limits[..], &["--test-jobs", &jobs, "--memory", memory]].concat();
        let arguments = [&["test", "--verbose", "--exact"], &bounds[..], flags].concat();
        let called = call::tool(&call, &arguments);
        let met = report::results(&called.text);
        let (ran, missing): (Vec<_>, Vec<_>) = tests.iter().partition(|test| met.contains_key(**test));
        for test in ran {
            self.tests.push(Tested::new(name(test), &met[test]));
        }
        for test in missing {
            if called.end.is_good() {
                self.tests
                    .push(Tested::not_run(name(test), "ignored by the crate itself"));
            } else if let [_] = tests {
                let reason = match called.end {
                    call::End::Code(2) => "ignored by the crate itself".into(),
                    end => format!("the tool {end}"),
                };
                self.tests.push(Tested::not_run(name(test), &reason));
            } else {
                let log = format!("one-{}", name(test).replace([':', '/'], "-"));
                self.explore(
                    krate,
                    source,
                    &log,
                    &self::only(target(test)),
                    &[test.1.as_str()],
                    &[test],
                );
            }
        }
    }

    /// The run of this crate that was made last, if there is one.
    pub fn last(krate: &Crate) -> Option<Run> {
        toml::from_str(&fs::read_to_string(Run::path(&krate.id())).ok()?).ok()
    }

    fn save(&self) {
        let path = Run::path(&self.id);
        let text = toml::to_string(self).expect("a run has a form in TOML");
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    fn path(id: &str) -> PathBuf {
        logs().join(format!("{id}.toml"))
    }
}

impl Tested {
    fn new(name: String, met: &Met) -> Tested {
        let class = match met.verdict.as_str() {
            "complete" => Class::Complete,
            "failed" => Class::Failed {
                what: met.failure.text.lines().next().unwrap_or_default().into(),
                seed: met.failure.seed.clone(),
                again: met.failure.again.clone(),
            },
            _ => Class::Incomplete(reason(met)),
        };
        Tested {
            name,
            class,
            threads: met.threads,
            executions: met.executions,
            seconds: met.seconds,
        }
    }

    fn not_run(name: String, reason: &str) -> Tested {
        Tested {
            name,
            class: Class::NotApplicable(reason.into()),
            threads: 0,
            executions: 0,
            seconds: 0.0,
        }
    }

    /// Whether more than one thread was seen.
    pub fn is_concurrent(&self) -> bool {
        self.threads > 1
    }
}

/// The target, without the package.
fn target((target, _): &(String, String)) -> &str {
    target.split_once('.').map_or(target, |(_, target)| target)
}

/// The target and the name, without the package.
fn name(test: &(String, String)) -> String {
    format!("{}::{}", target(test), test.1)
}

/// Cargo's flags for a target.
fn only(target: &str) -> Vec<String> {
    match target.strip_prefix("tests/").unwrap_or(target) {
        "lib" if target == "lib" => vec!["--lib".into()],
        file => vec!["--test".into(), file.into()],
    }
}

/// The class of a reason, without the details of one test.
fn reason(met: &Met) -> String {
    let text = met.reason.split(" (").next().unwrap_or_default();
    let classes = [
        ("the time limit of", TIME),
        (
            "an execution did not end within",
            "executions are longer than `--max-depth`",
        ),
        ("executions were cut", "executions are longer than `--max-depth`"),
        (
            "all executions with the last",
            "operations can choose from any number of values",
        ),
        ("the test process did nothing", "no progress within `--stall`"),
        ("the checker was busy", "no progress within `--stall`"),
        ("in a system call, which", "a thread waits in the kernel"),
    ];
    let class = classes.iter().find(|(start, _)| text.contains(start));
    match class.map_or(text, |(_, class)| class) {
        TIME if met.reason.contains(COMPLETE_WITH_VALUES) => {
            format!("{TIME}, with weak memory; complete with the last values of each atomic")
        }
        TIME if met.reason.contains(SEQUENTIALLY_COMPLETE) => {
            let part = if met.reason.contains(BUT_FOR_RACES) {
                BUT_FOR_RACES
            } else {
                ""
            };
            format!("{TIME}, with weak memory; complete without{part}")
        }
        TIME if met.executions == 0 => format!("{TIME} in the first execution"),
        class => class.into(),
    }
}

const TIME: &str = "the time was up";
