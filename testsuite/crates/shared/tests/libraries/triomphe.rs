//! triomphe.

use std::thread;
use triomphe::Arc;

#[test]
fn one_of_two_is_the_last_owner_at_most() {
    let shared = Arc::new(1);
    let child = {
        let shared = shared.clone();
        thread::spawn(move || Arc::try_unwrap(shared).is_ok())
    };
    let mine = Arc::try_unwrap(shared).is_ok();
    let theirs = child.join().unwrap();
    assert!(!(mine && theirs));
}

#[test]
fn who_writes_has_its_own_copy() {
    let mut shared = Arc::new(1);
    let child = {
        let shared = shared.clone();
        thread::spawn(move || *shared)
    };
    *Arc::make_mut(&mut shared) += 1;
    assert_eq!((child.join().unwrap(), *shared), (1, 2));
}
