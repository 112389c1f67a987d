//! The address plan: where each model thread's stack and heap lie, by the thread's index alone.
//!
//! ```text
//! 0x1000_0000_0000  stacks, 256 MiB for each of 65,536 threads; inaccessible until a stack is made
//! 0x2000_0000_0000  arenas of threads < 1024, 32 GiB each
//! 0x4000_0000_0000  arenas of all other threads, 256 MiB each
//! 0x5000_0000_0000  records: the bookkeeping of each thread's region; above them, stacks of the checker's own
//! ```
//!
//! Each area is a whole multiple of 2^44 bytes, so that asking which area an address lies in is one shift and one
//! comparison. Position-independent executables and shared libraries are loaded above 0x5555_5555_4000. Only
//! addresses are taken: memory is given by the kernel page by page as it is touched.

use std::arch::asm;
use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};

/// Maximum number of model threads in the address plan.
pub(crate) const MAX_THREADS: usize = 1 << 16;

/// Size and alignment of a page.
pub(crate) const PAGE: usize = 4096;

pub(crate) const AREA_BITS: u32 = 44;
pub(crate) const STACKS: usize = 1 << AREA_BITS;
pub(crate) const STACK_BITS: u32 = 28;
const ARENAS: usize = 2 << AREA_BITS;
const LARGE_BITS: u32 = 35;
const LARGE_THREADS: usize = 1 << 10;
const SMALL_ARENAS: usize = 4 << AREA_BITS;
const SMALL_BITS: u32 = 28;
const RECORDS: usize = 5 << AREA_BITS;
/// Start and end of the stack on which the checker works for a running model thread. Below it nothing is mapped.
pub(crate) const CHECKER_STACK: (usize, usize) = (RECORDS + (8 << 20), RECORDS + (9 << 20));
/// Start and end of the stack from which coroutines are resumed. Below it nothing is mapped.
pub(crate) const RESUMER_STACK: (usize, usize) = (RECORDS + (16 << 20), RECORDS + (16 << 20) + (64 << 10));

// Bits of an address in the area of stacks are then the index of the thread.
const _: () = assert!(MAX_THREADS << STACK_BITS == 1 << AREA_BITS && MAX_THREADS == 1 << 16);
const _: () = assert!(RECORDS + MAX_THREADS * size_of::<Record>() < CHECKER_STACK.0);
const _: () = assert!(STACKS + (MAX_THREADS << STACK_BITS) <= ARENAS);
const _: () = assert!(ARENAS + (LARGE_THREADS << LARGE_BITS) <= SMALL_ARENAS);
const _: () = assert!(SMALL_ARENAS + (MAX_THREADS << SMALL_BITS) <= RECORDS);
const _: () = assert!(size_of::<Record>() == 64);

/// The bookkeeping of one thread's region. All zero for a thread that was never used.
#[repr(C, align(64))]
pub(crate) struct Record {
    /// First free address of the arena; 0 before the first allocation of an execution.
    pub cursor: usize,
    /// End of the arena; 0 before the first allocation of an execution.
    pub end: usize,
    /// The newest block of the arena.
    pub last: usize,
    /// Number of draws from the thread's stream of random bytes in this execution.
    pub draws: u64,
    /// Lowest accessible address of the stack; 0 before the thread's first stack.
    pub stack_limit: usize,
    /// The lowest stack pointer at which the thread was ever suspended; 0 if it never was.
    pub deepest: usize,
    /// The pointer that the facades keep for the thread; null when the thread starts.
    pub local_root: *mut u8,
    /// 1 when the deadline of the thread's pending wait has passed, where timeouts fire last.
    pub late: AtomicI64,
}

