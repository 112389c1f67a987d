//! quick_cache.

use quick_cache::sync::Cache;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

#[test]
#[ignore = "takes long to explore"]
fn a_value_is_computed_once() {
    let cache = Arc::new(Cache::new(2));
    let runs = Arc::new(AtomicUsize::new(0));
    let get = |cache: &Cache<i32, i32>, runs: &AtomicUsize| {
        cache
            .get_or_insert_with(&1, || {
                runs.fetch_add(1, SeqCst);
                Ok::<_, ()>(7)
            })
            .unwrap()
    };
    let child = {
        let (cache, runs) = (Arc::clone(&cache), Arc::clone(&runs));
        thread::spawn(move || get(&cache, &runs))
    };
    assert_eq!(get(&cache, &runs), 7);
    assert_eq!(child.join().unwrap(), 7);
    assert_eq!(runs.load(SeqCst), 1);
}

#[test]
fn what_is_inserted_is_found_or_not_yet() {
    let cache = Arc::new(Cache::new(2));
    let child = {
        let cache = Arc::clone(&cache);
        thread::spawn(move || cache.insert(1, 7))
    };
    assert!(matches!(cache.get(&1), None | Some(7)));
    child.join().unwrap();
    assert_eq!(cache.get(&1), Some(7));
}
