//! boxcar.

use std::sync::Arc;
use std::thread;

#[test]
fn both_elements_have_a_place() {
    let vector = Arc::new(boxcar::Vec::new());
    let child = {
        let vector = Arc::clone(&vector);
        thread::spawn(move || vector.push(1))
    };
    let mine = vector.push(2);
    let theirs = child.join().unwrap();
    assert_eq!((vector[theirs], vector[mine]), (1, 2));
}

#[test]
fn a_reader_sees_what_was_pushed_or_less() {
    let vector = Arc::new(boxcar::Vec::new());
    let child = {
        let vector = Arc::clone(&vector);
        thread::spawn(move || vector.push(1))
    };
    assert!(matches!(vector.get(0), None | Some(1)));
    child.join().unwrap();
    assert_eq!(vector.count(), 1);
}
