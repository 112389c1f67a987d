//! The thread-locals of the executable: one block, which is copied out and in when model threads are switched.
//!
//! std's own thread-locals (panic count, hash keys, …) are in it. On x86-64 the block ends at the thread pointer
//! (variant II of "ELF Handling For Thread-Local Storage", Drepper 2013). The checker keeps no thread-locals. Those of
//! shared libraries, `errno` among them, are not swapped.

use super::executable::Executable;
use std::arch::asm;
use std::fmt;
use std::ptr;

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
}

/// The saved contents of a block.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TlsImage(Box<[u8]>);

impl TlsBlock {
    /// The block of the calling thread; of size 0 if the executable has no thread-locals.
    ///
    /// # Errors
    ///
    /// The linker has laid it out in a way that is not known here.
    pub(crate) fn of_this_thread() -> Result<TlsBlock, TlsError> {
        let executable = Executable::running();
        let Some(segment) = executable.segments(libc::PT_TLS).next() else {
            return Ok(TlsBlock {
                start: ptr::null_mut(),
                size: 0,
                initial: &[],
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
        Ok(TlsBlock { start, size, initial })
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
        // SAFETY: as in `save`.
        unsafe { ptr::copy_nonoverlapping(image.0.as_ptr(), self.start, self.size) };
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
    use std::cell::Cell;
    use std::hash::{BuildHasher, RandomState};

    thread_local! {
        static ZERO: Cell<u64> = const { Cell::new(0) };
        static DATA: Cell<[u64; 3]> = const { Cell::new([1, 2, 3]) };
    }

    #[test]
    fn thread_locals_are_swapped() {
        let block = TlsBlock::of_this_thread().unwrap();
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

    #[test]
    fn a_second_thread_has_a_block_of_its_own() {
        let here = TlsBlock::of_this_thread().unwrap().start as usize;
        let there = std::thread::spawn(|| {
            let block = TlsBlock::of_this_thread().unwrap();
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
