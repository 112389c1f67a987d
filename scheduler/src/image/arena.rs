//! The heap of the explored program: a bump allocator for each model thread, at addresses that depend only on that
//! thread's own allocations.
//!
//! A 16-byte header stands before each block. A freed block is filled with [`FREED_FILL`] and not used again within an
//! execution, so a second free is always recognised, and a read after a free finds garbage that is always the same.
//! What is not allocated by a model thread comes from the system's allocator, and so does what the checker allocates
//! for one (see [`super::switch`]).
//!
//! A block of the system's that a model thread frees or moves is left as it is: it is older than the execution, and the
//! next execution will start with statics and thread-locals that still refer to it.

use super::part::{self, Extent, Memory, Owner, Part, Visitor};
use super::region::{self, PAGE, Record};
use dpor_explorer::ThreadId;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Range;
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The byte that freed memory is filled with.
pub(crate) const FREED_FILL: u8 = 0xDD;

/// A misuse of the heap, or its exhaustion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeapFault {
    /// The block at the address was freed before.
    DoubleFree,
    /// No block starts at the address.
    InvalidFree,
    /// The thread's arena has no room for the block; the address is the end of the arena.
    Exhausted,
}

/// The header of a block, in the 16 bytes before it. The address itself tells which thread allocated the block.
#[repr(C)]
struct Header {
    size: usize,
    magic: u64,
}

const HEADER: usize = size_of::<Header>();
pub(crate) const LIVE: u64 = 0xA110_C8ED_B10C_0001;
const FREED: u64 = 0xF4EE_D0FF_B10C_0002;

/// Minimum size of what is given back to the kernel instead of being written. To write is far cheaper, because pages
/// that were given back have to be made again one by one; but a program that has used very much once is not to keep it
/// for good.
const LARGE: usize = 64 << 20;

const _: () = assert!(HEADER == 16);

/// The function to call on a fault, or 0.
#[unsafe(link_section = ".dpor.data")]
static FAULT_HOOK: AtomicUsize = AtomicUsize::new(0);

/// Says whether the caller is the explored program: it runs on a model thread's stack, which the checker leaves for its
/// own work (see [`super::switch`]).
#[inline(always)]
pub(crate) fn in_program() -> bool {
    region::on_model_thread()
}

/// Sets the function to call, with the address in question, when the explored program misuses or exhausts its heap.
///
/// It runs on the stack of whoever made the call, in the program until it enters the checker, and may not return. If it
/// returns, a wrong free has no effect and an allocation without room gives null.
pub(crate) fn set_fault_hook(hook: fn(HeapFault, usize)) {
    FAULT_HOOK.store(hook as usize, Relaxed);
}

/// The function to call with each block that the program allocates or frees, or 0.
#[unsafe(link_section = ".dpor.data")]
static TRACE_HOOK: AtomicUsize = AtomicUsize::new(0);

/// Sets the function to call with the address of each block that the explored program allocates or, as the second
/// argument says, frees. It runs on the stack of the thread that does so, and must not allocate as the program does.
pub(crate) fn set_trace_hook(hook: Option<fn(usize, bool)>) {
    TRACE_HOOK.store(hook.map_or(0, |hook| hook as usize), Relaxed);
}

/// What the program does to a block of its heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeapUse {
    /// It allocates the block.
    Allocate,
    /// It is about to give back the end of the block.
    Shrink,
    /// It is about to free the block.
    Free,
}

/// The function to call with each change of the heap, or 0.
#[unsafe(link_section = ".dpor.data")]
static USE_HOOK: AtomicUsize = AtomicUsize::new(0);

/// Sets the function to call with each change that the explored program makes to its heap, and the address and size of
/// the memory in question. It runs on the stack of the thread that makes the change, and must not allocate as the
/// program does.
pub(crate) fn set_use_hook(hook: Option<fn(HeapUse, usize, usize)>) {
    USE_HOOK.store(hook.map_or(0, |hook| hook as usize), Relaxed);
}

