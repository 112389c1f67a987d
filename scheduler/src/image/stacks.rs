//! Stacks of model threads: one at a fixed place for each thread index, kept between executions.
//!
//! A stack is the upper end of its thread's slot; all of the slot below it stays inaccessible and is its guard, so even
//! a frame of many megabytes cannot step over it.

use super::region::{self, PAGE};
use corosensei::stack::{Stack, StackPointer};
use std::fmt;
use std::io;
use std::ops::Range;

/// Default size of a stack: that of `std::thread`.
pub(crate) const DEFAULT_SIZE: usize = 2 << 20;

/// Why a stack cannot be created.
#[derive(Debug)]
pub(crate) enum StackError {
    /// The address plan has no room for so many threads.
    TooManyThreads,
    /// The address plan has no room for so large a stack.
    TooLarge {
        /// The largest size for which there is room.
        largest: usize,
    },
    /// The kernel refused the memory.
    Refused(io::Error),
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StackError::TooManyThreads => write!(f, "more than {} threads in one test", region::MAX_THREADS),
            StackError::TooLarge { largest } => write!(f, "a thread's stack can have at most {} MiB", largest >> 20),
            StackError::Refused(cause) if cause.raw_os_error() == Some(libc::ENOMEM) => {
                write!(
                    f,
                    "no memory for another stack: {cause} (too many threads for `vm.max_map_count`?)"
                )
            }
            StackError::Refused(cause) => write!(f, "no memory for another stack: {cause}"),
        }
    }
}

impl std::error::Error for StackError {}

/// The stack of a model thread.
#[derive(Debug)]
pub(crate) struct ModelStack {
    base: StackPointer,
    limit: StackPointer,
}

impl ModelStack {
    /// The stack of thread `thread`, with at least `size` usable bytes, and never fewer than it had before.
    ///
    /// # Errors
    ///
    /// There is no room or no memory for it.
    ///
    /// # Safety
    ///
    /// The region is reserved, the caller is the model's thread of the operating system, and no other `ModelStack` of
    /// that thread is in use.
    pub(crate) unsafe fn new(thread: usize, size: usize) -> Result<ModelStack, StackError> {
        if thread >= region::MAX_THREADS {
            return Err(StackError::TooManyThreads);
        }
        let (start, end) = region::stack_slot(thread);
        let record = region::record(thread);
        // SAFETY: the region is reserved, and the model's only thread is the caller.
        let mut limit = unsafe { (*record).stack_limit };
        // The smallest stack that can run a panic and the checker's part of an operation.
        let size = size.max(64 << 10);
        if limit == 0 || end - limit < size {
            // One page of the slot at least stays inaccessible.
            let largest = end - start - PAGE;
            if size > largest {
                return Err(StackError::TooLarge { largest });
            }
            limit = end - size.next_multiple_of(PAGE);
            // SAFETY: the pages belong to this thread's slot, which nothing but its stack uses.
            let refused =
                unsafe { libc::mprotect(limit as *mut _, end - limit, libc::PROT_READ | libc::PROT_WRITE) } != 0;
            if refused {
                return Err(StackError::Refused(io::Error::last_os_error()));
            }
            // SAFETY: as for the read above.
            unsafe { (*record).stack_limit = limit };
        }
        let address = |a| StackPointer::new(a).expect("the plan's addresses are not null");
        Ok(ModelStack {
            base: address(end),
            limit: address(limit - PAGE),
        })
    }
}

/// Size of the pieces in which a stack is searched for leftovers.
const PIECE: usize = 512;
/// Number of zero bytes at which the search for leftovers ends. It misses what a call writes below that many untouched
/// bytes; at worst, equal states then look different.
const QUIET: usize = 4096;
/// Depth of the part of a stack that is kept; the rest is given back to the kernel.
const DEEP: usize = 64 << 10;

