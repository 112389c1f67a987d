//! haphazard.

use haphazard::{AtomicPtr, HazardPointer};
use std::sync::Arc;
use std::thread;

#[test]
fn a_reader_sees_a_value_that_is_not_freed() {
    let cell = Arc::new(AtomicPtr::from(Box::new(1)));
    let child = {
        let cell = Arc::clone(&cell);
        thread::spawn(move || {
            let mut hazard = HazardPointer::new();
            *cell.safe_load(&mut hazard).unwrap()
        })
    };
    let old = cell.swap(Box::new(2)).unwrap();
    // SAFETY: the value was taken out of the cell, and all readers use the global domain.
    unsafe { old.retire() };
    assert!([1, 2].contains(&child.join().unwrap()));
}
