//! Hooks that LLVM's ThreadSanitizer pass calls, in code that is built with it, before each plain access to memory.
//!
//! The explored program and its dependencies are built so, and nothing else: the checker and the non-generic functions
//! of the facades are not. There is no runtime of ThreadSanitizer: these functions have its names and its signatures
//! (`compiler-rt/lib/tsan/rtl/tsan_interface.h`), and hand each access to [`plain`].
//!
//! Atomic accesses are operations of the facades, and the pass is told to leave them out, as well as the entries and
//! exits of functions. So the hooks of these do not exist here, and neither does `__tsan_init`, which only the module
//! pass calls. `__tsan_vptr_*` is for C++. Volatile accesses are plain ones.
//!
//! The functions have these names in the facades only: who depends on the scheduler otherwise may build with the real
//! ThreadSanitizer.

#![cfg_attr(
    not(any(dpor_facade, feature = "faults")),
    allow(dead_code, reason = "nobody calls the functions by other names")
)]

use crate::api::plain;
use libc::{c_int, c_void, size_t};
use std::arch::naked_asm;

/// Defines hooks of accesses with a size that their names end with. They hand on the address to which they return.
macro_rules! hooks {
    ($($size:literal: $read:ident $write:ident $unaligned_read:ident $unaligned_write:ident;)*) => {
        $(
            hooks!(@hook $read, plain::READ, $size, "Before a plain read.");
            hooks!(@hook $write, plain::WRITE, $size, "Before a plain write, or a read and a write.");
            hooks!(@hook $unaligned_read, plain::READ, $size, "Before a plain read that may be unaligned.");
            hooks!(
                @hook $unaligned_write, plain::WRITE, $size,
                "Before a plain write, or a read and a write, that may be unaligned."
            );
        )*
    };
    (@hook $name:ident, $kind:expr, $size:literal, $doc:literal) => {
        #[doc = $doc]
        #[cfg_attr(any(dpor_facade, feature = "faults"), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub extern "C" fn $name(address: *const c_void) {
            naked_asm!(
                "cmp byte ptr [rip + {watching}], 0",
                "jne 2f",
                "ret",
                "2:",
                "mov esi, {size}",
                "mov edx, {kind}",
                "mov rcx, qword ptr [rsp]",
                "jmp {judge}",
                watching = sym plain::WATCHING,
                size = const $size,
                kind = const $kind,
                judge = sym plain::judge_from_thread,
            )
        }
    };
}

hooks! {
    1: __tsan_read1 __tsan_write1 __tsan_unaligned_read1 __tsan_unaligned_write1;
    2: __tsan_read2 __tsan_write2 __tsan_unaligned_read2 __tsan_unaligned_write2;
    4: __tsan_read4 __tsan_write4 __tsan_unaligned_read4 __tsan_unaligned_write4;
    8: __tsan_read8 __tsan_write8 __tsan_unaligned_read8 __tsan_unaligned_write8;
    16: __tsan_read16 __tsan_write16 __tsan_unaligned_read16 __tsan_unaligned_write16;
}

/// `memcpy`, in instrumented code.
///
/// # Safety
///
/// As for the C library's function, but source and destination may be the same.
#[cfg_attr(any(dpor_facade, feature = "faults"), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_memcpy(to: *mut c_void, from: *const c_void, size: size_t) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { __tsan_memmove(to, from, size) }
}

/// `memmove`, in instrumented code.
///
/// # Safety
///
/// As for the C library's function.
#[cfg_attr(any(dpor_facade, feature = "faults"), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_memmove(to: *mut c_void, from: *const c_void, size: size_t) -> *mut c_void {
    read_range(from, size);
    write_range(to, size);
    // SAFETY: the caller's promise.
    unsafe { libc::memmove(to, from, size) }
}

/// `memset`, in instrumented code.
///
/// # Safety
///
/// As for the C library's function.
#[cfg_attr(any(dpor_facade, feature = "faults"), unsafe(no_mangle))]
pub unsafe extern "C" fn __tsan_memset(to: *mut c_void, byte: c_int, size: size_t) -> *mut c_void {
    write_range(to, size);
    // SAFETY: the caller's promise.
    unsafe { libc::memset(to, byte, size) }
}

/// `memcmp`, in instrumented code, which calls it by this name (`renames.yaml`).
///
/// # Safety
///
/// As for the C library's function.
#[cfg_attr(any(dpor_facade, feature = "faults"), unsafe(no_mangle))]
pub unsafe extern "C" fn __dpor_memcmp(left: *const c_void, right: *const c_void, size: size_t) -> c_int {
    read_range(left, size);
    read_range(right, size);
    // SAFETY: the caller's promise.
    unsafe { libc::memcmp(left, right, size) }
}

/// `bcmp`, in instrumented code, which calls it by this name (`renames.yaml`).
///
/// # Safety
///
/// As for the C library's function.
#[cfg_attr(any(dpor_facade, feature = "faults"), unsafe(no_mangle))]
pub unsafe extern "C" fn __dpor_bcmp(left: *const c_void, right: *const c_void, size: size_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { __dpor_memcmp(left, right, size) }
}

#[inline]
fn read_range(from: *const c_void, size: usize) {
    if size != 0 {
        plain::read(from.addr(), size);
    }
}

#[inline]
fn write_range(to: *mut c_void, size: usize) {
    if size != 0 {
        plain::write(to.addr(), size);
    }
}
