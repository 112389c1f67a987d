//! The tool on real tests: what `cargo dpor test` says of each test of `classics`, `conformance` and `crates`, compared with
//! the `expected.toml` of each; and every failure replayed from its seed.
//!
//! The tool is the one that `CARGO_DPOR_BIN` names, or else is built first. What the tool prints is kept in the
//! target folder, under `tmp/suites`.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[test]
fn classics() {
    check(&Suite {
        folder: "classics",
        projects: &[("", &[])],
    });
}

#[test]
fn conformance() {
    check(&Suite {
        folder: "conformance",
        projects: &[("", &[])],
    });
}

#[test]
fn crates() {
    check(&Suite {
        folder: "crates",
        projects: &[("", &["--workspace"]), ("sample", &[])],
    });
}

/// Projects that share an `expected.toml`.
struct Suite {
    folder: &'static str,
    /// The folder of each project in the suite's, and the flags that select its tests.
    projects: &'static [(&'static str, &'static [&'static str])],
}

/// What a test is to come to: a line of `expected.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Expected {
    verdict: String,
    kind: Option<String>,
    /// Complete executions.
    executions: Option<u64>,
    #[serde(default)]
    ignored: bool,
    /// An option of the tool, with which the verdict is `with_option`.
    option: Option<String>,
    #[serde(rename = "with_option")]
    with_option: Option<String>,
}

/// Tests by target and name.
type Table<T> = BTreeMap<(String, String), T>;

/// What the tool said of a test.
#[derive(Debug, Default)]
struct Met {
    verdict: String,
    /// Complete executions.
    executions: u64,
    failure: Failure,
}

/// What the tool said of a failure.
#[derive(Debug, Default)]
struct Failure {
    kind: Option<String>,
    seed: Option<String>,
    /// The arguments of `cargo` that replay it.
    again: Vec<String>,
    warning: Option<String>,
}

/// Flags that bound each test.
const BOUNDS: [&str; 6] = ["--color", "never", "--max-time", "60s", "--stall", "3"];
/// The longest that a command of the tool may take, builds included.
const PATIENCE: Duration = Duration::from_secs(1200);
/// Exit codes that `cargo dpor --help` documents.
const COMPLETE: i32 = 0;
const FAILED: i32 = 1;
const USAGE: i32 = 2;
const INCOMPLETE: i32 = 3;

/// The kind of failure that no schedule brings about, so that its replay says that it cannot be replayed.
const NONDETERMINISM: &str = "nondeterminism";

