//! orx-concurrent-vec.

use orx_concurrent_vec::ConcurrentVec;
use std::sync::Arc;
use std::thread;

#[test]
fn both_elements_have_a_place() {
    let vector = Arc::new(ConcurrentVec::new());
    let child = {
        let vector = Arc::clone(&vector);
        thread::spawn(move || vector.push(1))
    };
    let mine = vector.push(2);
    let theirs = child.join().unwrap();
    assert_eq!((vector[theirs].cloned(), vector[mine].cloned()), (1, 2));
}

#[test]
fn both_updates_are_kept() {
    let vector = Arc::new(ConcurrentVec::new());
    vector.push(0);
    let child = {
        let vector = Arc::clone(&vector);
        thread::spawn(move || vector[0].update(|count| *count += 1))
    };
    vector[0].update(|count| *count += 1);
    child.join().unwrap();
    assert_eq!(vector[0].cloned(), 2);
}
