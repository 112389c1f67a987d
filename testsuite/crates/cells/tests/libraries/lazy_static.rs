//! lazy_static.

use lazy_static::lazy_static;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

static RUNS: AtomicUsize = AtomicUsize::new(0);

lazy_static! {
    static ref VALUE: String = {
        RUNS.fetch_add(1, SeqCst);
        "value".to_string()
    };
}

#[test]
fn a_static_is_made_once() {
    let child = thread::spawn(|| VALUE.len());
    assert_eq!(VALUE.len(), 5);
    assert_eq!(child.join().unwrap(), 5);
    assert_eq!(RUNS.load(SeqCst), 1);
}
