//! moka.

use moka::sync::Cache;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

#[test]
#[ignore = "takes long to explore"]
fn a_value_is_computed_once() {
    let cache = Cache::builder().max_capacity(2).build();
    let runs = Arc::new(AtomicUsize::new(0));
    let get = move |cache: &Cache<i32, i32>, runs: &AtomicUsize| {
        cache.get_with(1, || {
            runs.fetch_add(1, SeqCst);
            7
        })
    };
    let child = {
        let (cache, runs) = (cache.clone(), Arc::clone(&runs));
        thread::spawn(move || get(&cache, &runs))
    };
    assert_eq!(get(&cache, &runs), 7);
    assert_eq!(child.join().unwrap(), 7);
    assert_eq!(runs.load(SeqCst), 1);
}

#[test]
#[ignore = "takes long to explore"]
fn what_is_inserted_is_found_or_not_yet() {
    let cache = Cache::builder().max_capacity(2).build();
    let child = {
        let cache = cache.clone();
        thread::spawn(move || cache.insert(1, 7))
    };
    assert!(matches!(cache.get(&1), None | Some(7)));
    child.join().unwrap();
    assert_eq!(cache.get(&1), Some(7));
}
