//! parking_lot, with two threads and with three.

use parking_lot::{Condvar, Mutex, RwLock};
use std::sync::Arc;
use std::thread;

/// Adds one in `threads` threads and in this one.
fn increments(threads: i32) {
    let mutex = Arc::new(Mutex::new(0));
    let children: Vec<_> = (0..threads)
        .map(|_| {
            let mutex = Arc::clone(&mutex);
            thread::spawn(move || *mutex.lock() += 1)
        })
        .collect();
    *mutex.lock() += 1;
    children.into_iter().for_each(|child| child.join().unwrap());
    assert_eq!(*mutex.lock(), threads + 1);
}

#[test]
fn a_mutex_of_two_is_exclusive() {
    increments(1);
}

#[test]
fn a_mutex_of_three_is_exclusive() {
    increments(2);
}

#[test]
fn a_reader_sees_whole_writes() {
    let lock = Arc::new(RwLock::new((0, 0)));
    let child = {
        let lock = Arc::clone(&lock);
        thread::spawn(move || *lock.write() = (1, 1))
    };
    let (left, right) = *lock.read();
    assert_eq!(left, right);
    child.join().unwrap();
}

#[test]
fn two_readers_see_whole_writes() {
    let lock = Arc::new(RwLock::new((0, 0)));
    let children = [(); 2].map(|()| {
        let lock = Arc::clone(&lock);
        thread::spawn(move || {
            let (left, right) = *lock.read();
            assert_eq!(left, right);
        })
    });
    *lock.write() = (1, 1);
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn a_flag_is_waited_for() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let child = {
        let pair = Arc::clone(&pair);
        thread::spawn(move || {
            *pair.0.lock() = true;
            pair.1.notify_one();
        })
    };
    let mut set = pair.0.lock();
    pair.1.wait_while(&mut set, |set| !*set);
    drop(set);
    child.join().unwrap();
}

#[test]
fn two_wait_for_a_flag() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let children = [(); 2].map(|()| {
        let pair = Arc::clone(&pair);
        thread::spawn(move || {
            let mut set = pair.0.lock();
            pair.1.wait_while(&mut set, |set| !*set);
        })
    });
    *pair.0.lock() = true;
    pair.1.notify_all();
    children.into_iter().for_each(|child| child.join().unwrap());
}
