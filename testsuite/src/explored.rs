//! Runs `cargo dpor test` on suites of this package, and reads the events that it prints.

use crate::tool;
use serde::Deserialize;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// How a suite is explored.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// The suite's folder in `testsuite`.
    pub suite: &'a str,
    /// The strategy.
    pub strategy: &'a str,
    /// The memory model, `sc` or `rc11`.
    pub memory: &'a str,
    /// What the command line asks for.
    pub asked: Asked,
    /// More flags of the tool.
    pub flags: &'a [&'a str],
}

/// What the command line of a program that explores suites asks for.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Maximum duration of a test, in seconds.
    pub max_time: u64,
    /// Whether to explore, or to take the events of the last run.
    pub explores: bool,
}

/// Runs such a program. Its options are `--max-time SECS`, for which there is a default, `--help`, and one that has it
/// explore nothing.
pub fn main(
    usage: &str,
    only_reads: &str,
    default_max_time: u64,
    run: impl FnOnce(Asked) -> Result<(), String>,
) -> ExitCode {
    let mut asked = Asked {
        max_time: default_max_time,
        explores: true,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--help" {
            print!("{usage}");
            return ExitCode::SUCCESS;
        } else if argument == only_reads {
            asked.explores = false;
        } else if argument == "--max-time"
            && let Some(Ok(seconds)) = arguments.next().map(|value| value.parse())
        {
            asked.max_time = seconds;
        } else {
            eprint!("neither an option nor its value: {argument}\n\n{usage}");
            return ExitCode::from(2);
        }
    }
    match run(asked) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// A test that was explored.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
pub struct Test {
    /// Its package.
    pub package: String,
    /// Its target.
    pub target: String,
    /// Its name in the target.
    pub name: String,
}

/// The counters of an exploration.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Counts {
    /// Executions that ran to their end.
    pub complete: u64,
    /// Those in which all threads slept.
    pub blocked: u64,
    /// Those that came to a known state.
    pub pruned: u64,
    /// Those that were too long.
    pub cut: u64,
    /// Steps of all executions.
    pub steps: u64,
    /// Visited states.
    pub states: u64,
    /// Duration in milliseconds.
    pub millis: u64,
}

impl Counts {
    /// The executions that were begun.
    pub fn begun(&self) -> u64 {
        self.complete + self.blocked + self.pruned + self.cut
    }
}

/// What a test came to.
#[derive(Clone, Debug)]
pub struct Met {
    /// The verdict, and after a colon the kind of failure, or the reason why it is incomplete, other than time.
    pub verdict: String,
    /// The counters.
    pub counts: Counts,
    /// Whether atomics that race ask for less than `SeqCst`.
    pub weak_orderings: bool,
}

impl Met {
    /// Whether exploration came to an end of its own.
    pub fn ended(&self) -> bool {
        !self.verdict.starts_with("incomplete")
    }
}

#[derive(Deserialize)]
struct Event {
    event: String,
    test: Option<Test>,
    #[serde(default)]
    verdict: String,
    reason: Option<String>,
    failure: Option<Failure>,
    counts: Option<Counts>,
    weak_orderings: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Failure {
    kind: String,
}

/// The events of a suite, as they are kept in `tmp/explored` of the target folder.
fn events(how: &How<'_>) -> PathBuf {
    let How {
        suite,
        strategy,
        memory,
        ..
    } = how;
    tool::target_folder().join(format!("tmp/explored/{suite}-{strategy}-{memory}.json"))
}

/// Explores all tests of a suite, the ignored ones as well.
fn explore(how: &How<'_>) -> Result<(), String> {
    let path = events(how);
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let output = File::create(&path).map_err(failed)?;
    let mut command = Command::new(tool::path());
    command.args(["dpor", "test", "--workspace", "--include-ignored", "--simplify", "0"]);
    command.args(["--strategy", how.strategy, "--memory", how.memory]);
    command.arg(format!("--max-time={}s", how.asked.max_time));
    command.args(["--message-format", "json", "--target-dir"]);
    command.arg(tool::target_folder().join("tmp/explored/target").join(how.suite));
    command.args(how.flags);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(how.suite));
    let status = command.stdin(Stdio::null()).stdout(output).status();
    let status = status.map_err(|error| format!("{}: {error}", tool::path().display()))?;
    // Failing and incomplete tests have exit codes of their own.
    match status.code() {
        Some(0 | 1 | 3) => Ok(()),
        code => Err(format!("cargo dpor test has ended with {code:?}: {how:?}")),
    }
}

/// The results of all tests of a suite, the ignored ones as well: explores them, or takes those of the last time.
///
/// # Errors
/// What the tool could not do, or if there are no results that can be read.
pub fn results(how: &How<'_>) -> Result<Vec<(Test, Met)>, String> {
    if how.asked.explores {
        explore(how)?;
    }
    let path = events(how);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut results = Vec::new();
    for line in text.lines() {
        let event: Event = serde_json::from_str(line).map_err(|error| format!("{error} in {line}"))?;
        let (Some(test), Some(counts), "test-finished") = (event.test, event.counts, event.event.as_str()) else {
            continue;
        };
        let verdict = match (event.failure, event.reason) {
            (Some(failure), _) => format!("{}: {}", event.verdict, failure.kind),
            (None, Some(reason)) if !reason.starts_with("the time limit") => {
                // Which thread was where comes after it, with the files of this machine.
                let what = reason.split(" (thread ").next().unwrap_or(&reason);
                format!("{}: {what}", event.verdict)
            }
            (None, _) => event.verdict,
        };
        let weak_orderings = event.weak_orderings.and_then(|list| Some(!list.as_array()?.is_empty()));
        let met = Met {
            verdict,
            counts,
            weak_orderings: weak_orderings.unwrap_or(false),
        };
        results.push((test, met));
    }
    Ok(results)
}
