//! The list of threads that wait in queues named by an address.
//!
//! A thread in a queue is a node on its own stack. The list of all nodes is kept here, since there is no room for it
//! where the address points to. It is ordered by address and not by arrival: any of them may be woken, so the order of
//! arrival is no state.

use super::part::{Extent, Owner, Part, Visitor};
use dpor_explorer::Variable;
use std::cell::UnsafeCell;

/// The part of an object that stands for its queue.
pub(crate) const PART: u64 = 0xF07E;

struct Shared(UnsafeCell<Vec<(usize, usize)>>);

// SAFETY: the list is touched only by the OS thread that runs the model, in functions that call nobody else meanwhile.
unsafe impl Sync for Shared {}

#[unsafe(link_section = ".dpor.data")]
static WAITING: Shared = Shared(UnsafeCell::new(Vec::new()));

/// All waiting threads: the address of the queue and that of the node, ascending. Borrows must end before a model
/// thread goes on.
pub(crate) fn list<'a>() -> &'a mut Vec<(usize, usize)> {
    // SAFETY: see `Shared`.
    unsafe { &mut *WAITING.0.get() }
}

/// The nodes in a queue.
pub(crate) fn nodes(queue: usize) -> impl Iterator<Item = usize> {
    let list = &*list();
    let first = list.partition_point(|&(q, _)| q < queue);
    let same = list[first..].iter().take_while(move |&&(q, _)| q == queue);
    same.map(|&(_, node)| node)
}

/// Number of waiters in a queue.
pub(crate) fn length(queue: usize) -> i64 {
    nodes(queue).count() as i64
}

/// The queue whose length is this variable, if there is one.
#[inline]
pub(crate) fn queue_of(variable: Variable) -> Option<usize> {
    (variable.0 >> 48 == PART + 1).then_some((variable.0 & 0xFFFF_FFFF_FFFF) as usize)
}

/// The list as a part of the state.
pub(crate) struct WaitQueues;

impl Part for WaitQueues {
    type Saved = Vec<(usize, usize)>;

    unsafe fn reset(&mut self) {
        list().clear();
    }

    // What the nodes hold is on their stacks, or in their queue's name.
    fn visit(&self, _: Extent, visitor: &mut impl Visitor) {
        let owner = Owner::Program;
        visitor.number(owner, "waiting threads", list().len() as u64);
        for &mut (queue, node) in list() {
            visitor.number(owner, "queue of a waiting thread", queue as u64);
            visitor.number(owner, "node of a waiting thread", node as u64);
        }
    }

    unsafe fn save(&self, saved: &mut Self::Saved, _: &mut Vec<u8>) {
        saved.clone_from(list());
    }

    unsafe fn load(&mut self, saved: &Self::Saved, _: &mut &[u8]) {
        list().clone_from(saved);
    }
}
