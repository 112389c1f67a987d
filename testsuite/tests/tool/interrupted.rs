//! Runs of the tool that are killed, ended by a signal, or give up at a limit, and are then resumed.

use dpor_testsuite::project::{Project, Run};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Threads take turns at a log; every order is another one. The test that fails does so in the last of them only.
const TESTS: &str = r#"
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

fn log(each: usize) -> Vec<usize> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let threads: Vec<_> = (0..3)
        .map(|own| {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                for _ in 0..each {
                    log.lock().unwrap().push(own);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let log = log.lock().unwrap().clone();
    log
}

#[test]
fn a_long_one() {
    log(5);
}

#[test]
fn a_short_one() {
    let number = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&number);
    let child = thread::spawn(move || other.fetch_add(1, SeqCst));
    number.fetch_add(1, SeqCst);
    child.join().unwrap();
}

#[test]
fn one_that_fails() {
    assert!(log(4) != [2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0]);
}
"#;

/// The orders of the long one: 15! / (5!)³.
const LONG: u64 = 756_756;

fn json(project: &Project, arguments: &[&str]) -> Run {
    project.run(&[&["test", "--message-format", "json"], arguments].concat())
}

/// The result of a test.
fn result<'a>(finished: &'a [Value], test: &str) -> &'a Value {
    let own = |event: &&Value| event["test"]["name"] == test;
    finished.iter().find(own).expect("the test was run")
}

/// Number of executions.
fn executions(result: &Value) -> u64 {
    let counts = ["complete", "blocked", "pruned", "cut"].into_iter();
    counts.filter_map(|count| result["counts"][count].as_u64()).sum()
}

/// Number of executions when the test was interrupted, if it was.
fn went_on_after(result: &Value) -> Option<u64> {
    let note = result["note"].as_str()?;
    let (_, rest) = note.split_once("went on after ")?;
    rest.split(' ').next()?.parse().ok()
}

