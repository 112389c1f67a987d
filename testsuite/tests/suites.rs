//! The tool on real tests: what `cargo dpor test` says of each test of `classics`, `conformance` and `crates`, compared
//! with the `expected.toml` of each; and every failure replayed from its seed. The strategies `source` and `context`
//! must come to the same verdicts and kinds of failures, `context` with no more complete executions than `source`; a
//! table of both is printed, and kept. So must `unfolding` in `classics` and `conformance`, with no more executions
//! than `source` and none given up. These explore sequential consistency, whose executions are known. `states` explores
//! weak memory as by default, and must come to the same, too: no test is about what only weak memory shows. With
//! `--exact-states` it finds no state to be another than it was after the same steps.
//!
//! The tool is the one that `CARGO_DPOR_BIN` names, or else is built first. What the tool prints is kept in the
//! target folder, under `tmp/suites`. Two more variables ask for longer runs:
//!
//! * `SUITES_EXHAUSTIVE=N`: every test also under `exhaustive`, with at most N executions. Where it comes to an end,
//!   its verdict must be the same.
//! * `SUITES_EXACT_STATES=1`: `context` with `--exact-states` as well.
//!
//! For example: `SUITES_EXHAUSTIVE=100000 cargo test -p dpor-testsuite --test suites -- --nocapture`.

use dpor_testsuite::report::{COMPLETE_WITH_VALUES, Met, SEQUENTIALLY_COMPLETE, Table, failures, listed, results};
use dpor_testsuite::tool;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn classics() {
    check(&Suite {
        folder: "classics",
        projects: &[("", &[], &[])],
        long: &[],
        unfolds: true,
    });
}

#[test]
fn conformance() {
    check(&Suite {
        folder: "conformance",
        projects: &[("", &[], &[])],
        long: &[],
        unfolds: true,
    });
}

#[test]
fn crates() {
    check(&Suite {
        folder: "crates",
        projects: &[
            ("", &["--workspace"], &[]),
            ("sample", &[], &[]),
            ("explicit", &["--workspace"], &[]),
            ("reactors", &[], &[]),
            (
                "mixed",
                &["--workspace", "--all-targets"],
                &[
                    "warning: `lto = \"thin\"` of the profile `test` is not followed",
                    "warning: mixed-bank::transfers is left out",
                    "warning: mixed-derive is left out",
                ],
            ),
        ],
        long: &[""],
        unfolds: false,
    });
}

/// The crate that uses the model by name, without the tool.
#[test]
fn explicit_use() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/explicit");
    let output = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--target-dir"])
        .arg(scratch().join("target/explicit"))
        .current_dir(folder)
        .output()
        .expect("Cargo can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("6 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Projects that share an `expected.toml`.
struct Suite {
    folder: &'static str,
    /// The folder of each project in the suite's, the flags that select its tests, and lines that the output must have.
    projects: &'static [(&'static str, &'static [&'static str], &'static [&'static str])],
    /// Projects whose ignored tests take too long: they are only listed.
    long: &'static [&'static str],
    /// Whether `unfolding` is to come to the same.
    unfolds: bool,
}

/// The expected result of a test: a line of `expected.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Expected {
    verdict: String,
    kind: Option<String>,
    /// Complete executions.
    executions: Option<u64>,
    /// The length of the simplest schedule that fails, whatever schedule was found.
    simplest: Option<String>,
    #[serde(default)]
    ignored: bool,
    /// An option of the tool, with which the verdict is `with_option`.
    option: Option<String>,
    #[serde(rename = "with_option")]
    with_option: Option<String>,
}

