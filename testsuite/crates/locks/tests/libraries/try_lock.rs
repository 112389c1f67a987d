//! try-lock.

use std::sync::Arc;
use std::thread;
use try_lock::TryLock;

#[test]
fn one_of_two_at_least_succeeds() {
    let lock = Arc::new(TryLock::new(0));
    let take = |lock: &TryLock<i32>| lock.try_lock().map(|mut count| *count += 1).is_some();
    let child = {
        let lock = Arc::clone(&lock);
        thread::spawn(move || take(&lock))
    };
    let mine = take(&lock);
    let theirs = child.join().unwrap();
    assert!(mine || theirs);
    assert_eq!(*lock.try_lock().unwrap(), i32::from(mine) + i32::from(theirs));
}
