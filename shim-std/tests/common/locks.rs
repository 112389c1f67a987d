// Included twice, with `lib` being std and the shim.

use lib::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use lib::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, RwLock, RwLockWriteGuard, TryLockError,
};
use lib::thread;
use lib::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn poison<T>(mutex: &Mutex<T>) {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let _guard = mutex.lock();
        panic!("poison");
    }));
}

#[test]
fn mutex_excludes() {
    static COUNT: Mutex<u32> = Mutex::new(0);
    let threads: Vec<_> = (0..4)
        .map(|_| thread::spawn(|| (0..100).for_each(|_| *COUNT.lock().unwrap() += 1)))
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*COUNT.lock().unwrap(), 400);
}

#[test]
fn mutex_poisons() {
    let mut mutex = Mutex::new(7);
    poison(&mutex);
    assert!(mutex.is_poisoned());
    assert_eq!(**mutex.lock().unwrap_err().get_ref(), 7);
    assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 7, poisoned: true, .. }");
    assert_eq!(*mutex.get_mut().unwrap_err().into_inner(), 7);
    mutex.clear_poison();
    assert!(!mutex.is_poisoned() && mutex.lock().is_ok());
    poison(&mutex);
    assert_eq!(mutex.into_inner().unwrap_err().into_inner(), 7);
}

#[test]
fn mutex_locked_while_panicking_is_not_poisoned() {
    struct Locks<'a>(&'a Mutex<()>);
    impl Drop for Locks<'_> {
        fn drop(&mut self) {
            drop(self.0.lock());
        }
    }
    let mutex = Mutex::new(());
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let _locks = Locks(&mutex);
        panic!("unwind");
    }));
    assert!(!mutex.is_poisoned());
}

#[test]
fn mutex_the_rest() {
    let mutex = Mutex::from(1);
    let guard = mutex.lock().unwrap();
    assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
    assert_eq!(
        format!("{guard} {guard:?} {mutex:?}"),
        "1 1 Mutex { data: \"<locked>\", poisoned: false, .. }"
    );
    drop(guard);
    assert_eq!(Mutex::<u8>::default().into_inner().unwrap(), 0);
    let unsized_mutex: Arc<Mutex<[u8]>> = Arc::new(Mutex::new([1, 2]));
    assert_eq!(unsized_mutex.lock().unwrap().len(), 2);
    let dynamic: Box<Mutex<dyn std::fmt::Debug + Send>> = Box::new(Mutex::new(3));
    let guard: MutexGuard<'_, dyn std::fmt::Debug + Send> = dynamic.lock().unwrap();
    assert_eq!(format!("{guard:?}"), "3");
}

#[test]
fn rwlock() {
    let mut lock = RwLock::new(1);
    {
        let (first, second) = (lock.read().unwrap(), lock.read().unwrap());
        assert_eq!(*first + *second, 2);
        assert!(lock.try_read().is_ok());
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        assert_eq!(format!("{first} {second:?}"), "1 1");
    }
    {
        let mut write = lock.write().unwrap();
        *write = 2;
        assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
        assert_eq!(
            format!("{write} {write:?} {lock:?}"),
            "2 2 RwLock { data: <locked>, poisoned: false, .. }"
        );
        let read = RwLockWriteGuard::downgrade(write);
        assert_eq!(*read + *lock.try_read().unwrap(), 4);
        assert!(lock.try_write().is_err());
    }
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let _guard = lock.read();
        panic!("readers do not poison");
    }));
    assert!(!lock.is_poisoned());
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let _guard = lock.write();
        panic!("writers do");
    }));
    assert!(lock.is_poisoned() && lock.read().is_err() && lock.try_write().is_err() && lock.get_mut().is_err());
    lock.clear_poison();
    assert_eq!(lock.into_inner().unwrap(), 2);
    assert_eq!(
        *RwLock::<u8>::default().read().unwrap() + *RwLock::from(1).read().unwrap(),
        1
    );
}

