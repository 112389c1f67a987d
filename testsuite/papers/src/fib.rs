//! Fib(n): a tree of actors, each of which adds up the results of two children.
//!
//! 2^k orders for k actors that have children: 7, 12 and 20 for n = 5, 6 and 7, which is the number of states that
//! CDPOR3 stores in Table 2: one for each race of its only execution. The published executions of Source-DPOR are
//! somewhat fewer, 94 of 2^7 and 2148 of 2^12.

use crate::{Actor, wait, wait_all};
use std::thread::{self, JoinHandle};

/// The `n`-th Fibonacci number.
pub fn run(n: u64) -> u64 {
    let root = Actor::new(0);
    wait(request(n, root.clone()));
    root.step(|sum| *sum)
}

/// Computes the `n`-th number and sends it to `parent`.
fn request(n: u64, parent: Actor<u64>) -> JoinHandle<()> {
    thread::spawn(move || {
        let result = if n < 2 {
            n
        } else {
            let sum = Actor::new(0);
            let children = [n - 1, n - 2].map(|n| request(n, sum.clone()));
            wait_all(children);
            sum.step(|sum| *sum)
        };
        wait(parent.send(move |sum| *sum += result));
    })
}