/// The error for an address plan that this process cannot realise.
#[derive(Debug)]
pub(crate) struct RegionError {
    address: usize,
    size: usize,
    cause: io::Error,
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot reserve {} GiB of address space at {:#x} for the explored program: {}",
            self.size >> 30,
            self.address,
            self.cause
        )?;
        match self.cause.raw_os_error() {
            Some(libc::EEXIST) => f.write_str(" (something else is mapped there, a sanitizer for example)"),
            Some(libc::ENOMEM) => f.write_str(
                " (is the address space limited by `ulimit -v` or `ulimit -d`, or memory overcommit off, \
                 `vm.overcommit_memory = 2`?)",
            ),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for RegionError {}

/// Reserves the whole address plan, once per process. Needed before any other use of this folder.
///
/// # Errors
///
/// The kernel refuses the addresses: they are taken, or the process may not have that much address space.
pub(crate) fn reserve() -> Result<(), &'static RegionError> {
    #[unsafe(link_section = ".dpor.data")]
    static DONE: OnceLock<Result<(), RegionError>> = OnceLock::new();
    DONE.get_or_init(|| {
        map(STACKS, ARENAS - STACKS, libc::PROT_NONE)?;
        let records = MAX_THREADS * size_of::<Record>();
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        map(ARENAS, RECORDS + records - ARENAS, writable)?;
        for (start, end) in [CHECKER_STACK, RESUMER_STACK] {
            map(start, end - start, writable)?;
        }
        Ok(())
    })
    .as_ref()
    .copied()
}

fn map(address: usize, size: usize, protection: i32) -> Result<(), RegionError> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: NOREPLACE takes no address that is in use.
    let got = unsafe { libc::mmap(address as *mut _, size, protection, flags, -1, 0) };
    let error = |cause| RegionError { address, size, cause };
    if got == libc::MAP_FAILED {
        return Err(error(io::Error::last_os_error()));
    }
    if got as usize != address {
        // Kernels before 4.17 take NOREPLACE for a mere wish.
        // SAFETY: the mapping was made just now and nobody knows of it.
        unsafe { libc::munmap(got, size) };
        return Err(error(io::Error::from_raw_os_error(libc::EEXIST)));
    }
    // A core dump would walk through terabytes of nothing, and huge pages would give each thread 2 MiB at its first
    // byte. Where the kernel knows neither advice, nothing but time and memory is lost.
    // SAFETY: the mapping was made just now; both advices leave its contents alone.
    unsafe {
        libc::madvise(got, size, libc::MADV_DONTDUMP);
        libc::madvise(got, size, libc::MADV_NOHUGEPAGE);
    }
    Ok(())
}

/// The stack pointer of the caller.
#[inline(always)]
pub(crate) fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(pure, nomem, nostack, preserves_flags)) };
    pointer
}

/// Says whether the caller runs on the stack of a model thread.
#[inline(always)]
pub(crate) fn on_model_thread() -> bool {
    in_stacks(stack_pointer())
}

/// The index of the model thread on whose stack the caller runs, if any.
#[cfg(test)]
pub(crate) fn current_thread() -> Option<usize> {
    let pointer = stack_pointer();
    in_stacks(pointer).then(|| stack_thread(pointer))
}

/// Says whether `address` lies in the area of stacks (guard pages included).
#[inline(always)]
pub(crate) const fn in_stacks(address: usize) -> bool {
    address >> AREA_BITS == STACKS >> AREA_BITS
}

/// Says whether `address` lies in the area of arenas.
#[inline(always)]
pub(crate) const fn in_arena(address: usize) -> bool {
    (address >> AREA_BITS).wrapping_sub(ARENAS >> AREA_BITS) < (RECORDS - ARENAS) >> AREA_BITS
}

/// The thread whose stack or arena contains `address`, if any.
#[cfg(test)]
pub(crate) const fn thread_of(address: usize) -> Option<usize> {
    if in_stacks(address) {
        Some(stack_thread(address))
    } else if in_arena(address) {
        Some(arena_thread(address))
    } else {
        None
    }
}

/// The thread whose stack slot holds `address`, which lies in the area of stacks.
#[inline(always)]
pub(crate) const fn stack_thread(address: usize) -> usize {
    (address - STACKS) >> STACK_BITS
}

