//! papaya.

use papaya::HashMap;
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
fn both_add_to_an_entry() {
    let map = Arc::new(HashMap::new());
    let child = {
        let map = Arc::clone(&map);
        thread::spawn(move || {
            map.pin().update_or_insert(1, |count| count + 1, 1);
        })
    };
    map.pin().update_or_insert(1, |count| count + 1, 1);
    child.join().unwrap();
    assert_eq!(map.pin().get(&1), Some(&2));
}
