//! Blocks of the explored program's heap that it can no longer free.
//!
//! As LeakSanitizer does, at the end of an execution: a block is reachable if an aligned word in the roots, or in
//! another reachable block, is an address in it, be it at its start or inside. Roots are all that outlives the
//! execution's end for the program: its statics and those of the standard library, the thread-locals and the stacks of
//! threads that wait for ever, and what the checker holds for the program.

use super::symbols::Symbols;
use crate::memory::executable::Executable;
use crate::memory::{arena, region};
use crate::runtime::{self, Runtime};
use dpor_explorer::Failure;
use std::ops::Range;

/// The kind of failure.
pub(crate) const KIND: &str = "leak";

/// Maximum number of places listed.
const SHOWN: usize = 10;

/// The failure for leaked blocks, if there are any. No model thread runs, and the thread-locals have been saved.
pub(crate) fn find(runtime: &Runtime) -> Option<Failure> {
    let mut heap = Heap::of_program();
    heap.mark_roots(runtime);
    let leaked: Vec<_> = heap.unreached().collect();
    (!leaked.is_empty()).then(|| Failure {
        kind: KIND,
        message: describe(runtime, &leaked),
    })
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

    fn mark_roots(&mut self, runtime: &Runtime) {
        let executable = Executable::running();
        // The runtime knows objects of the program by their addresses, which holds none of them.
        let own = runtime::place();
        for segment in executable.segments(libc::PT_LOAD) {
            if segment.p_flags & libc::PF_W != 0 {
                let start = executable.bias + segment.p_vaddr as usize;
                let end = start + segment.p_memsz as usize;
                // SAFETY: a writable segment of the executable, and no model thread runs.
                unsafe {
                    self.mark_from(start..end.min(own.start));
                    self.mark_from(start.max(own.end)..end);
                }
            }
        }
        runtime.held.iter().for_each(|&address| self.mark(address));
        if let Some(hook) = &runtime.user_hook {
            self.mark((&raw const **hook).addr());
        }
        for (index, record) in runtime.threads.iter().enumerate().filter(|(_, record)| record.created) {
            // SAFETY: the region is reserved while a model exists.
            self.mark(unsafe { (*region::record(index)).local_root }.addr());
            // What std keeps for itself it keeps when a model thread has ended.
            let locals = record.tls.as_ref().map_or(&[][..], |image| image.bytes());
            for word in locals.windows(8) {
                self.mark(usize::from_ne_bytes(
                    *word.first_chunk().expect("a window has its length"),
                ));
            }
            // SAFETY: a live thread is suspended in `arrive`, whose caller holds the registers.
            if let Some(registers) = unsafe { record.registers.as_ref() }.filter(|_| record.alive) {
                // SAFETY: the stack is mapped, and its thread suspended. The registers are on it.
                unsafe { self.mark_from(registers.stack()) };
            }
        }
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

/// Blocks allocated at the same place.
struct Group {
    place: String,
    blocks: usize,
    bytes: usize,
}

fn describe(runtime: &Runtime, leaked: &[Range<usize>]) -> String {
    let bytes: usize = leaked.iter().map(ExactSizeIterator::len).sum();
    let mut message = format!(
        "{} of the heap {} neither freed nor reachable when the test had ended",
        amount(leaked.len(), bytes),
        if leaked.len() == 1 { "is" } else { "are" }
    );
    let mut symbols = None;
    let mut groups: Vec<Group> = Vec::new();
    for block in leaked {
        // Known in a traced execution only.
        let Some(from) = runtime.allocations.get(&block.start).map(|mark| &mark.callers) else {
            continue;
        };
        let symbols = symbols.get_or_insert_with(Symbols::of_executable);
        let place = symbols
            .of_program(from)
            .unwrap_or_else(|| "code that has no symbols".to_owned());
        match groups.iter_mut().find(|group| group.place == place) {
            Some(group) => (group.blocks, group.bytes) = (group.blocks + 1, group.bytes + block.len()),
            None => groups.push(Group {
                place,
                blocks: 1,
                bytes: block.len(),
            }),
        }
    }
    for group in groups.iter().take(SHOWN) {
        message.push_str(&format!(
            "\n{}, allocated in {}",
            amount(group.blocks, group.bytes),
            group.place
        ));
    }
    if groups.len() > SHOWN {
        message.push_str(&format!("\nothers, allocated in {} more places", groups.len() - SHOWN));
    }
    message
}

fn amount(blocks: usize, bytes: usize) -> String {
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    format!("{blocks} block{} ({bytes} byte{})", plural(blocks), plural(bytes))
}