/// Flags for each run.
const FLAGS: [&str; 7] = ["--color", "never", "--stall", "3", "--test-jobs", "2", "--verbose"];
/// What explores all that sequential consistency allows.
const SEQUENTIAL: [&str; 4] = ["--memory", "sc", "--max-time", "30s"];
/// What explores weak memory as far as it comes.
const WEAK: [&str; 2] = ["--max-time", "10s"];
/// The same, and looks at each state when it comes back to it.
const EXACT: [&str; 5] = ["--max-time", "3s", "--exact-states", "--simplify", "0"];
/// The strategies that are compared: the one whose executions are known, and the one with the fewest.
const STRATEGIES: [&str; 2] = ["source", "context"];
/// Maximum duration of a command of the tool, including builds.
const PATIENCE: Duration = Duration::from_secs(1200);
/// Exit codes that `cargo dpor --help` documents.
const COMPLETE: i32 = 0;
const FAILED: i32 = 1;
const USAGE: i32 = 2;
const INCOMPLETE: i32 = 3;

/// The kind of failure that no schedule causes, so that its replay says that it cannot be replayed.
const NONDETERMINISM: &str = "nondeterminism";
/// The kind of failure that is of all schedules together, so that there is no seed.
const NEVER_REACHED: &str = "never-reached";

fn check(suite: &Suite) {
    // One after another: a test process that has to share the processor might seem to stand still.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);

    let expected = expected(suite);
    let mut mismatches = Mismatches::default();
    let mut occurred = BTreeSet::new();
    let mut comparison = Comparison::default();
    for (folder, flags, said) in suite.projects {
        let project = Project::new(suite, folder);
        let is_long = suite.long.contains(folder);
        let run = |what: &str, strategy: &str, more: &[&str]| {
            let ignored: &[&str] = if is_long { &[] } else { &["--include-ignored"] };
            let flags = [&["--strategy", strategy], ignored, *flags, more].concat();
            project.test(what, &flags)
        };
        let explore = |strategy: &str, more: &[&str]| run(strategy, strategy, &[&SEQUENTIAL, more].concat());
        let (met, code) = explore("source", &[]);
        let text = fs::read_to_string(project.log("source")).expect("it was written just now");
        for line in said.iter().filter(|&&line| !text.contains(line)) {
            mismatches.compare("what is said in", folder, line.to_string(), "something else".into());
        }
        mismatches.compare("exit code of", folder, exit_code(&met).to_string(), code.to_string());
        for (test, met) in &met {
            occurred.insert(test.clone());
            match expected.get(test) {
                Some(expected) => expected.check(test, met, &mut mismatches),
                None => mismatches.add(test, "not to occur", &met.verdict),
            }
        }
        project.check_replays(met.iter(), &mut mismatches);
        let exact = std::env::var_os("SUITES_EXACT_STATES").map(|_| "--exact-states");
        let (context, _) = explore("context", exact.as_slice());
        for (test, source) in &met {
            let Some(context) = context.get(test) else {
                mismatches.add(test, "to occur under context", "missing");
                continue;
            };
            if let Some(expected) = expected.get(test) {
                expected.check_other(test, "context", context, &mut mismatches);
            }
            if context.executions > source.executions && source.verdict == "complete" {
                let expected = format!("at most {} executions under context", source.executions);
                mismatches.add(test, &expected, &context.executions.to_string());
            }
        }
        // The seed of the same schedule need not be tried twice.
        let others = context.iter().filter(|(test, context)| {
            let same = |source: &Met| source.failure.text == context.failure.text;
            !met.get(*test).is_some_and(same)
        });
        project.check_replays(others, &mut mismatches);
        let (states, _) = run("states", "states", &WEAK);
        for test in met.keys() {
            match (states.get(test), expected.get(test)) {
                (None, _) => mismatches.add(test, "to occur under states", "missing"),
                (Some(states), Some(expected)) => expected.check_weak(test, states, &mut mismatches),
                (Some(_), None) => {}
            }
        }
        let (exact, _) = run("exact-states", "states", &EXACT);
        for (test, exact) in &exact {
            let kind = exact.failure.kind.as_deref();
            let expected = expected.get(test).and_then(|expected| expected.kind.as_deref());
            if kind == Some(NONDETERMINISM) && kind != expected {
                mismatches.add(test, "equal states after equal steps", &exact.failure.text);
            }
        }
        if suite.unfolds {
            let (unfolding, _) = explore("unfolding", &[]);
            for (test, source) in &met {
                let Some(unfolding) = unfolding.get(test) else {
                    mismatches.add(test, "to occur under unfolding", "missing");
                    continue;
                };
                // That a test is not deterministic looks there as if footprints were incomplete.
                let comparable = |expected: &&Expected| expected.kind.as_deref() != Some(NONDETERMINISM);
                if let Some(expected) = expected.get(test).filter(comparable) {
                    expected.check_other(test, "unfolding", unfolding, &mut mismatches);
                }
                let given_up = unfolding.begun - unfolding.executions;
                if source.verdict == "complete" && (unfolding.executions > source.executions || given_up > 0) {
                    let expected = format!(
                        "at most {} executions under unfolding, none given up",
                        source.executions
                    );
                    let met = format!("{} executions, {given_up} given up", unfolding.executions);
                    mismatches.add(test, &expected, &met);
                }
            }
        }
        comparison.add(&met, &context);
        if let Some(limit) = std::env::var_os("SUITES_EXHAUSTIVE") {
            let limit = limit.to_str().expect("SUITES_EXHAUSTIVE is a number");
            let (exhaustive, _) = explore("exhaustive", &["--max-executions", limit]);
            for (test, met) in exhaustive.iter().filter(|(_, met)| met.verdict != "incomplete") {
                if let Some(expected) = expected.get(test) {
                    expected.check_other(test, "exhaustive", met, &mut mismatches);
                }
            }
        }
        project.check_options(&expected, &met, &mut mismatches);
        project.check_ignored(flags, &expected, &met, &mut mismatches);
        if is_long {
            occurred.extend(project.check_long(flags, &expected, &mut mismatches));
        }
    }
    comparison.show(suite.folder);
    for test in expected.keys().filter(|&test| !occurred.contains(test)) {
        mismatches.add(test, "to occur", "missing");
    }
    mismatches.assert_none(suite.folder);
}

