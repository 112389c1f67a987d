//! parking_lot's locks.

use parking_lot::{Condvar, Mutex, Once, ReentrantMutex, RwLock};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

#[test]
fn one_try_lock_fails() {
    let mutex = Arc::new(Mutex::new(()));
    let guard = mutex.lock();
    let child = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || mutex.try_lock().is_none())
    };
    assert!(child.join().unwrap());
    drop(guard);
}

#[test]
fn mutex_gives_up_after_a_time() {
    let mutex = Arc::new(Mutex::new(()));
    let guard = mutex.lock();
    let child = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || mutex.try_lock_for(Duration::from_secs(1)).is_none())
    };
    assert!(child.join().unwrap());
    drop(guard);
}

#[test]
fn reader_sees_whole_writes() {
    let lock = Arc::new(RwLock::new((0, 0)));
    let child = {
        let lock = Arc::clone(&lock);
        thread::spawn(move || {
            let mut both = lock.write();
            both.0 = 1;
            both.1 = 1;
        })
    };
    let both = *lock.read();
    assert_eq!(both.0, both.1);
    child.join().unwrap();
}

#[test]
fn once_runs_once() {
    let shared = Arc::new((Once::new(), Mutex::new(0)));
    let run = |(once, runs): &(Once, Mutex<i32>)| {
        once.call_once(|| *runs.try_lock().unwrap() += 1);
        assert!(once.state().done());
    };
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || run(&shared))
    };
    run(&shared);
    child.join().unwrap();
    assert_eq!(*shared.1.lock(), 1);
}

#[test]
fn reentrant_mutex_is_locked_twice() {
    let mutex = ReentrantMutex::new(1);
    let first = mutex.lock();
    let second = mutex.lock();
    assert_eq!(*first + *second, 2);
}

#[test]
fn notification_before_the_wait_is_lost() {
    let pair = Arc::new((Mutex::new(()), Condvar::new()));
    let child = {
        let pair = Arc::clone(&pair);
        thread::spawn(move || {
            pair.1.notify_one();
        })
    };
    let mut guard = pair.0.lock();
    pair.1.wait(&mut guard);
    drop(guard);
    child.join().unwrap();
}

#[test]
fn condvar_times_out() {
    let (mutex, condvar) = (Mutex::new(()), Condvar::new());
    let mut guard = mutex.lock();
    assert!(condvar.wait_for(&mut guard, Duration::from_secs(1)).timed_out());
}
