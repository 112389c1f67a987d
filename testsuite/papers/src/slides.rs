//! The examples of J. Tužil's slides *Context-Sensitive Dynamic Partial Order Reduction* (2018), whose last one, two
//! writers of the same value and a reader, is [`section3`](crate::section3).

use crate::{wait, wait_all};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

/// A variable of the slides, 0 at first.
type Variable = AtomicU64;

/// `x = 3 | y = 4`: nothing in common.
pub fn two_variables() {
    static X: Variable = Variable::new(0);
    static Y: Variable = Variable::new(0);
    let tasks = [
        thread::spawn(|| X.store(3, SeqCst)),
        thread::spawn(|| Y.store(4, SeqCst)),
    ];
    wait_all(tasks);
}

/// `x = 3 | y = x`: what `y` is in the end.
pub fn read_and_kept() -> u64 {
    static X: Variable = Variable::new(0);
    let writer = thread::spawn(|| X.store(3, SeqCst));
    let reader = thread::spawn(|| X.load(SeqCst));
    wait(writer);
    wait(reader)
}

/// `x = 3 | read x`, where nobody keeps the value read.
pub fn read_and_forgotten() {
    static X: Variable = Variable::new(0);
    let writer = thread::spawn(|| X.store(3, SeqCst));
    let reader = thread::spawn(|| {
        X.load(SeqCst);
    });
    wait_all([writer, reader]);
}

/// `write x | read y; read x | read z; read x`: returns the last values that the two readers have read.
pub fn two_readers() -> [u64; 2] {
    static X: Variable = Variable::new(0);
    static Y: Variable = Variable::new(0);
    static Z: Variable = Variable::new(0);
    let writer = thread::spawn(|| X.store(1, SeqCst));
    let reader = |first: &'static Variable| {
        thread::spawn(move || {
            first.load(SeqCst);
            X.load(SeqCst)
        })
    };
    let readers = [reader(&Y), reader(&Z)];
    wait(writer);
    readers.map(wait)
}
