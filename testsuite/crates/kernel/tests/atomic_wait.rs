//! The crate atomic-wait.

use atomic_wait::{wait, wake_all, wake_one};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

#[test]
fn flag_is_waited_for() {
    let flag = Arc::new(AtomicU32::new(0));
    let child = {
        let flag = Arc::clone(&flag);
        thread::spawn(move || {
            flag.store(1, SeqCst);
            wake_one(&*flag);
        })
    };
    while flag.load(SeqCst) == 0 {
        wait(&flag, 0);
    }
    child.join().unwrap();
}

#[test]
fn two_wait_for_a_flag() {
    let flag = Arc::new(AtomicU32::new(0));
    let children = [(); 2].map(|()| {
        let flag = Arc::clone(&flag);
        thread::spawn(move || {
            while flag.load(SeqCst) == 0 {
                wait(&flag, 0);
            }
        })
    });
    flag.store(1, SeqCst);
    wake_all(&*flag);
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn one_wake_up_for_two() {
    let flag = Arc::new(AtomicU32::new(0));
    let children = [(); 2].map(|()| {
        let flag = Arc::clone(&flag);
        thread::spawn(move || {
            while flag.load(SeqCst) == 0 {
                wait(&flag, 0);
            }
        })
    });
    flag.store(1, SeqCst);
    wake_one(&*flag);
    children.into_iter().for_each(|child| child.join().unwrap());
}
