//! A timeout for which no run is long enough does not fire.

use crate::outcomes::{all_find, fails, traces};
use shim_std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use shim_std::sync::{Arc, Condvar, Mutex};
use shim_std::thread;
use shim_std::time::Instant;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn a_message_comes_before_the_end_of_time() {
    for bound in [None, Some(0), Some(1)] {
        let receives = move || {
            let (sender, rx) = match bound {
                None => {
                    let (tx, rx) = channel();
                    (thread::spawn(move || tx.send(1).unwrap()), rx)
                }
                Some(bound) => {
                    let (tx, rx) = sync_channel(bound);
                    (thread::spawn(move || tx.send(1).unwrap()), rx)
                }
            };
            let received = rx.recv_timeout(Duration::MAX).unwrap();
            sender.join().unwrap();
            received
        };
        all_find(receives, [1]);
        // There is but one order: no timeout competes with the message. Without a buffer, who comes first waits.
        assert_eq!(traces(receives), if bound == Some(0) { 2 } else { 1 });
    }
    let disconnected = || {
        let (tx, rx) = channel::<()>();
        let sender = thread::spawn(move || drop(tx));
        let error = rx.recv_timeout(Duration::MAX).unwrap_err();
        sender.join().unwrap();
        usize::from(error == RecvTimeoutError::Disconnected)
    };
    all_find(disconnected, [1]);
}

#[test]
fn notifications_and_tokens_come_before_the_end_of_time() {
    let notified = |rounds: bool| {
        move || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = pair.clone();
            let thread = thread::spawn(move || {
                *other.0.lock().unwrap() = true;
                other.1.notify_one();
            });
            let mut done = pair.0.lock().unwrap();
            let forever = Duration::from_secs(u64::MAX);
            if rounds {
                done = pair.1.wait_timeout_while(done, forever, |done| !*done).unwrap().0;
            } else if !*done {
                done = pair.1.wait_timeout(done, forever).unwrap().0;
            }
            let seen = usize::from(*done);
            drop(done);
            thread.join().unwrap();
            seen
        }
    };
    all_find(notified(false), [1]);
    all_find(notified(true), [1]);
    let parked = || {
        let main = thread::current();
        let other = thread::spawn(move || main.unpark());
        thread::park_timeout(Duration::MAX);
        other.join().unwrap();
        0
    };
    all_find(parked, [0]);
}

/// If nothing else is left, this is a deadlock, and the report says why the wait does not end.
#[test]
fn waiting_for_the_end_of_time_is_a_deadlock() {
    let message = fails("deadlock", || {
        let (_tx, rx) = channel::<()>();
        let _ = rx.recv_timeout(Duration::MAX);
    });
    assert!(message.contains("waits at recv-timeout"), "{message}");
    assert!(
        message.contains(", for 584542046090 years, which no run takes"),
        "{message}"
    );
    let message = fails("deadlock", || thread::sleep(Duration::from_secs(u64::MAX)));
    assert!(message.contains("waits at sleep"), "{message}");
    assert!(message.contains("years, which no run takes"), "{message}");
    let message = fails("deadlock", || thread::park_timeout(366 * DAY));
    assert!(message.contains("waits at park-timeout"), "{message}");
    assert!(
        message.contains("for more than a year, which no run takes"),
        "{message}"
    );
    let message = fails("deadlock", || {
        let mutex = Mutex::new(());
        let _ = Condvar::new().wait_timeout(mutex.lock().unwrap(), 2 * 366 * DAY);
    });
    assert!(message.contains("waits at condvar-wake"), "{message}");
    assert!(message.contains("for 2 years, which no run takes"), "{message}");
}

/// A thread that sleeps for ever may be left behind.
#[test]
fn others_go_on_while_a_thread_sleeps_for_ever() {
    let sleeps = || {
        thread::spawn(|| thread::sleep(Duration::MAX));
        0
    };
    all_find(sleeps, [0]);
}

/// A year may pass, and std handles sums that are too large as usual.
#[test]
fn a_year_is_no_eternity() {
    let year = || {
        let start = Instant::now();
        thread::sleep(365 * DAY);
        thread::park_timeout(365 * DAY);
        assert!(start.elapsed() >= 2 * 365 * DAY);
        assert!(start.checked_add(Duration::MAX).is_none());
        0
    };
    all_find(year, [0]);
}
