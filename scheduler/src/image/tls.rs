//! The thread-locals of the executable: one block, which is copied out and in when model threads are switched.
//!
//! std's own thread-locals (panic count, hash keys, …) are in it. On x86-64 the block ends at the thread pointer
//! (variant II of "ELF Handling For Thread-Local Storage", Drepper 2013). The checker keeps no thread-locals. Those of
//! shared libraries, `errno` among them, are not swapped.
//!
//! std also counts the panics of all threads of the process together, and `panicking` looks at that number first: what
//! it has read stays in a register, and may get onto the program's stack. So the number must be neither what other
//! threads are at, which no operation tells, nor what an execution has left that ended in the middle of a panic. It
//! follows the swaps: of the model's threads it counts the panics of that whose block is in place.

use super::executable::Executable;
use super::statics::PanicCounts;
use std::arch::asm;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The error for a block of the calling thread that does not lie where the executable's headers say.
#[derive(Debug)]
pub(crate) struct TlsError;

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the executable's thread-locals are not where its program headers and the thread pointer say")
    }
}

impl std::error::Error for TlsError {}

/// The live block of the OS thread that found it.
pub(crate) struct TlsBlock {
    start: *mut u8,
    size: usize,
    /// The initial contents of a new thread's block; the rest of it is zero.
    initial: &'static [u8],
    panic_counts: Option<PanicCounts>,
}

/// The saved contents of a block.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TlsImage(Box<[u8]>);

impl TlsBlock {
    /// The block of the calling thread; of size 0 if the executable has no thread-locals. `panic_counts` are those of
    /// the executable.
    ///
    /// # Errors
    ///
    /// The linker has laid it out in a way that is not known here.
    pub(crate) fn of_this_thread(panic_counts: Option<PanicCounts>) -> Result<TlsBlock, TlsError> {
        let executable = Executable::running();
        let Some(segment) = executable.segments(libc::PT_TLS).next() else {
            return Ok(TlsBlock {
                start: ptr::null_mut(),
                size: 0,
                initial: &[],
                panic_counts: None,
            });
        };
        let (address, size) = (segment.p_vaddr as usize, segment.p_memsz as usize);
        // The linker's own rule for offsets from the thread pointer.
        let slack = address.wrapping_add(size).wrapping_neg() & (segment.p_align.max(1) as usize - 1);
        let start = (thread_pointer() - size - slack) as *mut u8;
        if start != executable.tls {
            return Err(TlsError);
        }
        // SAFETY: the segment's initial contents are part of the executable's read-only memory.
        let initial =
            unsafe { std::slice::from_raw_parts((executable.bias + address) as *const u8, segment.p_filesz as usize) };
        Ok(TlsBlock {
            start,
            size,
            initial,
            panic_counts: panic_counts.filter(|counts| counts.local + size_of::<usize>() <= size),
        })
    }

    /// The contents with which a thread starts that has touched no thread-local.
    pub(crate) fn initial(&self) -> TlsImage {
        let mut image = vec![0; self.size].into_boxed_slice();
        image[..self.initial.len()].copy_from_slice(self.initial);
        TlsImage(image)
    }

    /// A copy of the block's present contents.
    ///
    /// # Safety
    ///
    /// The caller is the thread that found the block.
    #[cfg(test)]
    pub(crate) unsafe fn capture(&self) -> TlsImage {
        let mut image = self.initial();
        // SAFETY: the caller's promise.
        unsafe { self.save(&mut image) };
        image
    }

    /// Copies the block into `image`, which came from this block.
    ///
    /// # Safety
    ///
    /// The caller is the thread that found the block.
    #[inline]
    pub(crate) unsafe fn save(&self, image: &mut TlsImage) {
        debug_assert_eq!(image.0.len(), self.size);
        // SAFETY: the block lives as long as its thread, and an image has its size; of size 0 nothing is read.
        unsafe { ptr::copy_nonoverlapping(self.start, image.0.as_mut_ptr(), self.size) };
    }

    /// Copies `image`, which came from this block, into the block.
    ///
    /// # Safety
    ///
    /// The caller is the thread that found the block, and nobody holds a reference into it that the change would break.
    #[inline]
    pub(crate) unsafe fn load(&self, image: &TlsImage) {
        debug_assert_eq!(image.0.len(), self.size);
        let before = self.panics();
        // SAFETY: as in `save`.
        unsafe { ptr::copy_nonoverlapping(image.0.as_ptr(), self.start, self.size) };
        let change = self.panics().wrapping_sub(before);
        if let Some(counts) = self.panic_counts.filter(|_| change != 0) {
            // SAFETY: std's counter, which lives as long as the process, and which other threads change atomically,
            // too.
            unsafe { AtomicUsize::from_ptr(counts.global as *mut usize) }.fetch_add(change, Relaxed);
        }
    }

