//! Functions of libraries that the executable imports.
//!
//! The C library keeps state that nobody sees: the seed of `rand`, the position of `strtok`, the locale, the
//! environment. A prefix of an execution that is run again changes it again as before, and a saved state that is copied
//! back does not. So states are not saved if the program could have changed such state.

use object::read::elf::ElfFile64;
use object::{NativeEndian, Object, ObjectSymbol};

/// Functions that the real standard library imports, and those of the mathematics library, in order. None of them keeps
/// state that the explored program could depend on: they only compute, they tell what stays the same, they belong to
/// the unwinder or the loader, or they begin something that is out of sight anyway (a process, a thread, a signal
/// handler), which the scheduler refuses or notes. `errno` is part of saved states.
const HARMLESS: &[&str] = &[
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "_Unwind_Backtrace",
    "_Unwind_DeleteException",
    "_Unwind_FindEnclosingFunction",
    "_Unwind_GetCFA",
    "_Unwind_GetDataRelBase",
    "_Unwind_GetIP",
    "_Unwind_GetIPInfo",
    "_Unwind_GetLanguageSpecificData",
    "_Unwind_GetRegionStart",
    "_Unwind_GetTextRelBase",
    "_Unwind_RaiseException",
    "_Unwind_Resume",
    "_Unwind_SetGR",
    "_Unwind_SetIP",
    "__cxa_finalize",
    "__cxa_thread_atexit_impl",
    "__errno_location",
    "__gmon_start__",
    "__libc_calloc",
    "__libc_malloc",
    "__libc_memalign",
    "__libc_realloc",
    "__libc_start_main",
    "__stack_chk_fail",
    "__tls_get_addr",
    "__xpg_strerror_r",
    "abort",
    "acos",
    "acosf",
    "acosh",
    "acoshf",
    "asin",
    "asinf",
    "asinh",
    "asinhf",
    "atan",
    "atan2",
    "atan2f",
    "atanf",
    "atanh",
    "atanhf",
    "bcmp",
    "cbrt",
    "cbrtf",
    "ceil",
    "ceilf",
    "chroot",
    "closedir",
    "cos",
    "cosf",
    "cosh",
    "coshf",
    "dirfd",
    "dl_iterate_phdr",
    "dlsym",
    "dlvsym",
    "environ",
    "erf",
    "erff",
    "execvp",
    "exp",
    "exp2",
    "exp2f",
    "expf",
    "expm1",
    "expm1f",
    "fdim",
    "fdimf",
    "floor",
    "floorf",
    "fma",
    "fmaf",
    "fmod",
    "fmodf",
    "free",
    "fstat64",
    "ftruncate64",
    "getauxval",
    "getcwd",
    "getenv",
    "getpid",
    "getpwuid_r",
    "gettid",
    "getuid",
    "gnu_get_libc_version",
    "hypot",
    "hypotf",
    "ioctl",
    "isatty",
    "ldexp",
    "log",
    "log10",
    "log10f",
    "log1p",
    "log1pf",
    "log2",
    "log2f",
    "logf",
    "lseek64",
    "madvise",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memrchr",
    "memset",
    "mprotect",
    "munmap",
    "pidfd_getpid",
    "pidfd_spawnp",
    "posix_spawn_file_actions_addchdir",
    "posix_spawn_file_actions_addchdir_np",
    "posix_spawn_file_actions_adddup2",
    "posix_spawn_file_actions_destroy",
    "posix_spawn_file_actions_init",
    "posix_spawnattr_destroy",
    "posix_spawnattr_init",
    "posix_spawnattr_setflags",
    "posix_spawnattr_setpgroup",
    "posix_spawnattr_setsigdefault",
    "pow",
    "powf",
    "prctl",
    "pthread_attr_destroy",
    "pthread_attr_getguardsize",
    "pthread_attr_getstack",
    "pthread_attr_init",
    "pthread_attr_setstacksize",
    "pthread_detach",
    "pthread_getattr_np",
    "pthread_join",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_self",
    "pthread_setname_np",
    "pthread_setspecific",
    "raise",
    "readdir64",
    "readlink",
    "realpath",
    "rint",
    "rintf",
    "round",
    "roundf",
    "sched_getaffinity",
    "setgid",
    "setgroups",
    "setpgid",
    "setsid",
    "setuid",
    "sigaction",
    "sigaddset",
    "sigaltstack",
    "sigemptyset",
    "signal",
    "sin",
    "sinf",
    "sinh",
    "sinhf",
    "sqrt",
    "sqrtf",
    "stat64",
    "statx",
    "strlen",
    "sysconf",
    "tan",
    "tanf",
    "tanh",
    "tanhf",
    "tgamma",
    "tgammaf",
    "trunc",
    "truncf",
];

/// The first function that the executable imports and that may keep state, if there is one. `file` has the executable's
/// bytes.
pub(crate) fn with_state(file: &ElfFile64<'_, NativeEndian>) -> Option<String> {
    let imported = file.dynamic_symbols().filter(|symbol| symbol.is_undefined());
    let mut names = imported.filter_map(|symbol| symbol.name().ok());
    let unknown = names.find(|name| !name.is_empty() && HARMLESS.binary_search(name).is_err())?;
    Some(unknown.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(HARMLESS.is_sorted());
        for name in [
            "rand",
            "srand",
            "strtok",
            "setenv",
            "setlocale",
            "fopen",
            "localtime",
            "opendir",
        ] {
            assert!(HARMLESS.binary_search(&name).is_err(), "{name} keeps state");
        }
    }

    #[test]
    fn imports_of_this_executable_are_found() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let file = ElfFile64::parse(bytes.as_slice()).unwrap();
        // SAFETY: the numbers are nobody's.
        unsafe { libc::srand(1) };
        assert!(with_state(&file).is_some(), "`srand` is imported just above");
    }
}
