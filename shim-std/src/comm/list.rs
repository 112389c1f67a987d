//! First-in-first-out lists of nodes that their owners have allocated: the memory that a thread uses does not depend on
//! whose node finds the list empty.

use std::ptr;

/// A node of a list, or a separate one.
pub(super) struct Node<V> {
    pub(super) value: V,
    next: *mut Node<V>,
}

impl<V> Node<V> {
    pub(super) fn alloc(value: V) -> *mut Node<V> {
        Box::into_raw(Box::new(Node {
            value,
            next: ptr::null_mut(),
        }))
    }

    /// Frees a node and returns its value.
    ///
    /// # Safety
    /// `node` comes from `alloc` and nobody else has it.
    pub(super) unsafe fn free(node: *mut Node<V>) -> V {
        // SAFETY: promised by the caller.
        unsafe { Box::from_raw(node) }.value
    }
}

/// A list. It owns its nodes: all of them come from [`Node::alloc`], and are in no other list.
pub(super) struct List<V> {
    head: *mut Node<V>,
    tail: *mut Node<V>,
}

impl<V> List<V> {
    pub(super) const fn new() -> Self {
        List {
            head: ptr::null_mut(),
            tail: ptr::null_mut(),
        }
    }

    /// Adds a node, which the list then owns.
    pub(super) fn push(&mut self, node: *mut Node<V>) {
        if self.tail.is_null() {
            self.head = node;
        } else {
            // SAFETY: the tail is a node of the list, alive until it is taken out.
            unsafe { (*self.tail).next = node };
        }
        self.tail = node;
    }

    /// Removes the oldest node, which the caller then owns.
    pub(super) fn pop(&mut self) -> Option<*mut Node<V>> {
        self.take(|_| true)
    }

    /// Removes the first node that `select` accepts; the caller then owns it.
    pub(super) fn take(&mut self, select: impl Fn(&Node<V>) -> bool) -> Option<*mut Node<V>> {
        let (before, at) = self.find(select);
        // SAFETY: nodes in the list are alive.
        let node = unsafe { at.as_mut() }?;
        if self.tail == at {
            self.tail = before;
        }
        *self.link(before) = node.next;
        node.next = ptr::null_mut();
        Some(at)
    }

    /// Inserts a node, which the list then owns, before the first one that `select` accepts.
    pub(super) fn insert(&mut self, node: *mut Node<V>, select: impl Fn(&Node<V>) -> bool) {
        let (before, at) = self.find(select);
        if at.is_null() {
            return self.push(node);
        }
        // SAFETY: the caller has given us the node.
        unsafe { (*node).next = at };
        *self.link(before) = node;
    }

    /// The first node that `select` accepts, and the one before it; null where there is none.
    fn find(&self, select: impl Fn(&Node<V>) -> bool) -> (*mut Node<V>, *mut Node<V>) {
        let (mut before, mut at) = (ptr::null_mut(), self.head);
        // SAFETY: nodes in the list are alive.
        while let Some(node) = unsafe { at.as_ref() }.filter(|node| !select(node)) {
            (before, at) = (at, node.next);
        }
        (before, at)
    }

    /// The pointer to the node after this one.
    fn link(&mut self, before: *mut Node<V>) -> &mut *mut Node<V> {
        // SAFETY: a node of the list, if it is one at all.
        match unsafe { before.as_mut() } {
            Some(node) => &mut node.next,
            None => &mut self.head,
        }
    }
}

impl<V> Drop for List<V> {
    fn drop(&mut self) {
        while let Some(node) = self.pop() {
            // SAFETY: it was a node of the list, and is no more.
            drop(unsafe { Node::free(node) });
        }
    }
}