#[test]
fn condvar_wakes() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let waiters: Vec<_> = (0..10)
        .map(|_| {
            let pair = pair.clone();
            thread::spawn(move || {
                let guard = pair.1.wait_while(pair.0.lock().unwrap(), |tickets| *tickets == 0);
                *guard.unwrap() -= 1;
            })
        })
        .collect();
    for _ in 0..10 {
        *pair.0.lock().unwrap() += 1;
        pair.1.notify_one();
    }
    pair.1.notify_all();
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    assert_eq!(
        format!("{:?} {:?}", pair.1, Condvar::default()),
        "Condvar { .. } Condvar { .. }"
    );
}

#[test]
fn condvar_times_out() {
    let (mutex, condvar) = (Mutex::new(()), Condvar::new());
    let short = Duration::from_millis(5);
    let start = Instant::now();
    let (guard, result) = condvar.wait_timeout(mutex.lock().unwrap(), short).unwrap();
    assert!(result.timed_out() && start.elapsed() >= short);
    assert!(mutex.try_lock().is_err());
    let (guard, result) = condvar.wait_timeout_while(guard, short, |()| true).unwrap();
    assert!(result.timed_out());
    let (guard, result) = condvar.wait_timeout_while(guard, short, |()| false).unwrap();
    assert!(!result.timed_out());
    assert_eq!(format!("{result:?}"), "WaitTimeoutResult(false)");
    #[allow(deprecated)]
    let (_guard, in_time) = condvar.wait_timeout_ms(guard, 1).unwrap();
    assert!(!in_time);
}

#[test]
fn condvar_sees_poison() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = pair.clone();
    let guard = pair.0.lock().unwrap();
    let thread = thread::spawn(move || {
        let _guard = other.0.lock().unwrap();
        other.1.notify_one();
        panic!("poison");
    });
    assert!(pair.1.wait_while(guard, |_| true).is_err());
    assert!(thread.join().is_err());
}

#[test]
fn barrier() {
    static BARRIER: Barrier = Barrier::new(3);
    for _ in 0..3 {
        let threads: Vec<_> = (0..3).map(|_| thread::spawn(|| BARRIER.wait().is_leader())).collect();
        assert_eq!(
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .filter(|leader| *leader)
                .count(),
            1
        );
    }
    assert!(Barrier::new(0).wait().is_leader());
    assert_eq!(
        format!("{:?} {:?}", BARRIER, Barrier::new(1).wait()),
        "Barrier { .. } BarrierWaitResult { is_leader: true }"
    );
}

#[test]
fn once() {
    static ONCE: Once = Once::new();
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let waiter = thread::spawn(|| {
        ONCE.wait();
        RUNS.load(Ordering::SeqCst)
    });
    for _ in 0..3 {
        ONCE.call_once(|| {
            RUNS.fetch_add(1, Ordering::SeqCst);
        });
    }
    assert!(ONCE.is_completed());
    assert_eq!(waiter.join().unwrap(), 1);

    let once = Once::new();
    assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| panic!("poison")))).is_err());
    assert!(!once.is_completed());
    let again = catch_unwind(AssertUnwindSafe(|| once.call_once(|| {}))).unwrap_err();
    assert_eq!(
        *again.downcast_ref::<&str>().unwrap(),
        "Once instance has previously been poisoned"
    );
    assert!(catch_unwind(AssertUnwindSafe(|| once.wait())).is_err());
    once.call_once_force(|state| assert_eq!(format!("{state:?}"), "OnceState { poisoned: true }"));
    once.wait_force();
    once.call_once(|| unreachable!());
    assert_eq!(format!("{once:?}"), "Once { .. }");
}