#[inline(always)]
fn tell(change: HeapUse, address: usize, size: usize) {
    let hook = USE_HOOK.load(Relaxed);
    if hook != 0 {
        // SAFETY: only `set_use_hook` writes the static, and only functions of this type.
        unsafe { std::mem::transmute::<usize, fn(HeapUse, usize, usize)>(hook)(change, address, size) };
    }
}

/// The present size of the block that starts at the address, and whether it is live.
///
/// # Safety
///
/// A block was allocated there by the explored program in this execution, which does not run.
pub(crate) unsafe fn block(start: usize) -> (usize, bool) {
    // SAFETY: the caller's promise; headers of blocks stay where they are until the next execution.
    let header = unsafe { &*header(start) };
    (header.size, header.magic == LIVE)
}

#[cold]
fn trace(hook: usize, block: usize, freed: bool) {
    // SAFETY: only `set_trace_hook` writes the static, and only functions of this type.
    unsafe { std::mem::transmute::<usize, fn(usize, bool)>(hook)(block, freed) };
}

#[cold]
fn fault(kind: HeapFault, address: usize) {
    let hook = FAULT_HOOK.load(Relaxed);
    if hook != 0 {
        // SAFETY: only `set_fault_hook` writes the static, and only functions of this type.
        let hook = unsafe { std::mem::transmute::<usize, fn(HeapFault, usize)>(hook) };
        hook(kind, address);
    }
}

/// The allocator of a process that explores programs.
pub(crate) struct DporAllocator;

