//! The C library's locks.

use libc::{pthread_cond_t, pthread_mutex_t, pthread_once_t, pthread_rwlock_t, sem_t, timespec};
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, zeroed};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The state that the threads of a test share.
struct Shared {
    mutex: UnsafeCell<pthread_mutex_t>,
    condition: UnsafeCell<pthread_cond_t>,
    lock: UnsafeCell<pthread_rwlock_t>,
    semaphore: UnsafeCell<sem_t>,
    once: UnsafeCell<pthread_once_t>,
    barrier: UnsafeCell<libc::pthread_barrier_t>,
    spin: UnsafeCell<libc::pthread_spinlock_t>,
    value: UnsafeCell<i32>,
}

// SAFETY: the C library's objects are for several threads, and the value is for who holds one of them.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    fn new() -> Arc<Shared> {
        // SAFETY: integers; zero is what the C library's static initialisers have.
        let shared: Shared = unsafe { zeroed() };
        let shared = Arc::new(shared);
        // SAFETY: initialises objects that nobody uses yet.
        unsafe {
            assert_eq!(libc::sem_init(shared.semaphore.get(), 0, 0), 0);
            assert_eq!(libc::pthread_barrier_init(shared.barrier.get(), std::ptr::null(), 2), 0);
            assert_eq!(libc::pthread_spin_init(shared.spin.get(), 0), 0);
        }
        shared
    }

    /// The value, for who holds a lock.
    fn value(&self) -> i32 {
        // SAFETY: by the rules of the tests.
        unsafe { *self.value.get() }
    }

    fn set(&self, value: i32) {
        // SAFETY: by the rules of the tests.
        unsafe { *self.value.get() = value }
    }
}

/// Sets the kind of the mutex.
fn initialise(shared: &Shared, kind: libc::c_int) {
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: nobody uses the mutex yet.
    unsafe {
        assert_eq!(libc::pthread_mutexattr_init(attributes.as_mut_ptr()), 0);
        assert_eq!(libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), kind), 0);
        assert_eq!(libc::pthread_mutex_init(shared.mutex.get(), attributes.as_ptr()), 0);
    }
}

/// Calls a function on an object of the C library.
macro_rules! call {
    ($function:ident($($argument:expr),*)) => {{
        // SAFETY: the objects live, and the call is one that the tests are about.
        unsafe { libc::$function($($argument),*) }
    }};
}

/// Runs `f` in another thread too.
fn in_two(shared: &Arc<Shared>, f: fn(&Shared)) {
    let child = {
        let shared = Arc::clone(shared);
        thread::spawn(move || f(&shared))
    };
    f(shared);
    child.join().unwrap();
}

fn soon(seconds: i64) -> timespec {
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    call!(clock_gettime(libc::CLOCK_REALTIME, &raw mut now));
    now.tv_sec += seconds;
    now
}

#[test]
fn mutex_is_exclusive() {
    let shared = Shared::new();
    in_two(&shared, |shared| {
        assert_eq!(call!(pthread_mutex_lock(shared.mutex.get())), 0);
        shared.set(shared.value() + 1);
        assert_eq!(call!(pthread_mutex_unlock(shared.mutex.get())), 0);
    });
    assert_eq!(shared.value(), 2);
    assert_eq!(call!(pthread_mutex_destroy(shared.mutex.get())), 0);
}

#[test]
fn static_mutex_is_exclusive() {
    struct Static(UnsafeCell<pthread_mutex_t>, UnsafeCell<i32>);
    // SAFETY: the value is for who holds the mutex.
    unsafe impl Sync for Static {}
    static SHARED: Static = Static(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER), UnsafeCell::new(0));
    fn add() -> i32 {
        call!(pthread_mutex_lock(SHARED.0.get()));
        // SAFETY: the mutex is held.
        let value = unsafe {
            *SHARED.1.get() += 1;
            *SHARED.1.get()
        };
        call!(pthread_mutex_unlock(SHARED.0.get()));
        value
    }
    let child = thread::spawn(add);
    assert_eq!(add() + child.join().unwrap(), 3);
}

#[test]
fn mutex_of_a_kind_that_knows_its_owner() {
    let shared = Shared::new();
    initialise(&shared, libc::PTHREAD_MUTEX_ERRORCHECK);
    let mutex = shared.mutex.get();
    assert_eq!(call!(pthread_mutex_unlock(mutex)), libc::EPERM);
    assert_eq!(call!(pthread_mutex_lock(mutex)), 0);
    assert_eq!(call!(pthread_mutex_lock(mutex)), libc::EDEADLK);
    assert_eq!(call!(pthread_mutex_trylock(mutex)), libc::EBUSY);
    assert_eq!(call!(pthread_mutex_unlock(mutex)), 0);

    let shared = Shared::new();
    initialise(&shared, libc::PTHREAD_MUTEX_RECURSIVE);
    in_two(&shared, |shared| {
        let mutex = shared.mutex.get();
        assert_eq!(call!(pthread_mutex_lock(mutex)), 0);
        assert_eq!(call!(pthread_mutex_trylock(mutex)), 0);
        shared.set(shared.value() + 1);
        assert_eq!(call!(pthread_mutex_unlock(mutex)), 0);
        shared.set(shared.value() + 1);
        assert_eq!(call!(pthread_mutex_unlock(mutex)), 0);
        assert_eq!(call!(pthread_mutex_unlock(mutex)), libc::EPERM);
    });
    assert_eq!(shared.value(), 4);
}

