//! Runs of the tool that are killed, or give up at a limit, and gone on with.

use dpor_testsuite::project::{Project, Run};
use serde_json::Value;
use std::fs;
use std::process::Stdio;
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

/// What is said of a test.
fn result<'a>(finished: &'a [Value], test: &str) -> &'a Value {
    let own = |event: &&Value| event["test"]["name"] == test;
    finished.iter().find(own).expect("the test was run")
}

/// How many executions there were.
fn executions(result: &Value) -> u64 {
    let counts = ["complete", "blocked", "pruned", "cut"].into_iter();
    counts.filter_map(|count| result["counts"][count].as_u64()).sum()
}

/// How many executions there had been when the test was interrupted, if it was.
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
    let project = Project::new("killed", TESTS);
    let mut killed = project.command(&["test", "a_short_one", "a_long_one", "--test-jobs", "1"]);
    killed.stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = killed.spawn().expect("the tool can be started");
    wait_for_state(&project);
    process.kill().expect("it is ours");
    process.wait().expect("it is ours");

    let resumed = json(&project, &["a_short_one", "a_long_one", "--resume"]).ends(0);
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
    let again = json(&project, &["a_short_one", "a_long_one", "--resume"]).ends(0);
    assert_eq!(again.events("run-started")[0]["resumed"]["finished"], 2);
    let finished = again.events("test-finished");
    let long = result(&finished, "a_long_one");
    assert_eq!(long["counts"]["complete"], LONG);
    let note = long["note"].as_str().expect("there is one");
    assert!(note.contains("explored before the interruption"), "{note}");
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
            note.contains("explored from the start: what was saved of it is damaged"),
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
