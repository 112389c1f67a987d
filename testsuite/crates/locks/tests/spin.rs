//! spin.

use spin::{Mutex, Once, RwLock};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

#[test]
fn mutex_is_exclusive() {
    let mutex = Mutex::new(0);
    thread::scope(|scope| {
        scope.spawn(|| *mutex.lock() += 1);
        scope.spawn(|| *mutex.lock() += 1);
    });
    assert_eq!(mutex.into_inner(), 2);
}

#[test]
fn one_try_lock_succeeds() {
    let mutex = Mutex::new(0);
    let (a, b) = thread::scope(|scope| {
        let a = scope.spawn(|| mutex.try_lock().is_some());
        let b = scope.spawn(|| mutex.try_lock().is_some());
        (a.join().unwrap(), b.join().unwrap())
    });
    assert!(a || b);
}

#[test]
fn once_runs_once() {
    let once = Once::new();
    let calls = AtomicUsize::new(0);
    let get = || *once.call_once(|| calls.fetch_add(1, SeqCst));
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(get(), 0));
        scope.spawn(|| assert_eq!(get(), 0));
    });
    assert_eq!(calls.into_inner(), 1);
}

#[test]
fn reader_sees_whole_writes() {
    let lock = RwLock::new((0, 0));
    thread::scope(|scope| {
        scope.spawn(|| *lock.write() = (1, 1));
        scope.spawn(|| {
            let pair = *lock.read();
            assert_eq!(pair.0, pair.1);
        });
    });
}
