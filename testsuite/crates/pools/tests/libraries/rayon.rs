//! rayon, with pools of one and of two threads.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

#[test]
#[ignore = "takes long to explore"]
fn one_thread_joins_both() {
    assert_eq!(pool(1).install(|| rayon::join(|| 1, || 2)), (1, 2));
}

#[test]
#[ignore = "takes long to explore"]
fn two_threads_join_both() {
    assert_eq!(pool(2).install(|| rayon::join(|| 1, || 2)), (1, 2));
}

#[test]
#[ignore = "takes long to explore"]
fn a_scope_waits_for_what_it_spawned() {
    let count = AtomicUsize::new(0);
    pool(2).scope(|scope| {
        scope.spawn(|_| {
            count.fetch_add(1, SeqCst);
        });
    });
    assert_eq!(count.into_inner(), 1);
}

#[test]
#[ignore = "takes long to explore"]
fn two_threads_sum() {
    assert_eq!(pool(2).install(|| (1..=2).into_par_iter().sum::<i32>()), 3);
}
