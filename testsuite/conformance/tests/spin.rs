//! Loops that wait for another thread.

use conformance::race;
use std::hint;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

/// Waits with the given body of the loop.
fn wait_for_flag(body: fn()) {
    let flag = Arc::new(AtomicBool::new(false));
    let child = {
        let flag = Arc::clone(&flag);
        thread::spawn(move || flag.store(true, SeqCst))
    };
    while !flag.load(SeqCst) {
        body();
    }
    child.join().unwrap();
}

#[test]
fn empty_loop_ends() {
    let flag = Arc::new(AtomicBool::new(false));
    let child = {
        let flag = Arc::clone(&flag);
        thread::spawn(move || flag.store(true, SeqCst))
    };
    while !flag.load(SeqCst) {}
    child.join().unwrap();
}

#[test]
fn loop_with_spin_hint_ends() {
    wait_for_flag(hint::spin_loop);
}

#[test]
fn loop_with_yield_ends() {
    wait_for_flag(thread::yield_now);
}

#[test]
fn loop_with_both_ends() {
    wait_for_flag(|| {
        hint::spin_loop();
        thread::yield_now();
    });
}

#[test]
fn two_threads_hand_over_twice() {
    race(
        AtomicUsize::new(0),
        |turn| {
            for i in [0, 2] {
                while turn.load(SeqCst) != i {
                    thread::yield_now();
                }
                turn.store(i + 1, SeqCst);
            }
        },
        |turn| {
            for i in [1, 3] {
                while turn.load(SeqCst) != i {
                    thread::yield_now();
                }
                turn.store(i + 1, SeqCst);
            }
        },
    );
}

#[test]
fn spin_lock_is_exclusive() {
    let count = |(locked, x): &(AtomicBool, AtomicUsize)| {
        while locked.swap(true, SeqCst) {
            hint::spin_loop();
        }
        let seen = x.load(SeqCst);
        x.store(seen + 1, SeqCst);
        locked.store(false, SeqCst);
        seen
    };
    let (a, b) = race(Default::default(), count, count);
    assert_eq!(a + b, 1);
}

#[test]
fn spin_lock_by_compare_exchange_is_exclusive() {
    let count = |(locked, x): &(AtomicBool, AtomicUsize)| {
        while locked.compare_exchange_weak(false, true, SeqCst, SeqCst).is_err() {
            hint::spin_loop();
        }
        let seen = x.load(SeqCst);
        x.store(seen + 1, SeqCst);
        locked.store(false, SeqCst);
        seen
    };
    let (a, b) = race(Default::default(), count, count);
    assert_eq!(a + b, 1);
}

#[test]
fn loop_over_try_lock_ends() {
    let (seen, _) = race(
        Mutex::new(0),
        |mutex| {
            loop {
                if let Ok(guard) = mutex.try_lock() {
                    return *guard;
                }
                thread::yield_now();
            }
        },
        |mutex| *mutex.lock().unwrap() += 1,
    );
    assert!(seen <= 1);
}

#[test]
fn polling_under_a_lock_ends() {
    race(
        Mutex::new(false),
        |ready| {
            while !*ready.lock().unwrap() {
                thread::yield_now();
            }
        },
        |ready| *ready.lock().unwrap() = true,
    );
}

#[test]
fn bounded_retries_end() {
    let (tries, _) = race(
        AtomicBool::new(false),
        |flag| (0..3).take_while(|_| !flag.load(SeqCst)).count(),
        |flag| flag.store(true, SeqCst),
    );
    assert!(tries <= 3);
}

/// Acquires and releases a lock that is one atomic.
fn with_lock<R>(lock: &AtomicBool, f: impl FnOnce() -> R) -> R {
    while lock.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
        while lock.load(SeqCst) {
            hint::spin_loop();
        }
    }
    let result = f();
    lock.store(false, SeqCst);
    result
}

#[test]
fn polling_an_atomic_under_a_lock_ends() {
    race(
        (Mutex::new(()), AtomicBool::new(false)),
        |(lock, set)| {
            let _guard = lock.lock().unwrap();
            set.store(true, SeqCst);
        },
        |(lock, set)| {
            loop {
                let _guard = lock.lock().unwrap();
                if set.load(SeqCst) {
                    break;
                }
            }
        },
    );
}

#[test]
fn fail_polling_under_a_spin_lock() {
    race(
        (AtomicBool::new(false), AtomicBool::new(false)),
        |(lock, set)| with_lock(lock, || set.store(false, SeqCst)),
        |(lock, set)| {
            while !with_lock(lock, || set.load(SeqCst)) {
                hint::spin_loop();
            }
        },
    );
}
