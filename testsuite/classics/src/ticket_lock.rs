//! Ticket lock: draw a number, wait until it is called.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

/// The lock, and the counter that it guards.
#[derive(Default)]
pub struct TicketLock {
    next: AtomicUsize,
    serving: AtomicUsize,
    counter: AtomicUsize,
}

impl TicketLock {
    fn draw(&self) -> usize {
        self.next.fetch_add(1, SeqCst)
    }

    /// Wrong: two threads may draw the same ticket.
    fn draw_in_two_steps(&self) -> usize {
        let ticket = self.next.load(SeqCst);
        self.next.store(ticket + 1, SeqCst);
        ticket
    }

    fn serve(&self, ticket: usize) {
        while self.serving.load(SeqCst) < ticket {
            thread::yield_now();
        }
        let seen = self.counter.load(SeqCst);
        self.counter.store(seen + 1, SeqCst);
        self.serving.store(ticket + 1, SeqCst);
    }

    /// Increments the counter, guarded.
    pub fn increment(&self) {
        self.serve(self.draw());
    }

    /// Wrong: increments the counter with a ticket that another thread may hold, too.
    pub fn increment_same_ticket(&self) {
        self.serve(self.draw_in_two_steps());
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
    fn right_two_threads() {
        let lock = Arc::new(TicketLock::default());
        threads::run(2, &lock, |lock, _| lock.increment());
        assert_eq!(lock.count(), 2);
    }

    #[test]
    fn right_three_threads() {
        let lock = Arc::new(TicketLock::default());
        threads::run(3, &lock, |lock, _| lock.increment());
        assert_eq!(lock.count(), 3);
    }

    #[test]
    fn wrong_same_ticket() {
        let lock = Arc::new(TicketLock::default());
        threads::run(2, &lock, |lock, _| lock.increment_same_ticket());
        assert_eq!(lock.count(), 2);
    }
}
