//! Mappings, files and the environment: state of the explored program that the checker does not see.

use super::descriptors::modelled;
use super::{interposed, note_out_of_sight, padded, system_call};
use crate::api;
use crate::image::arena::in_program;
use crate::image::files;
use libc::{c_int, c_long};
use std::sync::atomic::Ordering::Relaxed;

/// Functions that are system calls with the same arguments, which are noted.
macro_rules! noted_system_calls {
    ($($name:ident = $number:ident($($argument:ident),*);)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`, as of the C library.")]
            ///
            /// # Safety
            ///
            /// As for the C library's function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: usize),*) -> c_long {
                if let Some(result) = modelled(libc::$number, padded([$($argument),*].into_iter())) {
                    return result;
                }
                note_out_of_sight(stringify!($name));
                // SAFETY: the caller's promise.
                unsafe { system_call(libc::$number, [$($argument),*].into_iter()) }
            }
        )*

        /// The name of a system call with which a program creates state that the checker does not see.
        pub(super) fn noted_name(number: c_long) -> Option<&'static str> {
            match number {
                $(libc::$number => Some(stringify!($number)),)*
                libc::SYS_open => Some("SYS_open"),
                libc::SYS_openat => Some("SYS_openat"),
                libc::SYS_openat2 => Some("SYS_openat2"),
                libc::SYS_brk => Some("SYS_brk"),
                _ => None,
            }
        }
    };
}

noted_system_calls! {
    mmap = SYS_mmap(address, size, protection, flags, descriptor, offset);
    mremap = SYS_mremap(address, size, new_size, flags, new_address);
    shmat = SYS_shmat(id, address, flags);
    creat = SYS_creat(path, mode);
    dup = SYS_dup(descriptor);
    dup2 = SYS_dup2(descriptor, other);
    dup3 = SYS_dup3(descriptor, other, flags);
    memfd_create = SYS_memfd_create(name, flags);
    pipe = SYS_pipe(descriptors);
    pipe2 = SYS_pipe2(descriptors, flags);
    socket = SYS_socket(domain, kind, protocol);
    socketpair = SYS_socketpair(domain, kind, protocol, descriptors);
    eventfd = SYS_eventfd2(value, flags);
    timerfd_create = SYS_timerfd_create(clock, flags);
    epoll_create = SYS_epoll_create(size);
    epoll_create1 = SYS_epoll_create1(flags);
    mkdir = SYS_mkdir(path, mode);
    rmdir = SYS_rmdir(path);
    rename = SYS_rename(from, to);
    link = SYS_link(from, to);
    symlink = SYS_symlink(from, to);
    unlink = SYS_unlink(path);
    unlinkat = SYS_unlinkat(directory, path, flags);
    truncate = SYS_truncate(path, size);
    chdir = SYS_chdir(path);
}

/// Opens a file, and notes that unless it is opened only for reading.
///
/// # Safety
///
/// That of `openat(2)`.
unsafe fn open_noted(directory: usize, path: usize, flags: usize, mode: usize) -> c_long {
    // SAFETY: the caller's promise.
    let descriptor = unsafe { system_call(libc::SYS_openat, [directory, path, flags, mode].into_iter()) };
    if in_program() && descriptor >= 0 {
        let writes = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
        match files::bit_of(descriptor) {
            Some((descriptors, bit)) if flags as c_int & writes == libc::O_RDONLY => {
                descriptors.fetch_or(bit, Relaxed);
            }
            _ => note_out_of_sight("open"),
        }
    }
    descriptor
}

/// `open(2)`.
///
/// # Safety
///
/// As for the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: usize, flags: usize, mode: usize) -> c_long {
    // SAFETY: the caller's promise.
    unsafe { open_noted(libc::AT_FDCWD as usize, path, flags, mode) }
}

/// `openat(2)`.
///
/// # Safety
///
/// As for the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat(directory: usize, path: usize, flags: usize, mode: usize) -> c_long {
    // SAFETY: the caller's promise.
    unsafe { open_noted(directory, path, flags, mode) }
}

/// `close(2)`.
///
/// # Safety
///
/// As for the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    if let Some(result) = modelled(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]) {
        return result as c_int;
    }
    if in_program()
        && let Some((descriptors, bit)) = files::bit_of(c_long::from(descriptor))
    {
        descriptors.fetch_and(!bit, Relaxed);
    }
    // SAFETY: the caller's promise.
    unsafe { system_call(libc::SYS_close, [descriptor as usize].into_iter()) as c_int }
}

/// `fcntl(2)`, which can make a second descriptor of an open file.
///
/// # Safety
///
/// As for the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl(descriptor: c_int, command: c_int, argument: usize) -> c_int {
    let arguments = [descriptor as usize, command as usize, argument];
    if let Some(result) = modelled(libc::SYS_fcntl, padded(arguments.into_iter())) {
        return result as c_int;
    }
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
        note_out_of_sight("fcntl");
    }
    // SAFETY: the caller's promise.
    unsafe { system_call(libc::SYS_fcntl, arguments.into_iter()) as c_int }
}

// The same functions under the names of large files, which x86-64 does not distinguish.
std::arch::global_asm!(
    ".globl mmap64",
    ".type mmap64, @function",
    ".set mmap64, {mmap}",
    ".globl open64",
    ".type open64, @function",
    ".set open64, {open}",
    ".globl openat64",
    ".type openat64, @function",
    ".set openat64, {openat}",
    ".globl fcntl64",
    ".type fcntl64, @function",
    ".set fcntl64, {fcntl}",
    mmap = sym mmap,
    open = sym open,
    openat = sym openat,
    fcntl = sym fcntl,
);

interposed! {
    chmod(path, mode) => note("chmod");
    chown(path, user, group) => note("chown");
    lchown(path, user, group) => note("lchown");
    fchmod(descriptor, mode) => note("fchmod");
    fchown(descriptor, user, group) => note("fchown");
    linkat(directory, from, other, to, flags) => note("linkat");
    mkfifo(path, mode) => note("mkfifo");
    utimensat(directory, path, times, flags) => note("utimensat");
    futimens(descriptor, times) => note("futimens");
    setenv(name, value, overwrite) => note("setenv");
    unsetenv(name) => note("unsetenv");
    putenv(assignment) => note("putenv");
    clearenv() => note("clearenv");
}

/// Notes the function, and passes the call on to the C library.
fn note(function: &'static str) -> Option<c_long> {
    note_out_of_sight(function);
    None
}

/// How far the program has read a folder is known to the kernel only: the steps that lead to a state are run again
/// instead of copying it back. Passes the call on.
fn reads_folder() -> Option<c_long> {
    if in_program() {
        api::on_model(|machine| machine.session.replays = true);
    }
    None
}

interposed! {
    opendir(path) => reads_folder();
    fdopendir(descriptor) => reads_folder();
}