// SAFETY: blocks of an arena are disjoint, aligned, and stay where they are until `reset`, whose caller promises that
// they are not used any more; all others are those of `System`.
unsafe impl GlobalAlloc for DporAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if in_program() {
            allocate(region::stack_thread(region::stack_pointer()), layout)
        } else {
            // SAFETY: the caller's promise.
            unsafe { System.alloc(layout) }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if in_program() {
            // An arena's bytes are zero until they are first handed out.
            allocate(region::stack_thread(region::stack_pointer()), layout)
        } else {
            // SAFETY: the caller's promise.
            unsafe { System.alloc_zeroed(layout) }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if region::in_arena(block as usize) {
            free(block as usize);
        } else if !in_program() {
            // SAFETY: the caller's promise.
            unsafe { System.dealloc(block, layout) }
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let program = in_program();
        if region::in_arena(block as usize) {
            if program && resize(region::stack_thread(region::stack_pointer()), block as usize, size) {
                return block;
            }
        } else if !program {
            // SAFETY: the caller's promise.
            return unsafe { System.realloc(block, layout, size) };
        }
        // SAFETY: the caller promises a valid size and a live block of `layout`; the new block is another one.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// Start and end of the block that is allocated at `cursor`. Cannot overflow: addresses have 47 bits, sizes 63.
#[inline(always)]
const fn place(cursor: usize, layout: Layout) -> (usize, usize) {
    let align = if layout.align() > HEADER {
        layout.align()
    } else {
        HEADER
    };
    let block = (cursor + HEADER + align - 1) & !(align - 1);
    (block, (block + layout.size() + HEADER - 1) & !(HEADER - 1))
}

#[inline(always)]
fn allocate(thread: usize, layout: Layout) -> *mut u8 {
    let record = region::record(thread);
    // SAFETY: a model thread runs, so the region is reserved, and nobody else uses its record.
    let record = unsafe { &mut *record };
    let (block, end) = place(record.cursor, layout);
    if end > record.end {
        return allocate_first(thread, record, layout);
    }
    hand_out(record, block, end, layout)
}

#[inline(always)]
fn hand_out(record: &mut Record, block: usize, end: usize, layout: Layout) -> *mut u8 {
    record.cursor = end;
    record.last = block;
    let traced = TRACE_HOOK.load(Relaxed);
    if traced != 0 {
        trace(traced, block, false);
    }
    tell(HeapUse::Allocate, block, layout.size());
    // SAFETY: `cursor <= block - HEADER` and `block <= end`, all in the free part of the thread's arena.
    unsafe {
        header(block).write(Header {
            size: layout.size(),
            magic: LIVE,
        })
    };
    block as *mut u8
}

/// Makes the thread's first allocation of the execution, or fails because the arena is full.
#[cold]
fn allocate_first(thread: usize, record: &mut Record, layout: Layout) -> *mut u8 {
    let (start, limit) = region::arena_slot(thread);
    if record.end == 0 {
        (record.cursor, record.end) = (start, limit);
        region::mark_used(thread);
    }
    let (block, end) = place(record.cursor, layout);
    if end > limit {
        fault(HeapFault::Exhausted, limit);
        return null_mut();
    }
    hand_out(record, block, end, layout)
}

#[inline(always)]
const fn header(block: usize) -> *mut Header {
    (block - HEADER) as *mut Header
}

/// Frees the block at `block`, an address in the area of arenas.
#[inline]
fn free(block: usize) {
    let thread = region::arena_thread(block);
    let start = region::arena_slot(thread).0;
    // SAFETY: addresses in the area of arenas come from model threads, so the region is reserved; the record of a
    // running model is touched by its one thread only.
    let cursor = unsafe { (*region::record(thread)).cursor };
    // One comparison for `start + HEADER <= block < cursor`, as the cursor is 0 or above the start.
    let inside = block.wrapping_sub(start + HEADER) < cursor.wrapping_sub(start + HEADER) && cursor != 0;
    if !inside || !block.is_multiple_of(HEADER) {
        return free_wrongly(block, 0);
    }
    // SAFETY: the header lies in the used part of the arena, and is aligned.
    let header = unsafe { &mut *header(block) };
    if header.magic != LIVE {
        return free_wrongly(block, header.magic);
    }
    tell(HeapUse::Free, block, header.size);
    header.magic = FREED;
    let traced = TRACE_HOOK.load(Relaxed);
    if traced != 0 {
        trace(traced, block, true);
    }
    // SAFETY: a live block of that size starts here, and its owner has given it up.
    unsafe { wipe(block, header.size, FREED_FILL) };
}

/// Reports a free of an address without a live block, unless the block is of an earlier execution.
#[cold]
fn free_wrongly(block: usize, magic: u64) {
    if magic == FREED {
        fault(HeapFault::DoubleFree, block);
    } else if region::on_model_thread() {
        fault(HeapFault::InvalidFree, block);
    }
}

/// Resizes a live block in place, if it shrinks or is the newest one of the running `thread`.
#[inline]
fn resize(thread: usize, block: usize, size: usize) -> bool {
    // SAFETY: a model thread runs, so the region is reserved, and nobody else uses its record.
    let record = unsafe { &mut *region::record(thread) };
    // SAFETY: the caller of `realloc` promises a live block, so there is a header before it.
    let header = unsafe { &mut *header(block) };
    if header.magic != LIVE {
        return false;
    }
    if size > header.size {
        let end = (block + size + HEADER - 1) & !(HEADER - 1);
        if block != record.last || end > record.end {
            return false;
        }
        record.cursor = record.cursor.max(end);
    } else {
        tell(HeapUse::Shrink, block + size, header.size - size);
        // SAFETY: the block's owner gives up its upper part.
        unsafe { wipe(block + size, header.size - size, FREED_FILL) };
    }
    header.size = size;
    true
}

/// Fills `size` bytes at `start`; if they are very many, gives the pages back instead, which then read as zero.
///
/// # Safety
///
/// The bytes lie in the arenas or the records, and nobody relies on them.
#[inline]
unsafe fn wipe(start: usize, size: usize, fill: u8) {
    if size < LARGE {
        // SAFETY: the caller's promise.
        unsafe { ptr::write_bytes(start as *mut u8, fill, size) };
    } else {
        // SAFETY: the caller's promise.
        unsafe { wipe_large(start, size, fill) };
    }
}

/// # Safety
///
/// As for [`wipe`].
#[cold]
unsafe fn wipe_large(start: usize, size: usize, fill: u8) {
    let (first, last) = (start.next_multiple_of(PAGE), (start + size) & !(PAGE - 1));
    // SAFETY: the caller's promise; the pages between `first` and `last` lie within the range.
    unsafe {
        ptr::write_bytes(start as *mut u8, fill, first - start);
        if libc::madvise(first as *mut _, last - first, libc::MADV_DONTNEED) != 0 {
            ptr::write_bytes(first as *mut u8, 0, last - first);
        }
        ptr::write_bytes(last as *mut u8, fill, start + size - last);
    }
}

/// Empties and zeroes the heap of the explored program, and restarts its random bytes, for the next execution. Takes
/// time proportional to what was used.
///
/// # Safety
///
/// The region is reserved, the caller is the model's thread of the operating system but not on a model thread's stack,
/// and nothing in the arenas is used any more.
pub(crate) unsafe fn reset() {
    for thread in 0..region::used_threads() {
        // SAFETY: the caller's promise.
        let record = unsafe { &mut *region::record(thread) };
        if record.cursor != 0 {
            let start = region::arena_slot(thread).0;
            // SAFETY: the used part of the thread's arena, which the caller promises is not used any more.
            unsafe { wipe(start, record.cursor - start, 0) };
            (record.cursor, record.end, record.last) = (0, 0, 0);
        }
        record.draws = 0;
    }
    region::mark_none_used();
}

/// The bounds of the used part of a thread's arena.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Used {
    cursor: usize,
    end: usize,
    last: usize,
    draws: u64,
}

/// The heaps of all threads, with their streams of random bytes, as a part of the state.
pub(crate) struct Heaps;

impl Part for Heaps {
    type Saved = Vec<Used>;

    unsafe fn reset(&mut self) {
        // SAFETY: the caller's promise.
        unsafe { reset() };
    }

    fn visit(&self, _: Extent, visitor: &mut impl Visitor) {
        // SAFETY: there are parts while a model exists; the ranges are mapped, and only this OS thread writes there.
        unsafe {
            for range in used_ranges() {
                // A thread that has finished leaves its heap.
                let thread = region::arena_thread(range.start);
                let owner = Owner::Thread(ThreadId(thread as u32));
                // The first free address is the end of the range. How large the arena is decides only when it is full.
                visitor.number(owner, "newest block", newest_block(thread) as u64);
                visitor.memory(owner, Memory::Heap, range);
            }
        }
        visitor.number(Owner::Program, "end of heaps", u64::MAX);
    }

    fn size(&self) -> usize {
        // SAFETY: as above.
        unsafe { used_ranges() }.map(|range| range.len()).sum()
    }

    unsafe fn save(&self, saved: &mut Vec<Used>, bytes: &mut Vec<u8>) {
        saved.clear();
        for thread in 0..region::used_threads() {
            // SAFETY: the caller's promise.
            unsafe {
                let (range, used) = used(thread);
                part::copy(bytes, range);
                saved.push(used);
            }
        }
    }

    unsafe fn load(&mut self, saved: &Vec<Used>, bytes: &mut &[u8]) {
        for thread in 0..saved.len().max(region::used_threads()) {
            // SAFETY: the caller's promise. What is not used in the state is not used once it is the present one.
            unsafe {
                set_used(thread, saved.get(thread).copied().unwrap_or_default());
                part::copy_back(bytes, used(thread).0);
            }
        }
    }
}

/// The used part of a thread's arena, and the argument with which [`set_used`] restores it.
///
/// # Safety
///
/// As for [`used_ranges`].
unsafe fn used(thread: usize) -> (Range<usize>, Used) {
    // SAFETY: the caller's promise.
    let record = unsafe { &*region::record(thread) };
    let start = region::arena_slot(thread).0;
    let used = Used {
        cursor: record.cursor,
        end: record.end,
        last: record.last,
        draws: record.draws,
    };
    (start..record.cursor.max(start), used)
}

/// Makes this the used part of a thread's arena; the caller restores its bytes. All others are zero.
///
/// # Safety
///
/// As for [`reset`]; `used` is of this thread.
unsafe fn set_used(thread: usize, used: Used) {
    // SAFETY: the caller's promise.
    let (now, _) = unsafe { self::used(thread) };
    let end = used.cursor.max(now.start);
    if end < now.end {
        // SAFETY: a part of the thread's arena that the caller promises is not used any more.
        unsafe { wipe(end, now.end - end, 0) };
    }
    // SAFETY: the caller's promise.
    let record = unsafe { &mut *region::record(thread) };
    (record.cursor, record.end, record.last, record.draws) = (used.cursor, used.end, used.last, used.draws);
    region::mark_used(thread);
}

/// The thread's newest block, the only one that can grow in place.
///
/// # Safety
///
/// As for [`used_ranges`].
unsafe fn newest_block(thread: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { (*region::record(thread)).last }
}

/// The used parts of all arenas, in order of threads: blocks, live or freed, with their headers.
///
/// # Safety
///
/// The region is reserved and the caller is the model's thread of the operating system.
pub(crate) unsafe fn used_ranges() -> impl Iterator<Item = Range<usize>> {
    (0..region::used_threads()).filter_map(|thread| {
        // SAFETY: the caller's promise.
        let cursor = unsafe { (*region::record(thread)).cursor };
        (cursor != 0).then(|| region::arena_slot(thread).0..cursor)
    })
}

/// The live block that contains an address in the area of arenas. A block that starts far before the address is not
/// found.
pub(crate) fn live_block(address: usize) -> Option<Range<usize>> {
    const FAR: usize = 4096;
    let thread = region::arena_thread(address);
    if thread >= region::MAX_THREADS {
        return None;
    }
    let start = region::arena_slot(thread).0;
    // SAFETY: as in `free`; whoever has such an address asks while a model runs.
    let cursor = unsafe { (*region::record(thread)).cursor };
    let highest = address & !(HEADER - 1);
    let lowest = highest.saturating_sub(FAR).max(start + HEADER);
    let mut blocks = (lowest..=highest).rev().step_by(HEADER).filter(|&block| block < cursor);
    blocks
        .find_map(|block| {
            // SAFETY: 16 bytes in the used part of the arena, aligned.
            let Header { size, magic } = unsafe { header(block).read() };
            let end = block.checked_add(size).filter(|&end| end <= cursor);
            // What is freed ends the search as well: the address is in it, or in no block.
            matches!(magic, LIVE | FREED).then_some((magic, block..end?))
        })
        .and_then(|(magic, block)| (magic == LIVE && block.contains(&address)).then_some(block))
}

/// A block, seen in a copy of its arena.
pub(crate) struct Block {
    /// Start of its header.
    pub header: usize,
    pub bytes: Range<usize>,
    pub freed: bool,
    /// First address at which the next block can start.
    pub next: usize,
}

/// The blocks in the used part of an arena, which starts at `start`; `bytes` is a copy of it.
pub(crate) fn blocks(bytes: &[u8], start: usize) -> impl Iterator<Item = Block> + '_ {
    let word = move |at: usize| {
        let bytes = bytes.get(at - start..)?.first_chunk()?;
        Some(u64::from_ne_bytes(*bytes))
    };
    let mut at = start;
    std::iter::from_fn(move || {
        loop {
            let (size, magic) = (word(at)? as usize, word(at + 8)?);
            // A large alignment leaves a gap of zeroes before the header.
            if magic != LIVE && magic != FREED {
                at += HEADER;
                continue;
            }
            let (header, block) = (at, at + HEADER);
            // What a block has lost by shrinking is never handed out again, so the next header may be further on.
            at = (block + size + HEADER - 1) & !(HEADER - 1);
            return Some(Block {
                header,
                bytes: block..block + size,
                freed: magic == FREED,
                next: at,
            });
        }
    })
}

#[cfg(test)]
#[path = "arena_tests.rs"]
mod tests;
