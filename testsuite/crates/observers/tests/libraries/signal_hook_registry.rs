//! signal-hook-registry.

use signal_hook_registry::{register, unregister};
use std::thread;

const SIGNAL: i32 = 10;

/// Registers a handler that does nothing, and takes it back.
fn come_and_go() -> bool {
    // SAFETY: the handler does nothing.
    let id = unsafe { register(SIGNAL, || ()) }.unwrap();
    unregister(id)
}

#[test]
fn two_handlers_come_and_go() {
    let child = thread::spawn(come_and_go);
    assert!(come_and_go());
    assert!(child.join().unwrap());
}
