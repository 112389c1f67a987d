//! Futex calls of the program's own, over words that are std's atomics.

use kernel::{requeue, set_and_wake, wait, wait_bits, wait_for, wake, wake_bits};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

static WORD: AtomicU32 = AtomicU32::new(0);
static OTHER: AtomicU32 = AtomicU32::new(0);

#[test]
fn a_wait_for_another_value_does_not_wait() {
    assert_eq!(wait(&WORD, 1), Err(libc::EAGAIN));
    assert_eq!(wake(&WORD, 1), Ok(0));
}

#[test]
fn a_waiter_is_woken_or_sees_the_new_value() {
    let waiter = thread::spawn(|| wait(&WORD, 0));
    WORD.store(1, SeqCst);
    let woken = wake(&WORD, 1).unwrap();
    let waited = waiter.join().unwrap();
    assert_eq!(waited, if woken == 1 { Ok(0) } else { Err(libc::EAGAIN) });
}

#[test]
fn reach_a_waiter_is_woken() {
    let waiter = thread::spawn(|| wait(&WORD, 0));
    WORD.store(1, SeqCst);
    assert_eq!(wake(&WORD, 1), Ok(0));
    waiter.join().unwrap().unwrap_err();
}

#[test]
fn reach_a_wait_is_interrupted() {
    let waiter = thread::spawn(|| wait(&WORD, 0));
    WORD.store(1, SeqCst);
    wake(&WORD, 1).unwrap();
    assert_ne!(waiter.join().unwrap(), Err(libc::EINTR));
}

#[test]
fn a_wake_up_without_a_new_value_is_lost() {
    let waiter = thread::spawn(|| wait(&WORD, 0));
    wake(&WORD, 1).unwrap();
    waiter.join().unwrap().unwrap();
}

#[test]
fn an_endless_timeout_does_not_fire() {
    let century = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    let waiter = thread::spawn(move || wait_for(&WORD, 0, century));
    WORD.store(1, SeqCst);
    let woken = wake(&WORD, 1).unwrap();
    let waited = waiter.join().unwrap();
    assert_eq!(waited, if woken == 1 { Ok(0) } else { Err(libc::EAGAIN) });
}

#[test]
fn nobody_wakes() {
    wait(&WORD, 0).unwrap();
}

/// Says which of two threads that wait from the start are woken by a wake-up of one.
fn first_woken(of: u32) {
    let waiters = [1, 2].map(|me| {
        thread::spawn(move || {
            wait(&WORD, 0).unwrap();
            OTHER.compare_exchange(0, me, SeqCst, SeqCst).is_ok()
        })
    });
    while wake(&WORD, 1).unwrap() == 0 {}
    while OTHER.load(SeqCst) == 0 {}
    assert_ne!(OTHER.load(SeqCst), of);
    while wake(&WORD, 1).unwrap() == 0 {}
    waiters.into_iter().for_each(|waiter| {
        waiter.join().unwrap();
    });
}

#[test]
fn reach_the_first_waiter_is_woken_first() {
    first_woken(1);
}

#[test]
fn reach_the_second_waiter_is_woken_first() {
    first_woken(2);
}

#[test]
fn all_are_woken() {
    let waiters = [(); 2].map(|()| thread::spawn(|| wait(&WORD, 0)));
    WORD.store(1, SeqCst);
    let woken = wake(&WORD, i32::MAX).unwrap();
    let waited = waiters.map(|waiter| waiter.join().unwrap());
    assert_eq!(woken, waited.iter().filter(|waited| waited.is_ok()).count() as i64);
}

#[test]
fn two_of_three_are_woken() {
    let waiters = [(); 3].map(|()| {
        thread::spawn(|| {
            let waited = wait(&WORD, 0);
            OTHER.fetch_add(1, SeqCst);
            waited
        })
    });
    let woken = wake(&WORD, 2).unwrap();
    assert!(woken <= 2);
    WORD.store(1, SeqCst);
    let later = wake(&WORD, i32::MAX).unwrap();
    let waited = waiters.map(|waiter| waiter.join().unwrap());
    assert_eq!(
        woken + later,
        waited.iter().filter(|waited| waited.is_ok()).count() as i64
    );
}

