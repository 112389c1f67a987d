//! parking_lot, which is taken as specified, and libraries that wait with their own system calls.

use dashmap::DashMap;
use parking_lot::{Condvar, Mutex};
use rayon::prelude::*;
use std::sync::Arc;
use std::thread;

#[test]
fn parking_lot_mutex_is_exclusive() {
    let mutex = Arc::new(Mutex::new(0));
    let child = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || *mutex.lock() += 1)
    };
    *mutex.lock() += 1;
    child.join().unwrap();
    assert_eq!(*mutex.lock(), 2);
}

#[test]
fn parking_lot_condvar_wakes() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let child = {
        let pair = Arc::clone(&pair);
        thread::spawn(move || {
            *pair.0.lock() = true;
            pair.1.notify_one();
        })
    };
    let mut set = pair.0.lock();
    while !*set {
        pair.1.wait(&mut set);
    }
    drop(set);
    child.join().unwrap();
}

#[test]
fn dashmap_keeps_both_entries() {
    let map = Arc::new(DashMap::with_shard_amount(2));
    let child = {
        let map = Arc::clone(&map);
        thread::spawn(move || map.insert("a", 1))
    };
    map.insert("b", 2);
    child.join().unwrap();
    assert_eq!(map.len(), 2);
}

#[test]
#[ignore = "takes long to explore"]
fn rayon_sums() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(pool.install(|| (1..=3).into_par_iter().sum::<i32>()), 6);
}
