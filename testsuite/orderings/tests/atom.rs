//! atom: the caller chooses the ordering of `take` and `swap`, also one with which nobody may use what it gets (issue 15).

use atom::Atom;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

#[test]
fn a_box_is_handed_over() {
    let cell = Arc::new(Atom::empty());
    let other = Arc::clone(&cell);
    let thread = thread::spawn(move || other.swap(Box::new(1), Relaxed));
    if let Some(value) = cell.take(Relaxed) {
        assert_eq!(*value, 1);
    }
    thread.join().unwrap();
}
