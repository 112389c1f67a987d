//! futures-intrusive.

use futures_intrusive::sync::{ManualResetEvent, Mutex};
use pollster::block_on;
use std::sync::Arc;
use std::thread;

#[test]
#[ignore = "takes long to explore"]
fn an_event_is_waited_for() {
    let event = Arc::new(ManualResetEvent::new(false));
    let child = {
        let event = Arc::clone(&event);
        thread::spawn(move || event.set())
    };
    block_on(event.wait());
    child.join().unwrap();
}

#[test]
#[ignore = "takes long to explore"]
fn a_mutex_is_exclusive() {
    let mutex = Arc::new(Mutex::new(0, true));
    let child = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || *block_on(mutex.lock()) += 1)
    };
    *block_on(mutex.lock()) += 1;
    child.join().unwrap();
    assert_eq!(*block_on(mutex.lock()), 2);
}
