//! Missed notification: a thread waits for an event that has already happened.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};

/// An event that happens once; its state is guarded by the lock that the waiter gives up while it waits.
#[derive(Default)]
pub struct Event {
    happened: Mutex<bool>,
    changed: Condvar,
}

impl Event {
    /// Makes it happen.
    pub fn signal(&self) {
        *self.happened.lock().expect("not poisoned") = true;
        self.changed.notify_all();
    }

    /// Waits until it has happened.
    pub fn wait(&self) {
        let mut happened = self.happened.lock().expect("not poisoned");
        while !*happened {
            happened = self.changed.wait(happened).expect("not poisoned");
        }
    }

    /// Wrong: waits for a notification, whether or not the event has happened.
    pub fn wait_unconditionally(&self) {
        let happened = self.happened.lock().expect("not poisoned");
        let _happened = self.changed.wait(happened).expect("not poisoned");
    }
}

/// Wrong: an event whose state is not guarded by the waiter's lock.
#[derive(Default)]
pub struct UnguardedEvent {
    happened: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl UnguardedEvent {
    /// Makes it happen.
    pub fn signal(&self) {
        self.happened.store(true, SeqCst);
        self.changed.notify_all();
    }

    /// Waits until it has happened, or for ever if it happens between the check and the wait.
    pub fn wait(&self) {
        let mut guard = self.lock.lock().expect("not poisoned");
        while !self.happened.load(SeqCst) {
            guard = self.changed.wait(guard).expect("not poisoned");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn right_guarded() {
        let event = Arc::new(Event::default());
        threads::run(2, &event, |event, i| if i == 0 { event.wait() } else { event.signal() });
    }

    #[test]
    fn right_two_waiters() {
        let event = Arc::new(Event::default());
        threads::run(3, &event, |event, i| if i < 2 { event.wait() } else { event.signal() });
    }

    #[test]
    fn right_park() {
        let happened = Arc::new(AtomicBool::new(false));
        let waiter = {
            let happened = Arc::clone(&happened);
            thread::spawn(move || {
                while !happened.load(SeqCst) {
                    thread::park();
                }
            })
        };
        happened.store(true, SeqCst);
        waiter.thread().unpark();
        waiter.join().unwrap();
    }

    #[test]
    fn wrong_unconditional() {
        let event = Arc::new(Event::default());
        threads::run(2, &event, |event, i| {
            if i == 0 {
                event.wait_unconditionally()
            } else {
                event.signal()
            }
        });
    }

    #[test]
    fn wrong_unguarded() {
        let event = Arc::new(UnguardedEvent::default());
        threads::run(2, &event, |event, i| if i == 0 { event.wait() } else { event.signal() });
    }

    #[test]
    fn wrong_park_without_unpark() {
        let happened = Arc::new(AtomicBool::new(false));
        let waiter = {
            let happened = Arc::clone(&happened);
            thread::spawn(move || {
                if !happened.load(SeqCst) {
                    thread::park();
                }
            })
        };
        happened.store(true, SeqCst);
        waiter.join().unwrap();
    }
}
