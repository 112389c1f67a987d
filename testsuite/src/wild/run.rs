//! The tests of one crate under the tool.

use crate::report::{self, Met};
use crate::tool;
use crate::wild::{Crate, Source, folder};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long each test may take, and each of its steps, in the tool's words.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// `--max-time`.
    pub max_time: String,
    /// `--stall`.
    pub stall: String,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            max_time: "10s".into(),
            stall: "3".into(),
        }
    }
}

/// What came of the tests of a crate.
#[derive(Debug, Serialize, Deserialize)]
pub struct Run {
    /// The crate, with its version.
    pub id: String,
    /// Why there are no tests: the crate does not build, for example.
    pub error: Option<String>,
    /// Its tests.
    pub tests: Vec<Tested>,
    /// All of it, in seconds.
    pub seconds: f64,
}

/// What came of a test.
#[derive(Debug, Serialize, Deserialize)]
pub struct Tested {
    /// The target and the name: `lib::tests::a`, `mpsc::b`.
    pub name: String,
    /// What came of it.
    pub class: Class,
    /// The most threads of an execution.
    pub threads: u64,
    /// Complete executions.
    pub executions: u64,
    /// How long it took.
    pub seconds: f64,
}

/// What came of a test, in short.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// All executions were explored.
    Complete,
    /// One failed.
    Failed {
        /// The kind, and the first line of what was said.
        what: String,
        /// The seed.
        seed: Option<String>,
    },
    /// Not all was explored, for this reason.
    Incomplete(String),
    /// It did not run, for this reason.
    NotApplicable(String),
}

/// The longest that the tests of a crate may take, the build included.
const PATIENCE: Duration = Duration::from_secs(3600);

impl Run {
    /// Builds and runs the tests of a crate.
    ///
    /// # Panics
    /// If the tool cannot be started, does not end, or prints something unexpected.
    pub fn new(krate: &Crate, source: &Source, bounds: &Bounds) -> Run {
        let started = Instant::now();
        let mut run = Run {
            id: krate.id(),
            error: None,
            tests: Vec::new(),
            seconds: 0.0,
        };
        let (text, code) = tool(krate, source, "list", &["list", "--include-ignored"], &krate.targets);
        let all: BTreeSet<_> = text.lines().filter_map(report::listed).collect();
        if all.is_empty() {
            run.error = Some(error(krate).unwrap_or_else(|| format!("the tool ended with {code}")));
        }
        for name in krate.names() {
            let exists = all.iter().any(|test| self::name(test) == *name);
            assert!(exists || all.is_empty(), "{}: there is no test {name}", krate.id());
        }
        let (skipped, chosen): (Vec<_>, Vec<_>) = all.iter().partition(|test| krate.skipped(&name(test)).is_some());
        for test in &skipped {
            run.tests.extend(
                krate
                    .skipped(&name(test))
                    .map(|reason| Tested::not_run(name(test), reason)),
            );
        }
        let names: BTreeSet<&str> = skipped.iter().map(|(_, name)| name.as_str()).collect();
        if chosen.iter().all(|(_, name)| !names.contains(name.as_str())) {
            let flags: Vec<&str> = names.iter().flat_map(|name| ["--skip", name]).collect();
            run.explore(krate, source, bounds, "all", &krate.targets, &flags, &chosen);
        } else {
            // Flags choose tests by their names in all targets alike.
            let mut targets: BTreeMap<&str, Vec<&(String, String)>> = BTreeMap::new();
            chosen
                .iter()
                .for_each(|test| targets.entry(target(test)).or_default().push(test));
            for (target, tests) in targets {
                let only = match target.strip_prefix("tests/").unwrap_or(target) {
                    "lib" if target == "lib" => vec!["--lib".to_string()],
                    file => vec!["--test".to_string(), file.to_string()],
                };
                let flags: Vec<&str> = tests.iter().map(|(_, name)| name.as_str()).collect();
                run.explore(
                    krate,
                    source,
                    bounds,
                    target.trim_start_matches("tests/"),
                    &only,
                    &flags,
                    &tests,
                );
            }
        }
        run.seconds = started.elapsed().as_secs_f64();
        run.save();
        run
    }

    /// Runs tests: those that `flags` choose in the targets `only`.
    #[expect(clippy::too_many_arguments, reason = "a step of `new`")]
    fn explore(
        &mut self,
        krate: &Crate,
        source: &Source,
        bounds: &Bounds,
        what: &str,
        only: &[String],
        flags: &[&str],
        tests: &[&(String, String)],
    ) {
        let bounds = ["--max-time", &bounds.max_time, "--stall", &bounds.stall];
        let arguments = [&["test", "--verbose", "--exact"], &bounds[..], flags].concat();
        let (text, code) = tool(krate, source, &format!("test-{what}"), &arguments, only);
        if !matches!(code, 0 | 1 | 3) {
            self.error = Some(format!("not all tests were run: the tool ended with {code}"));
        }
        let met = report::results(&text);
        for test in tests {
            self.tests.push(match met.get(test) {
                Some(met) => Tested::new(name(test), met),
                None => Tested::not_run(name(test), "ignored by the crate itself"),
            });
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
            },
            _ => Class::Incomplete(reason(&met.reason)),
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

/// The class of a reason: without what is particular to one test.
fn reason(text: &str) -> String {
    let text = text.split(" (").next().unwrap_or_default();
    let classes = [
        ("the time limit of", "the time limit was reached"),
        (
            "an execution did not end within",
            "executions are longer than `--max-depth`",
        ),
        ("executions were cut", "executions are longer than `--max-depth`"),
        ("the test process did nothing", "no progress within `--stall`"),
    ];
    let class = classes.iter().find(|(start, _)| text.contains(start));
    class.map_or(text, |(_, class)| class).to_string()
}

/// Where logs and results are.
fn logs() -> PathBuf {
    let folder = folder().join("log");
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}

fn log(krate: &Crate, what: &str) -> PathBuf {
    logs().join(format!("{}.{what}.txt", krate.id()))
}

/// The first error of a build.
fn error(krate: &Crate) -> Option<String> {
    let text = fs::read_to_string(log(krate, "list.errors")).ok()?;
    text.lines().find(|line| line.starts_with("error")).map(String::from)
}

/// Runs the tool in the copied crate: what it printed, and its exit code.
fn tool(krate: &Crate, source: &Source, what: &str, arguments: &[&str], targets: &[String]) -> (String, i32) {
    let create = |path: &Path| File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let output = log(krate, what);
    let mut command = Command::new(tool::path());
    command
        .arg("dpor")
        .args(arguments)
        .args(["--color", "never", "--target-dir"])
        .arg(folder().join("target"))
        .args(targets)
        .envs(&krate.environment)
        .current_dir(&source.folder)
        .stdin(Stdio::null())
        .stdout(create(&output))
        .stderr(create(&log(krate, &format!("{what}.errors"))));
    if !krate.features.is_empty() {
        command.args(["--features", &krate.features.join(",")]);
    }
    if !krate.rustflags.is_empty() {
        command.env("RUSTFLAGS", krate.rustflags.join(" "));
    }
    let mut child = command
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
            panic!("{}: takes too long: see {}", krate.id(), output.display());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = fs::read_to_string(&output).unwrap_or_else(|error| panic!("{}: {error}", output.display()));
    (text, status.code().unwrap_or(-1))
}
