//! In a model, each primitive shows exactly the outcomes that std allows.

use shim_std::Model;
use shim_std::sync::atomic::{AtomicUsize, Ordering, Ordering::SeqCst};
use shim_std::sync::mpsc::{RecvTimeoutError, TryRecvError, TrySendError, channel, sync_channel};
use shim_std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard};
use shim_std::thread;
use shim_std::time::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;

/// Explores `test` and returns the set of numbers (below 64) that it returned, in ascending order.
fn outcomes_of(model: &Model, test: impl Fn() -> usize + 'static) -> Vec<usize> {
    // Memory of the test's, not of the model's: it outlives the executions.
    let seen: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
    model.check(move || {
        let outcome = test();
        seen.fetch_or(1 << outcome, SeqCst);
    });
    let seen = seen.load(SeqCst);
    (0..64).filter(|outcome| seen & (1 << outcome) != 0).collect()
}

fn outcomes(test: impl Fn() -> usize + 'static) -> Vec<usize> {
    outcomes_of(&Model::new(), test)
}

fn failure(test: impl Fn() + 'static) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| Model::new().check(test))).unwrap_err();
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn collections_are_filled_outside() {
    let seen: &'static std::sync::Mutex<Vec<Vec<usize>>> = Box::leak(Box::default());
    Model::new().check(move || {
        let order = Arc::new(Mutex::new(Vec::new()));
        let threads = [0, 1, 2].map(|i| {
            let order = order.clone();
            thread::spawn(move || order.lock().unwrap().push(i))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let order = order.lock().unwrap();
        shim_std::outside(|| seen.lock().unwrap().push(order.clone()));
    });
    let mut seen = seen.lock().unwrap();
    seen.sort();
    let all = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    assert_eq!(*seen, all);
}

#[test]
fn atomics_interleave() {
    let racing = |weak: bool| {
        move || {
            let a = Arc::new(AtomicUsize::new(0));
            let b = a.clone();
            let add = move |a: &AtomicUsize| {
                if weak {
                    a.update(SeqCst, SeqCst, |v| v + 1)
                } else {
                    a.fetch_add(1, SeqCst)
                }
            };
            let thread = thread::spawn(move || add(&b));
            let mine = add(&a);
            assert_eq!(thread.join().unwrap() + mine, 1);
            mine
        }
    };
    assert_eq!(outcomes(racing(false)), [0, 1]);
    assert_eq!(outcomes(racing(true)), [0, 1]);
    assert_eq!(
        outcomes(|| {
            let a = Arc::new(AtomicUsize::new(0));
            let b = a.clone();
            let thread = thread::spawn(move || b.store(b.load(SeqCst) + 1, SeqCst));
            a.store(a.load(SeqCst) + 1, SeqCst);
            thread.join().unwrap();
            a.load(SeqCst)
        }),
        [1, 2]
    );
}

#[test]
fn weak_exchanges_fail_by_option() {
    let test = || usize::from(AtomicUsize::new(0).compare_exchange_weak(0, 1, SeqCst, SeqCst).is_err());
    assert_eq!(outcomes(test), [0]);
    assert_eq!(outcomes_of(&Model::new().spurious_cas(true), test), [0, 1]);
}

#[test]
fn mutexes_race() {
    assert_eq!(
        outcomes(|| {
            let mutex = Arc::new(Mutex::new(()));
            let other = mutex.clone();
            let thread = thread::spawn(move || other.try_lock().is_ok());
            let mine = mutex.try_lock().is_ok();
            // At least one of them got it.
            usize::from(mine) + 2 * usize::from(thread.join().unwrap())
        }),
        [1, 2, 3]
    );
    assert_eq!(
        outcomes(|| {
            let mutex = Arc::new(Mutex::new(0));
            let other = mutex.clone();
            let thread = thread::spawn(move || *other.lock().unwrap() = 1);
            let seen = *mutex.lock().unwrap();
            thread.join().unwrap();
            seen
        }),
        [0, 1]
    );
}

#[test]
fn panics_poison() {
    assert_eq!(
        outcomes(|| {
            let mutex = Arc::new(Mutex::new(()));
            let other = mutex.clone();
            let thread = thread::spawn(move || {
                let _guard = other.lock().unwrap();
                panic!("poison");
            });
            let before = mutex.is_poisoned();
            let locked = mutex.lock().is_err();
            assert!(locked || !before);
            assert!(thread.join().is_err() && mutex.is_poisoned());
            mutex.clear_poison();
            assert!(mutex.lock().is_ok());
            usize::from(before) + 2 * usize::from(locked)
        }),
        [0, 2, 3]
    );
}

#[test]
fn deadlocks_are_found() {
    let report = failure(|| {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (c, d) = (a.clone(), b.clone());
        let thread = thread::spawn(move || drop((d.lock(), c.lock())));
        drop((a.lock(), b.lock()));
        thread.join().unwrap();
    });
    assert!(report.contains("deadlock"), "{report}");
}

#[test]
fn rwlocks_share() {
    assert_eq!(
        outcomes(|| {
            let lock = Arc::new(RwLock::new(0));
            let other = lock.clone();
            let thread = thread::spawn(move || {
                let mut guard = other.write().unwrap();
                *guard = 1;
                let guard = RwLockWriteGuard::downgrade(guard);
                *guard
            });
            let first = lock.read().unwrap();
            let second = lock.try_read().unwrap();
            let seen = *first + *second;
            drop((first, second));
            let writable = lock.try_write().is_ok();
            assert_eq!(thread.join().unwrap(), 1);
            seen + usize::from(writable)
        }),
        [0, 1, 2, 3]
    );
}

#[test]
fn condvars_wake_any() {
    let any = || {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let order = Arc::new(AtomicUsize::new(0));
        let waiters: Vec<_> = (1..=2)
            .map(|i| {
                let (pair, order) = (pair.clone(), order.clone());
                thread::spawn(move || {
                    let mut guard = pair.0.lock().unwrap();
                    *guard += 1;
                    guard = pair.1.wait(guard).unwrap();
                    drop(guard);
                    let _ = order.compare_exchange(0, i, SeqCst, SeqCst);
                })
            })
            .collect();
        while *pair.0.lock().unwrap() < 2 {
            thread::yield_now();
        }
        pair.1.notify_one();
        while order.load(SeqCst) == 0 {
            thread::yield_now();
        }
        let woken = order.load(SeqCst);
        pair.1.notify_all();
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        woken
    };
    assert_eq!(outcomes(any), [1, 2]);
    let report = failure(|| {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let other = pair.clone();
        let thread = thread::spawn(move || other.1.notify_one());
        drop(pair.1.wait(pair.0.lock().unwrap()));
        thread.join().unwrap();
    });
    assert!(report.contains("deadlock"), "{report}");
}

#[test]
fn timeouts_fire_or_not() {
    let test = || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = pair.clone();
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let guard = pair.0.lock().unwrap();
        let (guard, result) = pair.1.wait_timeout_while(guard, second, |done| !*done).unwrap();
        let outcome = usize::from(*guard) + 2 * usize::from(result.timed_out());
        assert!(!result.timed_out() || start.elapsed() >= second);
        drop(guard);
        thread.join().unwrap();
        outcome
    };
    assert_eq!(outcomes(test), [1, 2]);
    let parked = |timeout: bool| {
        move || {
            let main = thread::current();
            let woken = Arc::new(AtomicUsize::new(0));
            let other = woken.clone();
            let thread = thread::spawn(move || {
                other.store(1, SeqCst);
                main.unpark();
            });
            if timeout {
                thread::park_timeout(Duration::from_secs(1))
            } else {
                thread::park()
            }
            let seen = woken.load(SeqCst);
            thread.join().unwrap();
            seen
        }
    };
    assert_eq!(outcomes(parked(true)), [0, 1]);
    assert_eq!(outcomes(parked(false)), [1]);
    assert_eq!(outcomes_of(&Model::new().spurious_wakeups(true), parked(false)), [0, 1]);
}

#[test]
fn channels_race() {
    assert_eq!(
        outcomes(|| {
            let (tx, rx) = channel();
            let thread = thread::spawn(move || tx.send(1).unwrap());
            let seen = match rx.try_recv() {
                Ok(_) => 0,
                Err(TryRecvError::Empty) => 1,
                Err(TryRecvError::Disconnected) => 2,
            };
            thread.join().unwrap();
            seen
        }),
        [0, 1]
    );
    assert_eq!(
        outcomes(|| {
            let (tx, rx) = channel::<u8>();
            let thread = thread::spawn(move || drop(tx));
            let seen = match rx.try_recv() {
                Ok(_) => 0,
                Err(TryRecvError::Empty) => 1,
                Err(TryRecvError::Disconnected) => 2,
            };
            assert!(rx.recv().is_err());
            thread.join().unwrap();
            seen
        }),
        [1, 2]
    );
    assert_eq!(
        outcomes(|| {
            let (tx, rx) = channel();
            let thread = thread::spawn(move || tx.send(1).is_ok());
            let seen = match rx.recv_timeout(Duration::from_secs(1)) {
                Ok(_) => 0,
                Err(RecvTimeoutError::Timeout) => 1,
                Err(RecvTimeoutError::Disconnected) => 2,
            };
            drop(rx);
            seen + 3 * usize::from(thread.join().unwrap())
        }),
        [1, 3, 4]
    );
    assert_eq!(
        outcomes(|| {
            let (tx, rx) = channel();
            let other = tx.clone();
            let threads = [
                thread::spawn(move || tx.send(1).unwrap()),
                thread::spawn(move || other.send(2).unwrap()),
            ];
            let seen = rx.iter().fold(0, |seen, message| 3 * seen + message);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            seen
        }),
        [5, 7]
    );
}

#[test]
fn sync_channels_block() {
    assert_eq!(
        outcomes(|| {
            let (tx, rx) = sync_channel(1);
            let thread = thread::spawn(move || (0..3).for_each(|i| tx.send(i).unwrap()));
            assert_eq!(rx.iter().collect::<Vec<_>>(), [0, 1, 2]);
            thread.join().unwrap();
            0
        }),
        [0]
    );
    assert_eq!(
        outcomes(|| {
            let (tx, rx) = sync_channel(1);
            let thread = thread::spawn(move || usize::from(rx.recv().is_ok()) + usize::from(rx.recv().is_ok()));
            tx.send(0).unwrap();
            let second = match tx.try_send(1) {
                Ok(()) => 1,
                Err(TrySendError::Full(_)) => 0,
                Err(TrySendError::Disconnected(_)) => 9,
            };
            drop(tx);
            assert_eq!(thread.join().unwrap(), 1 + second);
            second
        }),
        [0, 1]
    );
    assert_eq!(
        outcomes(|| {
            let (tx, rx) = sync_channel(0);
            let done = Arc::new(AtomicUsize::new(0));
            let other = done.clone();
            let thread = thread::spawn(move || {
                tx.send(7).unwrap();
                other.store(1, SeqCst);
            });
            let before = done.load(SeqCst);
            assert_eq!(rx.recv(), Ok(7));
            thread.join().unwrap();
            before
        }),
        [0]
    );
    assert_eq!(
        outcomes(|| {
            let (tx, rx) = sync_channel(0);
            let thread = thread::spawn(move || rx.recv_timeout(Duration::from_secs(1)).is_ok());
            let sent = tx.try_send(7).is_ok();
            let received = thread.join().unwrap();
            assert!(sent == received);
            usize::from(sent)
        }),
        [0, 1]
    );
    assert_eq!(
        outcomes(|| {
            let (tx, rx) = sync_channel(0);
            let thread = thread::spawn(move || tx.send(7).is_ok());
            drop(rx);
            usize::from(thread.join().unwrap())
        }),
        [0]
    );
}

#[test]
fn initialisation_happens_once() {
    static CELL: OnceLock<usize> = OnceLock::new();
    static LAZY: LazyLock<usize> = LazyLock::new(|| CELL.get().copied().unwrap_or(5));
    assert_eq!(
        outcomes(|| {
            let thread = thread::spawn(|| *CELL.get_or_init(|| 1));
            let early = CELL.get().copied().unwrap_or(0);
            let mine = *CELL.get_or_init(|| 2);
            assert_eq!(thread.join().unwrap(), mine);
            assert!(early == 0 || early == 1 && mine == 1);
            assert_eq!(*LAZY, mine);
            early * 3 + mine
        }),
        [1, 2, 4]
    );
    assert_eq!(
        outcomes(|| {
            let once = Arc::new(Once::new());
            let other = once.clone();
            let thread = thread::spawn(move || other.call_once(|| panic!("poison")));
            let mine = catch_unwind(AssertUnwindSafe(|| once.call_once(|| {}))).is_ok();
            let theirs = thread.join().is_ok();
            assert!(mine == theirs);
            usize::from(mine)
        }),
        [0, 1]
    );
    assert_eq!(
        outcomes(|| {
            let barrier = Arc::new(Barrier::new(2));
            let other = barrier.clone();
            let thread = thread::spawn(move || other.wait().is_leader());
            let mine = barrier.wait().is_leader();
            assert!(mine != thread.join().unwrap());
            usize::from(mine)
        }),
        [0, 1]
    );
}

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static NAMES: RefCell<Vec<String>> = RefCell::new(Vec::new());
    static GUARD: Announces = const { Announces(Cell::new(None)) };
}

use shim_std::thread_local;

struct Announces(Cell<Option<&'static AtomicUsize>>);

impl Drop for Announces {
    fn drop(&mut self) {
        if let Some(flag) = self.0.take() {
            assert!(GUARD.try_with(|_| ()).is_err());
            NAMES.with_borrow_mut(|names| names.push("late".to_string()));
            flag.store(1, SeqCst);
        }
    }
}

#[test]
fn threads_have_locals() {
    static DESTROYED: AtomicUsize = AtomicUsize::new(0);
    assert_eq!(
        outcomes(|| {
            assert_eq!(COUNT.replace(1), 0);
            let thread = thread::Builder::new().name("child".into()).spawn(|| {
                assert_eq!(COUNT.replace(2), 0);
                NAMES.with_borrow_mut(|names| names.extend(thread::current().name().map(String::from)));
                GUARD.with(|guard| guard.0.set(Some(&DESTROYED)));
                NAMES.take().concat()
            });
            let thread = thread.unwrap();
            let early = thread.is_finished();
            let destroyed = DESTROYED.load(SeqCst);
            assert_eq!(thread.join().unwrap(), "child");
            assert_eq!((DESTROYED.load(SeqCst), COUNT.get()), (1, 1));
            assert_eq!(thread::current().name(), Some("model::threads_have_locals"));
            usize::from(early) + 2 * destroyed
        }),
        [0, 1, 2, 3]
    );
}

#[test]
fn scopes_wait() {
    assert_eq!(
        outcomes(|| {
            let count = AtomicUsize::new(0);
            let first = thread::scope(|scope| {
                scope.spawn(|| count.fetch_add(1, SeqCst));
                scope.spawn(|| count.fetch_add(1, SeqCst)).join().unwrap()
            });
            assert_eq!(count.load(SeqCst), 2);
            first
        }),
        [0, 1]
    );
    let report = failure(|| thread::scope(|scope| drop(scope.spawn(|| panic!("inner")))));
    assert!(report.contains("a scoped thread panicked"), "{report}");
}

#[test]
fn an_outcome_says_whether_there_was_anything_to_interleave() {
    let vacuous = |test: fn()| Model::new().explore(test).vacuous;
    assert_eq!(vacuous(|| {}).as_deref(), Some("one thread, and nothing to choose"));
    let apart: fn() = || {
        let child = thread::spawn(|| AtomicUsize::new(0).fetch_add(1, SeqCst));
        child.join().unwrap();
    };
    assert_eq!(
        vacuous(apart).as_deref(),
        Some("its 2 threads never touch the same thing")
    );
    fn together(ordering: Ordering) {
        let number = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&number);
        let child = thread::spawn(move || other.fetch_add(1, ordering));
        number.fetch_add(1, ordering);
        child.join().unwrap();
    }
    assert_eq!(vacuous(|| together(SeqCst)), None);
    // Who has failed has not been seen as a whole.
    assert_eq!(vacuous(|| panic!("fails")), None);

    let weak = |ordering| Model::new().explore(move || together(ordering));
    assert_eq!(weak(SeqCst).weak_orderings, []);
    let outcome = weak(Ordering::Relaxed);
    assert_eq!(outcome.weak_orderings.len(), 2);
    let all = outcome.weak_orderings.iter();
    for one in all {
        assert_eq!(
            (one.operation.as_str(), one.orderings.as_str()),
            ("read-modify-write", "Relaxed")
        );
        let place = one.place.as_deref().unwrap_or_default();
        assert!(place.contains("tests/models/model.rs:"), "{place}");
    }
    let text = outcome.to_string();
    assert!(text.contains("as if SeqCst: read-modify-write (Relaxed) at "), "{text}");
}
