//! sharded-slab.

use sharded_slab::Slab;
use std::sync::Arc;
use std::thread;

#[test]
fn each_value_has_its_key() {
    let slab = Arc::new(Slab::new());
    let child = {
        let slab = Arc::clone(&slab);
        thread::spawn(move || slab.insert(1).unwrap())
    };
    let mine = slab.insert(2).unwrap();
    let theirs = child.join().unwrap();
    assert_eq!((*slab.get(theirs).unwrap(), *slab.get(mine).unwrap()), (1, 2));
}

#[test]
fn what_another_thread_removes_is_there_or_gone() {
    let slab = Arc::new(Slab::new());
    let key = slab.insert(1).unwrap();
    let child = {
        let slab = Arc::clone(&slab);
        thread::spawn(move || slab.remove(key))
    };
    assert!(slab.get(key).is_none_or(|value| *value == 1));
    assert!(child.join().unwrap());
    assert!(slab.get(key).is_none());
}
