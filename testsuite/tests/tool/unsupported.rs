//! What cannot be modelled ends the execution in which it is done, and the verdict is not complete.
//!
//! The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::project::Project;

const TESTS: &str = r#"
use std::process::Command;
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
        Command::new("true").status().unwrap();
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
        ] {
            let (test, reason) = (of(name), of(name)["reason"].to_string());
            assert!(
                test["verdict"] == "incomplete" && reason.contains("unsupported: a process"),
                "{test}"
            );
        }
        let [complete, cut] = counts("starts_a_process_in_some_executions");
        assert!(complete > 0 && cut > 0, "{strategy}: {complete} complete, {cut} cut");
        assert_eq!(counts("starts_a_process_in_each_execution"), [0, 0], "{strategy}");
        let failed = of("starts_a_process_in_some_executions_and_fails_in_others");
        assert_eq!(failed["failure"]["kind"], "panic", "{failed}");
    }
}
