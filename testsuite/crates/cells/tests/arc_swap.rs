//! arc-swap.

use arc_swap::{ArcSwap, ArcSwapOption};
use std::sync::Arc;
use std::thread;

#[test]
fn load_sees_the_old_or_the_new() {
    let shared = ArcSwap::from_pointee(1);
    let seen = thread::scope(|scope| {
        scope.spawn(|| shared.store(Arc::new(2)));
        scope.spawn(|| **shared.load()).join().unwrap()
    });
    assert!(seen == 1 || seen == 2);
    assert_eq!(**shared.load(), 2);
}

#[test]
fn one_of_two_compare_and_swaps_wins() {
    let first = Arc::new(0);
    let shared = ArcSwap::new(Arc::clone(&first));
    let replace = |value| Arc::ptr_eq(&shared.compare_and_swap(&first, Arc::new(value)), &first);
    let (a, b) = thread::scope(|scope| {
        let a = scope.spawn(|| replace(1));
        let b = scope.spawn(|| replace(2));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert!(a != b);
    assert_eq!(**shared.load(), if a { 1 } else { 2 });
}

#[test]
fn swapped_value_is_given_to_one() {
    let shared = ArcSwapOption::from_pointee(5);
    let (a, b) = thread::scope(|scope| {
        let a = scope.spawn(|| shared.swap(None));
        let b = scope.spawn(|| shared.swap(None));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert!(a.is_some() != b.is_some());
}

#[test]
#[ignore = "takes long to explore"]
fn two_readers_see_the_old_or_the_new() {
    let shared = Arc::new(ArcSwap::from_pointee(1));
    let children = [(); 2].map(|()| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || assert!([1, 2].contains(&**shared.load())))
    });
    shared.store(Arc::new(2));
    children.into_iter().for_each(|child| child.join().unwrap());
}