fn check(suite: &Suite) {
    // One after another: a test process that has to share the processor might seem to stand still.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);

    let expected = expected(suite);
    let mut mismatches = Mismatches::default();
    let mut occurred = BTreeSet::new();
    for (folder, flags) in suite.projects {
        let project = Project::new(suite, folder);
        let (met, code) = project.test("test", &[flags, &["--include-ignored"][..]].concat());
        mismatches.compare("exit code of", folder, exit_code(&met).to_string(), code.to_string());
        for (test, met) in &met {
            occurred.insert(test.clone());
            match expected.get(test) {
                Some(expected) => expected.check(test, met, &mut mismatches),
                None => mismatches.add(test, "not to occur", &met.verdict),
            }
            if met.verdict == "failed" {
                project.check_replay(test, met, &mut mismatches);
            }
        }
        project.check_options(&expected, &met, &mut mismatches);
        project.check_ignored(flags, &expected, &met, &mut mismatches);
    }
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

/// Where the tool runs.
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

    /// Explores tests: what came of each, and the exit code.
    fn test(&self, what: &str, flags: &[&str]) -> (Table<Met>, i32) {
        let (text, code) = self.run(what, &[&["test"], &BOUNDS[..], flags].concat());
        let met = results(&text);
        assert!(
            !met.is_empty(),
            "cargo dpor test {flags:?} in {}:\n{text}",
            self.folder.display()
        );
        (met, code)
    }

    /// Runs the tool: what it printed, which is kept in a file with `what` in its name, and its exit code.
    fn run(&self, what: &str, arguments: &[&str]) -> (String, i32) {
        static TOOL: LazyLock<PathBuf> = LazyLock::new(tool);
        let log = scratch().join(format!("{}-{what}.txt", self.name));
        let file = File::create(&log).expect("the target folder is writable");
        let mut child = Command::new(&*TOOL)
            .arg("dpor")
            .args(arguments)
            .arg("--target-dir")
            .arg(&self.target)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stderr(file.try_clone().expect("a file can be duplicated"))
            .stdout(file)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", TOOL.display()));
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
            std::thread::sleep(Duration::from_millis(10));
        };
        let text = fs::read_to_string(&log).expect("the log was written, in UTF-8");
        let code = status
            .code()
            .unwrap_or_else(|| panic!("cargo dpor {arguments:?} was killed: see {}", log.display()));
        (text, code)
    }

    /// Compares a failure with that of its seed.
    fn check_replay(&self, test: &(String, String), met: &Met, mismatches: &mut Mismatches) {
        let kind = met.failure.kind.as_deref();
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
        let (text, code) = self.run("replay", &arguments);
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
            let what = format!("test-{option}");
            let option = format!("--{option}");
            let (met, _) = self.test(&what, &[&option, "--exact", &test.1]);
            let Some(met) = met.get(test) else {
                mismatches.add(test, &format!("to occur with {option}"), "missing");
                continue;
            };
            if met.verdict != *verdict {
                mismatches.add(test, &format!("{verdict} with {option}"), &met.verdict);
            }
            if met.verdict == "failed" {
                self.check_replay(test, met, mismatches);
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

/// The target's own folder for files of this test.
fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("suites");
    fs::create_dir_all(&folder).expect("the target folder is writable");
    folder
}

/// The tool's path; it is built unless `CARGO_DPOR_BIN` names one.
fn tool() -> PathBuf {
    if let Some(path) = std::env::var_os("CARGO_DPOR_BIN") {
        return std::path::absolute(path).expect("CARGO_DPOR_BIN is a path");
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("the folder is in the target folder");
    let cargo = std::env::var_os("CARGO").expect("Cargo runs this test");
    let (flags, profile): (&[&str], _) = if cfg!(debug_assertions) {
        (&[], "debug")
    } else {
        (&["--release"], "release")
    };
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--package", "cargo-dpor", "--target-dir"])
        .arg(target)
        .args(flags)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("Cargo can be started");
    assert!(status.success(), "cargo-dpor does not build");
    let name = format!("cargo-dpor{}", std::env::consts::EXE_SUFFIX);
    target.join(profile).join(name)
}

/// `package::file name` or `package name` as target and name.
fn key(target: &str, name: &str) -> (String, String) {
    let target = match target.split_once("::") {
        Some((package, file)) => format!("{package}.{file}"),
        None => format!("{target}.lib"),
    };
    (target, name.to_string())
}

/// A line of `cargo dpor list`.
fn listed(line: &str) -> Option<(String, String)> {
    match line.split_whitespace().collect::<Vec<_>>()[..] {
        [target, name] => Some(key(target, name)),
        _ => None,
    }
}

/// What came of each test, out of what `cargo dpor test` printed.
fn results(text: &str) -> Table<Met> {
    let mut failures = failures(text);
    let mut table = Table::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let [
            verdict,
            target,
            name,
            executions,
            "executions",
            _,
            "blocked",
            _,
            "steps",
            _,
        ] = words[..]
        else {
            continue;
        };
        let test = key(target, name);
        let met = Met {
            verdict: verdict.to_string(),
            executions: executions.parse().unwrap_or_else(|_| panic!("no number in: {line}")),
            failure: failures.remove(&test).unwrap_or_default(),
        };
        assert!(table.insert(test, met).is_none(), "twice the same test: {line}");
    }
    table
}

/// The failures that were printed.
fn failures(text: &str) -> Table<Failure> {
    let mut table = Table::new();
    let mut test = None;
    for line in text.lines() {
        if let Some((target, name)) = line.strip_prefix("failure: ").and_then(|rest| rest.split_once(' ')) {
            test = Some(key(target, name));
            table.insert(key(target, name), Failure::default());
            continue;
        }
        let (Some(test), Some(line)) = (&test, line.strip_prefix("  ")) else {
            continue;
        };
        let failure: &mut Failure = table.get_mut(test).expect("it was inserted before");
        match line.split_once(": ") {
            // The first line of a failure says what it is.
            Some((kind, _)) if failure.kind.is_none() && !line.starts_with(' ') => {
                failure.kind = Some(kind.to_string());
            }
            Some(("seed", seed)) => failure.seed = Some(seed.to_string()),
            Some(("again", again)) => {
                failure.again = again.split_whitespace().skip(1).map(str::to_string).collect();
            }
            Some(("warning", warning)) => failure.warning = Some(warning.to_string()),
            _ => {}
        }
    }
    table
}

/// What is not as expected.
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
