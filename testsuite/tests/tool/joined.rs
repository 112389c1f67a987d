//! Operations on what only one thread uses are no scheduling points in a long exploration. The seed of what fails then
//! has them as steps all the same.
//!
//! The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::project::Project;
use serde_json::Value;

/// Three threads come two times each. All orders but the one that fails are explored before, or that one is found by
/// chance.
const TESTS: &str = r#"
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

/// Appends a digit, and returns what was there.
fn append(order: &AtomicU64, digit: u64) {
    let mut found = order.load(SeqCst);
    while let Err(other) = order.compare_exchange(found, found * 10 + digit, SeqCst, SeqCst) {
        found = other;
    }
}

fn come(order: Arc<AtomicU64>, digit: u64) {
    let own = (Box::new(AtomicU64::new(0)), Mutex::new(0));
    for _ in 0..2 {
        append(&order, digit);
        thread::yield_now();
        own.0.fetch_add(1, SeqCst);
        // Between two that follow each other, there would be a step.
        thread::yield_now();
        *own.1.lock().unwrap() += own.0.load(SeqCst);
    }
    assert_eq!(*own.1.lock().unwrap(), 3);
}

#[test]
fn three_come_twice() {
    let order = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (1..=3)
        .map(|digit| {
            let order = Arc::clone(&order);
            thread::spawn(move || come(order, digit))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_ne!(order.load(SeqCst), 313221);
}
"#;

#[test]
fn a_failure_that_is_found_late_has_all_operations_in_its_seed() {
    let project = Project::new("joined", TESTS);
    let run = project
        .run(&["test", "--simplify", "0", "--message-format", "json"])
        .ends(1);
    let finished = &run.events("test-finished")[0];
    let schedule = &finished["schedule"];
    assert_eq!(schedule["reproduced"], true, "{finished}");
    let steps = schedule["steps"].as_array().unwrap();
    // Some steps of the exploration are several here.
    let depth = finished["counts"]["peak_depth"].as_u64().unwrap();
    assert!((steps.len() as u64) > depth, "{finished}");
    let is_addition = |step: &&Value| step["operation"] == "read-modify-write";
    assert_eq!(steps.iter().filter(is_addition).count(), 6, "{finished}");

    let again = finished["again"].as_str().unwrap();
    let seed = again.split_whitespace().last().unwrap();
    let replayed = project.run(&["replay", seed, "--message-format", "json"]).ends(1);
    assert_eq!(replayed.events("replayed")[0]["failure"], finished["failure"]);
}
