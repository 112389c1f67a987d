//! Weak memory on the facades: what each operation may find.

use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use dpor_explorer::{Strategy, Verdict};
use shim_std::cell::UnsafeCell;
use shim_std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};
use shim_std::sync::{Arc, Mutex, mpsc};
use shim_std::time::{Duration, Instant};
use shim_std::{Memory, Model, Outcome, thread};
use std::ptr;
use std::sync::atomic::{AtomicU64 as RealU64, Ordering::Relaxed as RealRelaxed};

const STRATEGIES: [&str; 4] = ["states", "context", "source", "exhaustive"];

fn weak(strategy: &str) -> Model {
    let strategy: Strategy = strategy.parse().unwrap();
    Model::new().strategy(strategy).memory(Memory::Rc11)
}

/// The results, as bits of a number, that the executions of the test have. It is complete under each strategy, and they
/// are the same.
#[track_caller]
fn results(test: fn() -> u32) -> Vec<u32> {
    results_with(&STRATEGIES, test)
}

/// [`results`] with some strategies.
#[track_caller]
fn results_with(strategies: &[&str], test: fn() -> u32) -> Vec<u32> {
    let mut all = None;
    for &strategy in strategies {
        // Memory of before the executions, which does not grow.
        let found: &'static RealU64 = Box::leak(Box::default());
        let outcome = weak(strategy).explore(move || {
            let result = test();
            assert!(result < 64);
            shim_std::outside(|| {
                found.fetch_or(1 << result, RealRelaxed);
            });
        });
        assert_eq!(outcome.report.verdict, Verdict::Complete, "{strategy}: {outcome}");
        let found = found.load(RealRelaxed);
        assert_eq!(*all.get_or_insert(found), found, "{strategy}");
    }
    let all = all.unwrap_or_default();
    (0..64).filter(|result| all & 1 << result != 0).collect()
}

/// Memory of which nobody tells the checker, here an atomic of the real std, says whether the load came before the
/// store, which the execution graph does not. `source` takes one order for both.
#[test]
fn what_other_memory_tells_is_explored() {
    fn test() -> u32 {
        let shared = Arc::new((AtomicU32::new(0), RealU64::new(0)));
        let other = shared.clone();
        let reader = thread::spawn(move || {
            other.0.load(Relaxed);
            other.1.load(RealRelaxed) as u32
        });
        shared.0.store(1, Relaxed);
        shared.1.store(1, RealRelaxed);
        reader.join().unwrap()
    }
    let others = ["states", "context", "exhaustive"];
    assert_eq!(results_with(&others, test), [0, 1]);
    // From the first cell on, races are looked for: of cells only.
    let with_cell = || {
        UnsafeCell::new(0).with(|_| ());
        test()
    };
    assert_eq!(results_with(&others, with_cell), [0, 1]);
}

#[track_caller]
fn fails(kind: &str, test: fn()) -> Outcome {
    for strategy in STRATEGIES {
        let outcome = weak(strategy).explore(test);
        let Verdict::Failed { failure, .. } = &outcome.report.verdict else {
            panic!("{strategy}: {outcome}")
        };
        assert_eq!(failure.kind, kind, "{strategy}: {outcome}");
    }
    weak("states").explore(test)
}

/// What two loads find in a store buffering with these orderings, and this between the store and the load.
fn store_buffering(store: Ordering, load: Ordering, between: fn()) -> u32 {
    let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
    let other = shared.clone();
    let second = thread::spawn(move || {
        other.1.store(1, store);
        between();
        other.0.load(load)
    });
    shared.0.store(1, store);
    between();
    let first = shared.1.load(load);
    first * 2 + second.join().unwrap()
}

#[test]
fn stores_are_buffered_unless_they_are_sequentially_consistent() {
    assert_eq!(results(|| store_buffering(Release, Acquire, || ())), [0, 1, 2, 3]);
    assert_eq!(results(|| store_buffering(SeqCst, SeqCst, || ())), [1, 2, 3]);
    assert_eq!(results(|| store_buffering(SeqCst, Acquire, || ())), [0, 1, 2, 3]);
    assert_eq!(
        results(|| store_buffering(Relaxed, Relaxed, || fence(SeqCst))),
        [1, 2, 3]
    );
    assert_eq!(
        results(|| store_buffering(Relaxed, Relaxed, || fence(AcqRel))),
        [0, 1, 2, 3]
    );
}

