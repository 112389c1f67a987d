//! Threads that go on until others have moved, for as long as one likes: no two of their rounds are the same, so that
//! there are executions of any length. What the others do wrong is found all the same.
//!
//! The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::project::Project;

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
