//! What cannot be modelled ends the execution in which it is done, and the verdict is not complete.
//!
//! The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::project::Project;

const TESTS: &str = r#"
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

/// The number of the thread that stores last. The one with the largest number does so in the first execution.
fn last(threads: usize) -> usize {
    let last = AtomicUsize::new(0);
    let last = &last;
    thread::scope(|scope| {
        for number in 1..=threads {
            scope.spawn(move || last.store(number, SeqCst));
        }
    });
    last.load(SeqCst)
}

#[test]
fn starts_a_process_in_some_executions() {
    if last(3) == 2 {
        // The pipe is the model's.
        Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    }
}

#[test]
fn starts_a_process_in_some_executions_and_fails_in_others() {
    match last(3) {
        1 => panic!("the first thread was the last one"),
        2 => assert!(Command::new("true").status().unwrap().success()),
        _ => {}
    }
}

/// Who looks at the lock first, and finds that nothing was done, starts a process. The failure is that of an execution
/// in which nobody does.
#[test]
fn fails_where_no_process_is_started() {
    let (chosen, done) = (&AtomicUsize::new(0), &Mutex::new(false));
    thread::scope(|scope| {
        scope.spawn(move || {
            if chosen.load(SeqCst) == 1 {
                let done = done.lock().unwrap();
                chosen.store(2, SeqCst);
                match *done {
                    true => panic!("it was done"),
                    false => assert!(Command::new("true").status().unwrap().success()),
                }
            }
        });
        scope.spawn(move || *done.lock().unwrap() = true);
        scope.spawn(move || chosen.store(1, SeqCst));
    });
}

/// The others must move right before the step in which a process is started.
#[test]
fn fails_beside_a_process() {
    let [chosen, begun, seen] = &[0; 3].map(AtomicUsize::new);
    thread::scope(|scope| {
        scope.spawn(move || {
            if chosen.load(SeqCst) == 1 {
                begun.store(1, SeqCst);
                if seen.load(SeqCst) == 0 {
                    Command::new("true").status().unwrap();
                }
            }
        });
        scope.spawn(move || seen.store(begun.load(SeqCst), SeqCst));
        scope.spawn(move || chosen.store(1, SeqCst));
    });
    assert_eq!(seen.load(SeqCst), 0);
}

/// Where a directory is left behind, no other execution may find it.
#[test]
fn leaves_something_behind() {
    let folder = std::env::temp_dir().join(format!("dpor-unsupported-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    if last(2) == 1 {
        Command::new("true").status().unwrap();
    }
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn starts_a_process_in_each_execution() {
    last(3);
    Command::new("true").status().unwrap();
}
"#;

#[test]
fn the_other_executions_are_explored() {
    let project = Project::new("processes", TESTS);
    for strategy in ["states", "source", "context"] {
        let flags = [
            "test",
            "--strategy",
            strategy,
            "--simplify",
            "0",
            "--message-format",
            "json",
        ];
        let run = project.run(&flags).ends(1);
        let tests = run.events("test-finished");
        let of = |name: &str| tests.iter().find(|test| test["test"]["name"] == name).unwrap();
        let counts = |name: &str| {
            let counts = &of(name)["counts"];
            ["complete", "cut"].map(|kind| counts[kind].as_u64().unwrap())
        };
        for name in [
            "starts_a_process_in_some_executions",
            "starts_a_process_in_each_execution",
            "leaves_something_behind",
        ] {
            let (test, reason) = (of(name), of(name)["reason"].to_string());
            assert!(
                test["verdict"] == "incomplete" && reason.contains("unsupported: a process"),
                "{strategy}: {test}"
            );
        }
        let [complete, cut] = counts("starts_a_process_in_some_executions");
        assert!(complete > 0 && cut > 0, "{strategy}: {complete} complete, {cut} cut");
        assert_eq!(counts("starts_a_process_in_each_execution"), [0, 0], "{strategy}");
        assert_eq!(counts("leaves_something_behind")[1], 0, "{strategy}");
        for name in [
            "starts_a_process_in_some_executions_and_fails_in_others",
            "fails_where_no_process_is_started",
            "fails_beside_a_process",
        ] {
            assert_eq!(of(name)["failure"]["kind"], "panic", "{strategy}: {}", of(name));
        }
    }
}

#[test]
fn the_reason_is_told_where_a_limit_ends_the_exploration() {
    let project = Project::new("unsupported-limited", TESTS);
    let limits = ["--max-executions", "2", "--memory", "sc", "--strategy", "source"];
    let run = project.run(&[&["test", "starts_a_process_in_some_executions", "--exact"], &limits[..]].concat());
    let told = |text: &str| assert!(run.stdout.contains(text), "no {text:?} in {run:?}");
    told("the limit of 2 executions was reached");
    told("unsupported: a process");
    told("1 execution ");
    told("1 cut");
}
