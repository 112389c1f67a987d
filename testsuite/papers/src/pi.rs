//! Pi(n): `n` workers send their share of a sum to a master, in n! orders, as published for Source-DPOR.
//!
//! The shares are fixed-point numbers, whose sum depends on no order. The published executions of CDPOR3 are 9, 24
//! and 74, so some orders made a difference there, as they do for the floating-point numbers of
//! [`variants::pi`](crate::variants::pi).

use crate::{Actor, wait, wait_all};
use std::thread;

/// The master: the sum of the shares that have come in, and how many have.
#[derive(Default)]
struct Master {
    sum: u64,
    received: u64,
}

/// Binary digits behind the point.
const DIGITS: u32 = 24;
/// Intervals that a worker adds up.
const INTERVALS: u64 = 4;

/// π as the integral of 4 / (1 + x²), by `workers` workers; rounded down to three decimal places.
pub fn run(workers: u64) -> u64 {
    let master = Actor::new(Master::default());
    let tasks: Vec<_> = (0..workers)
        .map(|worker| {
            let master = master.clone();
            thread::spawn(move || {
                let share = share(worker, workers);
                wait(master.send(move |master| {
                    master.sum += share;
                    master.received += 1;
                }));
            })
        })
        .collect();
    wait_all(tasks);
    master.step(|master| {
        assert_eq!(master.received, workers);
        (master.sum * 1000) >> DIGITS
    })
}

/// The worker's share: the midpoint rule for every `workers`-th interval.
fn share(worker: u64, workers: u64) -> u64 {
    let one = 1_u64 << DIGITS;
    let all = workers * INTERVALS;
    let height = |i: u64| {
        let x = (2 * i + 1) * one / (2 * all);
        ((4 * one) << DIGITS) / (one + ((x * x) >> DIGITS))
    };
    (0..INTERVALS).map(|i| height(i * workers + worker) / all).sum()
}
