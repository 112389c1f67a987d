//! parking_lot's locks, as specified.

use parking_lot::{
    Condvar, Mutex, MutexGuard, Once, OnceState, RecursiveRwLock, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Each thread adds one under the mutex.
fn add_under_a_mutex(threads: usize) {
    let mutex = Arc::new(Mutex::new(0));
    let add = |mutex: Arc<Mutex<usize>>| move || *mutex.lock() += 1;
    let children: Vec<_> = (1..threads).map(|_| thread::spawn(add(mutex.clone()))).collect();
    add(mutex.clone())();
    for child in children {
        child.join().unwrap();
    }
    assert_eq!(*mutex.lock(), threads);
}

#[test]
fn two_threads_add_under_a_mutex() {
    add_under_a_mutex(2);
}

#[test]
fn three_threads_add_under_a_mutex() {
    add_under_a_mutex(3);
}

#[test]
fn a_lock_is_held_or_free() {
    let mutex = Arc::new(Mutex::new(0));
    let other = Arc::clone(&mutex);
    let child = thread::spawn(move || other.is_locked());
    *mutex.lock() += 1;
    child.join().unwrap();
}

#[test]
fn reach_a_lock_is_held() {
    let mutex = Arc::new(Mutex::new(0));
    let other = Arc::clone(&mutex);
    let child = thread::spawn(move || other.is_locked());
    *mutex.lock() += 1;
    assert!(!child.join().unwrap());
}

#[test]
fn a_lock_is_taken_or_times_out() {
    let mutex = Arc::new(Mutex::new(0));
    let other = Arc::clone(&mutex);
    let child = thread::spawn(move || {
        let guard = other.try_lock_for(Duration::from_secs(1));
        guard.map(|mut number| *number += 1).is_some()
    });
    *mutex.lock() += 1;
    let taken = child.join().unwrap();
    assert_eq!(*mutex.lock(), 1 + usize::from(taken));
}

#[test]
fn a_mutex_locked_twice_is_a_deadlock() {
    let mutex = Mutex::new(());
    let _first = mutex.lock();
    let _second = mutex.lock();
}

#[test]
fn a_bump_lets_another_thread_in() {
    let mutex = Arc::new(Mutex::new(0));
    let other = Arc::clone(&mutex);
    let child = thread::spawn(move || {
        let mut number = other.lock();
        *number += 1;
        MutexGuard::bump(&mut number);
        *number += 1;
        MutexGuard::unlock_fair(number);
    });
    *mutex.lock() += 1;
    child.join().unwrap();
    assert_eq!(*mutex.lock(), 3);
}

#[test]
fn two_readers_do_not_meet() {
    let lock = Arc::new(RwLock::new(1));
    let other = Arc::clone(&lock);
    let child = thread::spawn(move || *other.read());
    assert_eq!(*lock.read() + child.join().unwrap(), 2);
}

#[test]
fn a_reader_beside_a_writer() {
    let lock = Arc::new(RwLock::new(0));
    let other = Arc::clone(&lock);
    let child = thread::spawn(move || *other.write() += 1);
    assert!(*lock.read() <= 1);
    child.join().unwrap();
}

#[test]
fn who_reads_twice_beside_a_writer_is_in_a_deadlock() {
    let lock = Arc::new(RwLock::new(0));
    let other = Arc::clone(&lock);
    let child = thread::spawn(move || *other.write() += 1);
    let first = lock.read();
    let second = lock.read();
    assert_eq!(*first, *second);
    drop((first, second));
    child.join().unwrap();
}

#[test]
fn who_reads_recursively_beside_a_writer_goes_on() {
    let lock = Arc::new(RecursiveRwLock::new(0));
    let other = Arc::clone(&lock);
    let child = thread::spawn(move || *other.write() += 1);
    let first = lock.read();
    let second = lock.read();
    assert_eq!(*first, *second);
    drop((first, second));
    child.join().unwrap();
}

#[test]
fn a_writer_that_waits_keeps_attempts_to_read_out() {
    let lock = Arc::new(RwLock::new(0));
    let other = Arc::clone(&lock);
    let reader = lock.read();
    let child = thread::spawn(move || drop(other.write()));
    while !lock.is_locked_exclusive() && lock.try_read().is_some() {
        thread::yield_now();
    }
    drop(reader);
    child.join().unwrap();
}

#[test]
fn a_writer_that_times_out_lets_readers_in() {
    let lock = Arc::new(RwLock::new(0));
    let other = Arc::clone(&lock);
    let first = lock.read();
    let child = thread::spawn(move || other.try_write_for(Duration::from_secs(1)).is_some());
    // Waits for the writer, which waits for the first reader and then gives up.
    drop(lock.read());
    assert!(!child.join().unwrap() || *first == 0);
}

#[test]
fn two_upgrades_come_one_after_the_other() {
    let lock = Arc::new(RwLock::new(0));
    let add = |lock: &RwLock<i32>| {
        let number = lock.upgradable_read();
        let more = *number + 1;
        *RwLockUpgradableReadGuard::upgrade(number) = more;
    };
    let other = Arc::clone(&lock);
    let child = thread::spawn(move || add(&other));
    add(&lock);
    child.join().unwrap();
    assert_eq!(*lock.read(), 2);
}

#[test]
fn a_reader_beside_an_upgrade() {
    let lock = Arc::new(RwLock::new(0));
    let other = Arc::clone(&lock);
    let child = thread::spawn(move || assert!(*other.read() <= 1));
    let number = lock.upgradable_read();
    *RwLockUpgradableReadGuard::upgrade(number) += 1;
    child.join().unwrap();
}

#[test]
fn an_upgrade_waits_for_the_reader_that_waits_for_it() {
    let locks = Arc::new((RwLock::new(()), Mutex::new(())));
    let others = Arc::clone(&locks);
    let child = thread::spawn(move || {
        let _reader = others.0.read();
        let _held = others.1.lock();
    });
    let reader = locks.0.upgradable_read();
    let held = locks.1.lock();
    let writer = RwLockUpgradableReadGuard::upgrade(reader);
    drop((writer, held));
    child.join().unwrap();
}

#[test]
fn a_downgraded_writer_reads_what_it_wrote() {
    let lock = Arc::new(RwLock::new(0));
    let other = Arc::clone(&lock);
    let child = thread::spawn(move || *other.write() += 1);
    let mut number = lock.write();
    let before = *number;
    *number += 1;
    let number = RwLockWriteGuard::downgrade(number);
    assert_eq!(*number, before + 1);
    drop(number);
    child.join().unwrap();
}

#[test]
fn a_flag_is_waited_for() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&pair);
    let child = thread::spawn(move || {
        *other.0.lock() = true;
        other.1.notify_one();
    });
    let mut set = pair.0.lock();
    while !*set {
        pair.1.wait(&mut set);
    }
    drop(set);
    child.join().unwrap();
}

