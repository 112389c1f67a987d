//! Blocks of the explored program's heap that it can no longer free.
//!
//! As LeakSanitizer does, at the end of an execution: a block is reachable if an aligned word in the roots, or in
//! another reachable block, is an address in it, be it at its start or inside. Roots are all that outlives the
//! execution's end for the program: its statics and those of the standard library, the thread-locals and the stacks of
//! threads that wait for ever, and what the checker holds for the program.

use crate::image::{arena, region};
use std::ops::Range;

/// What outlives the execution's end for the program.
#[derive(Default)]
pub(crate) struct Roots<'a> {
    /// Memory that may hold addresses, in aligned words.
    pub memory: Vec<Range<usize>>,
    /// Bytes that may hold addresses, at any place.
    pub bytes: Vec<&'a [u8]>,
    /// Addresses.
    pub addresses: Vec<usize>,
}

/// The live blocks that are not reachable from the roots, by ascending addresses.
///
/// # Safety
/// A model exists, the caller is its OS thread, and no model thread runs. The memory of the roots can be read.
pub(crate) unsafe fn find(roots: &Roots<'_>) -> Vec<Range<usize>> {
    let mut heap = Heap::of_program();
    // SAFETY: the caller's promise.
    unsafe { heap.mark_roots(roots) };
    heap.unreached().collect()
}

/// The live blocks of all arenas, by ascending addresses.
struct Heap {
    blocks: Vec<Range<usize>>,
    reached: Vec<bool>,
    /// Blocks that are reached, and not yet searched.
    todo: Vec<usize>,
}

impl Heap {
    fn of_program() -> Heap {
        let mut blocks = Vec::new();
        // SAFETY: a model exists, the caller is its OS thread, and no model thread runs.
        for range in unsafe { arena::used_ranges() } {
            // SAFETY: the used part of an arena is mapped, and nobody writes there meanwhile.
            let bytes = unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) };
            let live = arena::blocks(bytes, range.start).filter(|block| !block.freed);
            blocks.extend(live.map(|block| block.bytes));
        }
        Heap {
            reached: vec![false; blocks.len()],
            blocks,
            todo: Vec::new(),
        }
    }

    /// # Safety
    /// That of [`find`].
    unsafe fn mark_roots(&mut self, roots: &Roots<'_>) {
        for memory in &roots.memory {
            // SAFETY: the caller's promise.
            unsafe { self.mark_from(memory.clone()) };
        }
        for word in roots.bytes.iter().flat_map(|bytes| bytes.windows(8)) {
            self.mark(usize::from_ne_bytes(
                *word.first_chunk().expect("a window has its length"),
            ));
        }
        roots.addresses.iter().for_each(|&address| self.mark(address));
        while let Some(block) = self.todo.pop() {
            // SAFETY: a live block of the program's, and no model thread runs.
            unsafe { self.mark_from(self.blocks[block].clone()) };
        }
    }

    /// Marks the blocks that the words in memory point to.
    ///
    /// # Safety
    /// The memory can be read, and nobody writes it meanwhile.
    unsafe fn mark_from(&mut self, memory: Range<usize>) {
        for at in (memory.start.next_multiple_of(8)..(memory.end & !7)).step_by(8) {
            // SAFETY: the caller's promise; the word may be of any type, or padding, so it is read as a volatile one.
            self.mark(unsafe { (at as *const usize).read_volatile() });
        }
    }

    /// Marks the block that contains the address, or ends there.
    fn mark(&mut self, address: usize) {
        if !region::in_arena(address) {
            return;
        }
        let after = self.blocks.partition_point(|block| block.start <= address);
        let Some(block) = after.checked_sub(1).filter(|&block| address <= self.blocks[block].end) else {
            return;
        };
        if !std::mem::replace(&mut self.reached[block], true) {
            self.todo.push(block);
        }
    }

    fn unreached(&self) -> impl Iterator<Item = Range<usize>> {
        let blocks = self.blocks.iter().zip(&self.reached);
        blocks.filter(|&(_, reached)| !reached).map(|(block, _)| block.clone())
    }
}
