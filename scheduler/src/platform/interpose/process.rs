//! Threads and processes beside the model, which are recognised and not explored, and the end of the process.

use super::{EXIT_HOOK, interposed, unsupported};
use crate::image::arena::in_program;
use libc::{c_int, c_long};
use std::sync::atomic::Ordering::Relaxed;

const THREAD: &str = "a thread of the operating system (pthread_create)";
const PROCESS: &str = "a process";

/// Recognises a system call that starts one.
pub(super) fn call(number: c_long) -> Option<c_long> {
    match number {
        libc::SYS_clone | libc::SYS_clone3 => Some(unsupported("a thread or process (clone)")),
        libc::SYS_fork | libc::SYS_vfork => Some(unsupported(PROCESS)),
        _ => None,
    }
}

/// Refuses a function that returns -1, or the error.
fn refused(what: &'static str, error: Option<c_int>) -> Option<c_long> {
    in_program().then(|| {
        let failed = unsupported(what);
        error.map_or(failed, c_long::from)
    })
}

/// Announces that the explored program ends its process, if the caller is the program.
pub(super) fn ended(code: usize) -> Option<c_long> {
    let hook = EXIT_HOOK.load(Relaxed);
    if in_program() && hook != 0 {
        // SAFETY: only `set_exit_hook` writes the static, and only functions of this type.
        unsafe { std::mem::transmute::<usize, fn(i32)>(hook)(code as c_int) };
    }
    None
}

interposed! {
    _exit(code) = SYS_exit_group => ended(code);
    _Exit(code) = SYS_exit_group => ended(code);
}

/// Forgets what the explored program wants to have called when its process is copied, since it cannot copy it. The C
/// library would keep a list of such calls, from one execution to the next.
fn never_copied() -> Option<c_long> {
    in_program().then_some(0)
}

interposed! {
    exit(code) => ended(code);
    quick_exit(code) => ended(code);
    pthread_create(thread, attributes, start, argument) => refused(THREAD, Some(libc::EAGAIN));
    // `pthread_atfork` is linked with the executable, and calls this.
    __register_atfork(prepare, parent, child, library) => never_copied();
    fork() => refused("a process (fork)", None);
    // What comes next names descriptors, which may be the model's: the C library would find them wrong.
    posix_spawn_file_actions_init(actions) => refused("a process (posix_spawn)", Some(libc::ENOSYS));
    posix_spawn(pid, path, actions, attributes, arguments, environment) =>
        refused("a process (posix_spawn)", Some(libc::ENOSYS));
    posix_spawnp(pid, path, actions, attributes, arguments, environment) =>
        refused("a process (posix_spawn)", Some(libc::ENOSYS));
    system(command) => refused("a process (system)", None);
    clone(function, stack, flags, argument, a, b, c) => refused("a thread or process (clone)", None);
}
