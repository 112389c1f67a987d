//! The park token of a thread that also waits in a channel or at the end of a scope: std's waits may take it, and leave
//! one.

use crate::outcomes::{all_find, fails, traces};
use shim_std::Model;
use shim_std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use shim_std::sync::mpsc::{channel, sync_channel};
use shim_std::sync::{Arc, Mutex};
use shim_std::thread;
use std::mem;
use std::time::Duration;

const SOON: Duration = Duration::from_millis(1);

/// 1 if there is a token.
fn token() -> usize {
    // It times out where there is none; where there is one, it does not.
    let start = shim_std::time::Instant::now();
    thread::park_timeout(Duration::from_secs(1000));
    usize::from(start.elapsed() < Duration::from_secs(500))
}

#[test]
fn recv_takes_the_token() {
    let message = fails("deadlock", || {
        let (tx, rx) = channel();
        let receiver = thread::spawn(move || {
            rx.recv().unwrap();
            thread::park();
        });
        receiver.thread().unpark();
        tx.send(()).unwrap();
        receiver.join().unwrap();
    });
    assert!(message.contains("t1 (<unnamed>) waits at park"), "{message}");
}

#[test]
fn the_end_of_a_scope_takes_the_token() {
    let message = fails("deadlock", || {
        let main = thread::current();
        let other = thread::spawn(move || main.unpark());
        thread::scope(|scope| {
            scope.spawn(|| ());
        });
        thread::park();
        other.join().unwrap();
    });
    assert!(message.contains("t0 (main) waits at park"), "{message}");
}

#[test]
fn the_end_of_a_scope_leaves_a_token() {
    fails("panic", || {
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
        assert!(flag.load(SeqCst));
        other.join().unwrap();
    });
}

/// The thread that joins a scoped thread is the last to hold its result, and unparks itself.
#[test]
fn joining_in_a_scope_leaves_a_token_for_certain() {
    let joined = || {
        thread::scope(|scope| scope.spawn(|| ()).join().unwrap());
        thread::park();
        0
    };
    all_find(joined, [0]);
    let dropped = || {
        thread::scope(|scope| {
            scope.spawn(|| ());
        });
        token()
    };
    all_find(dropped, [0, 1]);
}

/// As long as there is a handle, a scoped thread that has ended does not unpark the owner.
#[test]
fn a_scoped_thread_with_a_handle_unparks_nobody() {
    let message = fails("deadlock", || {
        thread::scope(|scope| {
            let handle = scope.spawn(|| ());
            thread::park();
            handle.join().unwrap();
        });
    });
    assert!(message.contains("t0 (main) waits at park"), "{message}");
}

#[test]
fn a_scope_waits_for_leaked_handles() {
    for parks in [false, true] {
        let leaks = move || {
            if parks {
                thread::current().unpark();
                thread::scope(|scope| {
                    scope.spawn(|| ());
                    thread::park();
                    mem::forget(scope.spawn(|| ()));
                });
            } else {
                thread::scope(|scope| mem::forget(scope.spawn(|| ())));
            }
        };
        fails("deadlock", leaks);
    }
}

/// A waiting receiver gets its token from the sender, and may look before that comes.
#[test]
fn a_wait_in_a_channel_may_leave_a_token() {
    let unbounded = || {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || tx.send(()).unwrap());
        rx.recv().unwrap();
        sender.join().unwrap();
        token()
    };
    all_find(unbounded, [0, 1]);
    let disconnected = || {
        let (tx, rx) = channel::<()>();
        let sender = thread::spawn(move || drop(tx));
        rx.recv().unwrap_err();
        sender.join().unwrap();
        token()
    };
    all_find(disconnected, [0, 1]);
    let rendezvous = || {
        let (tx, rx) = sync_channel(0);
        let sender = thread::spawn(move || {
            tx.send(()).unwrap();
            token()
        });
        rx.recv().unwrap();
        2 * token() + sender.join().unwrap()
    };
    // One of the two waits for the other, and only that one is unparked.
    all_find(rendezvous, [0, 1, 2]);
    let full = || {
        let (tx, rx) = sync_channel(1);
        let sender = thread::spawn(move || {
            tx.send(()).unwrap();
            tx.send(()).unwrap();
            token()
        });
        rx.recv().unwrap();
        sender.join().unwrap()
    };
    all_find(full, [0, 1]);
}

/// An operation that need not wait leaves the token alone.
#[test]
fn no_wait_takes_no_token() {
    let there = || {
        let (tx, rx) = sync_channel(1);
        thread::current().unpark();
        tx.send(()).unwrap();
        rx.recv().unwrap();
        rx.recv_timeout(Duration::ZERO).unwrap_err();
        rx.try_recv().unwrap_err();
        thread::scope(|_| ());
        let mutex = Arc::new(Mutex::new(()));
        let other = Arc::clone(&mutex);
        let thread = thread::spawn(move || drop(other.lock().unwrap()));
        drop(mutex.lock().unwrap());
        thread.join().unwrap();
        token()
    };
    all_find(there, [1]);
}

/// A wait that times out has taken the token, unless the deadline had passed before.
#[test]
fn a_wait_with_a_timeout_may_take_the_token() {
    let timed_out = || {
        let (_tx, rx) = channel::<()>();
        thread::current().unpark();
        rx.recv_timeout(SOON).unwrap_err();
        token()
    };
    all_find(timed_out, [0, 1]);
}

/// A thread that never parks after a wait is explored as if there were no tokens.
#[test]
fn who_does_not_park_costs_nothing() {
    let waits = |parks: bool, after: bool| {
        move || {
            let (tx, rx) = channel();
            if parks && !after {
                thread::current().unpark();
                thread::park();
            }
            let sender = thread::spawn(move || tx.send(()).unwrap());
            rx.recv().unwrap();
            sender.join().unwrap();
            thread::scope(|scope| {
                scope.spawn(|| ());
                scope.spawn(|| ());
            });
            if after {
                thread::park_timeout(SOON);
            }
            0
        }
    };
    assert_eq!(traces(waits(false, false)), 1);
    assert_eq!(traces(waits(true, false)), 1);
    let outcome = Model::new().explore(move || {
        waits(true, true)();
    });
    assert!(outcome.report.statistics.complete > 1, "{outcome}");
}

/// std says that `park` may return for no reason. That is explored on request.
#[test]
fn park_returns_for_no_reason_on_demand() {
    let explore = |spurious: bool, timeout: bool| {
        let outcome = Model::new().spurious_wakeups(spurious).explore(move || {
            let flag = Arc::new(AtomicBool::new(false));
            let (main, set) = (thread::current(), Arc::clone(&flag));
            let other = thread::spawn(move || {
                set.store(true, SeqCst);
                main.unpark();
            });
            let start = shim_std::time::Instant::now();
            match timeout {
                true => thread::park_timeout(Duration::from_secs(1000)),
                false => thread::park(),
            }
            let early = start.elapsed() < Duration::from_secs(500);
            assert!(!early || flag.load(SeqCst), "neither unparked nor in time");
            other.join().unwrap();
        });
        matches!(outcome.report.verdict, dpor_explorer::Verdict::Failed { .. })
    };
    for timeout in [false, true] {
        assert!(!explore(false, timeout));
        assert!(explore(true, timeout));
    }
}