#[test]
fn only_who_shares_a_bit_is_woken() {
    let waiter = thread::spawn(|| wait_bits(&WORD, 0, 0b01, None));
    assert_eq!(wake_bits(&WORD, 1, 0b10), Ok(0));
    WORD.store(1, SeqCst);
    let woken = wake_bits(&WORD, 1, 0b11).unwrap();
    assert_eq!(waiter.join().unwrap().is_ok(), woken == 1);
    assert_eq!(wait_bits(&WORD, 1, 0, None), Err(libc::EINVAL));
}

#[test]
fn a_bit_that_nobody_has_wakes_nobody() {
    let waiter = thread::spawn(|| wait_bits(&WORD, 0, 0b01, None));
    WORD.store(1, SeqCst);
    wake_bits(&WORD, 1, 0b10).unwrap();
    drop(waiter.join());
}

#[test]
fn a_timeout_ends_the_wait() {
    let start = Instant::now();
    assert_eq!(wait_for(&WORD, 0, Duration::from_secs(5)), Err(libc::ETIMEDOUT));
    assert!(start.elapsed() >= Duration::from_secs(5));
    // It has left the queue.
    assert_eq!(wake(&WORD, 1), Ok(0));
}

#[test]
fn a_wake_up_comes_before_or_after_the_timeout() {
    let waiter = thread::spawn(|| wait_for(&WORD, 0, Duration::from_secs(5)));
    WORD.store(1, SeqCst);
    let woken = wake(&WORD, 1).unwrap();
    let waited = waiter.join().unwrap();
    match woken {
        0 => assert!(matches!(waited, Err(libc::ETIMEDOUT | libc::EAGAIN))),
        _ => assert_eq!(waited, Ok(0)),
    }
}

#[test]
fn reach_a_timeout_beside_a_wake_up() {
    let waiter = thread::spawn(|| wait_for(&WORD, 0, Duration::from_secs(5)));
    wake(&WORD, 1).unwrap();
    assert_ne!(waiter.join().unwrap(), Err(libc::ETIMEDOUT));
}

#[test]
fn a_deadline_is_a_time_of_the_clock() {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is written there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let until = libc::timespec {
        tv_sec: now.tv_sec + 2,
        ..now
    };
    let start = Instant::now();
    assert_eq!(wait_bits(&WORD, 0, !0, Some(until)), Err(libc::ETIMEDOUT));
    let waited = start.elapsed();
    assert!(waited > Duration::from_millis(1_900) && waited < Duration::from_secs(3));
    let wrong = libc::timespec {
        tv_nsec: 1_000_000_000,
        ..now
    };
    assert_eq!(wait_bits(&WORD, 0, !0, Some(wrong)), Err(libc::EINVAL));
}

#[test]
fn a_thread_that_was_moved_is_woken_there() {
    let waiter = thread::spawn(|| wait(&WORD, 0));
    let moved = requeue(&WORD, 0, 0, &OTHER, 1).unwrap();
    let woken = wake(&OTHER, 1).unwrap();
    assert_eq!(woken, moved);
    WORD.store(1, SeqCst);
    assert!(wake(&WORD, 1).unwrap() + moved <= 1);
    let waited = waiter.join().unwrap();
    assert!(waited.is_ok() || moved == 0);
}

#[test]
fn a_thread_that_was_moved_is_not_woken_where_it_was() {
    let waiter = thread::spawn(|| wait(&WORD, 0));
    requeue(&WORD, 0, 0, &OTHER, 1).unwrap();
    WORD.store(1, SeqCst);
    wake(&WORD, 1).unwrap();
    drop(waiter.join());
}

