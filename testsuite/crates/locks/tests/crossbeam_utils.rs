//! crossbeam-utils.

use crossbeam_utils::atomic::AtomicCell;
use crossbeam_utils::sync::{Parker, ShardedLock, WaitGroup};
use crossbeam_utils::{Backoff, CachePadded};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn parker_gets_its_token() {
    let parker = Parker::new();
    let unparker = parker.unparker().clone();
    let child = thread::spawn(move || unparker.unpark());
    parker.park();
    child.join().unwrap();
}

#[test]
fn wait_group_waits_for_all() {
    let group = WaitGroup::new();
    let done = Arc::new(Mutex::new(0));
    for _ in 0..2 {
        let (group, done) = (group.clone(), Arc::clone(&done));
        thread::spawn(move || {
            *done.lock().unwrap() += 1;
            drop(group);
        });
    }
    group.wait();
    assert_eq!(*done.lock().unwrap(), 2);
}

#[test]
fn atomic_cell_loses_no_update() {
    let cell = AtomicCell::new(1_u64);
    thread::scope(|scope| {
        scope.spawn(|| cell.fetch_add(1));
        scope.spawn(|| cell.fetch_update(|value| Some(value * 2)).unwrap());
    });
    assert!([3, 4].contains(&cell.load()));
}

#[test]
fn sharded_lock_reads_whole_writes() {
    let lock = ShardedLock::new((0, 0));
    thread::scope(|scope| {
        scope.spawn(|| *lock.write().unwrap() = (1, 1));
        scope.spawn(|| {
            let pair = *lock.read().unwrap();
            assert_eq!(pair.0, pair.1);
        });
    });
}

#[test]
fn backoff_waits_for_a_flag() {
    let flag = Arc::new(CachePadded::new(AtomicBool::new(false)));
    let child = {
        let flag = Arc::clone(&flag);
        thread::spawn(move || flag.store(true, SeqCst))
    };
    let backoff = Backoff::new();
    while !flag.load(SeqCst) {
        backoff.snooze();
    }
    child.join().unwrap();
}

#[test]
fn scoped_threads_of_crossbeam() {
    let counter = AtomicUsize::new(0);
    crossbeam_utils::thread::scope(|scope| {
        scope.spawn(|_| counter.fetch_add(1, SeqCst));
        scope.spawn(|_| counter.fetch_add(1, SeqCst));
    })
    .unwrap();
    assert_eq!(counter.into_inner(), 2);
}
