//! The variants, at small sizes.

use papers::{msort::list, variants};
use std::collections::BTreeSet;

fn sort(run: fn(Vec<u64>) -> Vec<u64>, list: Vec<u64>) {
    let mut expected = list.clone();
    expected.sort();
    assert_eq!(run(list), expected);
}

#[test]
fn fib_5() {
    assert_eq!(variants::fib(5), 5);
}

#[test]
fn msort_9() {
    sort(variants::msort, list(9));
}

#[test]
fn pi_5() {
    assert!((variants::pi(5) - std::f64::consts::PI).abs() < 0.01);
}

#[test]
fn psort_4() {
    sort(variants::psort, list(4));
}

#[test]
fn registry_5() {
    assert_eq!(variants::registry(5), BTreeSet::from_iter(0..5));
}
