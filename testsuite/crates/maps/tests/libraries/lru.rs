//! lru, behind a mutex.

use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn the_least_recent_entry_is_forgotten() {
    let cache = Arc::new(Mutex::new(LruCache::new(NonZeroUsize::new(1).unwrap())));
    let child = {
        let cache = Arc::clone(&cache);
        thread::spawn(move || {
            cache.lock().unwrap().put(1, 7);
        })
    };
    cache.lock().unwrap().put(2, 8);
    child.join().unwrap();
    let cache = cache.lock().unwrap();
    assert!(cache.contains(&1) != cache.contains(&2));
}

#[test]
fn a_use_makes_an_entry_recent() {
    let cache = Arc::new(Mutex::new(LruCache::new(NonZeroUsize::new(2).unwrap())));
    cache.lock().unwrap().put(1, 7);
    cache.lock().unwrap().put(2, 8);
    let child = {
        let cache = Arc::clone(&cache);
        thread::spawn(move || cache.lock().unwrap().get(&1).copied())
    };
    cache.lock().unwrap().put(3, 9);
    let used = child.join().unwrap();
    assert_eq!(cache.lock().unwrap().contains(&1), used.is_some());
}
