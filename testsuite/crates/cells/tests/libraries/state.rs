//! state.

use state::{InitCell, TypeMap};
use std::sync::Arc;
use std::thread;

#[test]
fn one_of_two_sets_wins() {
    let cell = Arc::new(InitCell::new());
    let child = {
        let cell = Arc::clone(&cell);
        thread::spawn(move || cell.set(1))
    };
    let mine = cell.set(2);
    assert!(mine != child.join().unwrap());
    assert_eq!(*cell.get(), if mine { 2 } else { 1 });
}

#[test]
fn one_value_of_a_type_is_kept() {
    let map = Arc::new(<TypeMap![Send + Sync]>::new());
    let child = {
        let map = Arc::clone(&map);
        thread::spawn(move || map.set(1_i32))
    };
    let mine = map.set(2_i32);
    assert!(mine != child.join().unwrap());
    assert_eq!(*map.get::<i32>(), if mine { 2 } else { 1 });
}
