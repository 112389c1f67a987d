//! Once, OnceLock, LazyLock, Barrier.

use conformance::{race, unless};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, LazyLock, Once, OnceLock};
use std::thread;

#[test]
fn call_once_runs_once_and_all_see_its_effect() {
    let seen = |(once, x): &(Once, AtomicUsize)| {
        once.call_once(|| {
            x.fetch_add(1, SeqCst);
        });
        x.load(SeqCst)
    };
    assert_eq!(race((Once::new(), AtomicUsize::new(0)), seen, seen), (1, 1));
}

#[test]
fn once_wait_waits() {
    race(
        (Once::new(), AtomicUsize::new(0)),
        |(once, x)| once.call_once(|| x.store(1, SeqCst)),
        |(once, x)| {
            once.wait();
            assert!(once.is_completed());
            assert_eq!(x.load(SeqCst), 1);
        },
    );
}

#[test]
fn reach_once_not_completed() {
    let (_, done) = race(Once::new(), |once| once.call_once(|| ()), |once| once.is_completed());
    unless(!done);
}

#[test]
fn reach_once_completed() {
    let (_, done) = race(Once::new(), |once| once.call_once(|| ()), |once| once.is_completed());
    unless(done);
}

#[test]
fn once_lock_is_set_once() {
    let (a, b) = race(OnceLock::new(), |cell| cell.set(1), |cell| cell.set(2));
    assert!((a, b) == (Ok(()), Err(2)) || (a, b) == (Err(1), Ok(())));
}

#[test]
fn once_lock_is_initialised_once() {
    let get = |(cell, calls): &(OnceLock<usize>, AtomicUsize)| *cell.get_or_init(|| calls.fetch_add(1, SeqCst));
    assert_eq!(race(Default::default(), get, get), (0, 0));
}

#[test]
fn once_lock_get_sees_nothing_or_all() {
    let (_, seen) = race(
        OnceLock::new(),
        |cell| cell.set(vec![1, 2]).unwrap(),
        |cell| cell.get().cloned(),
    );
    assert!(seen.is_none_or(|seen| seen == [1, 2]));
}

#[test]
fn once_lock_alone() {
    let mut cell = OnceLock::new();
    assert_eq!(cell.get(), None);
    assert_eq!(*cell.get_or_init(|| 3), 3);
    *cell.get_mut().unwrap() += 1;
    assert_eq!(*cell.wait(), 4);
    assert_eq!(cell.take(), Some(4));
    assert_eq!(cell.set(5), Ok(()));
    assert_eq!(cell.into_inner(), Some(5));
}

#[test]
fn panicking_initialiser_leaves_once_lock_empty() {
    static CELL: OnceLock<u32> = OnceLock::new();
    assert!(thread::spawn(|| *CELL.get_or_init(|| panic!("first"))).join().is_err());
    assert_eq!(CELL.get(), None);
    assert_eq!(*CELL.get_or_init(|| 2), 2);
}

static CALLS: AtomicUsize = AtomicUsize::new(0);
static LAZY: LazyLock<usize> = LazyLock::new(|| CALLS.fetch_add(1, SeqCst) + 40);

#[test]
fn lazy_static_is_initialised_once() {
    let (a, b) = race((), |()| *LAZY, |()| *LAZY);
    assert_eq!((a, b, CALLS.load(SeqCst)), (40, 40, 1));
}

#[test]
fn panicking_lazy_is_poisoned() {
    let lazy = Arc::new(LazyLock::<u32>::new(|| panic!("lazy")));
    for _ in 0..2 {
        let lazy = Arc::clone(&lazy);
        assert!(thread::spawn(move || **lazy).join().is_err());
    }
}

#[test]
fn barrier_has_one_leader() {
    let (a, b) = race(
        Barrier::new(2),
        |barrier| barrier.wait().is_leader(),
        |barrier| barrier.wait().is_leader(),
    );
    assert!(a != b);
}

#[test]
fn barrier_separates_phases_and_is_used_again() {
    let phase = |(barrier, x): &(Barrier, AtomicUsize)| {
        x.fetch_add(1, SeqCst);
        barrier.wait();
        let seen = x.load(SeqCst);
        barrier.wait();
        x.fetch_add(1, SeqCst);
        seen
    };
    assert_eq!(race((Barrier::new(2), AtomicUsize::new(0)), phase, phase), (2, 2));
}

#[test]
fn barrier_for_one_does_not_wait() {
    assert!(Barrier::new(1).wait().is_leader());
    assert!(Barrier::new(0).wait().is_leader());
}

#[test]
fn fail_barrier_for_two_alone_deadlocks() {
    Barrier::new(2).wait();
}
