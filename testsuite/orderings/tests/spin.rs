//! spin: a writer gives its lock back by a relaxed store (RUSTSEC-2019-0013).

use std::sync::Arc;
use std::thread;

#[test]
fn writers_exclude_each_other() {
    let lock = Arc::new(spin::RwLock::new(0));
    let other = Arc::clone(&lock);
    let thread = thread::spawn(move || *other.write() += 1);
    *lock.write() += 1;
    thread.join().unwrap();
    assert_eq!(*lock.read(), 2);
}