    /// Number of panics that the owner of the block is in.
    #[inline]
    fn panics(&self) -> usize {
        match self.panic_counts {
            // SAFETY: the count is within the block (`of_this_thread`), which is that of the caller's thread.
            Some(counts) => unsafe { self.start.add(counts.local).cast::<usize>().read_unaligned() },
            None => 0,
        }
    }
}

impl TlsImage {
    /// The saved bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The saved bytes, mutably.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// Makes this image equal to `other`, which came from the same block.
    #[inline]
    pub(crate) fn copy_from(&mut self, other: &TlsImage) {
        self.0.copy_from_slice(&other.0);
    }
}

/// The thread pointer, which also identifies the OS thread.
#[inline(always)]
pub(crate) fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the x86-64 ABI keeps the thread pointer itself in its first word.
    unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(pure, readonly, nostack, preserves_flags)) };
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::statics::Statics;
    use std::cell::Cell;
    use std::hash::{BuildHasher, RandomState};

    thread_local! {
        static ZERO: Cell<u64> = const { Cell::new(0) };
        static DATA: Cell<[u64; 3]> = const { Cell::new([1, 2, 3]) };
    }

    fn block() -> TlsBlock {
        TlsBlock::of_this_thread(Statics::of_executable().unwrap().panic_counts()).unwrap()
    }

    #[test]
    fn thread_locals_are_swapped() {
        let block = block();
        let within = |address: usize| (block.start as usize..block.start as usize + block.size).contains(&address);
        assert!(ZERO.with(|zero| within(&raw const *zero as usize)));
        assert!(DATA.with(|data| within(&raw const *data as usize)));
        ZERO.set(5);
        // SAFETY: the block is this thread's.
        let first = unsafe { block.capture() };
        ZERO.set(6);
        DATA.set([7; 3]);
        // SAFETY: as above.
        let second = unsafe { block.capture() };
        assert!(first != second);
        // SAFETY: as above, and nobody holds a reference.
        unsafe { block.load(&first) };
        assert_eq!((ZERO.get(), DATA.get()), (5, [1, 2, 3]));
        // SAFETY: as above.
        unsafe { block.load(&second) };
        assert_eq!((ZERO.get(), DATA.get()), (6, [7; 3]));
        // SAFETY: as above.
        unsafe { block.load(&block.initial()) };
        let initial = (ZERO.get(), DATA.get());
        // SAFETY: as above.
        unsafe { block.load(&second) };
        assert_eq!(initial, (0, [1, 2, 3]));
    }

    /// A panic of another test counts, too: this one asks for differences, and again if they are not as they should be.
    #[test]
    fn of_all_panics_those_of_the_block_in_place_count() {
        struct Swapping;
        impl Drop for Swapping {
            fn drop(&mut self) {
                let block = block();
                let counts = block.panic_counts.expect("std counts panics");
                // SAFETY: std's counter.
                let global = || unsafe { AtomicUsize::from_ptr(counts.global as *mut usize) }.load(Relaxed);
                let (mut own, others) = (block.initial(), block.initial());
                // SAFETY: the block is this thread's, and nobody holds a reference.
                unsafe {
                    block.save(&mut own);
                    for _ in 0..1000 {
                        let before = global();
                        block.load(&others);
                        let (without, panicking) = (global(), std::thread::panicking());
                        block.load(&own);
                        let after = global();
                        if [before, without, after] == [before, before - 1, before] && !panicking {
                            SEEN.set(true);
                            return;
                        }
                    }
                }
            }
        }
        thread_local! {
            static SEEN: Cell<bool> = const { Cell::new(false) };
        }
        let panicked = std::panic::catch_unwind(|| {
            let _swapping = Swapping;
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(panicked.is_err() && SEEN.get());
    }

    #[test]
    fn a_second_thread_has_a_block_of_its_own() {
        let here = block().start as usize;
        let there = std::thread::spawn(|| {
            let block = block();
            ZERO.set(9);
            // SAFETY: the block is this thread's, and the hash keys in it are only counted up.
            unsafe {
                let hash = || RandomState::new().hash_one(1);
                hash();
                let image = block.capture();
                let before = hash();
                block.load(&image);
                assert_eq!(hash(), before);
            }
            block.start as usize
        });
        assert_ne!(here, there.join().unwrap());
    }
}
