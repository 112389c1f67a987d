//! crossbeam-epoch.

use crossbeam_epoch::{Atomic, Owned, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

/// Replaces the value that is there, and has it freed once nobody reads it any more.
fn replace(cell: &Atomic<i32>, value: i32) -> bool {
    let guard = pin();
    let old = cell.load(SeqCst, &guard);
    match cell.compare_exchange(old, Owned::new(value), SeqCst, SeqCst, &guard) {
        Ok(_) => {
            // SAFETY: the value was taken out of the cell, by this thread alone.
            unsafe { guard.defer_destroy(old) };
            true
        }
        Err(_) => false,
    }
}

/// The value that is there.
fn read(cell: &Atomic<i32>) -> i32 {
    let guard = pin();
    // SAFETY: the cell always has a value, which lives as long as the guard.
    unsafe { *cell.load(SeqCst, &guard).deref() }
}

#[test]
fn one_of_two_compare_exchanges_succeeds_at_least() {
    let cell = Arc::new(Atomic::new(0));
    let child = {
        let cell = Arc::clone(&cell);
        thread::spawn(move || replace(&cell, 1))
    };
    let mine = replace(&cell, 2);
    assert!(child.join().unwrap() || mine);
    assert_ne!(read(&cell), 0);
}

#[test]
fn a_reader_sees_a_value_that_is_not_freed() {
    let cell = Arc::new(Atomic::new(1));
    let child = {
        let cell = Arc::clone(&cell);
        thread::spawn(move || replace(&cell, 2))
    };
    assert!([1, 2].contains(&read(&cell)));
    assert!(child.join().unwrap());
}
