//! Condvar: who wakes, when, and with what.

use conformance::{race, unless};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(5);

type Pair<T> = (Mutex<T>, Condvar);

#[test]
fn wait_with_predicate_ends() {
    race(
        Pair::<bool>::default(),
        |(flag, changed)| {
            let mut set = flag.lock().unwrap();
            while !*set {
                set = changed.wait(set).unwrap();
            }
        },
        |(flag, changed)| {
            *flag.lock().unwrap() = true;
            changed.notify_one();
        },
    );
}

#[test]
fn wait_while_ends() {
    let (seen, _) = race(
        Pair::<u32>::default(),
        |(value, changed)| *changed.wait_while(value.lock().unwrap(), |value| *value < 2).unwrap(),
        |(value, changed)| {
            for _ in 0..2 {
                *value.lock().unwrap() += 1;
                changed.notify_all();
            }
        },
    );
    assert_eq!(seen, 2);
}

#[test]
fn notification_under_the_lock() {
    race(
        Pair::<bool>::default(),
        |(flag, changed)| drop(changed.wait_while(flag.lock().unwrap(), |set| !*set)),
        |(flag, changed)| {
            let mut set = flag.lock().unwrap();
            *set = true;
            changed.notify_one();
        },
    );
}

#[test]
fn notification_without_waiter_is_lost() {
    let (mutex, changed) = Pair::<()>::default();
    changed.notify_all();
    changed.notify_one();
    let (_guard, result) = changed.wait_timeout(mutex.lock().unwrap(), SHORT).unwrap();
    assert!(result.timed_out());
}

#[test]
fn fail_wait_without_notification_deadlocks() {
    let (mutex, changed) = Pair::<()>::default();
    let _guard = changed.wait(mutex.lock().unwrap());
}

#[test]
fn waiting_gives_up_the_lock_and_takes_it_again() {
    let (left, right) = race(
        Pair::<u32>::default(),
        |(turn, changed)| {
            let mut value = changed.wait_while(turn.lock().unwrap(), |turn| *turn == 0).unwrap();
            *value += 10;
            *value
        },
        |(turn, changed)| {
            let mut value = turn.lock().unwrap();
            *value = 1;
            changed.notify_one();
            thread::yield_now();
            *value
        },
    );
    assert_eq!((left, right), (11, 1));
}

#[test]
fn notify_all_wakes_all() {
    let pair = Arc::new(Pair::<bool>::default());
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let pair = Arc::clone(&pair);
            thread::spawn(move || drop(pair.1.wait_while(pair.0.lock().unwrap(), |set| !*set)))
        })
        .collect();
    *pair.0.lock().unwrap() = true;
    pair.1.notify_all();
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
}

/// Two threads wait, the first of them first; one is notified. Returns which.
fn who_wakes() -> usize {
    #[derive(Default)]
    struct Hall {
        waiting: usize,
        woken: Vec<usize>,
        done: bool,
    }
    let hall: Arc<(Mutex<Hall>, Condvar, Condvar)> = Arc::default();
    let start = |id| {
        let waiter = {
            let hall = Arc::clone(&hall);
            thread::spawn(move || {
                let (state, bell, arrived) = &*hall;
                let mut state = state.lock().unwrap();
                state.waiting += 1;
                arrived.notify_one();
                state = bell.wait(state).unwrap();
                state.woken.push(id);
                arrived.notify_one();
                drop(bell.wait_while(state, |state| !state.done));
            })
        };
        let (state, _, arrived) = &*hall;
        drop(arrived.wait_while(state.lock().unwrap(), |state| state.waiting <= id));
        waiter
    };
    let waiters = [start(0), start(1)];
    let (state, bell, arrived) = &*hall;
    bell.notify_one();
    let mut state = arrived
        .wait_while(state.lock().unwrap(), |state| state.woken.is_empty())
        .unwrap();
    let first = state.woken[0];
    state.done = true;
    bell.notify_all();
    drop(state);
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    first
}

#[test]
fn one_of_two_waiters_wakes() {
    assert!(who_wakes() < 2);
}

#[test]
fn reach_notify_one_wakes_the_first_waiter() {
    unless(who_wakes() == 0);
}

#[test]
fn reach_notify_one_wakes_the_last_waiter() {
    unless(who_wakes() == 1);
}

#[test]
fn wait_timeout_ends() {
    let (mutex, changed) = Pair::<()>::default();
    let (guard, result) = changed.wait_timeout(mutex.lock().unwrap(), SHORT).unwrap();
    assert!(result.timed_out());
    assert!(mutex.try_lock().is_err());
    drop(guard);
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn wait_timeout_while_ends() {
    let (flag, changed) = Pair::<bool>::default();
    let (set, result) = changed
        .wait_timeout_while(flag.lock().unwrap(), SHORT, |set| !*set)
        .unwrap();
    assert!(result.timed_out() && !*set);
}

fn timed_wait_against_notification() -> (bool, bool) {
    race(
        Pair::<bool>::default(),
        |(flag, changed)| {
            let (set, result) = changed
                .wait_timeout_while(flag.lock().unwrap(), SHORT, |set| !*set)
                .unwrap();
            assert_eq!(result.timed_out(), !*set);
            *set
        },
        |(flag, changed)| {
            *flag.lock().unwrap() = true;
            changed.notify_one();
            true
        },
    )
}

#[test]
fn timed_wait_says_why_it_ended() {
    timed_wait_against_notification();
}

#[test]
fn reach_timeout_fires() {
    unless(!timed_wait_against_notification().0);
}

#[test]
fn reach_timeout_does_not_fire() {
    unless(timed_wait_against_notification().0);
}

#[test]
fn poison_reaches_the_waiter() {
    let pair = Arc::new(Pair::<bool>::default());
    let child = {
        let pair = Arc::clone(&pair);
        thread::spawn(move || {
            let mut set = pair.0.lock().unwrap();
            *set = true;
            pair.1.notify_one();
            panic!("holding the lock");
        })
    };
    let poisoned = match pair.0.lock() {
        Ok(guard) => pair.1.wait_while(guard, |set| !*set).is_err(),
        Err(_) => true,
    };
    assert!(poisoned);
    assert!(child.join().is_err());
}

#[test]
fn condition_is_used_with_one_lock_after_another() {
    let changed = Condvar::new();
    for lock in [Mutex::new(()), Mutex::new(())] {
        assert!(changed.wait_timeout(lock.lock().unwrap(), SHORT).unwrap().1.timed_out());
    }
}
