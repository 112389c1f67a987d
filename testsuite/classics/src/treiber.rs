//! Treiber's stack.
//!
//! A popped node may still be read by a thread that is about to pop it, too. The right version keeps popped nodes
//! until the stack is dropped; the wrong ones free them at once.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};

struct Node {
    value: u32,
    /// The node below; not changed once the node is in the stack.
    next: *mut Node,
    /// The node retired before this one.
    retired: *mut Node,
}

/// A stack of integers.
#[derive(Default)]
pub struct Stack {
    head: AtomicPtr<Node>,
    retired: AtomicPtr<Node>,
    popped: AtomicUsize,
}

impl Stack {
    /// Puts an element on top.
    pub fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Node {
            value,
            next: self.head.load(SeqCst),
            retired: ptr::null_mut(),
        }));
        loop {
            // SAFETY: nobody else knows the node before the exchange has succeeded.
            let next = unsafe { (*node).next };
            match self.head.compare_exchange(next, node, SeqCst, SeqCst) {
                Ok(_) => return,
                // SAFETY: as above.
                Err(head) => unsafe { (*node).next = head },
            }
        }
    }

    fn unlink(&self) -> Option<*mut Node> {
        loop {
            let head = self.head.load(SeqCst);
            if head.is_null() {
                return None;
            }
            // SAFETY: a node that was in the stack is not freed before the stack is dropped.
            let next = unsafe { (*head).next };
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                return Some(head);
            }
        }
    }

    fn retire(&self, node: *mut Node) {
        let mut retired = self.retired.load(SeqCst);
        loop {
            // SAFETY: only the thread that has unlinked the node uses this field.
            unsafe { (*node).retired = retired };
            match self.retired.compare_exchange(retired, node, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(now) => retired = now,
            }
        }
    }

    /// Takes the top element.
    pub fn pop(&self) -> Option<u32> {
        let node = self.unlink()?;
        // SAFETY: as in `unlink`.
        let value = unsafe { (*node).value };
        self.retire(node);
        Some(value)
    }

    /// Wrong: two threads may take the same node, and both free it.
    ///
    /// # Safety
    ///
    /// None can be given.
    pub unsafe fn pop_in_two_steps(&self) -> Option<u32> {
        let head = self.head.load(SeqCst);
        if head.is_null() {
            return None;
        }
        // SAFETY: the test is about what happens without it.
        self.head.store(unsafe { (*head).next }, SeqCst);
        // SAFETY: as above.
        Some(unsafe { Box::from_raw(head) }.value)
    }

    /// Wrong: frees the node, which another thread may still be looking at.
    ///
    /// # Safety
    ///
    /// No other thread may hold a pointer to the top node, which cannot be known.
    pub unsafe fn pop_freeing(&self) -> Option<u32> {
        // SAFETY: the test is about what happens without it.
        let value = self.unlink().map(|node| unsafe { Box::from_raw(node) }.value);
        self.popped.fetch_add(1, SeqCst);
        value
    }

    /// The top element, and how many have been taken by `pop_freeing` so far.
    pub fn peek(&self) -> (Option<u32>, usize) {
        let head = self.head.load(SeqCst);
        let popped = self.popped.load(SeqCst);
        // SAFETY: as in `unlink`.
        let value = (!head.is_null()).then(|| unsafe { (*head).value });
        (value, popped)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let mut node = *self.head.get_mut();
        while !node.is_null() {
            // SAFETY: no other thread has the stack any more; a node is in the stack or retired, not both.
            node = unsafe { Box::from_raw(node) }.next;
        }
        let mut node = *self.retired.get_mut();
        while !node.is_null() {
            // SAFETY: as above.
            node = unsafe { Box::from_raw(node) }.retired;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use std::sync::Arc;

    #[test]
    fn right_push_and_pop() {
        let stack = Arc::new(Stack::default());
        let popped = threads::run(2, &stack, |stack, i| {
            stack.push(i as u32);
            stack.pop().expect("each pushes before it pops")
        });
        assert_eq!(popped[0] + popped[1], 1);
        assert_eq!(stack.pop(), None);
    }

    #[test]
    fn right_two_poppers() {
        let stack = Arc::new(Stack::default());
        stack.push(1);
        stack.push(2);
        let mut popped = threads::run(2, &stack, |stack, _| stack.pop());
        popped.sort();
        assert_eq!(popped, [Some(1), Some(2)]);
    }

    #[test]
    fn wrong_double_free() {
        let stack = Arc::new(Stack::default());
        stack.push(1);
        stack.push(2);
        // SAFETY: there is none, which is what the test is about.
        threads::run(2, &stack, |stack, _| unsafe { stack.pop_in_two_steps() });
    }

    #[test]
    fn wrong_use_after_free() {
        let stack = Arc::new(Stack::default());
        stack.push(7);
        let seen = threads::run(2, &stack, |stack, i| {
            if i == 0 {
                return stack.peek().0;
            }
            // SAFETY: there is none, which is what the test is about.
            unsafe { stack.pop_freeing() }
        });
        assert_eq!(seen[0].unwrap_or(7), 7);
    }
}
