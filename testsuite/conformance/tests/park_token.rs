//! The effect of std's own waits on the park token. Each of these programs was run with std as well.

use conformance::unless;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Whether there is a token, which it takes.
fn token() -> bool {
    let start = Instant::now();
    thread::park_timeout(Duration::from_secs(1000));
    start.elapsed() < Duration::from_secs(500)
}

#[test]
fn fail_recv_takes_the_token() {
    let (tx, rx) = channel();
    let receiver = thread::spawn(move || {
        rx.recv().unwrap();
        thread::park();
    });
    receiver.thread().unpark();
    tx.send(()).unwrap();
    receiver.join().unwrap();
}

#[test]
fn fail_the_end_of_a_scope_takes_the_token() {
    let main = thread::current();
    let other = thread::spawn(move || main.unpark());
    thread::scope(|scope| {
        scope.spawn(|| ());
    });
    thread::park();
    other.join().unwrap();
}

#[test]
fn fail_the_end_of_a_scope_leaves_a_token() {
    thread::scope(|scope| {
        scope.spawn(|| ());
    });
    let flag = Arc::new(AtomicBool::new(false));
    let (main, set) = (thread::current(), Arc::clone(&flag));
    let other = thread::spawn(move || {
        set.store(true, SeqCst);
        main.unpark();
    });
    thread::park();
    assert!(flag.load(SeqCst), "park has returned early");
    other.join().unwrap();
}

#[test]
fn a_join_in_a_scope_leaves_a_token() {
    thread::scope(|scope| scope.spawn(|| ()).join().unwrap());
    thread::park();
}

#[test]
fn fail_a_scoped_thread_with_a_handle_unparks_nobody() {
    thread::scope(|scope| {
        let handle = scope.spawn(|| ());
        thread::park();
        handle.join().unwrap();
    });
}

#[test]
fn fail_a_scope_waits_for_a_leaked_handle() {
    thread::scope(|scope| std::mem::forget(scope.spawn(|| ())));
}

fn token_after_recv() -> bool {
    let (tx, rx) = channel();
    let sender = thread::spawn(move || tx.send(()).unwrap());
    rx.recv().unwrap();
    sender.join().unwrap();
    token()
}

#[test]
fn reach_recv_leaves_a_token() {
    unless(token_after_recv());
}

#[test]
fn reach_recv_leaves_no_token() {
    unless(!token_after_recv());
}

fn token_after_a_full_buffer() -> bool {
    let (tx, rx) = sync_channel(1);
    let sender = thread::spawn(move || {
        tx.send(1).unwrap();
        tx.send(2).unwrap();
        token()
    });
    rx.recv().unwrap();
    sender.join().unwrap()
}

#[test]
fn reach_send_leaves_a_token() {
    unless(token_after_a_full_buffer());
}

#[test]
fn reach_send_leaves_no_token() {
    unless(!token_after_a_full_buffer());
}

#[test]
fn only_one_side_of_a_rendezvous_gets_a_token() {
    let (tx, rx) = sync_channel(0);
    let sender = thread::spawn(move || {
        tx.send(()).unwrap();
        token()
    });
    rx.recv().unwrap();
    assert!(!(token() && sender.join().unwrap()));
}

#[test]
fn what_does_not_wait_leaves_the_token_alone() {
    let (tx, rx) = sync_channel(1);
    thread::current().unpark();
    tx.send(()).unwrap();
    rx.recv().unwrap();
    rx.recv_timeout(Duration::ZERO).unwrap_err();
    thread::scope(|_| ());
    thread::spawn(|| ()).join().unwrap();
    assert!(token());
}
