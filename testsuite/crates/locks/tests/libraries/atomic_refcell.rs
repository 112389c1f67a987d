//! atomic_refcell.

use atomic_refcell::AtomicRefCell;
use std::sync::Arc;
use std::thread;

#[test]
fn two_borrow_it_together() {
    let cell = Arc::new(AtomicRefCell::new(1));
    let child = {
        let cell = Arc::clone(&cell);
        thread::spawn(move || *cell.borrow())
    };
    assert_eq!(*cell.borrow(), 1);
    assert_eq!(child.join().unwrap(), 1);
}

#[test]
fn who_may_write_is_alone() {
    let cell = Arc::new(AtomicRefCell::new((0, 0)));
    let child = {
        let cell = Arc::clone(&cell);
        thread::spawn(move || cell.try_borrow_mut().map(|mut pair| *pair = (1, 1)).is_ok())
    };
    if let Ok(pair) = cell.try_borrow() {
        assert_eq!(pair.0, pair.1);
    }
    child.join().unwrap();
}

#[test]
fn a_borrow_beside_a_writer_panics() {
    let cell = Arc::new(AtomicRefCell::new(0));
    let child = {
        let cell = Arc::clone(&cell);
        thread::spawn(move || *cell.borrow_mut() += 1)
    };
    let _ = *cell.borrow();
    child.join().unwrap();
}
