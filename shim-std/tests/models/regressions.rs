//! Outcomes that were once lost, invented, or not replayable.

use dpor_explorer::Verdict;
use shim_std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use shim_std::sync::{Condvar, Mutex};
use shim_std::{Model, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Explores `test` to the end and returns the set of numbers that it returned, as bits.
fn outcomes(test: impl Fn() -> u32 + 'static) -> u64 {
    // Memory that is there before the model is, and does not grow.
    let seen = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let inner = Arc::clone(&seen);
    let outcome = Model::new().explore(move || {
        inner.fetch_or(1 << test(), SeqCst);
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    seen.load(SeqCst)
}

#[test]
fn clearing_poison_may_come_before_the_guard_is_dropped() {
    let outcome = Model::new().explore(|| {
        let (lock, flag) = (Arc::new(Mutex::new(())), Arc::new(AtomicBool::new(false)));
        let (inner, set) = (lock.clone(), flag.clone());
        let child = thread::spawn(move || {
            let _guard = inner.lock().unwrap();
            set.store(true, SeqCst);
            panic!("on purpose");
        });
        let seen = flag.load(SeqCst);
        if seen {
            lock.clear_poison();
        }
        assert!(child.join().is_err());
        assert!(!(seen && lock.lock().is_err()), "cleared too early");
    });
    let Verdict::Failed { failure, .. } = &outcome.report.verdict else {
        panic!("{outcome}")
    };
    assert!(failure.message.contains("cleared too early"), "{outcome}");
}

#[test]
fn many_observed_locations_replay() {
    let body = || {
        let locks: Arc<Vec<_>> = Arc::new((0..70).map(Mutex::new).collect());
        let inner = Arc::clone(&locks);
        let child = thread::spawn(move || {
            drop(inner[69].lock().unwrap());
            drop(inner[68].lock().unwrap());
        });
        locks.iter().for_each(|lock| drop(lock.try_lock()));
        child.join().unwrap();
        panic!("on purpose");
    };
    let outcome = Model::new().explore(body);
    assert!(outcome.report.statistics.refinements > 64, "{outcome}");
    let seed = outcome.seed.unwrap();
    let again = catch_unwind(AssertUnwindSafe(move || Model::new().replay(&seed, body))).unwrap_err();
    let again = again.downcast::<String>().unwrap();
    assert!(again.contains("on purpose"), "{again}");
}

#[inline(never)]
fn bump(x: &AtomicU32) {
    x.fetch_add(1, SeqCst);
}

#[inline(never)]
fn below(x: &AtomicU32, bound: u32) -> bool {
    x.load(SeqCst) < bound
}

#[test]
fn a_loop_that_counts_on_another_stack_is_no_spin_loop() {
    let counted = outcomes(|| {
        let x = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                loop {
                    bump(&x);
                    if !below(&x, 20) {
                        break;
                    }
                }
            });
        });
        x.load(SeqCst)
    });
    assert_eq!(counted, 1 << 20);
}

#[test]
fn a_loop_of_timeouts_that_counts_on_another_stack() {
    let counted = outcomes(|| {
        let (count, stop) = (Mutex::new(0), Box::new(AtomicBool::new(false)));
        thread::scope(|scope| {
            scope.spawn(|| {
                loop {
                    thread::park_timeout(Duration::from_millis(1));
                    let mut count = count.lock().unwrap();
                    *count += 1;
                    if *count == 4 || stop.load(SeqCst) {
                        break;
                    }
                }
            });
            let seen = *count.lock().unwrap();
            stop.store(true, SeqCst);
            seen
        })
    });
    assert_eq!(counted, 0b11111);
}

#[test]
fn a_loop_that_undoes_what_it_did_on_another_stack_is_a_wait() {
    let ended = outcomes(|| {
        let word = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                loop {
                    let before = word.fetch_add(4, SeqCst);
                    word.fetch_sub(4, SeqCst);
                    if before & 1 == 0 {
                        break;
                    }
                }
            });
            scope.spawn(|| {
                while word.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {}
                word.fetch_and(!1, SeqCst);
            });
        });
        word.load(SeqCst)
    });
    assert_eq!(ended, 1);
}

/// Leaves a waiter's word on the stack.
#[inline(never)]
fn wait_once() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let inner = Arc::clone(&pair);
    let child = thread::spawn(move || {
        *inner.0.lock().unwrap() = true;
        inner.1.notify_one();
    });
    let guard = pair.0.lock().unwrap();
    drop(pair.1.wait_while(guard, |done| !*done).unwrap());
    child.join().unwrap();
}

/// A mutex somewhere in a large frame, so that it lies where the word was.
#[inline(never)]
fn race_at(index: usize) -> u32 {
    let frame: [Mutex<u32>; 64] = std::array::from_fn(|_| Mutex::new(0));
    thread::scope(|scope| {
        scope.spawn(|| *frame[index].lock().unwrap() = 1);
        *frame[index].lock().unwrap()
    })
}

#[test]
fn a_lock_at_the_address_of_a_dead_object_is_another_lock() {
    for index in 0..64 {
        let seen = outcomes(move || {
            wait_once();
            race_at(index)
        });
        assert_eq!(seen, 0b11, "index {index}");
    }
}

#[test]
fn a_test_is_dropped_though_executions_were_given_up() {
    let captured = Arc::new(());
    let held = Arc::clone(&captured);
    let outcome = Model::new().strategy("source".parse().unwrap()).explore(move || {
        let _captured = &held;
        let flag = Arc::new(AtomicBool::new(false));
        let setter = Arc::clone(&flag);
        let child = thread::spawn(move || setter.store(true, SeqCst));
        // Watched as a loop, which begins the exploration again.
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
        child.join().unwrap();
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    assert!(
        outcome.report.statistics.refinements > 0,
        "{:?}",
        outcome.report.statistics
    );
    assert_eq!(Arc::strong_count(&captured), 1);
}

#[test]
fn states_learns_of_loops_without_starting_again() {
    let refinements = |strategy: &str| {
        let outcome = Model::new().strategy(strategy.parse().unwrap()).explore(|| {
            let flags: Arc<[AtomicBool; 3]> = Arc::default();
            let setter = Arc::clone(&flags);
            let child = thread::spawn(move || setter.iter().for_each(|flag| flag.store(true, SeqCst)));
            for flag in flags.iter() {
                while !flag.load(SeqCst) {
                    thread::yield_now();
                }
            }
            child.join().unwrap();
        });
        assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
        outcome.report.statistics.refinements
    };
    assert_eq!(refinements("states"), 0);
    // Each loop is another place, as it waits for another flag.
    assert!(refinements("source") >= 3);
}

#[test]
fn a_livelock_is_found_where_its_loops_are_learnt() {
    let outcome = Model::new().strategy("states".parse().unwrap()).explore(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let children = [(); 2].map(|()| {
            let flag = Arc::clone(&flag);
            thread::spawn(move || while !flag.load(SeqCst) {})
        });
        children.into_iter().for_each(|child| child.join().unwrap());
    });
    let Verdict::Failed { failure, .. } = &outcome.report.verdict else {
        panic!("{outcome}")
    };
    assert_eq!(failure.kind, "livelock", "{outcome}");
    let statistics = outcome.report.statistics;
    assert_eq!((statistics.executions(), statistics.refinements), (1, 0), "{outcome}");
}
