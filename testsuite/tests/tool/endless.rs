//! Threads that go on until others have moved, for as long as one likes: no two of their rounds are the same, so that
//! there are executions of any length. What the others do wrong is found all the same.
//!
//! The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::project::Project;
use serde_json::Value;

const TESTS: &str = r#"
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// An addition that may be lost.
fn increment(counter: &AtomicU32) {
    let before = counter.load(SeqCst);
    counter.store(before + 1, SeqCst);
}

#[test]
fn sends_until_nobody_receives() {
    let (sender, receiver) = channel();
    let counter = Arc::new(AtomicU32::new(0));
    let [one, other] = [counter.clone(), counter.clone()];
    let threads = [
        thread::spawn(move || {
            receiver.recv().unwrap();
            increment(&one);
        }),
        thread::spawn(move || increment(&other)),
    ];
    while sender.send(1).is_ok() {}
    threads.map(|thread| thread.join().unwrap());
    assert_eq!(counter.load(SeqCst), 2);
}

#[test]
fn asks_until_it_is_answered() {
    let ((ask, asked), (answer, answers)) = (channel(), channel());
    let counter = Arc::new(AtomicU32::new(0));
    let [one, other] = [counter.clone(), counter.clone()];
    let asking = thread::spawn(move || {
        while answers.try_iter().count() == 0 {
            ask.send(()).unwrap();
        }
        increment(&one);
    });
    let beside = thread::spawn(move || increment(&other));
    for () in asked {
        if answer.send(()).is_err() {
            break;
        }
    }
    asking.join().unwrap();
    beside.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2);
}

#[test]
fn looks_until_the_others_are_done() {
    let counter = Arc::new(AtomicU32::new(0));
    let done = Arc::new(Mutex::new(0));
    let threads = [(); 2].map(|()| {
        let (counter, done) = (counter.clone(), done.clone());
        thread::spawn(move || {
            increment(&counter);
            *done.lock().unwrap() += 1;
        })
    });
    let mut rounds = 0;
    while *done.lock().unwrap() < 2 {
        rounds += 1;
    }
    threads.map(|thread| thread.join().unwrap());
    assert_eq!(counter.load(SeqCst), 2, "after {rounds} rounds");
}

#[test]
fn waits_with_a_timeout_again_and_again() {
    let (sender, receiver) = channel();
    let counter = Arc::new(AtomicU32::new(0));
    let threads = [sender.clone(), sender].map(|sender| {
        let counter = counter.clone();
        thread::spawn(move || {
            increment(&counter);
            sender.send(()).unwrap();
        })
    });
    let mut times = 0;
    while let Ok(()) | Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(Duration::from_millis(10)) {
        times += 1;
    }
    threads.map(|thread| thread.join().unwrap());
    assert_eq!(counter.load(SeqCst), 2, "after {times} times");
}
"#;

#[test]
fn a_thread_that_goes_on_until_others_move_does_not_keep_them_from_failing() {
    let project = Project::new("endless", TESTS);
    let flags = [
        "test",
        "--no-fail-fast",
        "--max-time",
        "60s",
        "--simplify",
        "0",
        "--message-format",
        "json",
    ];
    let run = project.run(&flags).ends(1);
    let finished = run.events("test-finished");
    assert_eq!(finished.len(), 4);
    for test in finished {
        assert_eq!(test["failure"]["kind"], "panic", "{test}");
        project.run(&["replay", test["seed"].as_str().unwrap()]).ends(1);
    }
}

const VALUES: &str = r#"
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::thread;

#[derive(Default)]
struct Shared {
    value: AtomicU32,
    stop: AtomicBool,
    stopped: AtomicBool,
}

/// A thread stores in each round, until it finds that it is to stop: as late as one likes.
fn storing(shared: &Arc<Shared>) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    let thread = thread::spawn({
        let shared = shared.clone();
        move || {
            while !shared.stop.load(Relaxed) {
                shared.value.store(1, Relaxed);
                shared.value.store(0, Release);
            }
            shared.stopped.store(true, Relaxed);
        }
    });
    shared.stop.store(true, Relaxed);
    while !shared.stopped.load(Relaxed) {
        std::hint::spin_loop();
    }
    thread
}

#[test]
fn nobody_finds_old_values() {
    let shared = Arc::default();
    storing(&shared).join().unwrap();
    assert_eq!(shared.value.load(Relaxed), 0);
}

#[test]
fn any_may_be_found() {
    let shared = Arc::default();
    let thread = storing(&shared);
    assert!(shared.value.load(Relaxed) <= 1);
    thread.join().unwrap();
}

