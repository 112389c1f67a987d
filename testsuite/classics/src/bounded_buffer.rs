//! Bounded buffer: a lock and two conditions.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

/// A buffer for at most `N` elements.
#[derive(Default)]
pub struct Buffer<const N: usize> {
    elements: Mutex<VecDeque<u32>>,
    not_full: Condvar,
    not_empty: Condvar,
}

impl<const N: usize> Buffer<N> {
    /// Puts an element in, as soon as there is room.
    pub fn put(&self, value: u32) {
        let mut elements = self.elements.lock().expect("not poisoned");
        while elements.len() == N {
            elements = self.not_full.wait(elements).expect("not poisoned");
        }
        elements.push_back(value);
        drop(elements);
        self.not_empty.notify_one();
    }

    /// Takes the oldest element, waiting until there is one.
    pub fn take(&self) -> u32 {
        let mut elements = self.elements.lock().expect("not poisoned");
        while elements.is_empty() {
            elements = self.not_empty.wait(elements).expect("not poisoned");
        }
        let value = elements.pop_front().expect("not empty");
        drop(elements);
        self.not_full.notify_one();
        value
    }

    /// Wrong: another consumer may have been faster after the notification.
    pub fn take_with_if(&self) -> u32 {
        let mut elements = self.elements.lock().expect("not poisoned");
        if elements.is_empty() {
            elements = self.not_empty.wait(elements).expect("not poisoned");
        }
        elements.pop_front().expect("somebody has put an element in")
    }

    /// Wrong with more than one waiter: producers and consumers wait on one condition, which wakes only one of them.
    pub fn put_one_condition(&self, value: u32) {
        let mut elements = self.elements.lock().expect("not poisoned");
        while elements.len() == N {
            elements = self.not_empty.wait(elements).expect("not poisoned");
        }
        elements.push_back(value);
        drop(elements);
        self.not_empty.notify_one();
    }

    /// Wrong with more than one waiter: the other side of [`put_one_condition`](Self::put_one_condition).
    pub fn take_one_condition(&self) -> u32 {
        let mut elements = self.elements.lock().expect("not poisoned");
        while elements.is_empty() {
            elements = self.not_empty.wait(elements).expect("not poisoned");
        }
        let value = elements.pop_front().expect("not empty");
        drop(elements);
        self.not_empty.notify_one();
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use std::sync::Arc;

    #[test]
    fn right_one_producer_one_consumer() {
        let buffer = Arc::new(Buffer::<1>::default());
        let taken = threads::run(2, &buffer, |buffer, i| {
            if i == 0 {
                (1..=2).for_each(|value| buffer.put(value));
                Vec::new()
            } else {
                (0..2).map(|_| buffer.take()).collect()
            }
        });
        assert_eq!(taken[1], [1, 2]);
    }

    #[test]
    fn right_two_consumers() {
        let buffer = Arc::new(Buffer::<1>::default());
        let taken = threads::run(3, &buffer, |buffer, i| {
            if i == 0 {
                (1..=2).for_each(|value| buffer.put(value));
                0
            } else {
                buffer.take()
            }
        });
        assert_eq!(taken[1] + taken[2], 3);
    }

    #[test]
    fn wrong_if() {
        let buffer = Arc::new(Buffer::<2>::default());
        threads::run(3, &buffer, |buffer, i| {
            if i == 0 {
                (1..=2).for_each(|value| buffer.put(value));
                0
            } else {
                buffer.take_with_if()
            }
        });
    }

    #[test]
    fn wrong_one_condition() {
        let buffer = Arc::new(Buffer::<1>::default());
        threads::run(3, &buffer, |buffer, i| {
            if i == 0 {
                (1..=2).for_each(|value| buffer.put_one_condition(value));
                0
            } else {
                buffer.take_one_condition()
            }
        });
    }
}
