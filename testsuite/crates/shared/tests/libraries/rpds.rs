//! rpds.

use rpds::{HashTrieMapSync, ListSync};
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn two_lists_share_an_end() {
    let end = ListSync::new_sync().push_front(1);
    let child = {
        let end = end.clone();
        thread::spawn(move || end.push_front(2).len())
    };
    assert_eq!(end.push_front(3).first(), Some(&3));
    drop(end);
    assert_eq!(child.join().unwrap(), 2);
}

#[test]
fn both_entries_are_published() {
    let map = Arc::new(Mutex::new(HashTrieMapSync::new_sync()));
    let child = {
        let map = Arc::clone(&map);
        thread::spawn(move || map.lock().unwrap().insert_mut(1, 7))
    };
    map.lock().unwrap().insert_mut(2, 8);
    child.join().unwrap();
    assert_eq!(map.lock().unwrap().size(), 2);
}
