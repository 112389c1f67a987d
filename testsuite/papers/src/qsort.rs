//! QSort(n): each actor has the elements below and above its first one sorted by children, and joins what they send
//! back.
//!
//! 2^k orders for k actors that have children, which depends on the list. The beginnings of `LIST` are such that k is
//! 7, 9 and 12 for n = 9, 12 and 15, the number of states that CDPOR3 stores in Table 2: one for each race of its only
//! execution. The published executions of Source-DPOR are somewhat fewer: 84, 280 and 3166.

use crate::{Actor, wait, wait_all};
use std::thread::{self, JoinHandle};

/// The sorted parts below and above, as they come in.
type Parts = [Vec<u64>; 2];

/// Numbers in no order.
const LIST: [u64; 15] = [34, 0, 32, 63, 26, 55, 16, 43, 2, 27, 51, 7, 29, 50, 3];

/// `n` numbers in no order, at most 15.
pub fn list(n: usize) -> Vec<u64> {
    LIST[..n].to_vec()
}

/// Sorts the list.
pub fn run(list: Vec<u64>) -> Vec<u64> {
    let root = Actor::new(Parts::default());
    wait(request(list, root.clone(), 0));
    root.step(|[list, _]| std::mem::take(list))
}

/// Sorts the list and sends it to `parent`, as its part number `side`.
fn request(mut list: Vec<u64>, parent: Actor<Parts>, side: usize) -> JoinHandle<()> {
    thread::spawn(move || {
        if list.len() > 1 {
            let pivot = list.remove(0);
            let (below, above) = list.into_iter().partition(|x| *x < pivot);
            let parts = Actor::new(Parts::default());
            let children = [request(below, parts.clone(), 0), request(above, parts.clone(), 1)];
            wait_all(children);
            list = parts.step(|[below, above]| [below.as_slice(), &[pivot], above].concat());
        }
        wait(parent.send(move |parts| parts[side] = list));
    })
}