impl ModelStack {
    /// Zeroes what earlier executions have left on the stack.
    ///
    /// # Safety
    ///
    /// Nothing runs on the stack.
    pub(crate) unsafe fn clear(&self) {
        let (start, end) = (self.limit.get() + PAGE, self.base.get());
        // SAFETY: a stack has a thread, and the region is reserved.
        let deepest = unsafe { (*region::record(region::stack_thread(end - 1))).deepest };
        let known = if deepest == 0 { end } else { deepest.max(start) };
        let floor = start.max(end.saturating_sub(DEEP));
        // SAFETY: the ranges are this stack's, which nobody uses.
        unsafe {
            let mut lowest = known.max(floor) & !(PIECE - 1);
            std::ptr::write_bytes(lowest as *mut u8, 0, end - lowest);
            let mut quiet = 0;
            while quiet < QUIET && lowest > floor {
                lowest -= PIECE;
                let piece = std::slice::from_raw_parts_mut(lowest as *mut u64, PIECE / 8);
                if are_zero(piece) {
                    quiet += PIECE;
                } else {
                    piece.fill(0);
                    quiet = 0;
                }
            }
            if known < floor || quiet < QUIET {
                libc::madvise(start as *mut _, lowest - start, libc::MADV_DONTNEED);
            }
        }
    }
}

/// Whether all words are zero: the first is, and each of the others is equal to the one before it. That is the
/// comparison of memory, which is faster than a loop, also where code is not optimised.
fn are_zero(words: &[u64]) -> bool {
    words.is_empty() || words[0] == 0 && words[1..] == words[..words.len() - 1]
}

/// The lowest address at which the stack of a suspended thread is not zero, or the stack pointer. Finds what
/// [`ModelStack::clear`] would clear.
///
/// # Safety
///
/// The pointer is into a stack on which nothing runs, and that was cleared before its thread began.
pub(crate) unsafe fn lowest_used(pointer: usize) -> usize {
    // SAFETY: a stack has a thread, and the region is reserved.
    let (limit, deepest) = unsafe {
        let record = &*region::record(region::stack_thread(pointer));
        (record.stack_limit, record.deepest)
    };
    let is_zero = |at: usize, bytes: usize| {
        // SAFETY: the pieces lie in the accessible part of the stack, whose limit is a multiple of a page.
        are_zero(unsafe { std::slice::from_raw_parts(at as *const u64, bytes / 8) })
    };
    let known = if deepest == 0 {
        pointer
    } else {
        pointer.min(deepest.max(limit))
    };
    let mut lowest = known & !(PIECE - 1);
    // Mostly nothing is there. To look at all of it at once takes half the time.
    let mut quiet = if lowest - limit >= QUIET && is_zero(lowest - QUIET, QUIET) {
        QUIET
    } else {
        0
    };
    let mut at = lowest;
    while quiet < QUIET && at > limit {
        at -= PIECE;
        if is_zero(at, PIECE) {
            quiet += PIECE;
        } else {
            (lowest, quiet) = (at, 0);
        }
    }
    // What was used at another time, or only in part.
    while lowest + PIECE <= pointer && is_zero(lowest, PIECE) {
        lowest += PIECE;
    }
    let lowest = lowest.max(limit);
    match lowest + PIECE > pointer && is_zero(lowest, pointer - lowest) {
        true => pointer,
        false => lowest,
    }
}

/// Notes the depth of the stack of a thread that is suspended at `pointer`.
#[inline]
pub(crate) fn note_depth(pointer: usize) {
    // SAFETY: a thread is suspended, so the region is reserved; only the model's thread of the operating system calls
    // this.
    let record = unsafe { &mut *region::record(region::stack_thread(pointer)) };
    if pointer < record.deepest || record.deepest == 0 {
        record.deepest = pointer;
    }
}

// SAFETY: the slot below the usable part is inaccessible for a page at least, and the usable part is never smaller than
// `MIN_STACK_SIZE`; `limit` includes one guard page, both ends are aligned to pages.
unsafe impl Stack for ModelStack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

/// The live part of the stack that holds `pointer`, the stack pointer of a suspended thread.
pub(crate) const fn live(pointer: usize) -> Range<usize> {
    pointer..region::stack_slot(region::stack_thread(pointer)).1
}

