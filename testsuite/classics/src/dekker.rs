//! Dekker's lock for two threads.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// The lock, and the counter that it guards.
#[derive(Default)]
pub struct Dekker {
    wants: [AtomicBool; 2],
    turn: AtomicUsize,
    counter: AtomicUsize,
}

impl Dekker {
    fn enter(&self, me: usize) {
        let other = 1 - me;
        self.wants[me].store(true, SeqCst);
        while self.wants[other].load(SeqCst) {
            if self.turn.load(SeqCst) != me {
                self.wants[me].store(false, SeqCst);
                while self.turn.load(SeqCst) != me {
                    hint::spin_loop();
                }
                self.wants[me].store(true, SeqCst);
            }
        }
    }

    fn leave(&self, me: usize) {
        self.turn.store(1 - me, SeqCst);
        self.wants[me].store(false, SeqCst);
    }

    fn work(&self) {
        let seen = self.counter.load(SeqCst);
        self.counter.store(seen + 1, SeqCst);
    }

    /// Increments the counter, guarded.
    pub fn increment(&self, me: usize) {
        self.enter(me);
        self.work();
        self.leave(me);
    }

    /// Wrong: looks at the other thread's wish before announcing its own.
    pub fn increment_look_first(&self, me: usize) {
        while self.wants[1 - me].load(SeqCst) {
            hint::spin_loop();
        }
        self.wants[me].store(true, SeqCst);
        self.work();
        self.wants[me].store(false, SeqCst);
    }

    /// Wrong: nobody ever gives way.
    pub fn increment_without_turn(&self, me: usize) {
        self.wants[me].store(true, SeqCst);
        while self.wants[1 - me].load(SeqCst) {
            hint::spin_loop();
        }
        self.work();
        self.wants[me].store(false, SeqCst);
    }

    /// Number of increments.
    pub fn count(&self) -> usize {
        self.counter.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use std::sync::Arc;

    #[test]
    fn right_once_each() {
        let lock = Arc::new(Dekker::default());
        threads::run(2, &lock, |lock, me| lock.increment(me));
        assert_eq!(lock.count(), 2);
    }

    #[test]
    fn wrong_look_first() {
        let lock = Arc::new(Dekker::default());
        threads::run(2, &lock, |lock, me| lock.increment_look_first(me));
        assert_eq!(lock.count(), 2);
    }

    #[test]
    fn wrong_without_turn() {
        let lock = Arc::new(Dekker::default());
        threads::run(2, &lock, |lock, me| lock.increment_without_turn(me));
        assert_eq!(lock.count(), 2);
    }
}
