//! dashmap: entries.

use dashmap::DashMap;
use std::sync::Arc;
use std::thread;

#[test]
#[ignore = "takes long to explore"]
fn both_add_to_an_entry() {
    let map = Arc::new(DashMap::with_shard_amount(2));
    let child = {
        let map = Arc::clone(&map);
        thread::spawn(move || *map.entry("a").or_insert(0) += 1)
    };
    *map.entry("a").or_insert(0) += 1;
    child.join().unwrap();
    assert_eq!(*map.get("a").unwrap(), 2);
}

#[test]
#[ignore = "takes long to explore"]
fn get_beside_remove_finds_the_value_or_nothing() {
    let map = Arc::new(DashMap::with_shard_amount(2));
    map.insert("a", 1);
    let child = {
        let map = Arc::clone(&map);
        thread::spawn(move || map.remove("a"))
    };
    assert!(map.get("a").is_none_or(|value| *value == 1));
    assert_eq!(child.join().unwrap(), Some(("a", 1)));
}

#[test]
#[ignore = "takes long to explore"]
fn a_second_reference_does_not_wait_for_a_writer() {
    let map = Arc::new(DashMap::with_shard_amount(2));
    map.insert("a", 1);
    let child = {
        let map = Arc::clone(&map);
        thread::spawn(move || *map.get_mut("a").unwrap() += 1)
    };
    let first = map.get("a").unwrap();
    let second = map.get("a").unwrap();
    assert_eq!(*first, *second);
    drop((first, second));
    child.join().unwrap();
}