/// Reads `expected.toml`.
fn expected(suite: &Suite) -> Table<Expected> {
    let path = suite.path().join("expected.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let packages: BTreeMap<String, BTreeMap<String, BTreeMap<String, Expected>>> =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut table = Table::new();
    for (package, targets) in packages {
        for (target, tests) in targets {
            let target = format!("{package}.{target}");
            table.extend(tests.into_iter().map(|(name, test)| ((target.clone(), name), test)));
        }
    }
    table
}

impl Suite {
    fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(self.folder)
    }
}

impl Expected {
    fn check(&self, test: &(String, String), met: &Met, mismatches: &mut Mismatches) {
        if self.verdict == "any" {
            return;
        }
        if met.verdict != self.verdict {
            mismatches.add(test, &self.verdict, &met.verdict);
            return;
        }
        if met.failure.kind != self.kind {
            mismatches.add(test, &format!("{:?}", self.kind), &format!("{:?}", met.failure.kind));
        }
        if let Some(executions) = self.executions
            && executions != met.executions
        {
            let count = |count| format!("{count} complete executions");
            mismatches.add(test, &count(executions), &count(met.executions));
        }
        self.check_schedule(test, met, mismatches);
    }

    /// Compares the schedule that is shown of a failure with the simplest that there is.
    fn check_schedule(&self, test: &(String, String), met: &Met, mismatches: &mut Mismatches) {
        let Some(simplest) = &self.simplest else { return };
        let expected = format!("schedule ({simplest}), the simplest one that fails like this:");
        let shown = met.failure.text.lines().find(|line| line.starts_with("schedule ("));
        if shown != Some(&expected) {
            mismatches.add(test, &expected, shown.unwrap_or("no schedule"));
        }
    }
}

impl Expected {
    /// Compares the verdict under weak memory, for which there may be no time.
    fn check_weak(&self, test: &(String, String), met: &Met, mismatches: &mut Mismatches) {
        let parts = [SEQUENTIALLY_COMPLETE, COMPLETE_WITH_VALUES];
        let in_part = met.verdict == "incomplete" && parts.iter().any(|part| met.reason.contains(part));
        if !(self.verdict == "complete" && in_part) {
            self.check_other(test, "states", met, mismatches);
        }
    }

