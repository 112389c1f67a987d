//! The C library's heap: its use by the explored program is noted.

use super::note_out_of_sight;
use libc::{c_int, c_void, size_t};

unsafe extern "C" {
    // What the C library's `malloc` and so on are themselves called; those of the plain names are below.
    fn __libc_malloc(size: size_t) -> *mut c_void;
    fn __libc_calloc(count: size_t, size: size_t) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: size_t) -> *mut c_void;
    fn __libc_memalign(align: size_t, size: size_t) -> *mut c_void;
}

// The names are weak, so that a program that brings its own `malloc` can be linked.
std::arch::global_asm!(
    ".weak malloc",
    ".type malloc, @function",
    ".set malloc, {malloc}",
    ".weak calloc",
    ".type calloc, @function",
    ".set calloc, {calloc}",
    ".weak realloc",
    ".type realloc, @function",
    ".set realloc, {realloc}",
    ".weak memalign",
    ".type memalign, @function",
    ".set memalign, {memalign}",
    ".weak aligned_alloc",
    ".type aligned_alloc, @function",
    ".set aligned_alloc, {memalign}",
    ".weak posix_memalign",
    ".type posix_memalign, @function",
    ".set posix_memalign, {posix_memalign}",
    malloc = sym noted_malloc,
    calloc = sym noted_calloc,
    realloc = sym noted_realloc,
    memalign = sym noted_memalign,
    posix_memalign = sym noted_posix_memalign,
);

unsafe extern "C" fn noted_malloc(size: size_t) -> *mut c_void {
    note_out_of_sight("malloc");
    // SAFETY: any size is valid.
    unsafe { __libc_malloc(size) }
}

unsafe extern "C" fn noted_calloc(count: size_t, size: size_t) -> *mut c_void {
    note_out_of_sight("calloc");
    // SAFETY: any sizes are valid.
    unsafe { __libc_calloc(count, size) }
}

unsafe extern "C" fn noted_realloc(block: *mut c_void, size: size_t) -> *mut c_void {
    note_out_of_sight("realloc");
    // SAFETY: the caller's promise.
    unsafe { __libc_realloc(block, size) }
}

unsafe extern "C" fn noted_memalign(align: size_t, size: size_t) -> *mut c_void {
    note_out_of_sight("memalign");
    // SAFETY: the caller's promise.
    unsafe { __libc_memalign(align, size) }
}

unsafe extern "C" fn noted_posix_memalign(to: *mut *mut c_void, align: size_t, size: size_t) -> c_int {
    note_out_of_sight("posix_memalign");
    if !align.is_power_of_two() || align < size_of::<usize>() {
        return libc::EINVAL;
    }
    // SAFETY: the alignment is valid, and the caller promises that `to` can be written.
    unsafe {
        let block = __libc_memalign(align, size);
        if block.is_null() {
            return libc::ENOMEM;
        }
        to.write(block);
    }
    0
}
