//! Poisoning, and panics in child threads.

use conformance::unless;
use std::sync::{Arc, Mutex, Once, RwLock, TryLockError};
use std::thread;

#[test]
fn panic_of_a_child_comes_back_from_join() {
    let result = thread::spawn(|| panic!("child {}", std::hint::black_box(1))).join();
    assert_eq!(*result.unwrap_err().downcast::<String>().unwrap(), "child 1");
}

#[test]
fn panic_of_a_child_with_literal_and_any() {
    let literal = thread::spawn(|| panic!("literal")).join().unwrap_err();
    assert_eq!(*literal.downcast::<&'static str>().unwrap(), "literal");
    let any = thread::spawn(|| std::panic::panic_any(42_u8)).join().unwrap_err();
    assert_eq!(*any.downcast::<u8>().unwrap(), 42);
    let resumed = thread::spawn(|| std::panic::resume_unwind(Box::new('r')))
        .join()
        .unwrap_err();
    assert_eq!(*resumed.downcast::<char>().unwrap(), 'r');
}

#[test]
fn panic_of_a_child_nobody_joins_is_ignored() {
    drop(thread::spawn(|| panic!("nobody cares")));
}

#[test]
fn panic_of_a_child_releases_what_it_held() {
    let mutex = Arc::new(Mutex::new(0));
    let child = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || {
            let mut value = mutex.lock().unwrap();
            *value = 1;
            panic!("holding the lock");
        })
    };
    let mine = match mutex.lock() {
        Ok(guard) => (*guard, false),
        Err(poisoned) => (**poisoned.get_ref(), true),
    };
    assert!(mine == (0, false) || mine == (1, true));
    assert!(child.join().is_err());
    assert!(mutex.is_poisoned());
}

fn poisoned_mutex() -> Arc<Mutex<i32>> {
    let mutex = Arc::new(Mutex::new(3));
    let child = Arc::clone(&mutex);
    let result = thread::spawn(move || {
        let _guard = child.lock().unwrap();
        panic!("poison");
    });
    assert!(result.join().is_err());
    mutex
}

#[test]
fn poisoned_mutex_says_so_until_cleared() {
    let mutex = poisoned_mutex();
    assert!(mutex.is_poisoned());
    assert_eq!(*mutex.lock().unwrap_err().into_inner(), 3);
    assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
    mutex.clear_poison();
    assert!(!mutex.is_poisoned());
    assert_eq!(*mutex.lock().unwrap(), 3);
}

#[test]
fn poisoned_mutex_gives_its_value() {
    let mut mutex = Arc::into_inner(poisoned_mutex()).unwrap();
    assert_eq!(**mutex.get_mut().unwrap_err().get_ref(), 3);
    assert_eq!(mutex.into_inner().unwrap_err().into_inner(), 3);
}

#[test]
fn reach_is_poisoned() {
    let mutex = Arc::new(Mutex::new(()));
    let child = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || {
            let _guard = mutex.lock();
            panic!("poison");
        })
    };
    let poisoned = mutex.is_poisoned();
    let _ = child.join();
    unless(poisoned);
}

#[test]
fn reach_is_not_poisoned() {
    let mutex = Arc::new(Mutex::new(()));
    let child = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || {
            let _guard = mutex.lock();
            panic!("poison");
        })
    };
    let poisoned = mutex.is_poisoned();
    let _ = child.join();
    unless(!poisoned);
}

#[test]
fn writers_poison_readers_do_not() {
    let lock = Arc::new(RwLock::new(0));
    let reader = Arc::clone(&lock);
    let result = thread::spawn(move || {
        let _guard = reader.read().unwrap();
        panic!("reading");
    });
    assert!(result.join().is_err());
    assert!(!lock.is_poisoned());
    let writer = Arc::clone(&lock);
    let result = thread::spawn(move || {
        let _guard = writer.write().unwrap();
        panic!("writing");
    });
    assert!(result.join().is_err());
    assert!(lock.is_poisoned());
    assert!(lock.read().is_err());
    lock.clear_poison();
    assert!(lock.write().is_ok());
}

#[test]
fn guard_dropped_before_the_panic_does_not_poison() {
    let mutex = Arc::new(Mutex::new(0));
    let child = Arc::clone(&mutex);
    let result = thread::spawn(move || {
        drop(child.lock().unwrap());
        panic!("holding nothing");
    });
    assert!(result.join().is_err());
    assert!(!mutex.is_poisoned());
}

#[test]
fn guard_taken_while_panicking_does_not_poison() {
    struct LocksOnDrop(Arc<Mutex<i32>>);
    impl Drop for LocksOnDrop {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let mutex = Arc::new(Mutex::new(0));
    let on_drop = LocksOnDrop(Arc::clone(&mutex));
    let result = thread::spawn(move || {
        let _on_drop = on_drop;
        panic!("unwinding takes the lock");
    });
    assert!(result.join().is_err());
    assert_eq!(*mutex.lock().unwrap(), 1);
}

#[test]
fn one_thread_unwinds_while_another_does_not() {
    struct OnDrop(Arc<Mutex<()>>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            assert!(thread::panicking());
            drop(self.0.lock());
            assert!(thread::panicking());
        }
    }
    let mutex = Arc::new(Mutex::new(()));
    let on_drop = OnDrop(Arc::clone(&mutex));
    let child = thread::spawn(move || {
        let _on_drop = on_drop;
        panic!("unwinding");
    });
    assert!(!thread::panicking());
    drop(mutex.lock().unwrap());
    assert!(!thread::panicking());
    assert!(child.join().is_err());
}

#[test]
fn caught_panic_is_over() {
    let caught = std::panic::catch_unwind(|| {
        let mutex = Mutex::new(());
        let _guard = mutex.lock().unwrap();
        panic!("caught");
    });
    assert!(caught.is_err());
    assert!(!thread::panicking());
}

#[test]
fn once_is_poisoned_by_a_panic() {
    static ONCE: Once = Once::new();
    let result = thread::spawn(|| ONCE.call_once(|| panic!("first"))).join();
    assert!(result.is_err());
    assert!(!ONCE.is_completed());
    assert!(thread::spawn(|| ONCE.call_once(|| ())).join().is_err());
    ONCE.call_once_force(|state| assert!(state.is_poisoned()));
    assert!(ONCE.is_completed());
    ONCE.call_once(|| unreachable!("it is done"));
}
