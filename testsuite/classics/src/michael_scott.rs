//! Michael and Scott's queue.
//!
//! Nodes are kept until the queue is dropped: they stay linked from the first dummy on, which is remembered.

use std::hint;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

struct Node {
    value: u32,
    next: AtomicPtr<Node>,
}

fn node(value: u32) -> *mut Node {
    Box::into_raw(Box::new(Node {
        value,
        next: AtomicPtr::new(ptr::null_mut()),
    }))
}

/// A queue of integers. `head` points to a dummy, whose successors are the elements.
pub struct Queue {
    first: *mut Node,
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
}

// SAFETY: `first` is only used on drop; all else is atomic.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Default for Queue {
    fn default() -> Self {
        let dummy = node(0);
        Queue {
            first: dummy,
            head: AtomicPtr::new(dummy),
            tail: AtomicPtr::new(dummy),
        }
    }
}

impl Queue {
    fn next_of(&self, node: *mut Node) -> &AtomicPtr<Node> {
        // SAFETY: nodes that were in the queue live as long as the queue.
        unsafe { &(*node).next }
    }

    /// Puts an element at the end.
    pub fn enqueue(&self, value: u32) {
        let new = node(value);
        loop {
            let tail = self.tail.load(SeqCst);
            match self
                .next_of(tail)
                .compare_exchange(ptr::null_mut(), new, SeqCst, SeqCst)
            {
                Ok(_) => {
                    // If this fails, another thread has helped.
                    let _ = self.tail.compare_exchange(tail, new, SeqCst, SeqCst);
                    return;
                }
                Err(next) => {
                    let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
                }
            }
        }
    }

    /// Wrong: another thread may link its node in between, which is then lost.
    pub fn enqueue_in_two_steps(&self, value: u32) {
        let new = node(value);
        loop {
            let tail = self.tail.load(SeqCst);
            let next = self.next_of(tail).load(SeqCst);
            if next.is_null() {
                self.next_of(tail).store(new, SeqCst);
                let _ = self.tail.compare_exchange(tail, new, SeqCst, SeqCst);
                return;
            }
            let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
        }
    }

    /// Wrong beside other producers: moves the tail without looking whether another thread has just done so.
    pub fn enqueue_blind_tail(&self, value: u32) {
        let new = node(value);
        let before = self.tail.load(SeqCst);
        self.tail.store(new, SeqCst);
        self.next_of(before).store(new, SeqCst);
    }

    /// Takes the oldest element.
    pub fn dequeue(&self) -> Option<u32> {
        loop {
            let head = self.head.load(SeqCst);
            let tail = self.tail.load(SeqCst);
            let next = self.next_of(head).load(SeqCst);
            if next.is_null() {
                return None;
            }
            if head == tail {
                let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
            } else if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                // SAFETY: nodes that were in the queue live as long as the queue.
                return Some(unsafe { (*next).value });
            }
        }
    }

    /// Takes the oldest element, spinning while there is none.
    pub fn dequeue_spinning(&self) -> u32 {
        loop {
            if let Some(value) = self.dequeue() {
                return value;
            }
            hint::spin_loop();
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut node = self.first;
        while !node.is_null() {
            // SAFETY: no other thread has the queue any more, and each node has one predecessor.
            node = unsafe { Box::from_raw(node) }.next.into_inner();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use std::sync::Arc;

    fn drain(queue: &Queue) -> Vec<u32> {
        std::iter::from_fn(|| queue.dequeue()).collect()
    }

    #[test]
    fn right_two_producers() {
        let queue = Arc::new(Queue::default());
        threads::run(2, &queue, |queue, i| queue.enqueue(i as u32));
        let mut elements = drain(&queue);
        elements.sort();
        assert_eq!(elements, [0, 1]);
    }

    #[test]
    fn right_two_consumers() {
        let queue = Arc::new(Queue::default());
        queue.enqueue(1);
        queue.enqueue(2);
        let mut elements = threads::run(2, &queue, |queue, _| queue.dequeue());
        elements.sort();
        assert_eq!(elements, [Some(1), Some(2)]);
    }

    #[test]
    fn right_producer_and_consumer() {
        let queue = Arc::new(Queue::default());
        let taken = threads::run(2, &queue, |queue, i| {
            if i == 0 {
                queue.enqueue(5);
                0
            } else {
                queue.dequeue_spinning()
            }
        });
        assert_eq!(taken, [0, 5]);
    }

    #[test]
    fn wrong_loses_an_element() {
        let queue = Arc::new(Queue::default());
        threads::run(2, &queue, |queue, i| queue.enqueue_in_two_steps(i as u32));
        assert_eq!(drain(&queue).len(), 2);
    }

    #[test]
    fn wrong_blind_tail() {
        let queue = Arc::new(Queue::default());
        threads::run(2, &queue, |queue, i| queue.enqueue_blind_tail(i as u32));
        assert_eq!(drain(&queue).len(), 2);
    }
}
