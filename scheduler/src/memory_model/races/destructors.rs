//! What destructors use that another thread could have run.
//!
//! Who drops the last share of an object is not explored, as long as nobody can tell. So what others have done before
//! they dropped theirs happens before the destructor only, and not before what its thread does afterwards. And a
//! destructor that uses memory which is there after it can be told by it: then drops are explored (`detect::shares`).

use super::{DataRaces, index};
use crate::image::region;
use dpor_explorer::ThreadId;
use std::collections::BTreeSet;

/// The memory that a destructor uses.
#[derive(Clone)]
pub(super) struct Destructor {
    thread: ThreadId,
    /// The block of its object.
    object: Option<usize>,
    /// The epoch of its thread when it began.
    began: u32,
    /// The stack pointer then.
    stack: usize,
    /// The blocks that were there before, and which it may free.
    blocks: BTreeSet<usize>,
    /// Whether it has used other memory that was there before.
    is_seen: bool,
}

impl DataRaces {
    /// The thread begins the destructor of an object at the address, which another thread could have run. Its stack
    /// ends at `stack`.
    pub fn destructor_begins(&mut self, thread: ThreadId, object: usize, stack: usize) {
        if self.is_on() {
            let block = self.blocks_at(object).map(|(block, ..)| block.start);
            let began = self.order.epoch(thread.index());
            self.destructors.push(Destructor {
                thread,
                object: block,
                began,
                stack,
                blocks: BTreeSet::new(),
                is_seen: false,
            });
            self.set_recording();
        }
    }

    /// The destructor that was begun last ends. Says whether it has used memory that was there before and is there
    /// after it.
    pub fn destructor_ends(&mut self) -> bool {
        let Some(destructor) = self.destructors.pop() else {
            return false;
        };
        self.set_recording();
        let is_left = |&block: &usize| self.blocks.before(block).is_some_and(|(_, _, live)| live);
        let is_seen = destructor.is_seen || destructor.blocks.iter().any(is_left);
        if let Some(outer) = self.destructors.last_mut() {
            outer.is_seen |= destructor.is_seen;
            outer.blocks.extend(destructor.blocks);
        }
        is_seen
    }

    /// Notes what the destructor that runs uses, if one does.
    #[inline]
    pub(super) fn destructor_uses(&mut self, address: usize) {
        if !self.destructors.is_empty() {
            self.note_destructor_use(address);
        }
    }

    fn note_destructor_use(&mut self, address: usize) {
        let block = self.blocks_at(address);
        let Some(destructor) = self.destructors.last_mut() else {
            return;
        };
        let thread = index(destructor.thread);
        match block {
            Some((block, ..)) => {
                let is_new = block.allocated.thread == thread && block.allocated.number >= destructor.began;
                if !is_new && Some(block.start) != destructor.object {
                    destructor.blocks.insert(block.start);
                }
            }
            // Its own frames are below what was the end of the stack.
            None => {
                let own = region::in_stacks(address) && region::stack_thread(address) == usize::from(thread);
                destructor.is_seen |= !own || address >= destructor.stack;
            }
        }
    }
}