/// The thread whose arena holds `address`, which lies in the area of arenas.
#[inline(always)]
pub(crate) const fn arena_thread(address: usize) -> usize {
    if address < SMALL_ARENAS {
        (address - ARENAS) >> LARGE_BITS
    } else {
        (address - SMALL_ARENAS) >> SMALL_BITS
    }
}

/// The stack slot of a thread: start (inaccessible, guards against overflow) and end (the base of its stack).
pub(crate) const fn stack_slot(thread: usize) -> (usize, usize) {
    assert!(thread < MAX_THREADS);
    let start = STACKS + (thread << STACK_BITS);
    (start, start + (1 << STACK_BITS))
}

/// Start and end of a thread's arena.
pub(crate) const fn arena_slot(thread: usize) -> (usize, usize) {
    assert!(thread < MAX_THREADS);
    if thread < LARGE_THREADS {
        let start = ARENAS + (thread << LARGE_BITS);
        (start, start + (1 << LARGE_BITS))
    } else {
        let start = SMALL_ARENAS + (thread << SMALL_BITS);
        (start, start + (1 << SMALL_BITS))
    }
}

/// The record of a thread. Accessible once [`reserve`] has succeeded.
#[inline(always)]
pub(crate) const fn record(thread: usize) -> *mut Record {
    (RECORDS + thread * size_of::<Record>()) as *mut Record
}

/// Whether the deadline of a thread's pending wait has passed: a word on which guards depend.
pub(crate) fn late<'a>(thread: usize) -> &'a AtomicI64 {
    // SAFETY: a model exists, so the region is reserved, and stays mapped; zeros are a value.
    unsafe { &(*record(thread)).late }
}

/// One more than the highest index of a thread whose record was changed in this execution.
#[unsafe(link_section = ".dpor.data")]
static USED_THREADS: AtomicUsize = AtomicUsize::new(0);

/// An upper bound: all threads whose records were changed in this execution have smaller indices.
pub(crate) fn used_threads() -> usize {
    USED_THREADS.load(Relaxed)
}

/// Notes that the record of `thread` is changed in this execution.
pub(crate) fn mark_used(thread: usize) {
    USED_THREADS.store(used_threads().max(thread + 1), Relaxed);
}

/// Notes that no record is changed in the execution that begins.
pub(crate) fn mark_none_used() {
    USED_THREADS.store(0, Relaxed);
}

/// Number of times that the thread has drawn random bytes in this execution.
pub(crate) fn draws(thread: usize) -> u64 {
    // SAFETY: a model exists, so the region is reserved; its only OS thread is the caller.
    unsafe { (*record(thread)).draws }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_disjoint_and_map_back() {
        for thread in [0, 1, 1023, 1024, 1025, MAX_THREADS - 1] {
            let (start, end) = stack_slot(thread);
            assert!(in_stacks(start) && in_stacks(end - 1) && !in_arena(start));
            assert_eq!((thread_of(start), thread_of(end - 1)), (Some(thread), Some(thread)));
            let (start, end) = arena_slot(thread);
            assert!(in_arena(start) && in_arena(end - 1) && !in_stacks(start));
            assert_eq!((thread_of(start), thread_of(end - 1)), (Some(thread), Some(thread)));
        }
        let local = 0;
        for outside in [
            0,
            STACKS - 1,
            RECORDS,
            &raw const local as usize,
            thread_of as *const () as usize,
        ] {
            assert_eq!(thread_of(outside), None);
        }
    }

    #[test]
    fn reserving_twice_is_reserving_once() {
        reserve().unwrap();
        reserve().unwrap();
        assert!(!on_model_thread());
        assert_eq!(
            map(STACKS, PAGE, libc::PROT_NONE).unwrap_err().cause.raw_os_error(),
            Some(libc::EEXIST)
        );
    }
}