/// Waits until the tool has saved an exploration.
fn wait_for_state(project: &Project) {
    let folder = project.folder.join("target/dpor/resume");
    let started = Instant::now();
    loop {
        let files = fs::read_dir(&folder).into_iter().flatten().flatten();
        if files
            .into_iter()
            .any(|file| file.path().extension() == Some("state".as_ref()))
        {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(300), "nothing was saved");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_run_that_is_killed_goes_on() {
    /// The orders of the long one, where the last thread pushes once less: 14! / (5!² 4!).
    const LONG: u64 = 252_252;
    let tests = TESTS.replace("0..each {", "0..each - own / 2 {");
    assert_ne!(tests, TESTS);
    let project = Project::new("killed", &tests);
    // The whole of the long one may take more than what a test has by default.
    let limits = ["--max-time", "none"];
    let mut killed = project.command(&["test", "a_short_one", "a_long_one", "--test-jobs", "1"]);
    killed.args(limits);
    killed.stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = killed.spawn().expect("the tool can be started");
    wait_for_state(&project);
    process.kill().expect("it is ours");
    process.wait().expect("it is ours");

    let both = [&["a_short_one", "a_long_one", "--resume"][..], &limits].concat();
    let resumed = json(&project, &both).ends(0);
    assert_eq!(resumed.events("run-started")[0]["resumed"]["interrupted"], 1);
    let finished = resumed.events("test-finished");
    let long = result(&finished, "a_long_one");
    let before = went_on_after(long).expect("it was interrupted");
    assert!(0 < before && before < LONG, "{before}");
    assert_eq!(long["verdict"], "complete");
    assert_eq!(long["counts"]["complete"], LONG);
    assert_eq!(long["counts"]["blocked"], 0);
    assert_eq!(result(&finished, "a_short_one")["verdict"], "complete");

    // Now all is known.
    let again = json(&project, &both).ends(0);
    assert_eq!(again.events("run-started")[0]["resumed"]["finished"], 2);
    let finished = again.events("test-finished");
    let long = result(&finished, "a_long_one");
    assert_eq!(long["counts"]["complete"], LONG);
    let note = long["note"].as_str().expect("there is one");
    assert!(note.contains("explored before the interruption"), "{note}");
}

/// A run of the tool that prints JSON, and that signals are sent to.
struct Running {
    process: Child,
    lines: BufReader<Box<dyn Read>>,
    /// Its output so far.
    stdout: String,
}

impl Running {
    fn start(project: &Project, arguments: &[&str]) -> Running {
        let arguments = [&["test", "--message-format", "json"], arguments].concat();
        Running::of("exec \"$@\"", &project.command(&arguments))
    }

    /// Runs a command in a script for a shell, which has it as its arguments.
    fn of(script: &str, command: &Command) -> Running {
        // What ignores signals, such as a script that runs this test in the background, hands that down.
        let mut shell = Command::new("env");
        shell.args(["--default-signal=HUP,INT,TERM", "sh", "-c", script, "sh"]);
        shell.arg(command.get_program()).args(command.get_args());
        shell.current_dir(command.get_current_dir().expect("it has a folder"));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let mut process = shell
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the tool can be started");
        let output = process.stdout.take().expect("it is piped");
        Running {
            process,
            lines: BufReader::new(Box::new(output)),
            stdout: String::new(),
        }
    }

    /// Reads until an event of this name, of this test.
    fn wait_for(&mut self, event: &str, test: &str) {
        loop {
            let start = self.stdout.len();
            let read = self.lines.read_line(&mut self.stdout).expect("it prints text");
            assert!(read > 0, "it has ended without {event}: {}", self.stdout);
            let line: Value = serde_json::from_str(&self.stdout[start..]).expect("each line is JSON");
            if line["event"] == event && line["test"]["name"] == test {
                return;
            }
        }
    }

    fn send(&self, signal: &str) {
        send(signal, self.process.id());
    }

    fn end(mut self) -> Run {
        let printed = self.lines.read_to_string(&mut self.stdout);
        printed.expect("it prints text");
        let status = self.process.wait().expect("it is ours");
        Run {
            code: status.code(),
            stdout: self.stdout,
            stderr: String::new(),
        }
    }
}

fn send(signal: &str, process: u32) {
    let status = Command::new("kill").args(["-s", signal, &process.to_string()]).status();
    assert!(status.expect("there is kill").success(), "{signal} to {process}");
}

/// Its last message.
fn last(run: &Run) -> Value {
    let line = run.stdout.lines().last().expect("it has said something");
    serde_json::from_str(line).expect("each line is JSON")
}

/// Waits until no program runs any more that was built in the project.
fn nothing_is_left(project: &Project) {
    let own = project.folder.join("target");
    let started = Instant::now();
    loop {
        let processes = fs::read_dir("/proc").expect("this is Linux").flatten();
        let programs = processes.filter_map(|process| fs::read_link(process.path().join("exe")).ok());
        let left: Vec<_> = programs.filter(|program| program.starts_with(&own)).collect();
        if left.is_empty() {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_signal_ends_a_run_with_what_is_done() {
    let project = Project::new("signalled", TESTS);
    let mut known = 0;
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let files = ["--junit", "out/junit.xml", "--report", "out/pages"];
        let tests = ["a_", "one_that", "--max-time", "none", "--resume"];
        let mut running = Running::start(&project, &[&tests[..], &files].concat());
        running.wait_for("test-progress", "a_long_one");
        running.send(signal);
        let run = running.end().ends(code);
        nothing_is_left(&project);

        let end = last(&run);
        assert_eq!(end["event"], "interrupted");
        assert_eq!(
            (&end["signal"], &end["resumable"]),
            (&format!("SIG{signal}").into(), &true.into())
        );
        assert_eq!(end["exit_code"], code);
        assert!(run.events("stopped").is_empty());
        let totals = &run.events("run-finished")[0];
        assert_eq!((&totals["incomplete"], &totals["exit_code"]), (&1.into(), &code.into()));
        // What comes after it is not begun.
        assert_eq!(totals["not_run"], 2);
        let finished = run.events("test-finished");
        let long = result(&finished, "a_long_one");
        assert_eq!(
            (&long["verdict"], &long["reason"]),
            (&"incomplete".into(), &"interrupted".into())
        );
        // Not one execution is lost.
        assert_eq!(went_on_after(long).unwrap_or(0), known);
        known = executions(long);
        assert!(0 < known && known < LONG, "{known}");

        let read = |path: &str| fs::read_to_string(project.folder.join(path)).expect("it was written");
        let junit = read("out/junit.xml");
        assert!(junit.trim_end().ends_with("</testsuites>"), "{junit}");
        assert!(
            junit.contains("<error message=\"interrupted\" type=\"incomplete\""),
            "{junit}"
        );
        assert!(junit.contains("<skipped message=\"not run\""), "{junit}");
        assert!(read("out/pages/index.html").contains("a_long_one"));
    }
}

#[test]
fn people_are_told_how_to_go_on() {
    let project = Project::new("interrupted-text", TESTS);
    // As `nohup` does: who is not to hear of a signal does not.
    let own = project.command(&["test", "a_long_one", "--color", "never"]);
    let running = Running::of("trap '' HUP; exec \"$@\"", &own);
    wait_for_state(&project);
    running.send("HUP");
    running.send("INT");
    let run = running.end().ends(130);
    let (_, end) = run.stdout.split_once("\nsummary: ").expect("there is one");
    assert!(
        end.starts_with("1 test, 0 complete, 0 failed, 1 incomplete, 2 left out in "),
        "{run:?}"
    );
    let told = "interrupted by SIGINT: the same command with `--resume` goes on from here\n";
    assert!(end.ends_with(told), "{run:?}");
    nothing_is_left(&project);
}

/// A step that nothing ends.
const STUCK: &str = "#[test]\nfn stuck() {\n    let go_on = std::hint::black_box(true);\n\
    \x20   while go_on {\n        std::hint::black_box(());\n    }\n}\n";

#[test]
fn who_does_not_end_is_ended_and_a_second_signal_waits_for_nobody() {
    let project = Project::new("stuck", STUCK);
    for again in [false, true] {
        let mut running = Running::start(&project, &["--stall", "1h"]);
        running.wait_for("test-started", "stuck");
        // So that it is in the step.
        std::thread::sleep(Duration::from_secs(1));
        // `timeout` sends its signal twice, which counts as once.
        let twice = "kill -s TERM $1; kill -s TERM $1";
        let id = running.process.id().to_string();
        let status = Command::new("sh").args(["-c", twice, "sh", &id]).status();
        assert!(status.expect("there is a shell").success());
        if again {
            std::thread::sleep(Duration::from_millis(500));
            running.send("INT");
            let run = running.end().ends(130);
            assert!(run.events("run-finished").is_empty(), "{run:?}");
        } else {
            let run = running.end().ends(143);
            let finished = run.events("test-finished");
            assert_eq!(result(&finished, "stuck")["reason"], "interrupted");
            assert_eq!(last(&run)["event"], "interrupted");
        }
        nothing_is_left(&project);
    }
}

#[test]
fn a_build_ends_with_the_run() {
    let project = Project::new("interrupted-build", TESTS);
    // The facades are built first, if they are not there yet.
    project.run(&["list"]).ends(0);
    // A build script is two processes away from the tool.
    let script = "fn main() {\n    std::fs::write(\"begun\", \"\").unwrap();\n    \
                  std::thread::sleep(std::time::Duration::from_secs(1000));\n}\n";
    project.write("build.rs", script);
    let running = Running::start(&project, &["--junit", "junit.xml"]);
    let (started, begun) = (Instant::now(), project.folder.join("begun"));
    while !begun.exists() {
        assert!(
            started.elapsed() < Duration::from_secs(300),
            "the build script does not run"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    running.send("INT");
    let run = running.end().ends(130);
    let end = last(&run);
    assert_eq!(
        (&end["event"], &end["resumable"]),
        (&"interrupted".into(), &false.into())
    );
    assert!(run.events("stopped").is_empty(), "{run:?}");
    let junit = fs::read_to_string(project.folder.join("junit.xml")).expect("it was written");
    assert!(junit.contains("<testsuites name=\"cargo-dpor\""), "{junit}");
    nothing_is_left(&project);
}

#[test]
fn a_limit_is_an_interruption() {
    let project = Project::new("limited", TESTS);
    let ten = ["one_that_fails", "--max-executions", "10000", "--strategy", "source"];
    let first = json(&project, &ten).ends(3);
    assert_eq!(
        result(&first.events("test-finished"), "one_that_fails")["counts"]["complete"],
        10_000
    );
    let second = json(&project, &[&ten[..], &["--resume"]].concat()).ends(3);
    let finished = second.events("test-finished");
    let second = result(&finished, "one_that_fails");
    assert_eq!(executions(second), 20_000);
    assert_eq!(went_on_after(second), Some(10_000));

    // The failure is in the last of 34,650 orders.
    let third = json(&project, &["one_that_fails", "--strategy", "source", "--resume"]).ends(1);
    let finished = third.events("test-finished");
    let third = result(&finished, "one_that_fails");
    assert_eq!(went_on_after(third), Some(20_000));
    let seed = third["seed"].as_str().expect("it failed");
    assert_eq!(project.run(&["replay", seed]).code, Some(1));

    // What does not fit any more is explored from the start, and says why.
    let other = json(&project, &["one_that_fails", "--max-executions", "5", "--resume"]).ends(3);
    let finished = other.events("test-finished");
    let other = result(&finished, "one_that_fails");
    assert_eq!(executions(other), 5);
    let note = |result: &Value| result["note"].as_str().unwrap_or_default().to_owned();
    assert!(note(other).contains("interrupted under other settings"), "{other}");
    project.write("src/lib.rs", &TESTS.replace("log(4)", "log(3)"));
    let changed = json(&project, &["one_that_fails", "--max-executions", "5", "--resume"]).ends(3);
    let finished = changed.events("test-finished");
    let changed = result(&finished, "one_that_fails");
    assert!(note(changed).contains("its code has changed"), "{changed}");
}

#[test]
fn what_is_damaged_is_explored_from_the_start() {
    let project = Project::new("damaged", TESTS);
    let nothing = project.run(&["test", "a_short_one", "--resume"]).ends(0);
    assert!(
        nothing.stdout.contains("nothing is left of an interrupted run"),
        "{nothing:?}"
    );

    let limited = ["a_long_one", "--max-executions", "10"];
    json(&project, &limited).ends(3);
    let folder = project.folder.join("target/dpor/resume");
    let state = fs::read_dir(&folder).expect("there is something left").flatten();
    let state = state
        .map(|file| file.path())
        .find(|path| path.extension() == Some("state".as_ref()));
    let state = state.expect("the exploration was saved");
    let whole = fs::read(&state).expect("it is ours");
    let head = whole.iter().position(|&byte| byte == b'\n').expect("it has lines") + 1;
    let mut changed = whole.clone();
    *changed.last_mut().expect("there is something in it") ^= 1;
    for damaged in [&whole[..head], &whole[..whole.len() - 1], &changed] {
        fs::write(&state, damaged).expect("it is ours");
        let resumed = json(&project, &[&limited[..], &["--resume"]].concat()).ends(3);
        let finished = resumed.events("test-finished");
        let result = result(&finished, "a_long_one");
        assert_eq!(executions(result), 10);
        let note = result["note"].as_str().expect("there is one");
        assert!(
            note.contains("explored from the start: the saved exploration is damaged"),
            "{note}"
        );
    }
}

#[test]
fn a_shard_goes_on_as_itself() {
    let project = Project::new("shards", TESTS);
    let shard = [
        "one_that_fails",
        "--shard",
        "2/2",
        "--strategy",
        "source",
        "--max-executions",
    ];
    let run = |limit: &str, more: &[&str]| json(&project, &[&shard[..], &[limit], more].concat());
    let whole = run("1000000", &[]);
    run("2000", &[]).ends(3);
    // That of another shard is another one.
    let other = json(
        &project,
        &["one_that_fails", "--shard", "1/2", "--max-executions", "10", "--resume"],
    )
    .ends(3);
    assert_eq!(other.events("run-started")[0]["resumed"]["interrupted"], 0);
    let resumed = run("1000000", &["--resume"]);
    assert_eq!(resumed.code, whole.code);
    let [whole, resumed] = [whole, resumed].map(|run| run.events("test-finished").remove(0));
    assert_eq!(went_on_after(&resumed), Some(2000));
    for same in ["verdict", "seed"] {
        assert_eq!(resumed[same], whole[same]);
    }
    assert_eq!(executions(&resumed), executions(&whole));
}
