//! The blocks of the heap, by address: who uses memory that nobody has used before is in a block that is live, and
//! comes after its allocation.
//!
//! A heap gives out no address twice in an execution, and those of each thread in ascending order, so that a block is
//! found by a binary search. Size and state of a block are in its header (`image::arena`).

use super::clocks::entry;
use super::shadow::Epoch;
use crate::image::{arena, region};
use std::ops::Range;

/// A block, and its allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub start: usize,
    /// The allocating thread, and its epoch then.
    pub allocated: Epoch,
    /// Whether another thread may do something that is not ordered after the allocation.
    pub beside_others: bool,
}

/// All blocks of the current execution.
#[derive(Default)]
pub(crate) struct Blocks {
    /// By the index of the allocating thread, ascending.
    of_threads: Vec<Vec<Block>>,
}

/// The number of blocks of each thread, in a saved state.
pub(crate) type SavedBlocks = Vec<usize>;

impl Blocks {
    pub fn reset(&mut self) {
        self.of_threads.iter_mut().for_each(Vec::clear);
    }

    pub fn save(&self, saved: &mut SavedBlocks) {
        saved.clear();
        saved.extend(self.of_threads.iter().map(Vec::len));
    }

    /// Forgets the blocks that were allocated since.
    pub fn load(&mut self, saved: &SavedBlocks) {
        for (thread, blocks) in self.of_threads.iter_mut().enumerate() {
            blocks.truncate(saved.get(thread).copied().unwrap_or(0));
        }
    }

    pub fn add(&mut self, block: Block) {
        let thread = usize::from(block.allocated.thread);
        if self.of_threads.len() <= thread {
            self.of_threads.resize_with(thread + 1, Vec::new);
        }
        let blocks = &mut self.of_threads[thread];
        debug_assert!(blocks.last().is_none_or(|last| last.start < block.start));
        blocks.push(block);
    }

    /// The memory, by thread, from the first block on whose allocation is in none of the `known` epochs of its thread,
    /// and that was allocated, or may have become larger, since this was saved.
    pub fn unknown(&self, known: &[u32], saved: &SavedBlocks) -> impl Iterator<Item = Range<usize>> {
        self.of_threads.iter().enumerate().filter_map(|(thread, blocks)| {
            // Epochs ascend, as addresses do.
            let unknown = blocks.partition_point(|block| block.allocated.number <= entry(known, thread));
            // The last block of a thread may grow where it is.
            let last = saved.get(thread).map_or(0, |saved| saved.saturating_sub(1));
            let first = unknown.max(last);
            let (_, end) = region::arena_slot(thread);
            blocks.get(first).map(|block| block.start..end)
        })
    }

    /// The last block that starts at or below an address of the heap, with its size and whether it is live.
    pub fn before(&self, address: usize) -> Option<(Block, usize, bool)> {
        let blocks = self.of_threads.get(region::arena_thread(address))?;
        let after = blocks.partition_point(|block| block.start <= address);
        let block = blocks[after.checked_sub(1)?];
        // SAFETY: the program has allocated the block in this execution, and the checker runs.
        let (size, live) = unsafe { arena::block(block.start) };
        Some((block, size, live))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_begins_with_the_last_block_that_was_there_before() {
        let (start, end) = region::arena_slot(1);
        let mut blocks = Blocks::default();
        let mut add = |number: u32| {
            let allocated = Epoch { thread: 1, number };
            blocks.add(Block {
                start: start + 0x100 * number as usize,
                allocated,
                beside_others: true,
            });
            let mut saved = SavedBlocks::new();
            blocks.save(&mut saved);
            saved
        };
        let [one, _, three] = [1, 2, 3].map(&mut add);
        let from = |known: u32, saved: &SavedBlocks| -> Vec<usize> {
            let known = [0, known];
            let unknown = blocks.unknown(&known, saved);
            unknown.map(|memory| (memory.start - start) / 0x100).collect()
        };
        assert_eq!(from(0, &SavedBlocks::new()), [1]);
        assert_eq!(from(1, &SavedBlocks::new()), [2]);
        // It may have grown where it is.
        assert_eq!(from(0, &one), [1]);
        assert_eq!(from(0, &three), [3]);
        assert_eq!(from(2, &one), [3]);
        assert_eq!(from(3, &three), []);
        assert!(blocks.unknown(&[], &three).all(|memory| memory.end == end));
    }
}