#[test]
fn a_thread_that_was_moved_times_out() {
    let waiter = thread::spawn(|| wait_for(&WORD, 0, Duration::from_secs(1)));
    let moved = requeue(&WORD, 0, 0, &OTHER, 1).unwrap();
    let woken = wake(&OTHER, 1).unwrap();
    assert!(woken <= moved);
    let waited = waiter.join().unwrap();
    assert_eq!(waited, if woken == 1 { Ok(0) } else { Err(libc::ETIMEDOUT) });
    assert_eq!([wake(&WORD, 1), wake(&OTHER, 1)], [Ok(0); 2]);
}

#[test]
fn one_is_woken_and_the_other_moved() {
    let waiters = [(); 2].map(|()| thread::spawn(|| wait(&WORD, 0)));
    let changed = requeue(&WORD, 0, 1, &OTHER, i32::MAX).unwrap();
    let woken = wake(&OTHER, i32::MAX).unwrap();
    assert_eq!(woken, (changed - 1).max(0));
    WORD.store(1, SeqCst);
    let later = wake(&WORD, i32::MAX).unwrap();
    let waited = waiters.map(|waiter| waiter.join().unwrap());
    assert_eq!(
        changed + later,
        waited.iter().filter(|waited| waited.is_ok()).count() as i64
    );
}

#[test]
fn a_word_that_has_changed_moves_nobody() {
    assert_eq!(requeue(&WORD, 1, 1, &OTHER, 1), Err(libc::EAGAIN));
    assert_eq!(requeue(&WORD, 0, -1, &OTHER, 1), Err(libc::EINVAL));
}

#[test]
fn a_word_is_set_and_two_are_woken() {
    let waiters = [thread::spawn(|| wait(&WORD, 0)), thread::spawn(|| wait(&OTHER, 0))];
    let woken = set_and_wake(&WORD, &OTHER, 7).unwrap();
    assert_eq!(OTHER.load(SeqCst), 7);
    WORD.store(1, SeqCst);
    let later = wake(&WORD, 1).unwrap();
    let waited = waiters.map(|waiter| waiter.join().unwrap());
    assert_eq!(
        woken + later,
        waited.iter().filter(|waited| waited.is_ok()).count() as i64
    );
}

#[test]
fn other_calls_are_not_supported() {
    // SAFETY: the word is borrowed.
    unsafe { libc::syscall(libc::SYS_futex, WORD.as_ptr(), libc::FUTEX_LOCK_PI, 0, 0usize) };
}

/// A mutex as the manual page of the system call has it: 0 free, 1 held, 2 held and waited for.
struct Mutex(AtomicU32);

impl Mutex {
    fn lock(&self) {
        let mut seen = self
            .0
            .compare_exchange(0, 1, SeqCst, SeqCst)
            .unwrap_or_else(|seen| seen);
        while seen != 0 {
            if seen == 2 || self.0.compare_exchange(1, 2, SeqCst, SeqCst) != Err(0) {
                let _ = wait(&self.0, 2);
            }
            seen = self
                .0
                .compare_exchange(0, 2, SeqCst, SeqCst)
                .unwrap_or_else(|seen| seen);
        }
    }

    fn unlock(&self) {
        if self.0.swap(0, SeqCst) == 2 {
            wake(&self.0, 1).unwrap();
        }
    }

    /// Wakes before it announces that the lock is free, so that the woken thread may wait again for ever.
    fn unlock_too_early(&self) {
        if self.0.load(SeqCst) == 2 {
            wake(&self.0, 1).unwrap();
        }
        self.0.store(0, SeqCst);
    }
}

fn two_threads_lock(unlock: fn(&Mutex)) {
    let shared = Arc::new((Mutex(AtomicU32::new(0)), AtomicU32::new(0)));
    let critical = move |(mutex, inside): &(Mutex, AtomicU32)| {
        mutex.lock();
        assert_eq!(inside.fetch_add(1, SeqCst), 0);
        inside.fetch_sub(1, SeqCst);
        unlock(mutex);
    };
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || critical(&shared))
    };
    critical(&shared);
    child.join().unwrap();
}

#[test]
fn the_mutex_of_the_manual_is_right() {
    two_threads_lock(Mutex::unlock);
}

#[test]
fn a_mutex_that_wakes_too_early_hangs() {
    two_threads_lock(Mutex::unlock_too_early);
}