#[test]
fn mutex_locked_twice_is_a_deadlock() {
    let shared = Shared::new();
    call!(pthread_mutex_lock(shared.mutex.get()));
    call!(pthread_mutex_lock(shared.mutex.get()));
}

#[test]
fn reach_trylock_fails() {
    let shared = Shared::new();
    in_two(&shared, |shared| {
        assert_eq!(call!(pthread_mutex_trylock(shared.mutex.get())), 0);
        call!(pthread_mutex_unlock(shared.mutex.get()));
    });
}

#[test]
fn timedlock_takes_the_lock_or_times_out() {
    let shared = Shared::new();
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            call!(pthread_mutex_lock(shared.mutex.get()));
            shared.set(1);
            call!(pthread_mutex_unlock(shared.mutex.get()));
        })
    };
    let start = Instant::now();
    match call!(pthread_mutex_timedlock(shared.mutex.get(), &soon(3))) {
        0 => assert_eq!(call!(pthread_mutex_unlock(shared.mutex.get())), 0),
        error => {
            assert_eq!(error, libc::ETIMEDOUT);
            assert!(start.elapsed() >= Duration::from_secs(2));
        }
    }
    child.join().unwrap();
}

fn wait_for_a_value(shared: &Shared) {
    let (mutex, condition) = (shared.mutex.get(), shared.condition.get());
    call!(pthread_mutex_lock(mutex));
    while shared.value() == 0 {
        assert_eq!(call!(pthread_cond_wait(condition, mutex)), 0);
    }
    call!(pthread_mutex_unlock(mutex));
}

#[test]
fn condition_is_signalled() {
    let shared = Shared::new();
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || wait_for_a_value(&shared))
    };
    let (mutex, condition) = (shared.mutex.get(), shared.condition.get());
    call!(pthread_mutex_lock(mutex));
    shared.set(1);
    call!(pthread_mutex_unlock(mutex));
    call!(pthread_cond_signal(condition));
    child.join().unwrap();
}

#[test]
fn one_signal_for_two_is_a_deadlock() {
    let shared = Shared::new();
    let children = [(); 2].map(|()| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || wait_for_a_value(&shared))
    });
    let (mutex, condition) = (shared.mutex.get(), shared.condition.get());
    call!(pthread_mutex_lock(mutex));
    shared.set(1);
    call!(pthread_mutex_unlock(mutex));
    call!(pthread_cond_signal(condition));
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn broadcast_wakes_both() {
    let shared = Shared::new();
    let children = [(); 2].map(|()| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || wait_for_a_value(&shared))
    });
    let (mutex, condition) = (shared.mutex.get(), shared.condition.get());
    call!(pthread_mutex_lock(mutex));
    shared.set(1);
    call!(pthread_cond_broadcast(condition));
    call!(pthread_mutex_unlock(mutex));
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn a_timed_wait_ends() {
    let shared = Shared::new();
    let (mutex, condition) = (shared.mutex.get(), shared.condition.get());
    call!(pthread_mutex_lock(mutex));
    let start = Instant::now();
    assert_eq!(
        call!(pthread_cond_timedwait(condition, mutex, &soon(1))),
        libc::ETIMEDOUT
    );
    assert!(start.elapsed() > Duration::from_millis(900));
    assert_eq!(call!(pthread_mutex_unlock(mutex)), 0);
}

/// In a hundred years.
fn never() -> timespec {
    soon(100 * 365 * 24 * 60 * 60)
}

#[test]
fn deadlines_of_another_century_do_not_come() {
    let shared = Shared::new();
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let (mutex, condition) = (shared.mutex.get(), shared.condition.get());
            assert_eq!(call!(pthread_mutex_timedlock(mutex, &never())), 0);
            while shared.value() == 0 {
                assert_eq!(call!(pthread_cond_timedwait(condition, mutex, &never())), 0);
            }
            assert_eq!(call!(pthread_mutex_unlock(mutex)), 0);
            assert_eq!(call!(sem_timedwait(shared.semaphore.get(), &never())), 0);
        })
    };
    call!(pthread_mutex_lock(shared.mutex.get()));
    shared.set(1);
    call!(pthread_cond_signal(shared.condition.get()));
    call!(pthread_mutex_unlock(shared.mutex.get()));
    call!(sem_post(shared.semaphore.get()));
    child.join().unwrap();
}

