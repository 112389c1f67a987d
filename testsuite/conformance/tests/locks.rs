//! Mutex and RwLock.

use conformance::{race, unless};
use std::sync::{Arc, Mutex, RwLock, RwLockWriteGuard, TryLockError};
use std::thread;

#[test]
fn try_lock_race_has_a_winner() {
    let (a, b) = race(Mutex::new(()), |m| m.try_lock().is_ok(), |m| m.try_lock().is_ok());
    assert!(a || b);
}

#[test]
fn reach_try_lock_fails() {
    let (a, b) = race(Mutex::new(()), |m| m.try_lock().is_ok(), |m| m.try_lock().is_ok());
    unless(!a || !b);
}

#[test]
fn reach_try_lock_succeeds_twice() {
    let (a, b) = race(Mutex::new(()), |m| m.try_lock().is_ok(), |m| m.try_lock().is_ok());
    unless(a && b);
}

#[test]
fn reach_try_lock_fails_against_lock() {
    let (_, locked) = race(Mutex::new(0), |m| *m.lock().unwrap() += 1, |m| m.try_lock().is_ok());
    unless(!locked);
}

#[test]
fn try_lock_would_block_while_held() {
    let mutex = Mutex::new(1);
    let guard = mutex.lock().unwrap();
    assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
    drop(guard);
    assert_eq!(*mutex.try_lock().unwrap(), 1);
}

#[test]
fn a_lock_is_exclusive() {
    let mutex = Arc::new(Mutex::new(0));
    let handles: Vec<_> = (0..3)
        .map(|_| {
            let mutex = Arc::clone(&mutex);
            thread::spawn(move || {
                let mut value = mutex.lock().unwrap();
                let seen = *value;
                thread::yield_now();
                *value = seen + 1;
            })
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    assert_eq!(*mutex.lock().unwrap(), 3);
}

#[test]
fn nested_locks_in_one_order() {
    let locks = [Mutex::new(0), Mutex::new(0), Mutex::new(0)];
    let all = |locks: &[Mutex<i32>; 3]| {
        let mut a = locks[0].lock().unwrap();
        let mut b = locks[1].lock().unwrap();
        let mut c = locks[2].lock().unwrap();
        *a += 1;
        *b += *a;
        *c += *b;
        *c
    };
    let (x, y) = race(locks, all, all);
    assert_eq!(x + y, 1 + 4);
}

#[test]
fn locks_released_out_of_order() {
    let (x, y) = race(
        (Mutex::new(0), Mutex::new(0)),
        |(a, b)| {
            let first = a.lock().unwrap();
            let mut second = b.lock().unwrap();
            drop(first);
            *second += 1;
            *second
        },
        |(_, b)| {
            let mut second = b.lock().unwrap();
            *second += 1;
            *second
        },
    );
    assert_eq!(x + y, 3);
}

#[test]
fn fail_relock_deadlocks() {
    let mutex = Mutex::new(());
    let _guard = mutex.lock().unwrap();
    let _again = mutex.lock();
}

#[test]
fn fail_ab_ba_deadlocks() {
    race(
        (Mutex::new(()), Mutex::new(())),
        |(a, b)| {
            let _a = a.lock().unwrap();
            let _b = b.lock().unwrap();
        },
        |(a, b)| {
            let _b = b.lock().unwrap();
            let _a = a.lock().unwrap();
        },
    );
}

#[test]
fn guards_format_and_convert() {
    let mutex = Mutex::from(5);
    assert_eq!(
        format!("{} {:?}", mutex.lock().unwrap(), mutex),
        "5 Mutex { data: \"<locked>\", poisoned: false, .. }"
    );
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 5, poisoned: false, .. }");
    assert_eq!(
        *Mutex::<i32>::default().get_mut().unwrap() + mutex.into_inner().unwrap(),
        5
    );
    let unsized_mutex: &Mutex<[u8]> = &Mutex::new([1, 2, 3]);
    assert_eq!(unsized_mutex.lock().unwrap().len(), 3);
}

#[test]
fn one_thread_reads_twice() {
    let lock = RwLock::new(5);
    let first = lock.read().unwrap();
    let second = lock.read().unwrap();
    assert_eq!(*first + *second, 10);
}

#[test]
fn two_threads_read_twice() {
    let twice = |lock: &RwLock<i32>| {
        let first = lock.read().unwrap();
        let second = lock.read().unwrap();
        *first + *second
    };
    assert_eq!(race(RwLock::new(5), twice, twice), (10, 10));
}

#[test]
fn readers_and_writer() {
    let (read, _) = race(
        RwLock::new((0, 0)),
        |lock| *lock.read().unwrap(),
        |lock| {
            let mut pair = lock.write().unwrap();
            pair.0 += 1;
            pair.1 += 1;
        },
    );
    assert_eq!(read.0, read.1);
}

#[test]
fn reach_reader_sees_before() {
    let (read, _) = race(
        RwLock::new(0),
        |lock| *lock.read().unwrap(),
        |lock| *lock.write().unwrap() = 1,
    );
    unless(read == 0);
}

#[test]
fn reach_reader_sees_after() {
    let (read, _) = race(
        RwLock::new(0),
        |lock| *lock.read().unwrap(),
        |lock| *lock.write().unwrap() = 1,
    );
    unless(read == 1);
}

#[test]
fn try_read_and_try_write() {
    let lock = RwLock::new(0);
    {
        let _reader = lock.read().unwrap();
        assert!(lock.try_read().is_ok());
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    }
    {
        let _writer = lock.write().unwrap();
        assert!(lock.try_read().is_err());
        assert!(lock.try_write().is_err());
    }
    *lock.try_write().unwrap() += 1;
    assert_eq!(*lock.try_read().unwrap(), 1);
}

#[test]
fn reach_try_write_meets_a_reader() {
    let (_, wrote) = race(
        RwLock::new(0),
        |lock| *lock.read().unwrap(),
        |lock| lock.try_write().is_ok(),
    );
    unless(!wrote);
}

#[test]
fn try_reads_never_fail_against_each_other() {
    assert_eq!(
        race(
            RwLock::new(0),
            |lock| lock.try_read().is_ok(),
            |lock| lock.try_read().is_ok()
        ),
        (true, true)
    );
}

#[test]
fn downgrade_lets_no_writer_in() {
    let (seen, _) = race(
        RwLock::new(0),
        |lock| {
            let mut writer = lock.write().unwrap();
            *writer = 1;
            *RwLockWriteGuard::downgrade(writer)
        },
        |lock| *lock.write().unwrap() = 2,
    );
    assert_eq!(seen, 1);
}

#[test]
fn fail_upgrade_deadlocks() {
    let lock = RwLock::new(0);
    let _reader = lock.read().unwrap();
    let _writer = lock.write();
}

static GLOBAL: Mutex<Vec<u32>> = Mutex::new(Vec::new());

#[test]
fn locks_are_const() {
    let push = |id| thread::spawn(move || GLOBAL.lock().unwrap().push(id));
    let handles = [push(1), push(2)];
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    assert_eq!(GLOBAL.lock().unwrap().iter().sum::<u32>(), 3);
}
