//! slab, behind a mutex.

use slab::Slab;
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn each_value_has_its_key() {
    let slab = Arc::new(Mutex::new(Slab::new()));
    let child = {
        let slab = Arc::clone(&slab);
        thread::spawn(move || slab.lock().unwrap().insert(1))
    };
    let mine = slab.lock().unwrap().insert(2);
    let theirs = child.join().unwrap();
    let slab = slab.lock().unwrap();
    assert_eq!((slab[theirs], slab[mine]), (1, 2));
}

#[test]
fn a_key_is_used_again() {
    let slab = Arc::new(Mutex::new(Slab::new()));
    let key = slab.lock().unwrap().insert(0);
    let child = {
        let slab = Arc::clone(&slab);
        thread::spawn(move || slab.lock().unwrap().remove(key))
    };
    let mine = slab.lock().unwrap().insert(2);
    assert_eq!(child.join().unwrap(), 0);
    assert_eq!(slab.lock().unwrap()[mine], 2);
}
