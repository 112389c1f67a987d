//! A ring for one producer and one consumer.
//!
//! The slots are atomics, so that an element written too late or overwritten too early can be seen.

use std::hint;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

/// A ring of `N` slots. `head` counts the elements taken, `tail` those put in.
pub struct Ring<const N: usize> {
    slots: [AtomicU32; N],
    head: AtomicUsize,
    tail: AtomicUsize,
}

impl<const N: usize> Default for Ring<N> {
    fn default() -> Self {
        Ring {
            slots: [const { AtomicU32::new(0) }; N],
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
        }
    }
}

impl<const N: usize> Ring<N> {
    /// Puts an element in, unless the ring is full. Only one thread may call this.
    pub fn push(&self, value: u32) -> bool {
        let tail = self.tail.load(SeqCst);
        if tail - self.head.load(SeqCst) == N {
            return false;
        }
        self.slots[tail % N].store(value, SeqCst);
        self.tail.store(tail + 1, SeqCst);
        true
    }

    /// Wrong: announces the element before it is there.
    pub fn push_announce_first(&self, value: u32) -> bool {
        let tail = self.tail.load(SeqCst);
        if tail - self.head.load(SeqCst) == N {
            return false;
        }
        self.tail.store(tail + 1, SeqCst);
        self.slots[tail % N].store(value, SeqCst);
        true
    }

    /// Wrong: takes the ring to be full one element too late.
    pub fn push_off_by_one(&self, value: u32) -> bool {
        let tail = self.tail.load(SeqCst);
        if tail - self.head.load(SeqCst) > N {
            return false;
        }
        self.slots[tail % N].store(value, SeqCst);
        self.tail.store(tail + 1, SeqCst);
        true
    }

    /// Takes the oldest element, unless the ring is empty. Only one thread may call this.
    pub fn pop(&self) -> Option<u32> {
        let head = self.head.load(SeqCst);
        if self.tail.load(SeqCst) == head {
            return None;
        }
        let value = self.slots[head % N].load(SeqCst);
        self.head.store(head + 1, SeqCst);
        Some(value)
    }

    /// Takes the oldest element, spinning while there is none.
    pub fn pop_spinning(&self) -> u32 {
        loop {
            if let Some(value) = self.pop() {
                return value;
            }
            hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    /// Sends 1, 2, …, `count` and returns what arrived.
    fn transfer<const N: usize>(count: u32, push: fn(&Ring<N>, u32) -> bool) -> Vec<u32> {
        let ring = Arc::new(Ring::<N>::default());
        let producer = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                for value in 1..=count {
                    while !push(&ring, value) {}
                }
            })
        };
        let received = (0..count).map(|_| ring.pop_spinning()).collect();
        producer.join().unwrap();
        received
    }

    #[test]
    fn right_one_slot() {
        assert_eq!(transfer::<1>(2, Ring::push), [1, 2]);
    }

    #[test]
    fn right_two_slots() {
        assert_eq!(transfer::<2>(3, Ring::push), [1, 2, 3]);
    }

    #[test]
    fn wrong_announce_first() {
        assert_eq!(transfer::<1>(2, Ring::push_announce_first), [1, 2]);
    }

    #[test]
    fn wrong_off_by_one() {
        assert_eq!(transfer::<1>(2, Ring::push_off_by_one), [1, 2]);
    }
}