    /// Compares the verdict under another strategy than the one whose executions are counted.
    fn check_other(&self, test: &(String, String), strategy: &str, other: &Met, mismatches: &mut Mismatches) {
        if self.verdict == "any" {
            return;
        }
        let describe = |verdict: &str, kind: Option<&str>| match kind {
            Some(kind) => format!("{verdict}, {kind}, under {strategy}"),
            None => format!("{verdict} under {strategy}"),
        };
        let (expected, met) = (
            describe(&self.verdict, self.kind.as_deref()),
            describe(&other.verdict, other.failure.kind.as_deref()),
        );
        if expected != met {
            mismatches.add(test, &expected, &met);
        }
        self.check_schedule(test, other, mismatches);
    }
}

/// Tests under `source` and under `context`.
#[derive(Default)]
struct Comparison {
    rows: Vec<[String; 8]>,
    totals: [Met; 2],
}

impl Comparison {
    fn add(&mut self, source: &Table<Met>, context: &Table<Met>) {
        for (test, source) in source {
            let Some(context) = context.get(test) else { continue };
            self.rows
                .push(Self::row(format!("{} {}", test.0, test.1), source, context));
            for (total, met) in self.totals.iter_mut().zip([source, context]) {
                total.executions += met.executions;
                total.begun += met.begun;
                total.compared += met.compared;
                total.equal += met.equal;
                total.seconds += met.seconds;
            }
        }
    }

    fn row(name: String, source: &Met, context: &Met) -> [String; 8] {
        let share = match context.compared {
            0 => "-".to_string(),
            compared => format!("{:.1}", 100.0 * context.equal as f64 / compared as f64),
        };
        [
            name,
            source.executions.to_string(),
            source.begun.to_string(),
            context.executions.to_string(),
            context.begun.to_string(),
            share,
            format!("{:.2}", source.seconds),
            format!("{:.2}", context.seconds),
        ]
    }

    /// Prints the table, and keeps it in a file.
    fn show(mut self, suite: &str) {
        let [source, context] = &self.totals;
        self.rows.push(Self::row("total".to_string(), source, context));
        let titles = [
            "test",
            "source",
            "begun",
            "context",
            "begun",
            "equal %",
            "source s",
            "context s",
        ];
        self.rows.insert(0, titles.map(String::from));
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths = [0, 1, 2, 3, 4, 5, 6, 7].map(width);
        let mut text = format!(
            "{suite}: complete executions and all that were begun, share of compared states that were equal, time\n"
        );
        for row in &self.rows {
            text.push_str(&format!("{:<width$}", row[0], width = widths[0]));
            for (cell, width) in row.iter().zip(widths).skip(1) {
                text.push_str(&format!("  {cell:>width$}"));
            }
            text.push('\n');
        }
        print!("{text}");
        fs::write(scratch().join(format!("{suite}-comparison.txt")), text).expect("the target folder is writable");
    }
}

/// The exit code that these verdicts lead to.
fn exit_code(met: &Table<Met>) -> i32 {
    let any = |verdict: &str| met.values().any(|met| met.verdict == verdict);
    match (any("failed"), any("incomplete")) {
        (true, _) => FAILED,
        (false, true) => INCOMPLETE,
        (false, false) => COMPLETE,
    }
}

/// The place where the tool runs.
struct Project {
    folder: PathBuf,
    target: PathBuf,
    /// The start of the names of files.
    name: String,
}

impl Project {
    fn new(suite: &Suite, folder: &str) -> Self {
        Project {
            folder: suite.path().join(folder),
            target: scratch().join("target").join(suite.folder),
            name: format!("{}{folder}", suite.folder),
        }
    }

    /// Explores tests; returns the result of each, and the exit code.
    fn test(&self, what: &str, flags: &[&str]) -> (Table<Met>, i32) {
        let (text, code) = self.run(what, &[&["test"], &FLAGS[..], flags].concat());
        let met = results(&text);
        assert!(
            !met.is_empty(),
            "cargo dpor test {flags:?} in {}:\n{text}",
            self.folder.display()
        );
        (met, code)
    }