/// Under sequential consistency, one of the two finds what the other one has stored.
fn unless_both_find_old_values(order: Ordering, between: fn()) {
    let shared: Arc<(Shared, AtomicU32, AtomicU32)> = Arc::default();
    let [storing, other] = [shared.clone(), shared.clone()];
    let storing = thread::spawn(move || {
        while !storing.0.stop.load(order) {
            storing.0.value.store(1, order);
            between();
            storing.0.value.store(0, order);
        }
    });
    let other = thread::spawn(move || {
        other.1.store(1, Relaxed);
        other.2.load(Relaxed)
    });
    shared.2.store(1, Relaxed);
    let found = shared.1.load(Relaxed) + other.join().unwrap();
    shared.0.stop.store(found > 0, Relaxed);
    storing.join().unwrap();
}

#[test]
fn stores_for_ever() {
    unless_both_find_old_values(Relaxed, || ());
}

#[test]
fn stores_for_ever_in_one_order() {
    unless_both_find_old_values(SeqCst, || ());
}

#[test]
fn stores_for_ever_around_fences() {
    unless_both_find_old_values(SeqCst, || fence(SeqCst));
}

#[test]
fn older_ones_are_wrong() {
    let shared = Arc::default();
    let thread = storing(&shared);
    // Of six rounds.
    let found = |found: u32, at: u32| found + u32::from(shared.value.load(Relaxed) == (at + 1) % 2);
    assert!((0..12).fold(0, found) < 12);
    thread.join().unwrap();
}
"#;

/// Under weak memory, a thread that stores in each round leaves more and more values behind.
#[test]
fn of_many_values_the_last_ones_come_first() {
    let project = Project::new("values", VALUES);
    let flags = ["test", "--no-fail-fast", "--max-time", "6s", "--simplify", "5s"];
    let run = project
        .run(&[&flags[..], &["--message-format", "json"]].concat())
        .ends(1);
    let finished = run.events("test-finished");
    let met = |name: &str| {
        let mut tests = finished.iter().filter(|test| test["test"]["name"] == name);
        tests.next().expect("the test has run")
    };
    let note = |test: &Value| test["note"].as_str().unwrap_or_default().to_owned();
    // There are as many, but nobody can choose from them.
    let complete = met("nobody_finds_old_values");
    assert_eq!(complete["verdict"], "complete", "{complete}");
    assert_eq!(note(complete), "weak memory without load buffering");
    let part = met("any_may_be_found");
    assert_eq!(part["verdict"], "incomplete", "{part}");
    let note = note(part);
    let values = note.strip_prefix("weak memory without load buffering; with the last ");
    let values =
        values.and_then(|values| values.strip_suffix(" values of each atomic to choose from, the test is complete"));
    let values = values.and_then(|values| values.parse::<u32>().ok());
    assert!(values.is_some_and(|values| values >= 8), "{note}");
    // The order of what it has stored becomes too long to be judged.
    let unclear = met("stores_for_ever_around_fences");
    let reason = unclear["reason"].as_str().unwrap_or_default();
    assert!(
        unclear["verdict"] == "incomplete" && reason.contains("unclear"),
        "{unclear}"
    );
    for (name, kind) in [
        ("older_ones_are_wrong", "panic"),
        ("stores_for_ever", "livelock"),
        ("stores_for_ever_in_one_order", "livelock"),
    ] {
        let failed = met(name);
        assert_eq!(failed["failure"]["kind"], kind, "{failed}");
        project.run(&["replay", failed["seed"].as_str().unwrap()]).ends(1);
    }
}

/// Who goes on after an interruption knows that values were left out before it.
#[test]
fn what_was_left_out_before_an_interruption_is_not_forgotten() {
    let project = Project::new("values-resumed", VALUES);
    let run = |limits: &[&str]| {
        let flags = ["test", "any_may_be_found", "--message-format", "json"];
        let run = project.run(&[&flags[..], limits].concat()).ends(3);
        let test = run.events("test-finished").remove(0);
        assert_eq!(test["verdict"], "incomplete", "{test}");
        test
    };
    let says = |test: &Value, words: &str| test["note"].as_str().unwrap_or_default().contains(words);
    // Few executions at a time, so that what is left of the first round after an interruption leaves nothing out.
    let mut test = run(&["--max-executions", "10"]);
    let mut count = 0;
    while !says(&test, "values of each atomic to choose from, the test is complete") {
        assert!(count < 100, "{test}");
        count += 1;
        test = run(&["--max-executions", "10", "--resume"]);
    }
    assert!(count > 2, "{count}");
    // A shard tells nothing of the test.
    let shard = run(&["--shard", "1/2", "--max-time", "4s"]);
    assert!(!says(&shard, "the test is complete"), "{shard}");
}
