//! Other ways to write the programs, in which orders of the same messages lead to states that differ: by address, by
//! thread, or in the values. `cargo dpor diff-states --test variants NAME` shows where.

use crate::{Actor, msort::merge, wait, wait_all};
use std::collections::BTreeSet;
use std::thread::{self, JoinHandle};

/// [`msort`](crate::msort), where whoever's list comes last merges both: the merged list is at an address of its own
/// for each order.
pub fn msort(list: Vec<u64>) -> Vec<u64> {
    let root = Actor::new(Vec::new());
    wait(request(list, root.clone()));
    root.step(std::mem::take)
}

fn request(mut list: Vec<u64>, parent: Actor<Vec<u64>>) -> JoinHandle<()> {
    thread::spawn(move || {
        if list.len() > 1 {
            let merged = Actor::new(Vec::new());
            let upper = list.split_off(list.len() / 2);
            wait_all([list, upper].map(|half| request(half, merged.clone())));
            list = merged.step(std::mem::take);
        }
        wait(parent.send(move |merged| {
            *merged = if merged.is_empty() { list } else { merge(merged, &list) };
        }));
    })
}

/// [`fib`](crate::fib), where whoever's result comes last sends the sum on: a thread of its own for each order.
pub fn fib(n: u64) -> u64 {
    let root = Actor::new(Node {
        parent: None,
        sum: 0,
        missing: 1,
    });
    wait(compute(n, root.clone()));
    root.step(|node| node.sum)
}

/// An actor of [`fib`].
struct Node {
    parent: Option<Actor<Node>>,
    sum: u64,
    missing: u64,
}

fn compute(n: u64, parent: Actor<Node>) -> JoinHandle<()> {
    if n < 2 {
        return respond(n, parent);
    }
    thread::spawn(move || {
        let node = Actor::new(Node {
            parent: Some(parent),
            sum: 0,
            missing: 2,
        });
        wait_all([n - 1, n - 2].map(|n| compute(n, node.clone())));
    })
}

fn respond(result: u64, actor: Actor<Node>) -> JoinHandle<()> {
    thread::spawn(move || {
        let next = actor.step(|node| {
            node.sum += result;
            node.missing -= 1;
            if node.missing > 0 {
                return None;
            }
            let sum = node.sum;
            node.parent.clone().map(|parent| respond(sum, parent))
        });
        next.map(wait);
    })
}

/// [`pi`](crate::pi) in floating point, where a sum depends on the order.
pub fn pi(workers: u32) -> f64 {
    let master = Actor::new(0.0);
    let tasks: Vec<_> = (0..workers)
        .map(|worker| {
            let master = master.clone();
            thread::spawn(move || {
                let x = (f64::from(worker) + 0.5) / f64::from(workers);
                let share = 4.0 / (1.0 + x * x) / f64::from(workers);
                wait(master.send(move |sum| *sum += share));
            })
        })
        .collect();
    wait_all(tasks);
    master.step(|sum| *sum)
}

/// [`psort`](crate::psort), where what is not kept goes on at once, in a thread of the one that has brought it.
pub fn psort(list: Vec<u64>) -> Vec<u64> {
    let pipe: Vec<_> = list.iter().map(|_| Actor::new(None)).collect();
    let tasks: Vec<_> = list.into_iter().map(|value| carry(value, pipe.clone(), 0)).collect();
    wait_all(tasks);
    pipe.iter()
        .map(|actor| actor.step(|held| held.expect("all values have arrived")))
        .collect()
}

fn carry(value: u64, pipe: Vec<Actor<Option<u64>>>, at: usize) -> JoinHandle<()> {
    thread::spawn(move || {
        let next = pipe[at].step(|held| {
            let rest = held.map(|held| held.max(value));
            *held = Some(held.map_or(value, |held| held.min(value)));
            rest.map(|rest| carry(rest, pipe.clone(), at + 1))
        });
        next.map(wait);
    })
}

/// The registry of [`reg`](crate::reg) as a set that grows: its memory comes from whoever enters first.
pub fn registry(n: u64) -> BTreeSet<u64> {
    let registry = Actor::new(BTreeSet::new());
    let tasks: Vec<_> = (0..n)
        .map(|i| registry.send(move |entries| entries.insert(i)))
        .collect();
    for task in tasks {
        assert!(wait(task));
    }
    registry.step(|entries| entries.clone())
}
