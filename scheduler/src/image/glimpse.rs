//! A glimpse of a value of the explored program and of what it points to, for reports of a failure.
//!
//! The type of the value is not known here. So each of its words that is the address of a live block of an arena, or of
//! data of the executable, is followed, and so on, up to a bound: what it was, if it was no pointer, does not matter
//! then.

use super::executable::Executable;
use super::{arena, region};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Maximum size of the value.
const VALUE: usize = 1024;
/// Number of bytes of a block after the address that points into it; as many again before it.
const BLOCK: usize = 512;
/// Number of bytes of the executable's data, where no block has an end.
const DATA: usize = 80;
/// Maximum number of pieces, and of bytes in all of them together.
const PIECES: usize = 32;
const BYTES: usize = 8192;

const WORD: usize = size_of::<usize>();

/// Bytes of the explored program, by address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Glimpse {
    /// The offset added to addresses in the executable's file.
    pub bias: usize,
    /// The value.
    pub value: (usize, Vec<u8>),
    /// The memory that it may point to.
    pub memory: Vec<(usize, Vec<u8>)>,
}

/// Looks at the value of `size` bytes at `start`, if it is not too large.
///
/// # Safety
/// The caller runs as a model thread, and there is a value of that size.
pub unsafe fn glimpse(start: *const (), size: usize) -> Option<Glimpse> {
    if size > VALUE {
        return None;
    }
    let executable = Executable::running();
    let mut glimpse = Glimpse {
        bias: executable.bias,
        // SAFETY: the caller's promise.
        value: (start.addr(), unsafe { copy(start.addr(), size) }),
        memory: Vec::new(),
    };
    let mut left = BYTES;
    let mut next = 0;
    let mut words = words(&glimpse.value);
    loop {
        for word in words {
            let known = glimpse
                .memory
                .iter()
                .any(|(at, bytes)| (*at..at + bytes.len()).contains(&word));
            if known || glimpse.memory.len() == PIECES {
                continue;
            }
            if let Some(piece) = piece(&executable, word).filter(|piece| piece.len() <= left) {
                left -= piece.len();
                // SAFETY: `piece` gives memory that is mapped; the program does not run while this does.
                glimpse
                    .memory
                    .push((piece.start, unsafe { copy(piece.start, piece.len()) }));
            }
        }
        let Some(piece) = glimpse.memory.get(next) else {
            return Some(glimpse);
        };
        words = self::words(piece);
        next += 1;
    }
}

/// The range to look at around an address: memory that can be read.
fn piece(executable: &Executable, address: usize) -> Option<Range<usize>> {
    if region::in_arena(address) {
        let block = arena::live_block(address)?;
        let start = block.start.max(address.saturating_sub(BLOCK));
        return Some(start..block.end.min(address + BLOCK));
    }
    executable.segments(libc::PT_LOAD).find_map(|segment| {
        let start = executable.bias + segment.p_vaddr as usize;
        let end = start + segment.p_memsz as usize;
        let data = segment.p_flags & libc::PF_R != 0 && segment.p_flags & libc::PF_X == 0;
        (data && (start..end).contains(&address)).then(|| address..end.min(address + DATA))
    })
}

/// The aligned words of a piece of memory.
fn words((start, bytes): &(usize, Vec<u8>)) -> Vec<usize> {
    let skipped = start.next_multiple_of(WORD) - start;
    let words = bytes.get(skipped..).unwrap_or_default().chunks_exact(WORD);
    words
        .map(|word| usize::from_ne_bytes(word.try_into().expect("a word has so many bytes")))
        .collect()
}

/// # Safety
/// The memory is mapped, and nobody writes to it meanwhile.
unsafe fn copy(start: usize, len: usize) -> Vec<u8> {
    let mut bytes: Vec<MaybeUninit<u8>> = Vec::with_capacity(len);
    let target = bytes.as_mut_ptr();
    // SAFETY: the caller's promise; `target` has room for so many bytes. They may be padding, or never written, which
    // bytes that are `MaybeUninit` may be. The assembly, which is empty, might have written to all of them for all that
    // the compiler knows; so they have some value after it.
    unsafe {
        std::ptr::copy_nonoverlapping(start as *const MaybeUninit<u8>, target, len);
        std::arch::asm!("/* {} */", in(reg) target, options(nostack, preserves_flags));
        Vec::from_raw_parts(std::mem::ManuallyDrop::new(bytes).as_mut_ptr().cast::<u8>(), len, len)
    }
}
