//! mini-moka.

use mini_moka::sync::Cache;
use std::thread;

#[test]
#[ignore = "takes long to explore"]
fn what_is_inserted_is_found_or_not_yet() {
    let cache = Cache::new(2);
    let child = {
        let cache = cache.clone();
        thread::spawn(move || cache.insert(1, 7))
    };
    assert!(matches!(cache.get(&1), None | Some(7)));
    child.join().unwrap();
    assert_eq!(cache.get(&1), Some(7));
}

#[test]
fn two_keys_are_kept() {
    let cache = Cache::new(2);
    let child = {
        let cache = cache.clone();
        thread::spawn(move || cache.insert(1, 7))
    };
    cache.insert(2, 8);
    child.join().unwrap();
    assert_eq!((cache.get(&1), cache.get(&2)), (Some(7), Some(8)));
}
