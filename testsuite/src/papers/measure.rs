//! Exploring a program: as a toy program in this process, or as a Rust test with the tool.

use crate::erased::Erased;
use crate::report;
use crate::tool;
use crate::toy::{Program, Toy};
use dpor_explorer::{Explorer, Limits, Statistics, Strategy, System, Verdict};
use std::any::Any;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Maximum duration of one exploration.
#[derive(Clone, Copy, Debug)]
pub struct Limit(pub Duration);

/// The result of an exploration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measured {
    /// Whether it was cut at the limit.
    pub cut: bool,
    /// An execution failed.
    pub failed: bool,
    /// Executions that ran to their end.
    pub complete: u64,
    /// Executions abandoned because everything enabled was asleep.
    pub blocked: u64,
    /// Executions given up because their state was known.
    pub pruned: u64,
    /// States visited, if reported.
    pub states: Option<u64>,
    /// Time spent.
    pub time: Duration,
}

/// Explores a toy program.
///
/// # Panics
/// If the strategy's name is unknown, or the program fails.
pub fn explore_toy(program: &Program, strategy: &str, limit: Limit) -> Measured {
    let strategy = strategy.parse().unwrap_or_else(|error| panic!("{error}"));
    let measured = explore_system(Toy::new(program.clone()), strategy, limit, true);
    assert!(!measured.failed, "a program of the tables fails");
    measured
}

/// Explores a toy system, to its end or to its first failure.
pub fn explore_system(system: impl System + Any, strategy: Strategy, limit: Limit, first_failure: bool) -> Measured {
    let limits = Limits {
        time: Some(limit.0),
        ..Limits::default()
    };
    let mut explorer = Explorer::new(Erased::new(system), strategy, limits).keep_going(!first_failure);
    let report = explorer.run(&mut ());
    let Statistics {
        complete,
        blocked,
        pruned,
        states,
        time,
        ..
    } = report.statistics;
    Measured {
        // With a failure on record, the verdict does not tell.
        cut: time >= limit.0,
        failed: matches!(report.verdict, Verdict::Failed { .. }),
        complete,
        blocked,
        pruned,
        states: Some(states),
        time,
    }
}

/// Explores tests of the package `papers` with the tool; returns the result of each, by name.
///
/// # Panics
/// If the tool does not run, or a test fails or is missing.
pub fn explore_rust(target: &str, tests: &[&str], strategy: &str, limit: Limit) -> BTreeMap<String, Measured> {
    let output = Command::new(tool::path())
        .args([
            "dpor",
            "test",
            "--verbose",
            "--color",
            "never",
            "--strategy",
            strategy,
            "--memory",
            "sc",
        ])
        .arg(format!("--max-time={}ms", limit.0.as_millis()))
        // The papers' programs are about values: who has accessed what is no part of their states.
        .args(["--data-races=false", "--test", target, "--target-dir"])
        .arg(tool::target_folder().join("tmp").join("papers"))
        .arg("--exact")
        .args(tests)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("papers"))
        .stdin(Stdio::null())
        .output()
        .expect("the tool can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    let met: BTreeMap<_, _> = text.lines().filter_map(line).collect();
    if let Some(missing) = tests.iter().find(|test| !met.contains_key(**test)) {
        let errors = String::from_utf8_lossy(&output.stderr);
        panic!("{strategy}: nothing of {missing} in:\n{text}{errors}");
    }
    met
}

/// Reads the line of a test that has not failed: verdict, target and name; numbers, with a label after each; the time,
/// and what may stand behind it.
fn line(line: &str) -> Option<(String, Measured)> {
    let words: Vec<_> = line.split_whitespace().collect();
    let [verdict @ ("complete" | "incomplete"), _, name, ref counts @ ..] = words[..] else {
        return None;
    };
    let number = |label| report::count(counts, label);
    let seconds = counts.iter().find_map(|time| time.strip_suffix('s')?.parse().ok())?;
    let measured = Measured {
        cut: verdict == "incomplete",
        failed: false,
        complete: report::complete(counts)?,
        blocked: number("blocked")?,
        // Left out where there are none.
        pruned: number("pruned").unwrap_or(0),
        states: number("states"),
        time: Duration::try_from_secs_f64(seconds).ok()?,
    };
    Some((name.to_owned(), measured))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_their_labels() {
        let text = "  incomplete papers::tables fib_7  20 executions  3 blocked  2 pruned  145 steps  71 states  1.72s";
        let measured = Measured {
            cut: true,
            failed: false,
            complete: 20,
            blocked: 3,
            pruned: 2,
            states: Some(71),
            time: Duration::from_millis(1720),
        };
        assert_eq!(line(text), Some(("fib_7".to_owned(), measured)));
        let text = "    complete papers::tables pi_5  9 executions  0 blocked  145 steps  0.01s";
        let measured = Measured {
            complete: 9,
            time: Duration::from_millis(10),
            ..Measured::default()
        };
        assert_eq!(line(text), Some(("pi_5".to_owned(), measured)));
        assert_eq!(
            line("summary: 28 tests, 23 complete, 0 failed, 5 incomplete in 7.16s"),
            None
        );
    }
}