#[test]
fn a_fence_for_the_compiler_is_one_for_all_right_after_a_read_modify_write() {
    let alone = || store_buffering(Relaxed, Relaxed, || compiler_fence(SeqCst));
    assert_eq!(results(alone), [0, 1, 2, 3]);
    let after_a_store = || {
        store_buffering(Relaxed, Relaxed, || {
            AtomicU32::new(0).store(1, SeqCst);
            compiler_fence(SeqCst);
        })
    };
    assert_eq!(results(after_a_store), [0, 1, 2, 3]);
    // This is a fence where it is compiled for x86-64.
    let after_an_exchange = || {
        store_buffering(Relaxed, Relaxed, || {
            let _ = AtomicU32::new(0).compare_exchange(0, 1, SeqCst, SeqCst);
            compiler_fence(SeqCst);
        })
    };
    assert_eq!(results(after_an_exchange), [1, 2, 3]);
}

/// Who waits for a scope will know what its threads do up to there, and not what their thread-locals' destructors do.
#[test]
fn what_a_thread_stores_after_its_scope_is_over_may_be_overlooked() {
    static STORED: (AtomicU32, AtomicU32) = (AtomicU32::new(0), AtomicU32::new(0));

    struct StoresAtTheEnd;

    impl Drop for StoresAtTheEnd {
        fn drop(&mut self) {
            STORED.0.store(1, Relaxed);
            STORED.1.store(1, Relaxed);
        }
    }

    shim_std::thread_local! {
        static LAST: Option<StoresAtTheEnd> = const { Some(StoresAtTheEnd) };
    }

    fn test(stores_before: bool) -> u32 {
        thread::scope(|scope| {
            scope.spawn(|| match stores_before {
                true => drop(StoresAtTheEnd),
                false => LAST.with(|last| assert!(last.is_some())),
            });
        });
        STORED.1.load(Relaxed) * 2 + STORED.0.load(Relaxed)
    }

    assert_eq!(results(|| test(true)), [3]);
    assert_eq!(results(|| test(false)), [0, 1, 2, 3]);
}

#[test]
fn a_thread_that_was_joined_is_known() {
    let test = || {
        let value = Arc::new(AtomicU8::new(0));
        let other = value.clone();
        let thread = thread::spawn(move || {
            other.store(1, Relaxed);
            other.store(2, Relaxed);
        });
        let before = value.load(Relaxed);
        thread.join().unwrap();
        u32::from(before) * 4 + u32::from(value.load(Relaxed))
    };
    assert_eq!(results(test), [2, 6, 10]);
}

#[test]
fn locks_and_channels_make_known() {
    let by_lock = || {
        let shared = Arc::new((AtomicU32::new(0), Mutex::new(false)));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            other.0.store(1, Relaxed);
            *other.1.lock().unwrap() = true;
        });
        let sent = *shared.1.lock().unwrap();
        let found = shared.0.load(Relaxed);
        thread.join().unwrap();
        u32::from(sent) * 2 + found
    };
    assert_eq!(results(by_lock), [0, 1, 3]);
    let by_channel = || {
        let value = Arc::new(AtomicU32::new(0));
        let other = value.clone();
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || {
            other.store(1, Relaxed);
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
        let found = value.load(Relaxed);
        thread.join().unwrap();
        found
    };
    assert_eq!(results(by_channel), [1]);
}