#[test]
fn a_wait_ends_only_if_it_is_notified() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&pair);
    let child = thread::spawn(move || {
        *other.0.lock() = true;
        other.1.notify_all()
    });
    let mut set = pair.0.lock();
    if !*set {
        pair.1.wait(&mut set);
        assert!(*set);
        drop(set);
        assert_eq!(child.join().unwrap(), 1);
    }
}

#[test]
fn a_notification_says_whether_it_was_heard() {
    let pair = Arc::new((Mutex::new(()), Condvar::new()));
    let other = Arc::clone(&pair);
    let child = thread::spawn(move || {
        let _held = other.0.lock();
        other.1.notify_one()
    });
    let mut held = pair.0.lock();
    let timed_out = pair.1.wait_for(&mut held, Duration::from_secs(1)).timed_out();
    drop(held);
    assert_eq!(child.join().unwrap(), !timed_out);
}

#[test]
fn a_notification_without_a_waiter_is_lost() {
    let pair = Arc::new((Mutex::new(()), Condvar::new()));
    let other = Arc::clone(&pair);
    let child = thread::spawn(move || other.1.notify_one());
    pair.1.wait(&mut pair.0.lock());
    child.join().unwrap();
}

#[test]
fn two_waiters_are_woken() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let wait = |pair: Arc<(Mutex<i32>, Condvar)>| {
        move || {
            let mut number = pair.0.lock();
            *number += 1;
            pair.1.wait(&mut number);
        }
    };
    let children = [thread::spawn(wait(pair.clone())), thread::spawn(wait(pair.clone()))];
    while *pair.0.lock() < 2 {
        thread::yield_now();
    }
    assert_eq!(pair.1.notify_all(), 2);
    for child in children {
        child.join().unwrap();
    }
}

#[test]
fn reach_the_second_waiter_is_woken_first() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let woken = Arc::new(AtomicUsize::new(0));
    let wait = |name| {
        let (pair, woken) = (Arc::clone(&pair), Arc::clone(&woken));
        move || {
            let mut number = pair.0.lock();
            *number += 1;
            pair.1.wait(&mut number);
            woken.store(name, Ordering::SeqCst);
        }
    };
    let first = thread::spawn(wait(1));
    while *pair.0.lock() < 1 {
        thread::yield_now();
    }
    let second = thread::spawn(wait(2));
    while *pair.0.lock() < 2 {
        thread::yield_now();
    }
    pair.1.notify_one();
    while woken.load(Ordering::SeqCst) == 0 {
        thread::yield_now();
    }
    assert_eq!(woken.load(Ordering::SeqCst), 1);
    pair.1.notify_one();
    first.join().unwrap();
    second.join().unwrap();
}

#[test]
fn reach_a_condition_with_two_mutexes() {
    let all = Arc::new((Mutex::new(()), Mutex::new(()), Condvar::new()));
    let other = Arc::clone(&all);
    let child = thread::spawn(move || {
        other.2.wait_for(&mut other.0.lock(), Duration::from_secs(1));
    });
    all.2.wait_for(&mut all.1.lock(), Duration::from_secs(1));
    child.join().unwrap();
}

#[test]
fn a_closure_runs_once() {
    static ONCE: Once = Once::new();
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let run = || {
        ONCE.call_once(|| {
            RUNS.fetch_add(1, Ordering::Relaxed);
        })
    };
    let child = thread::spawn(run);
    run();
    assert_eq!((RUNS.load(Ordering::Relaxed), ONCE.state()), (1, OnceState::Done));
    child.join().unwrap();
}

#[test]
fn a_closure_that_panics_poisons() {
    static ONCE: Once = Once::new();
    assert_eq!(ONCE.state(), OnceState::New);
    assert!(catch_unwind(|| ONCE.call_once(|| panic!("the first"))).is_err());
    assert_eq!(ONCE.state(), OnceState::Poisoned);
    assert!(catch_unwind(|| ONCE.call_once(|| ())).is_err());
    ONCE.call_once_force(|state| assert_eq!((state, ONCE.state()), (OnceState::Poisoned, OnceState::InProgress)));
    ONCE.call_once(|| unreachable!());
}
