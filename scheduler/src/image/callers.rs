//! The position of a model thread: the return addresses of its frames.
//!
//! The package `backtrace` walks the stack with the library that unwinds panics, by the executable's unwind tables. A
//! walk starts wherever it is asked for, on the checker's stack or on that of a signal handler, and shows only what is
//! on a model thread's stack. In a signal handler it allocates nothing and writes nothing, and takes no lock but the
//! dynamic linker's, which is recursive (none at all with glibc 2.35 or later).

use crate::image::executable::Executable;
use crate::image::region;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{mem, ptr};

unsafe extern "C" {
    /// The unwind table's entry for the function at an address; null if there is none. `backtrace` looks an entry up
    /// only for a frame that its walk has reached, and the walk must not reach a frame without one.
    fn _Unwind_FindEnclosingFunction(address: *mut c_void) -> *mut c_void;
}

/// The offset that the linker added to every address of the executable, and the range of its code. Set once, so that a
/// signal handler need not ask.
#[unsafe(link_section = ".dpor.bss")]
static CODE: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// Calls `found` with the return address of each frame of the running model thread, innermost first, until `found`
/// wants no more.
pub(crate) fn walk(mut found: impl FnMut(usize) -> bool) {
    let mut begun = false;
    // SAFETY: a thread needs no synchronisation to walk its own stack. `backtrace` synchronises the use of symbols,
    // which this does not ask for.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            // Before the thread's frames are those of the checker, and after them those of who has resumed it.
            match region::in_stacks(frame.sp().addr()) {
                true => {
                    begun = true;
                    found(frame.ip().addr())
                }
                false => !begun,
            }
        });
    }
}

/// Like [`walk`], from a signal handler that has interrupted the instruction at an address, with the stack pointer at
/// that time. The first address is that of the byte after the first byte of the interrupted instruction: as with a
/// return address, the byte before it belongs to the instruction in question.
pub(crate) fn walk_interrupted(instruction: usize, stack: usize, mut found: impl FnMut(usize) -> bool) {
    // SAFETY: only looks for the address in the tables. It takes return addresses.
    let known = unsafe { !_Unwind_FindEnclosingFunction(ptr::without_provenance_mut(instruction + 1)).is_null() };
    if known {
        let mut first = true;
        walk(|address| {
            let interrupted = mem::take(&mut first) && address == instruction;
            found(address + usize::from(interrupted))
        });
    } else if region::in_stacks(stack) {
        // A call of what is no function: the unwinder would read there. The caller is on top of the stack.
        // SAFETY: the stack pointer of a model thread that has made a call.
        found(unsafe { *ptr::with_exposed_provenance::<usize>(stack) });
    }
}

/// Prepares [`in_file`], and the unwinder, which sets itself up at its first use.
pub(crate) fn prepare() {
    let executable = Executable::running();
    let segments = executable.segments(libc::PT_LOAD);
    let code = segments.filter(|header| header.p_flags & libc::PF_X != 0);
    let (mut start, mut end) = (usize::MAX, 0);
    for header in code {
        let from = executable.bias + header.p_vaddr as usize;
        start = start.min(from);
        end = end.max(from + header.p_memsz as usize);
    }
    for (place, value) in CODE.iter().zip([executable.bias, start, end]) {
        place.store(value, Relaxed);
    }
    walk(|_| true);
}

/// The return address as an address in the executable's file; `None` if it is in a library, or before [`prepare`].
pub(crate) fn in_file(address: usize) -> Option<u64> {
    let [bias, start, end] = [0, 1, 2].map(|i| CODE[i].load(Relaxed));
    (start < address && address <= end).then(|| (address - bias) as u64)
}