#[test]
fn modifications_are_atomic() {
    let counter = || {
        let value = Arc::new(AtomicU32::new(0));
        let threads = [(); 2].map(|()| {
            let value = value.clone();
            thread::spawn(move || value.fetch_add(1, Relaxed))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        value.load(Relaxed)
    };
    assert_eq!(results(counter), [2]);
    // Another store may come before or after, but not between.
    let beside_a_store = || {
        let value = Arc::new(AtomicU32::new(0));
        let other = value.clone();
        let thread = thread::spawn(move || other.store(10, Relaxed));
        let found = value.fetch_add(1, Relaxed);
        thread.join().unwrap();
        assert!(matches!((found, value.load(Relaxed)), (0, 10) | (10, 11)));
        found
    };
    assert_eq!(results(beside_a_store), [0, 10]);
}

#[test]
fn an_exchange_may_fail_by_an_old_value() {
    let test = || {
        let shared = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            other.1.store(1, Relaxed);
            other
                .0
                .compare_exchange(5, 6, Relaxed, Relaxed)
                .is_err_and(|found| found == 0)
        });
        shared.0.store(1, Relaxed);
        let first = shared
            .1
            .compare_exchange(5, 6, Relaxed, Relaxed)
            .is_err_and(|found| found == 0);
        u32::from(first) * 2 + u32::from(thread.join().unwrap())
    };
    assert_eq!(results(test), [0, 1, 2, 3]);
}

/// Each of the orderings counts where it applies.
#[test]
fn an_exchange_is_sequentially_consistent_by_one_of_its_orderings() {
    let test = || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = shared.clone();
        let one = |own: &AtomicU32, others: &AtomicU32| {
            own.compare_exchange(0, 1, SeqCst, Relaxed).unwrap();
            others.compare_exchange(5, 5, Relaxed, SeqCst).unwrap_err()
        };
        let thread = thread::spawn(move || one(&other.1, &other.0));
        let first = one(&shared.0, &shared.1);
        first * 2 + thread.join().unwrap()
    };
    assert_eq!(results(test), [1, 2, 3]);
}

#[test]
fn pointers_and_booleans_are_found_as_they_were_stored() {
    let test = || {
        let values: &'static [u32; 3] = Box::leak(Box::new([7, 8, 9]));
        let shared = Arc::new((
            AtomicPtr::new(ptr::from_ref(&values[0]).cast_mut()),
            AtomicBool::new(false),
        ));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            other.0.store(ptr::from_ref(&values[1]).cast_mut(), Relaxed);
            other.0.swap(ptr::from_ref(&values[2]).cast_mut(), Relaxed);
            other.1.fetch_not(Relaxed);
        });
        let flag = shared.1.load(Relaxed);
        // SAFETY: it is a pointer to one of the values, which stay.
        let found = unsafe { *shared.0.load(Relaxed) };
        thread.join().unwrap();
        u32::from(flag) * 16 + found
    };
    assert_eq!(results(test), [7, 8, 9, 23, 24, 25]);
}

#[test]
fn memory_that_was_changed_without_an_operation_has_no_history() {
    let test = || {
        let mut value = Arc::new(AtomicU32::new(0));
        for round in 1..3 {
            let other = value.clone();
            thread::spawn(move || other.fetch_add(1, Relaxed)).join().unwrap();
            *Arc::get_mut(&mut value).unwrap().get_mut() += 10;
            assert_eq!(value.load(Relaxed), 11 * round);
        }
        value.load(Relaxed)
    };
    assert_eq!(results(test), [22]);
}

#[test]
fn atomics_of_different_sizes_are_not_explored_where_an_old_value_is_in_reach() {
    for strategy in STRATEGIES {
        let outcome = weak(strategy).explore(|| {
            let whole = Arc::new(AtomicU64::new(0));
            let other = whole.clone();
            let thread = thread::spawn(move || other.store(1, Relaxed));
            // SAFETY: it is aligned, as long as the other one lives, and accessed by atomics only.
            let half = unsafe { AtomicU32::from_ptr(whole.as_ptr().cast()) };
            half.load(Relaxed);
            thread.join().unwrap();
        });
        let Verdict::Incomplete { reason, .. } = &outcome.report.verdict else {
            panic!("{strategy}: {outcome}")
        };
        assert!(reason.contains("different sizes"), "{outcome}");
    }
}

#[test]
fn a_race_that_only_an_old_value_leads_to_is_found() {
    struct Shared(AtomicU32, AtomicU32, UnsafeCell<u32>);
    // SAFETY: none. Where threads race, the model ends.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}
    fn enter(shared: &Shared, own: &AtomicU32, other: &AtomicU32) {
        own.store(1, Release);
        if other.load(Acquire) == 0 {
            // SAFETY: the model ends where another thread uses it meanwhile.
            shared.2.with_mut(|place| unsafe { *place += 1 });
        }
    }
    fn test() {
        let shared = Arc::new(Shared(AtomicU32::new(0), AtomicU32::new(0), UnsafeCell::new(0)));
        let other = shared.clone();
        let thread = thread::spawn(move || enter(&other, &other.1, &other.0));
        enter(&shared, &shared.0, &shared.1);
        thread.join().unwrap();
    }
    Model::new().check(test);
    fails("data-race", test);
}

