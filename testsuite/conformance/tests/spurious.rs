//! Events that std allows without a reason. A checker shows them only on request.

use conformance::unless;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn reach_weak_compare_exchange_fails() {
    unless(AtomicUsize::new(0).compare_exchange_weak(0, 1, SeqCst, SeqCst).is_err());
}

#[test]
fn strong_compare_exchange_does_not_fail() {
    assert_eq!(AtomicUsize::new(0).compare_exchange(0, 1, SeqCst, SeqCst), Ok(0));
}

#[test]
fn reach_condvar_wakes_unnotified() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let (waiting, waits) = mpsc::channel();
    let waiter = {
        let pair = Arc::clone(&pair);
        thread::spawn(move || {
            let guard = pair.0.lock().unwrap();
            waiting.send(()).unwrap();
            *pair.1.wait(guard).unwrap()
        })
    };
    waits.recv().unwrap();
    *pair.0.lock().unwrap() = true;
    pair.1.notify_one();
    unless(!waiter.join().unwrap());
}

/// Whether this thread goes on before it was unparked, and before its time is over.
fn parks_in_vain(park: fn()) -> bool {
    let unparked = Arc::new(AtomicUsize::new(0));
    let (main, count) = (thread::current(), Arc::clone(&unparked));
    let other = thread::spawn(move || {
        count.store(1, SeqCst);
        main.unpark();
    });
    let start = Instant::now();
    park();
    let early = unparked.load(SeqCst) == 0 && start.elapsed() < Duration::from_secs(500);
    other.join().unwrap();
    early
}

#[test]
fn reach_park_returns_for_no_reason() {
    unless(parks_in_vain(thread::park));
}

#[test]
fn reach_park_timeout_returns_for_no_reason() {
    unless(parks_in_vain(|| thread::park_timeout(Duration::from_secs(1000))));
}

#[test]
fn retries_after_failures_for_no_reason_end() {
    let count = Arc::new(AtomicUsize::new(0));
    let add = |count: &AtomicUsize| {
        loop {
            let old = count.load(SeqCst);
            if count.compare_exchange_weak(old, old + 1, SeqCst, SeqCst).is_ok() {
                break;
            }
        }
    };
    let other = Arc::clone(&count);
    let handle = thread::spawn(move || add(&other));
    add(&count);
    handle.join().unwrap();
    assert_eq!(count.load(SeqCst), 2);
}
