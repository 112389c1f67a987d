//! §3: two writers of the same value and a reader. 3! orders; two of them differ in what is read.

use crate::{wait, wait_all};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

/// `x = 5 | x = 5 | read x`: returns the value read.
pub fn run() -> u64 {
    let x = Arc::new(AtomicU64::new(0));
    let write = || {
        let x = Arc::clone(&x);
        thread::spawn(move || x.store(5, SeqCst))
    };
    let writers = [write(), write()];
    let reader = {
        let x = Arc::clone(&x);
        thread::spawn(move || x.load(SeqCst))
    };
    wait_all(writers);
    wait(reader)
}