#[test]
fn an_old_value_is_not_read_for_ever() {
    let test = || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let thread = thread::spawn(move || other.store(true, Relaxed));
        while !flag.load(Relaxed) {}
        thread.join().unwrap();
        1
    };
    assert_eq!(results(test), [1]);
    fails("livelock", || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        thread::spawn(move || other.store(false, Relaxed)).join().unwrap();
        while !flag.load(Relaxed) {}
    });
}

#[test]
fn states_see_through_a_loop_that_waits_for_two_values() {
    let test = || {
        let flags = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
        let other = flags.clone();
        let thread = thread::spawn(move || {
            other.0.store(true, Relaxed);
            other.1.store(true, Relaxed);
        });
        while !flags.0.load(Relaxed) || !flags.1.load(Relaxed) {}
        thread.join().unwrap();
    };
    let outcome = weak("states").explore(test);
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
}

#[test]
fn a_seed_leads_to_the_same_failure() {
    fn test() {
        assert_ne!(store_buffering(Relaxed, Relaxed, || ()), 0, "both are buffered");
    }
    let outcome = fails("panic", test);
    let seed = outcome.seed.unwrap();
    let replayed = std::panic::catch_unwind(|| Model::new().replay(&seed, test)).unwrap_err();
    let message = replayed.downcast::<String>().unwrap();
    assert!(message.contains("both are buffered"), "{message}");
    assert!(message.contains(", old: t"), "{message}");
    // One that is found without choices is also found again without.
    fn stuck() {
        let flag = Arc::new(AtomicU8::new(0));
        let other = flag.clone();
        let thread = thread::spawn(move || {
            other.store(1, SeqCst);
            other.store(0, SeqCst);
        });
        while flag.load(SeqCst) == 0 {}
        thread.join().unwrap();
    }
    let seed = fails("livelock", stuck).seed.unwrap();
    let replayed = std::panic::catch_unwind(|| Model::new().replay(&seed, stuck)).unwrap_err();
    let message = replayed.downcast::<String>().unwrap();
    assert!(message.contains("livelock"), "{message}");
}

#[test]
#[should_panic(expected = "cannot explore weak memory")]
fn the_unfolding_refuses() {
    weak("unfolding").check(|| ());
}

#[test]
fn wrong_orderings_panic_as_in_std() {
    fails("panic", || {
        let value = Arc::new(AtomicU32::new(0));
        let other = value.clone();
        let thread = thread::spawn(move || other.store(1, Relaxed));
        thread.join().unwrap();
        value.load(Relaxed);
        let order = if value.load(Relaxed) == 1 { Release } else { Relaxed };
        value.load(order);
    });
}

/// A store takes over the time of the stores before it, so that in which order they ran can be told.
#[test]
fn times_go_from_store_to_store() {
    fails("panic", || {
        let shared = Arc::new(AtomicU32::new(0));
        let other = shared.clone();
        let first = thread::spawn(move || {
            let start = Instant::now();
            other.store(1, Relaxed);
            assert!(start.elapsed() < Duration::from_secs(1));
        });
        let second = thread::spawn(move || {
            thread::sleep(Duration::from_secs(5));
            shared.store(2, Relaxed);
        });
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// As above, where time passes after stores have been made.
#[test]
fn times_that_pass_between_stores_count() {
    fails("panic", || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = shared.clone();
        let first = thread::spawn(move || {
            other.1.store(1, Relaxed);
            let start = Instant::now();
            other.0.store(1, Relaxed);
            assert!(start.elapsed() < Duration::from_secs(1));
        });
        let second = thread::spawn(move || {
            shared.1.store(2, Relaxed);
            thread::sleep(Duration::from_secs(5));
            shared.0.store(2, Relaxed);
        });
        first.join().unwrap();
        second.join().unwrap();
    });
}