    /// The file with the tool's output.
    fn log(&self, what: &str) -> PathBuf {
        scratch().join(format!("{}-{what}.txt", self.name))
    }

    /// Runs the tool; returns its output, which is kept in a file with `what` in its name, and its exit code.
    fn run(&self, what: &str, arguments: &[&str]) -> (String, i32) {
        let log = self.log(what);
        let file = File::create(&log).expect("the target folder is writable");
        let mut child = Command::new(tool::path())
            .arg("dpor")
            .args(arguments)
            .arg("--target-dir")
            .arg(&self.target)
            .current_dir(&self.folder)
            // Two tests of conformance use locals that are dead, and what is found of that depends on where they lie:
            // in other places if Cargo is told to build otherwise.
            .env_remove("CARGO_INCREMENTAL")
            .stdin(Stdio::null())
            .stderr(file.try_clone().expect("a file can be duplicated"))
            .stdout(file)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", tool::path().display()));
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child can be waited for") {
                break status;
            }
            if start.elapsed() > PATIENCE {
                // Fails only if it has ended just now.
                let _ = child.kill();
                panic!("cargo dpor {arguments:?} takes too long: see {}", log.display());
            }
            thread::sleep(Duration::from_millis(10));
        };
        let text = fs::read_to_string(&log).expect("the log was written, in UTF-8");
        let code = status
            .code()
            .unwrap_or_else(|| panic!("cargo dpor {arguments:?} was killed: see {}", log.display()));
        (text, code)
    }

    /// Compares the failures among these results with those of their seeds, two at a time: one takes longer to start
    /// than to run.
    fn check_replays<'a>(
        &self,
        results: impl Iterator<Item = (&'a (String, String), &'a Met)>,
        mismatches: &mut Mismatches,
    ) {
        let failed: Vec<_> = results.filter(|(_, met)| met.verdict == "failed").collect();
        let next = AtomicUsize::new(0);
        let all = Mutex::new(mismatches);
        let work = |log: &str| {
            while let Some((test, met)) = failed.get(next.fetch_add(1, Relaxed)) {
                let mut mismatches = Mismatches::default();
                self.check_replay(test, met, log, &mut mismatches);
                let mut all = all.lock().expect("no worker panics with the lock");
                all.rows.append(&mut mismatches.rows);
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| work("replay-1"));
            work("replay-2");
        });
    }

    /// Compares a failure with that of its seed.
    fn check_replay(&self, test: &(String, String), met: &Met, log: &str, mismatches: &mut Mismatches) {
        let kind = met.failure.kind.as_deref();
        if kind == Some(NEVER_REACHED) {
            if let Some(seed) = &met.failure.seed {
                mismatches.add(test, "no seed", seed);
            }
            return;
        }
        let [dpor, replay, seed, flags @ ..] = met.failure.again.as_slice() else {
            mismatches.add(test, "a line that says how to see the failure again", "none");
            return;
        };
        if (dpor.as_str(), replay.as_str()) != ("dpor", "replay") || met.failure.seed.as_ref() != Some(seed) {
            mismatches.add(test, "cargo dpor replay SEED", &met.failure.again.join(" "));
        }
        if let Some(warning) = &met.failure.warning
            && kind != Some(NONDETERMINISM)
        {
            mismatches.add(test, "the same failure at once", warning);
        }
        let flags = flags.iter().map(String::as_str);
        let bounds = ["replay", seed, "--color", "never", "--stall", "3"];
        let arguments: Vec<&str> = bounds.into_iter().chain(flags).collect();
        let (text, code) = self.run(log, &arguments);
        if kind == Some(NONDETERMINISM) {
            if code != USAGE || !text.contains("cannot replay: ") {
                mismatches.add(test, "a replay that says why it cannot", text.trim());
            }
            return;
        }
        let replayed = failures(&text).remove(test).unwrap_or_default();
        if replayed.kind.as_deref() != kind {
            let short = || text.trim().chars().take(300).collect();
            let expected = format!("replayed: {}", kind.unwrap_or("no failure"));
            mismatches.add(test, &expected, &replayed.kind.clone().unwrap_or_else(short));
        }
        mismatches.compare(
            "exit code of the replay of",
            &test.1,
            FAILED.to_string(),
            code.to_string(),
        );
    }

    /// Explores the tests that come to something else under an option.
    fn check_options(&self, expected: &Table<Expected>, met: &Table<Met>, mismatches: &mut Mismatches) {
        for test in met.keys() {
            let Some(expected) = expected.get(test) else { continue };
            let (Some(option), Some(verdict)) = (&expected.option, &expected.with_option) else {
                continue;
            };
            let option = format!("--{option}");
            for strategy in STRATEGIES {
                let what = format!("{strategy}{option}");
                let own = ["--strategy", strategy, &option, "--exact", &test.1];
                let (met, _) = self.test(&what, &[&SEQUENTIAL[..], &own].concat());
                let Some(met) = met.get(test) else {
                    mismatches.add(test, &format!("to occur with {option}"), "missing");
                    continue;
                };
                if met.verdict != *verdict {
                    mismatches.add(test, &format!("{verdict} with {option} under {strategy}"), &met.verdict);
                }
                self.check_replays([(test, met)].into_iter(), mismatches);
            }
        }
    }

    /// Compares the tests that run only when they are asked for.
    fn check_ignored(&self, flags: &[&str], expected: &Table<Expected>, met: &Table<Met>, mismatches: &mut Mismatches) {
        let (text, _) = self.run("list", &[&["list", "--color", "never"], flags].concat());
        let usual: BTreeSet<_> = text.lines().filter_map(listed).collect();
        for test in met.keys() {
            let ignored = expected.get(test).is_some_and(|expected| expected.ignored);
            if usual.contains(test) == ignored {
                let describe = |ignored| if ignored { "ignored" } else { "not ignored" };
                mismatches.add(test, describe(ignored), describe(!ignored));
            }
        }
    }
}

