//! seize.

use seize::{Collector, Guard, reclaim};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};
use std::thread;

#[test]
fn a_reader_sees_a_value_that_is_not_freed() {
    let shared = Arc::new((Collector::new(), AtomicPtr::new(Box::into_raw(Box::new(1)))));
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let guard = shared.0.enter();
            // SAFETY: the value lives as long as the guard.
            unsafe { *guard.protect(&shared.1, SeqCst) }
        })
    };
    let old = shared.1.swap(Box::into_raw(Box::new(2)), SeqCst);
    // SAFETY: the value was taken out of the cell, and came from a box.
    unsafe { shared.0.retire(old, reclaim::boxed) };
    assert!([1, 2].contains(&child.join().unwrap()));
    // SAFETY: nobody else has the last value.
    drop(unsafe { Box::from_raw(shared.1.load(SeqCst)) });
}
