// Shares on real threads. The shim's own `Arc` exists under `cfg(dpor_facade)` only.

use lib::sync::{Arc, Weak};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

const THREADS: usize = 4;
const ROUNDS: usize = 2000;

struct Counts<'a>(&'a AtomicUsize);

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Runs `f` in each thread on a share of a new value, all at once, and repeatedly. The value is destroyed once.
fn together(f: impl Fn(Arc<Counts<'_>>, &Weak<Counts<'_>>) + Sync) {
    let (destroyed, barrier) = (AtomicUsize::new(0), Barrier::new(THREADS));
    for round in 0..ROUNDS / THREADS {
        let arc = Arc::new(Counts(&destroyed));
        let weak = Arc::downgrade(&arc);
        let shares = [(); THREADS].map(|()| arc.clone());
        drop(arc);
        thread::scope(|scope| {
            for share in shares {
                let weak = weak.clone();
                let (f, barrier) = (&f, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    f(share, &weak);
                });
            }
        });
        assert_eq!((weak.strong_count(), weak.weak_count()), (0, 0));
        assert!(weak.upgrade().is_none());
        assert_eq!(destroyed.load(SeqCst), round + 1);
    }
}

#[test]
fn clones_and_drops() {
    together(|share, _| {
        let clones = [share.clone(), share.clone()];
        drop(share);
        assert!(Arc::ptr_eq(&clones[0], &clones[1]));
    });
}

#[test]
fn upgrades() {
    together(|share, weak| {
        assert!(weak.upgrade().is_some());
        drop(share);
        if let Some(share) = weak.upgrade() {
            assert!(Arc::strong_count(&share) > 0 && Arc::weak_count(&share) > 0);
        }
    });
}

#[test]
fn one_gets_the_value() {
    let got = AtomicUsize::new(0);
    together(|share, _| {
        if Arc::into_inner(share).is_some() {
            got.fetch_add(1, SeqCst);
        }
    });
    assert_eq!(got.load(SeqCst), ROUNDS / THREADS);
}

#[test]
fn shares_are_looked_at_while_weak_pointers_come_and_go() {
    together(|mut share, weak| {
        let more = weak.clone();
        let other = Arc::downgrade(&share);
        assert!(Arc::get_mut(&mut share).is_none(), "there are weak pointers");
        assert!(more.ptr_eq(&other));
        if let Err(share) = Arc::try_unwrap(share) {
            drop(share);
        }
    });
}

#[test]
fn values_are_copied_or_changed() {
    let mut numbers = Arc::new(vec![0]);
    for _ in 0..ROUNDS {
        let other = numbers.clone();
        thread::scope(|scope| {
            scope.spawn(move || assert_eq!(other.len(), 1));
            Arc::make_mut(&mut numbers)[0] += 1;
        });
    }
    assert_eq!(*numbers, [ROUNDS]);
}
