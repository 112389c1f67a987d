//! crossbeam-queue.

use crossbeam_queue::{ArrayQueue, SegQueue};
use std::thread;

#[test]
fn array_queue_keeps_what_two_threads_push() {
    let queue = ArrayQueue::new(2);
    thread::scope(|scope| {
        scope.spawn(|| queue.push(1).unwrap());
        scope.spawn(|| queue.push(2).unwrap());
    });
    let sum: i32 = std::iter::from_fn(|| queue.pop()).sum();
    assert_eq!(sum, 3);
}

#[test]
fn array_queue_with_one_slot_refuses_one_of_two() {
    let queue = ArrayQueue::new(1);
    let (a, b) = thread::scope(|scope| {
        let a = scope.spawn(|| queue.push(1));
        let b = scope.spawn(|| queue.push(2));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert!(a.is_ok() != b.is_ok());
    assert_eq!(queue.pop(), Some(if a.is_ok() { 1 } else { 2 }));
}

#[test]
fn array_queue_pop_takes_nothing_or_the_element() {
    let queue = ArrayQueue::new(1);
    let popped = thread::scope(|scope| {
        scope.spawn(|| queue.push(1).unwrap());
        scope.spawn(|| queue.pop()).join().unwrap()
    });
    assert_eq!(popped.or_else(|| queue.pop()), Some(1));
}

#[test]
fn seg_queue_is_in_order() {
    let queue = SegQueue::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            queue.push(1);
            queue.push(2);
        });
        scope.spawn(|| {
            let got: Vec<i32> = (0..2).filter_map(|_| queue.pop()).collect();
            assert!([1, 2].starts_with(&got));
        });
    });
}

#[test]
fn seg_queue_gives_each_element_once() {
    let queue = SegQueue::new();
    queue.push(1);
    queue.push(2);
    let (a, b) = thread::scope(|scope| {
        let a = scope.spawn(|| queue.pop().unwrap());
        let b = scope.spawn(|| queue.pop().unwrap());
        (a.join().unwrap(), b.join().unwrap())
    });
    assert_eq!(a + b, 3);
    assert!(queue.is_empty());
}
