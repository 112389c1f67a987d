//! Runs the tests of a suite, each in a process of its own.

use super::build::Suite;
use super::plan::{Plan, Treatment};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The beginning of a line in which a stand-in describes an exploration.
const MARK: &str = "peer-suites: ";
/// The environment variable by which the stand-ins know the strategy.
const STRATEGY: &str = "PEER_SUITES_STRATEGY";
/// And the one by which they know what atomics promise.
const MEMORY: &str = "PEER_SUITES_MEMORY";

/// How tests are explored.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// The strategy.
    pub strategy: &'a str,
    /// What atomics promise: `sc` or `rc11`.
    pub memory: &'a str,
    /// Maximum duration of a test.
    pub time: Duration,
}

/// The result of a test.
#[derive(Clone, Debug, Default)]
pub struct Met {
    /// Whether it passed.
    pub passed: bool,
    /// Whether it expects a panic.
    pub should_panic: bool,
    /// The end of its last exploration, and the number of executions in all of them.
    pub ended: Option<String>,
    /// Number of executions in all of its explorations.
    pub executions: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Its output.
    pub output: String,
}

/// The results of all tests.
#[derive(Debug, Default)]
pub struct Report {
    /// What atomics promised.
    pub memory: String,
    /// The result of each test that was run.
    pub met: BTreeMap<String, Met>,
    /// The deviations from the plan.
    pub mismatches: Vec<String>,
}

impl Suite {
    /// Runs the tests whose names contain `filter`.
    ///
    /// # Errors
    /// An executable does not list its tests.
    pub fn run(&self, filter: &str, how: How<'_>) -> Result<Report, String> {
        let mut report = Report {
            memory: how.memory.to_owned(),
            ..Report::default()
        };
        for (target, executable) in &self.executables {
            let output = Command::new(executable)
                .args(["--list", "--format", "terse"])
                .output()
                .map_err(|error| format!("{}: {error}", executable.display()))?;
            let list = String::from_utf8_lossy(&output.stdout).into_owned();
            for name in list.lines().filter_map(|line| line.strip_suffix(": test")) {
                let test = self.plan.name(target, name);
                if !test.contains(filter) {
                    continue;
                }
                let mut command = Command::new(executable);
                let flags = ["--exact", name, "--include-ignored", "--nocapture", "--test-threads=1"];
                command.args(flags).env(STRATEGY, how.strategy).env(MEMORY, how.memory);
                let met = Met::of(&mut command, how.time)?;
                if let Some(mismatch) = self.plan.judge(&test, how.memory, &met) {
                    report.mismatches.push(mismatch);
                }
                report.met.insert(test, met);
            }
        }
        if filter.is_empty() {
            let unknown = self.plan.failures.keys().filter(|test| !report.met.contains_key(*test));
            let unknown = unknown.map(|test| format!("{test}: expected, but does not occur"));
            report.mismatches.extend(unknown);
        }
        Ok(report)
    }

    /// The tests under their headings, with the results, as a Markdown table; and the exceptions.
    pub fn table(&self, report: &Report) -> String {
        #[derive(Default)]
        struct Row {
            passed: u64,
            failed: u64,
            not_applicable: u64,
            executions: u64,
            seconds: f64,
        }
        let mut rows: BTreeMap<String, Row> = BTreeMap::new();
        let heading = |test: &str| {
            let parts: Vec<&str> = test.split("::").collect();
            parts[..self.plan.heading.min(parts.len() - 1)].join("/")
        };
        for (test, met) in &report.met {
            let row = rows.entry(heading(test)).or_default();
            match self.plan.exception(test, &report.memory) {
                _ if met.passed => row.passed += 1,
                Some(_) => row.not_applicable += 1,
                None => row.failed += 1,
            }
            row.executions += met.executions;
            row.seconds += met.seconds;
        }
        for test in &self.cut {
            rows.entry(heading(test)).or_default().not_applicable += 1;
        }
        let mut sum = Row::default();
        let mut text = String::from(
            "| file | passed | failed | not applicable | executions | seconds |\n|---|---|---|---|---|---|\n",
        );
        let mut line = |heading: &str, row: &Row| {
            let Row {
                passed,
                failed,
                not_applicable,
                executions,
                seconds,
            } = row;
            let _ = writeln!(
                text,
                "| {heading} | {passed} | {failed} | {not_applicable} | {executions} | {seconds:.1} |"
            );
        };
        for (heading, row) in &rows {
            line(heading, row);
            sum.passed += row.passed;
            sum.failed += row.failed;
            sum.not_applicable += row.not_applicable;
            sum.executions += row.executions;
            sum.seconds += row.seconds;
        }
        line("all", &sum);
        text
    }

