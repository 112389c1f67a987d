//! scc.

use scc::{HashIndex, HashMap};
use std::sync::Arc;
use std::thread;

#[test]
#[ignore = "takes long to explore"]
fn what_is_inserted_is_read_or_not_yet() {
    let map = Arc::new(HashMap::new());
    let child = {
        let map = Arc::clone(&map);
        thread::spawn(move || map.insert_sync(1, 7).is_ok())
    };
    assert!(matches!(map.read_sync(&1, |_, value| *value), None | Some(7)));
    assert!(child.join().unwrap());
}

#[test]
#[ignore = "takes long to explore"]
fn one_of_two_inserts_wins() {
    let map = Arc::new(HashMap::new());
    let child = {
        let map = Arc::clone(&map);
        thread::spawn(move || map.insert_sync(1, 7).is_ok())
    };
    let mine = map.insert_sync(1, 8).is_ok();
    assert!(mine != child.join().unwrap());
    assert_eq!(map.read_sync(&1, |_, value| *value), Some(if mine { 8 } else { 7 }));
}

#[test]
#[ignore = "takes long to explore"]
fn an_index_is_read_without_a_lock() {
    let index = Arc::new(HashIndex::new());
    let child = {
        let index = Arc::clone(&index);
        thread::spawn(move || index.insert_sync(1, 7).is_ok())
    };
    assert!(matches!(index.peek_with(&1, |_, value| *value), None | Some(7)));
    assert!(child.join().unwrap());
}
