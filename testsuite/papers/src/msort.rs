//! MSort(n): the children of each actor sort both halves of its list, and it merges the results.
//!
//! 2^(n-1) orders: one race for each actor that has children. n - 1 is the number of states that CDPOR3 stores in Table
//! 2; Source-DPOR's published executions are 2^8 for n = 9, and 912 of 2^11 and 15872 of 2^14 for the others.

use crate::{Actor, wait, wait_all};
use std::thread::{self, JoinHandle};

/// The sorted halves, as they come in.
pub(crate) type Halves = [Vec<u64>; 2];

/// `n` numbers in no order.
pub fn list(n: u64) -> Vec<u64> {
    (1..=n).map(|i| i * 7 % 17).collect()
}

/// Sorts the list.
pub fn run(list: Vec<u64>) -> Vec<u64> {
    let root = Actor::new(Halves::default());
    wait(request(list, root.clone(), 0));
    root.step(|[list, _]| std::mem::take(list))
}

/// Sorts the list and sends it to `parent`, as its half number `side`.
fn request(mut list: Vec<u64>, parent: Actor<Halves>, side: usize) -> JoinHandle<()> {
    thread::spawn(move || {
        if list.len() > 1 {
            let halves = Actor::new(Halves::default());
            let upper = list.split_off(list.len() / 2);
            let children = [request(list, halves.clone(), 0), request(upper, halves.clone(), 1)];
            wait_all(children);
            list = halves.step(|[lower, upper]| merge(lower, upper));
        }
        wait(parent.send(move |halves| halves[side] = list));
    })
}

/// Merges two sorted lists.
pub(crate) fn merge(a: &[u64], b: &[u64]) -> Vec<u64> {
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    let mut merged = Vec::with_capacity(a.len() + b.len());
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        merged.extend(if x <= y { a.next() } else { b.next() });
    }
    merged.extend(a.chain(b));
    merged
}
