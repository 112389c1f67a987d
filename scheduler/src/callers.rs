//! The position of a model thread: the return addresses of its frames.
//!
//! The walk is that of the library which unwinds panics, by the executable's unwind tables. It starts wherever it is
//! asked for, on the checker's stack or on that of a signal handler, and shows only what is on a model thread's stack.
//! In a signal handler it allocates nothing and writes nothing, and takes no lock but the dynamic linker's, which is
//! recursive (none at all with glibc 2.35 or later).

use crate::memory::executable::Executable;
use crate::memory::region;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

unsafe extern "C" {
    /// The stack walk of the C++ ABI, from the library that unwinds panics.
    fn _Unwind_Backtrace(frame: extern "C" fn(*mut c_void, *mut c_void) -> i32, argument: *mut c_void) -> i32;
    /// The instruction of a frame. Sets the second argument if a signal interrupted the frame before this instruction;
    /// otherwise a call returns to it.
    fn _Unwind_GetIPInfo(context: *mut c_void, before: *mut i32) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    /// The unwind table's entry for the function at an address; null if there is none.
    fn _Unwind_FindEnclosingFunction(address: *mut c_void) -> *mut c_void;
}

/// The offset that the linker added to every address of the executable, and the range of its code. Set once, so that a
/// signal handler need not ask.
#[unsafe(link_section = ".dpor.bss")]
static CODE: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// Calls `found` with the return address of each frame of the running model thread, innermost first, until `found`
/// wants no more. For a frame that a signal has interrupted, the address is that of the byte after the first byte of
/// the interrupted instruction: as with a return address, the byte before it belongs to the instruction in question.
pub(crate) fn walk<F: FnMut(usize) -> bool>(found: F) {
    struct Walk<F> {
        found: F,
        begun: bool,
    }
    extern "C" fn frame<F: FnMut(usize) -> bool>(context: *mut c_void, walk: *mut c_void) -> i32 {
        let mut before = 0;
        // SAFETY: called with a valid context, and the value below.
        let (walk, address, stack) = unsafe {
            let address = _Unwind_GetIPInfo(context, &raw mut before);
            (&mut *walk.cast::<Walk<F>>(), address, _Unwind_GetCFA(context))
        };
        // Before the thread's frames are those of the checker, and after them those of who has resumed it.
        let goes_on = match region::in_stacks(stack) {
            true => {
                walk.begun = true;
                (walk.found)(address + usize::from(before != 0))
            }
            false => !walk.begun,
        };
        // Not 0 ends the walk.
        i32::from(!goes_on)
    }
    let mut walk = Walk { found, begun: false };
    // SAFETY: the value outlives the walk, which goes from the caller's stack to that of the thread.
    unsafe { _Unwind_Backtrace(frame::<F>, (&raw mut walk).cast()) };
}

/// Like [`walk`], from a signal handler that has interrupted the instruction at an address, with the stack pointer at
/// that time.
pub(crate) fn walk_interrupted<F: FnMut(usize) -> bool>(instruction: usize, stack: usize, mut found: F) {
    // SAFETY: only looks for the address in the tables. It takes return addresses.
    let known = unsafe { !_Unwind_FindEnclosingFunction(ptr::without_provenance_mut(instruction + 1)).is_null() };
    if known {
        walk(found);
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
