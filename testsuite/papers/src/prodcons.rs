//! §4 and Table 1: a producer and a consumer with `n` critical sections each, (2n)! / (n!)² orders. Each look of the
//! consumer finds something or nothing: 2^n outcomes.

use crate::wait;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread;

/// The producer stores 0, …, n - 1; the consumer looks `n` times. Returns what it found each time.
pub fn run(n: u64) -> Vec<Option<u64>> {
    let buffer = Arc::new(Mutex::new(VecDeque::<u64>::with_capacity(n as usize)));
    let producer = {
        let buffer = Arc::clone(&buffer);
        thread::spawn(move || {
            for value in 0..n {
                buffer.lock().expect("not poisoned").push_back(value);
            }
        })
    };
    let consumer = {
        let buffer = Arc::clone(&buffer);
        thread::spawn(move || {
            let look = || buffer.lock().expect("not poisoned").pop_front();
            (0..n).map(|_| look()).collect()
        })
    };
    wait(producer);
    wait(consumer)
}
