//! Lost update: two threads increment one counter.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Increments in one atomic step.
pub fn increment(counter: &AtomicUsize) {
    counter.fetch_add(1, SeqCst);
}

/// Increments by reading, then writing back only if nobody wrote in between.
pub fn increment_by_compare_exchange(counter: &AtomicUsize) {
    let mut seen = counter.load(SeqCst);
    while let Err(now) = counter.compare_exchange(seen, seen + 1, SeqCst, SeqCst) {
        seen = now;
    }
}

/// Wrong: an increment that comes between the load and the store is lost.
pub fn increment_in_two_steps(counter: &AtomicUsize) {
    let seen = counter.load(SeqCst);
    counter.store(seen + 1, SeqCst);
}

/// Wrong: each access is locked, the increment as a whole is not.
pub fn increment_with_two_locks(counter: &Mutex<usize>) {
    let seen = *counter.lock().expect("not poisoned");
    *counter.lock().expect("not poisoned") = seen + 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use std::sync::Arc;

    #[test]
    fn right_fetch_add() {
        let counter = Arc::new(AtomicUsize::new(0));
        threads::run(2, &counter, |counter, _| increment(counter));
        assert_eq!(counter.load(SeqCst), 2);
    }

    #[test]
    fn right_compare_exchange() {
        let counter = Arc::new(AtomicUsize::new(0));
        threads::run(2, &counter, |counter, _| increment_by_compare_exchange(counter));
        assert_eq!(counter.load(SeqCst), 2);
    }

    #[test]
    fn right_one_lock() {
        let counter = Arc::new(Mutex::new(0));
        threads::run(2, &counter, |counter, _| *counter.lock().unwrap() += 1);
        assert_eq!(*counter.lock().unwrap(), 2);
    }

    #[test]
    fn wrong_two_steps() {
        let counter = Arc::new(AtomicUsize::new(0));
        threads::run(2, &counter, |counter, _| increment_in_two_steps(counter));
        assert_eq!(counter.load(SeqCst), 2);
    }

    #[test]
    fn wrong_two_locks() {
        let counter = Arc::new(Mutex::new(0));
        threads::run(2, &counter, |counter, _| increment_with_two_locks(counter));
        assert_eq!(*counter.lock().unwrap(), 2);
    }
}