#[test]
fn once_lock() {
    static CELL: OnceLock<String> = OnceLock::new();
    assert!(CELL.get().is_none());
    let waiter = thread::spawn(|| CELL.wait().len());
    assert_eq!(CELL.get_or_init(|| "one".to_string()), "one");
    assert_eq!(CELL.set("two".to_string()), Err("two".to_string()));
    assert_eq!(waiter.join().unwrap(), 3);
    let mut cell = CELL.clone();
    assert_eq!(cell, CELL);
    cell.get_mut().unwrap().push('!');
    assert_eq!(cell.take().unwrap(), "one!");
    assert!(cell.take().is_none());
    assert_eq!(format!("{cell:?}"), "OnceLock(<uninit>)");
    assert!(catch_unwind(AssertUnwindSafe(|| cell.get_or_init(|| panic!("no value")).len())).is_err());
    assert_eq!(cell.get_or_init(|| "after".into()), "after");
    assert_eq!(
        format!("{cell:?} {:?}", OnceLock::from(1)),
        "OnceLock(\"after\") OnceLock(1)"
    );
    assert_eq!(cell.into_inner().unwrap(), "after");
    assert!(OnceLock::<u8>::default().into_inner().is_none());
    // A cell may hold what borrows from something dropped before it.
    let cell;
    let text = "text".to_string();
    cell = OnceLock::new();
    cell.set(text.as_str()).unwrap();
}

#[test]
fn lazy_lock() {
    static LAZY: LazyLock<Vec<u8>> = LazyLock::new(|| vec![1, 2]);
    assert!(LazyLock::get(&LAZY).is_none());
    let threads: Vec<_> = (0..3).map(|_| thread::spawn(|| LAZY.as_ptr().addr())).collect();
    threads
        .into_iter()
        .for_each(|thread| assert_eq!(thread.join().unwrap(), LAZY.as_ptr().addr()));
    assert_eq!(
        format!("{:?} {:?}", LAZY, LazyLock::<u8>::default()),
        "LazyLock([1, 2]) LazyLock(<uninit>)"
    );
    let mut lazy = LazyLock::new(|| 1);
    assert!(LazyLock::get_mut(&mut lazy).is_none());
    *lazy += 1;
    *LazyLock::force_mut(&mut lazy) += 1;
    assert_eq!(
        (*LazyLock::force(&lazy), LazyLock::get_mut(&mut lazy)),
        (3, Some(&mut 3))
    );
    let broken: LazyLock<u8> = LazyLock::new(|| panic!("no value"));
    assert!(catch_unwind(AssertUnwindSafe(|| *broken)).is_err());
    let again = catch_unwind(AssertUnwindSafe(|| *broken)).unwrap_err();
    assert_eq!(
        *again.downcast_ref::<&str>().unwrap(),
        "LazyLock instance has previously been poisoned"
    );
    let mut broken: LazyLock<u8> = LazyLock::new(|| panic!("no value"));
    assert!(catch_unwind(AssertUnwindSafe(|| *LazyLock::force_mut(&mut broken))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| *broken)).is_err());
}

#[test]
fn time() {
    let (start, second) = (Instant::now(), Duration::from_secs(1));
    assert_eq!((start + second) - start, second);
    assert_eq!(start - (start + second), Duration::ZERO);
    assert_eq!(start.checked_duration_since(start + second), None);
    assert_eq!(start.saturating_duration_since(start - second), second);
    assert_eq!(start.checked_add(Duration::MAX), None);
    assert_eq!(start.checked_sub(Duration::MAX), None);
    assert!(start.checked_sub(Duration::from_secs(1 << 40)).unwrap() < start);
    let mut later = start;
    later += second;
    later -= Duration::from_millis(1);
    assert!(later > start && format!("{later:?}").starts_with("Instant { tv_sec: "));
    let now = SystemTime::now();
    assert!(now.duration_since(UNIX_EPOCH).unwrap() > second);
    assert_eq!(
        SystemTime::UNIX_EPOCH
            .duration_since(UNIX_EPOCH + second)
            .unwrap_err()
            .duration(),
        second
    );
    let mut other = now;
    other += second;
    other -= second;
    assert_eq!((other, now.checked_add(Duration::MAX)), (now, None));
    assert!(now.elapsed().is_ok() && (now - second) < now && now.checked_sub(second).is_some());
    let done = AtomicBool::new(true);
    while !done.load(Ordering::SeqCst) {
        lib::hint::spin_loop();
    }
}
