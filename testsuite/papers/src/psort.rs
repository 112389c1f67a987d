//! PSort(n), pipe sort: a chain of actors, each of which keeps the least of what it gets and passes the others on.
//!
//! The first actor gets n values in any order, the next one n - 1, and so on: n! (n-1)! … 1! orders, which are the 288
//! and 34560 that are published for Source-DPOR with n = 4 and 5. (With n = 6 there are 24,883,200; it ran out of
//! time.)

use crate::{Actor, wait, wait_all};
use std::thread::{self, JoinHandle};

/// The elements of an actor, in ascending order.
type Held = Vec<u64>;

/// `n` numbers in no order.
pub fn list(n: u64) -> Vec<u64> {
    crate::msort::list(n)
}

/// Sorts the list.
pub fn run(list: Vec<u64>) -> Vec<u64> {
    let pipe: Vec<_> = (0..list.len())
        .map(|i| Actor::new(Held::with_capacity(list.len() - i)))
        .collect();
    wait(pass(list, pipe.clone()));
    pipe.iter().map(|actor| actor.step(|held| held[0])).collect()
}

/// Sends the values to the first actor, one task each; when all are there, all but the least go on to the next.
fn pass(values: Vec<u64>, mut pipe: Vec<Actor<Held>>) -> JoinHandle<()> {
    thread::spawn(move || {
        if values.is_empty() {
            return;
        }
        let first = pipe.remove(0);
        let tasks: Vec<_> = values
            .into_iter()
            .map(|value| first.send(move |held| held.insert(held.partition_point(|x| *x < value), value)))
            .collect();
        wait_all(tasks);
        let rest = first.step(|held| held.split_off(1));
        wait(pass(rest, pipe));
    })
}
