//! flurry.

use flurry::HashMap;
use std::sync::Arc;
use std::thread;

#[test]
fn what_is_inserted_is_read_or_not_yet() {
    let map = Arc::new(HashMap::new());
    let child = {
        let map = Arc::clone(&map);
        thread::spawn(move || {
            map.pin().insert(1, 7);
        })
    };
    assert!(matches!(map.pin().get(&1), None | Some(7)));
    child.join().unwrap();
}

#[test]
#[ignore = "takes long to explore"]
fn both_inserts_are_kept() {
    let map = Arc::new(HashMap::new());
    let child = {
        let map = Arc::clone(&map);
        thread::spawn(move || {
            map.pin().insert(1, 7);
        })
    };
    map.pin().insert(2, 8);
    child.join().unwrap();
    assert_eq!(map.len(), 2);
}