    /// The exceptions under this memory and their reasons, as a Markdown list.
    pub fn exceptions(&self, memory: &str) -> String {
        let mut text = String::new();
        let exceptions = self.plan.exceptions.iter();
        for exception in exceptions.filter(|exception| exception.applies(memory)) {
            let tests = exception.tests.iter().map(|test| format!("`{test}`"));
            let tests = tests.collect::<Vec<_>>().join(", ");
            let treatment = match exception.treatment {
                Treatment::Fails => "fails, as expected",
                Treatment::Cut => "not built",
            };
            let _ = writeln!(text, "* {} ({treatment}): {tests}.", exception.reason);
        }
        text
    }
}

impl Plan {
    /// The name of a test, with that of its target if the suite has several.
    fn name(&self, target: &str, test: &str) -> String {
        match target {
            "mod" => test.to_owned(),
            _ => format!("{target}::{test}"),
        }
    }

    /// The error in the result of a test.
    fn judge(&self, test: &str, memory: &str, met: &Met) -> Option<String> {
        let expected = self.exception(test, memory).map(|exception| exception.treatment);
        match (expected, met.passed) {
            (None, false) => return Some(format!("{test}: fails\n{}", met.output)),
            (Some(Treatment::Fails), true) => return Some(format!("{test}: passes, though it is an exception")),
            (Some(Treatment::Cut), _) => return Some(format!("{test}: should have been cut")),
            _ => {}
        }
        let ended = met.ended.as_deref().unwrap_or("nothing");
        let expected = match self.failures.get(test) {
            Some(kind) if kind == "sampled" && ended == "complete" => return None,
            Some(kind) if kind == "sampled" => "incomplete",
            Some(kind) => kind.as_str(),
            None if met.ended.is_none() => return None,
            None => "complete",
        };
        (expected != ended && met.passed).then(|| format!("{test}: its exploration is {ended} instead of {expected}"))
    }
}

impl Met {
    fn of(command: &mut Command, time: Duration) -> Result<Met, String> {
        let started = Instant::now();
        let mut child = command
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{command:?}: {error}"))?;
        let drain = |stream: Option<Box<dyn Read + Send>>| {
            thread::spawn(move || {
                let mut text = Vec::new();
                let _ = stream.map(|mut stream| stream.read_to_end(&mut text));
                String::from_utf8_lossy(&text).into_owned()
            })
        };
        let out = drain(child.stdout.take().map(|stream| Box::new(stream) as _));
        let err = drain(child.stderr.take().map(|stream| Box::new(stream) as _));
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if started.elapsed() < time => thread::sleep(Duration::from_millis(2)),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        let mut output = out.join().unwrap_or_default() + &err.join().unwrap_or_default();
        match status {
            None => output.push_str("it did not end in time\n"),
            Some(status) if !status.success() => {
                let _ = writeln!(output, "{status}");
            }
            Some(_) => {}
        }
        let mut met = Met {
            passed: status.is_some_and(|status| status.success()),
            should_panic: output.contains(" - should panic"),
            seconds,
            ..Met::default()
        };
        for told in output
            .lines()
            .filter_map(|line| line.split_once(MARK))
            .map(|(_, told)| told)
        {
            let (kind, executions) = told.rsplit_once(' ').unwrap_or((told, ""));
            met.ended = Some(kind.to_owned());
            met.executions += executions.parse::<u64>().unwrap_or(0);
        }
        met.output = output;
        Ok(met)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mismatch in &self.mismatches {
            writeln!(f, "{mismatch}")?;
        }
        let passed = self.met.values().filter(|met| met.passed).count();
        write!(
            f,
            "{} tests run, {passed} passed, {} not as planned",
            self.met.len(),
            self.mismatches.len()
        )
    }
}
