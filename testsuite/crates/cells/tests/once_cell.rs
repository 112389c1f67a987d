//! once_cell.

use once_cell::race::OnceNonZeroUsize;
use once_cell::sync::{Lazy, OnceCell};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

#[test]
fn cell_is_initialised_once() {
    let cell = OnceCell::new();
    let calls = AtomicUsize::new(0);
    let get = || *cell.get_or_init(|| calls.fetch_add(1, SeqCst));
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(get(), 0));
        scope.spawn(|| assert_eq!(get(), 0));
    });
    assert_eq!(calls.into_inner(), 1);
}

#[test]
fn one_of_two_sets_wins() {
    let cell = OnceCell::new();
    let (a, b) = thread::scope(|scope| {
        let a = scope.spawn(|| cell.set(1));
        let b = scope.spawn(|| cell.set(2));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert!(a.is_ok() != b.is_ok());
    assert_eq!(cell.get(), Some(&if a.is_ok() { 1 } else { 2 }));
}

#[test]
fn lazy_static_is_shared() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static LAZY: Lazy<String> = Lazy::new(|| format!("call {}", CALLS.fetch_add(1, SeqCst)));
    let children = [(); 2].map(|()| thread::spawn(|| LAZY.as_str()));
    assert!(children.into_iter().all(|child| child.join().unwrap() == "call 0"));
}

#[test]
fn racing_cell_agrees_on_a_value() {
    let cell = OnceNonZeroUsize::new();
    let get = |value| cell.get_or_init(|| NonZeroUsize::new(value).unwrap());
    let (a, b) = thread::scope(|scope| {
        let a = scope.spawn(|| get(1));
        let b = scope.spawn(|| get(2));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert_eq!(a, b);
}