#[test]
fn a_semaphore_for_a_century_is_a_deadlock() {
    let shared = Shared::new();
    call!(sem_timedwait(shared.semaphore.get(), &never()));
}

#[test]
fn readers_share_and_a_writer_does_not() {
    let shared = Shared::new();
    let writer = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            assert_eq!(call!(pthread_rwlock_wrlock(shared.lock.get())), 0);
            assert_eq!(call!(pthread_rwlock_rdlock(shared.lock.get())), libc::EDEADLK);
            shared.set(1);
            shared.set(2);
            assert_eq!(call!(pthread_rwlock_unlock(shared.lock.get())), 0);
        })
    };
    assert_eq!(call!(pthread_rwlock_rdlock(shared.lock.get())), 0);
    assert_eq!(call!(pthread_rwlock_tryrdlock(shared.lock.get())), 0);
    assert_eq!(call!(pthread_rwlock_trywrlock(shared.lock.get())), libc::EBUSY);
    assert_ne!(shared.value(), 1);
    call!(pthread_rwlock_unlock(shared.lock.get()));
    call!(pthread_rwlock_unlock(shared.lock.get()));
    writer.join().unwrap();
}

#[test]
fn once_runs_once() {
    struct Static(UnsafeCell<i32>);
    // SAFETY: written under the once only.
    unsafe impl Sync for Static {}
    static RUNS: Static = Static(UnsafeCell::new(0));
    extern "C" fn run() {
        thread::yield_now();
        // SAFETY: one thread runs this.
        unsafe { *RUNS.0.get() += 1 };
    }
    unsafe extern "C" {
        fn pthread_once(once: *mut pthread_once_t, routine: extern "C" fn()) -> libc::c_int;
    }
    let shared = Shared::new();
    in_two(&shared, |shared| {
        // SAFETY: the once lives.
        assert_eq!(unsafe { pthread_once(shared.once.get(), run) }, 0);
        // SAFETY: it has run.
        assert_eq!(unsafe { *RUNS.0.get() }, 1);
    });
}

#[test]
fn semaphore_hands_over() {
    let shared = Shared::new();
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            assert_eq!(call!(sem_wait(shared.semaphore.get())), 0);
            shared.value()
        })
    };
    shared.set(5);
    assert_eq!(call!(sem_post(shared.semaphore.get())), 0);
    assert_eq!(child.join().unwrap(), 5);
    let mut value = 1;
    assert_eq!(call!(sem_getvalue(shared.semaphore.get(), &raw mut value)), 0);
    assert_eq!(value, 0);
    assert_eq!(call!(sem_trywait(shared.semaphore.get())), -1);
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EAGAIN));
    assert_eq!(call!(sem_timedwait(shared.semaphore.get(), &soon(1))), -1);
}

#[test]
fn semaphore_without_a_post_is_a_deadlock() {
    let shared = Shared::new();
    call!(sem_wait(shared.semaphore.get()));
}

#[test]
fn barrier_lets_both_pass() {
    let shared = Shared::new();
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || call!(pthread_barrier_wait(shared.barrier.get())))
    };
    let own = call!(pthread_barrier_wait(shared.barrier.get()));
    let mut results = [own, child.join().unwrap()];
    results.sort_unstable();
    assert_eq!(results, [libc::PTHREAD_BARRIER_SERIAL_THREAD, 0]);
}

#[test]
fn spin_lock_is_exclusive() {
    let shared = Shared::new();
    in_two(&shared, |shared| {
        assert_eq!(call!(pthread_spin_lock(shared.spin.get())), 0);
        shared.set(shared.value() + 1);
        assert_eq!(call!(pthread_spin_trylock(shared.spin.get())), libc::EBUSY);
        assert_eq!(call!(pthread_spin_unlock(shared.spin.get())), 0);
    });
    assert_eq!(shared.value(), 2);
}

#[test]
fn sleeping_passes_the_virtual_time() {
    let start = Instant::now();
    let hour = timespec {
        tv_sec: 3_600,
        tv_nsec: 0,
    };
    assert_eq!(call!(nanosleep(&hour, std::ptr::null_mut())), 0);
    assert_eq!(call!(usleep(1_000_000)), 0);
    assert_eq!(call!(sleep(10)), 0);
    let absolute = libc::TIMER_ABSTIME;
    assert_eq!(
        call!(clock_nanosleep(
            libc::CLOCK_REALTIME,
            absolute,
            &soon(100),
            std::ptr::null_mut()
        )),
        0
    );
    let passed = start.elapsed();
    assert!(passed >= Duration::from_secs(3_710) && passed < Duration::from_secs(3_715));
}

#[test]
fn a_thread_of_the_c_library_is_not_supported() {
    extern "C" fn run(argument: *mut libc::c_void) -> *mut libc::c_void {
        argument
    }
    let mut thread = 0;
    call!(pthread_create(
        &raw mut thread,
        std::ptr::null(),
        run,
        std::ptr::null_mut()
    ));
}
