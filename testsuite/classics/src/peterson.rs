//! Peterson's lock for two threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// The lock, and the counter that it guards.
#[derive(Default)]
pub struct Peterson {
    wants: [AtomicBool; 2],
    turn: AtomicUsize,
    counter: AtomicUsize,
}

impl Peterson {
    fn enter(&self, me: usize) {
        self.wants[me].store(true, SeqCst);
        self.turn.store(1 - me, SeqCst);
        self.wait(me);
    }

    /// Wrong: gives the turn away before it announces that it wants to enter.
    fn enter_turn_first(&self, me: usize) {
        self.turn.store(1 - me, SeqCst);
        self.wants[me].store(true, SeqCst);
        self.wait(me);
    }

    /// Wrong: gives the turn to itself.
    fn enter_my_turn(&self, me: usize) {
        self.wants[me].store(true, SeqCst);
        self.turn.store(me, SeqCst);
        self.wait(me);
    }

    #[expect(clippy::missing_spin_loop, reason = "the loop is meant to say nothing")]
    fn wait(&self, me: usize) {
        while self.wants[1 - me].load(SeqCst) && self.turn.load(SeqCst) == 1 - me {}
    }

    fn leave(&self, me: usize) {
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

    /// Wrong: increments the counter guarded by [the wrong entry](Self::enter_turn_first).
    pub fn increment_turn_first(&self, me: usize) {
        self.enter_turn_first(me);
        self.work();
        self.leave(me);
    }

    /// Wrong: increments the counter guarded by [the other wrong entry](Self::enter_my_turn).
    pub fn increment_my_turn(&self, me: usize) {
        self.enter_my_turn(me);
        self.work();
        self.leave(me);
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
        let lock = Arc::new(Peterson::default());
        threads::run(2, &lock, |lock, me| lock.increment(me));
        assert_eq!(lock.count(), 2);
    }

    #[test]
    fn right_twice_and_once() {
        let lock = Arc::new(Peterson::default());
        threads::run(2, &lock, |lock, me| {
            for _ in 0..2 - me {
                lock.increment(me);
            }
        });
        assert_eq!(lock.count(), 3);
    }

    #[test]
    fn wrong_turn_first() {
        let lock = Arc::new(Peterson::default());
        threads::run(2, &lock, |lock, me| lock.increment_turn_first(me));
        assert_eq!(lock.count(), 2);
    }

    #[test]
    fn wrong_my_turn() {
        let lock = Arc::new(Peterson::default());
        threads::run(2, &lock, |lock, me| lock.increment_my_turn(me));
        assert_eq!(lock.count(), 2);
    }
}
