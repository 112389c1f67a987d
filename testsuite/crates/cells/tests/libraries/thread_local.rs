//! thread_local.

use std::cell::Cell;
use std::sync::Arc;
use std::thread;
use thread_local::ThreadLocal;

#[test]
fn threads_that_run_have_their_own() {
    let local = Arc::new(ThreadLocal::new());
    assert_eq!(local.get_or(|| Cell::new(2)).get(), 2);
    let child = {
        let local = Arc::clone(&local);
        thread::spawn(move || local.get_or(|| Cell::new(1)).get())
    };
    assert_eq!(local.get_or(|| Cell::new(3)).get(), 2);
    assert_eq!(child.join().unwrap(), 1);
}

/// As documented: who comes later may find what a thread that has ended left behind.
#[test]
fn a_thread_that_has_ended_hands_its_value_on() {
    let local = Arc::new(ThreadLocal::new());
    let child = {
        let local = Arc::clone(&local);
        thread::spawn(move || local.get_or(|| Cell::new(1)).get())
    };
    assert_eq!(local.get_or(|| Cell::new(2)).get(), 2);
    assert_eq!(child.join().unwrap(), 1);
}

#[test]
fn values_of_all_threads_are_iterated() {
    let local = Arc::new(ThreadLocal::new());
    let children = [1, 2].map(|value| {
        let local = Arc::clone(&local);
        thread::spawn(move || {
            local.get_or(|| Cell::new(value));
        })
    });
    children.into_iter().for_each(|child| child.join().unwrap());
    let local = Arc::into_inner(local).unwrap();
    // A thread that has ended hands its number on, and its value with it.
    let sum: i32 = local.into_iter().map(Cell::into_inner).sum();
    assert!((1..=3).contains(&sum));
}