impl Project {
    /// Lists the tests that are ignored because they take long.
    fn check_long(
        &self,
        flags: &[&str],
        expected: &Table<Expected>,
        mismatches: &mut Mismatches,
    ) -> BTreeSet<(String, String)> {
        let (text, _) = self.run(
            "list-ignored",
            &[&["list", "--ignored", "--color", "never"], flags].concat(),
        );
        let long: BTreeSet<_> = text.lines().filter_map(listed).collect();
        for test in &long {
            if !expected.get(test).is_some_and(|expected| expected.ignored) {
                mismatches.add(test, "to be expected, and to be ignored there", "ignored");
            }
        }
        long
    }
}

/// The target's own folder for files of this test.
fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("suites");
    fs::create_dir_all(&folder).expect("the target folder is writable");
    folder
}

/// The deviations from the expectation.
#[derive(Default)]
struct Mismatches {
    rows: Vec<[String; 3]>,
}

impl Mismatches {
    fn add(&mut self, test: &(String, String), expected: &str, met: &str) {
        self.rows.push([
            format!("{} {}", test.0, test.1),
            expected.into(),
            met.replace('\n', " / "),
        ]);
    }

    fn compare(&mut self, what: &str, of: &str, expected: String, met: String) {
        if expected != met {
            self.rows.push([format!("{what} {of}"), expected, met]);
        }
    }

    /// Prints a table, if it is to have rows, and panics.
    fn assert_none(mut self, suite: &str) {
        if self.rows.is_empty() {
            return;
        }
        let count = self.rows.len();
        self.rows.insert(0, ["test", "expected", "met"].map(String::from));
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let (test, expected) = (width(0), width(1));
        for row in &self.rows {
            println!("{:<test$}  {:<expected$}  {}", row[0], row[1], row[2]);
        }
        panic!("{suite}: {count} mismatches");
    }
}