/// The thread whose stack has overflowed, if an access to `address` shows that.
pub(crate) fn overflowed(address: usize) -> Option<usize> {
    if !region::in_stacks(address) {
        return None;
    }
    let thread = region::stack_thread(address);
    // SAFETY: whoever has an address in the stacks has reserved the region; a record is read only.
    let limit = unsafe { (*region::record(thread)).stack_limit };
    (address < limit).then_some(thread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::testing::{Model, on_thread};

    #[test]
    fn one_word_that_is_not_zero_is_seen() {
        assert!(are_zero(&[]) && are_zero(&[0]) && are_zero(&[0; 64]));
        for at in 0..64 {
            let mut words = [0; 64];
            words[at] = 1;
            assert!(!are_zero(&words));
        }
        assert!(!are_zero(&[7; 64]));
    }

    #[test]
    fn code_on_a_model_stack_knows_its_thread() {
        let _model = Model::enter();
        for thread in [0, 7, 1500, region::MAX_THREADS - 1] {
            on_thread(thread, move || {
                assert!(region::on_model_thread());
                assert_eq!(region::current_thread(), Some(thread));
                assert_eq!(region::thread_of(&raw const thread as usize), Some(thread));
                let live = live(region::stack_pointer());
                assert!(live.contains(&(&raw const thread as usize)) && live.len() < 4096);
            });
            assert_eq!(region::current_thread(), None);
        }
    }

    #[test]
    fn a_stack_grows_on_request_and_its_guard_is_found() {
        let _model = Model::enter();
        // SAFETY: `Model` reserves the region and is exclusive.
        let new = |size| unsafe { ModelStack::new(40, size) };
        let first = new(DEFAULT_SIZE).unwrap();
        assert_eq!(first.base().get() - first.limit().get(), DEFAULT_SIZE + PAGE);
        assert_eq!(overflowed(first.limit().get()), Some(40));
        assert_eq!(overflowed(first.limit().get() + PAGE), None);
        let large = new(100 << 20).unwrap();
        assert_eq!(large.base().get() - large.limit().get(), (100 << 20) + PAGE);
        let address = large.limit().get() + PAGE;
        // SAFETY: the lowest usable byte of a stack that nobody runs on.
        unsafe { (address as *mut u8).write(1) };
        assert!(matches!(new(1 << 28), Err(StackError::TooLarge { .. })));
        // SAFETY: as above.
        let beyond = unsafe { ModelStack::new(region::MAX_THREADS, 0) };
        assert!(matches!(beyond, Err(StackError::TooManyThreads)));
    }

    #[test]
    fn a_cleared_stack_is_zero() {
        let _model = Model::enter();
        // SAFETY: `Model` reserves the region and is exclusive.
        let stack = unsafe { ModelStack::new(41, DEFAULT_SIZE) }.unwrap();
        let (end, size) = (stack.base().get(), DEFAULT_SIZE);
        // SAFETY: the usable part of a stack that nobody runs on.
        let bytes = || unsafe { std::slice::from_raw_parts_mut((end - size) as *mut u8, size) };
        for depth in [1, 600, 5_000, DEEP - 1, DEEP, DEEP + 1, size] {
            bytes()[size - depth..].fill(7);
            // SAFETY: nobody runs on the stack.
            unsafe { stack.clear() };
            assert!(bytes().iter().all(|&byte| byte == 0), "{depth}");
        }
        // A gap is known of when the thread was suspended below it.
        for depth in [20_000, 200_000] {
            bytes()[size - depth] = 7;
            note_depth(end - depth);
            // SAFETY: as above.
            unsafe { stack.clear() };
            assert!(bytes().iter().all(|&byte| byte == 0), "{depth}");
        }
        // SAFETY: `Model` is exclusive.
        unsafe { (*region::record(41)).deepest = 0 };
    }

    #[test]
    fn a_panic_unwinds_on_a_model_stack() {
        let _model = Model::enter();
        on_thread(3, || {
            let caught = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(5u32)));
            assert_eq!(*caught.unwrap_err().downcast::<u32>().unwrap(), 5);
        });
    }
}
