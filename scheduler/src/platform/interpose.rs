//! Functions of the C library that this crate takes the place of, as the executable's own definition comes first.
//!
//! * `clock_gettime` gives the explored program the model's virtual time, so that std's clocks are its clocks.
//! * `getrandom` gives the explored program bytes that are the same in every execution.
//! * `pthread_create` would start a thread beside the model.
//! * `syscall` does so for that call, and recognises waiting on a futex, which would stop the model's one thread.
//! * `malloc`, `mmap`, `open` and their kin are passed on, but noted when the explored program calls them: it keeps
//!   something then where the checker does not see it.
//!
//! Off the model's threads all are those of the C library and the kernel. Calls that the C library makes inside itself are not seen.

use crate::memory::arena::in_program;
use crate::memory::region;
use crate::ownership;
use libc::{c_int, c_long, c_uint, c_void, clockid_t, pthread_attr_t, pthread_t, size_t, ssize_t, timespec};
use std::arch::asm;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The function to call when the program asks for what cannot be explored, or 0.
#[unsafe(link_section = ".dpor.data")]
static UNSUPPORTED_HOOK: AtomicUsize = AtomicUsize::new(0);

/// Links this file into the executable, and sets what is called, with its name, when the explored program makes a system
/// call that cannot be explored.
///
/// The hook runs on the model thread's stack and may not return. If it returns, the call fails with `ENOSYS`.
pub(crate) fn set_unsupported_hook(hook: fn(&'static str)) {
    UNSUPPORTED_HOOK.store(hook as usize, Relaxed);
}

/// The function to call when the program makes something that is out of the checker's sight, or 0.
#[unsafe(link_section = ".dpor.data")]
static OUT_OF_SIGHT_HOOK: AtomicUsize = AtomicUsize::new(0);

/// Sets what is called, with a name for it, when the explored program makes something that the checker does not see: memory
/// that is not its own, files. The hook runs on the model thread's stack.
pub(crate) fn set_out_of_sight_hook(hook: fn(&str)) {
    OUT_OF_SIGHT_HOOK.store(hook as usize, Relaxed);
}

/// Notes that the explored program calls this function, if it is the one who calls.
#[inline(always)]
fn note_out_of_sight(what: &'static str) {
    #[cold]
    fn note(what: &str) {
        let hook = OUT_OF_SIGHT_HOOK.load(Relaxed);
        if hook != 0 {
            // SAFETY: only `set_out_of_sight_hook` writes the static, and only functions of this type.
            unsafe { std::mem::transmute::<usize, fn(&str)>(hook)(what) };
        }
    }
    if in_program() {
        note(what);
    }
}

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

/// Functions that are system calls of the same arguments, noted.
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
                note_out_of_sight(stringify!($name));
                // SAFETY: the caller's promise.
                unsafe { system_call(libc::$number, [$($argument),*].into_iter()) }
            }
        )*

        /// The name of a system call by which a program makes what is out of sight.
        fn noted_name(number: c_long) -> Option<&'static str> {
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

/// The files that the program has open for reading: a bit for each descriptor. How far it has read them is out of sight.
#[unsafe(link_section = ".dpor.data")]
static READ_FILES: [AtomicU64; 16] = [const { AtomicU64::new(0) }; 16];

/// Says whether the program has a file open, so that its state is out of sight until it closes it.
pub(crate) fn reads_files() -> bool {
    READ_FILES.iter().any(|descriptors| descriptors.load(Relaxed) != 0)
}

/// Forgets the files that an execution has left open.
pub(crate) fn forget_files() {
    READ_FILES.iter().for_each(|descriptors| descriptors.store(0, Relaxed));
}

/// The word and the bit of a descriptor, if it has one.
fn read_file(descriptor: c_long) -> Option<(&'static AtomicU64, u64)> {
    let descriptor = usize::try_from(descriptor).ok()?;
    Some((READ_FILES.get(descriptor / 64)?, 1 << (descriptor % 64)))
}

/// Opens a file; notes that unless it is for reading only.
///
/// # Safety
///
/// That of `openat(2)`.
unsafe fn open_noted(directory: usize, path: usize, flags: usize, mode: usize) -> c_long {
    // SAFETY: the caller's promise.
    let descriptor = unsafe { system_call(libc::SYS_openat, [directory, path, flags, mode].into_iter()) };
    if in_program() && descriptor >= 0 {
        let writes = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
        match read_file(descriptor) {
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
    if in_program()
        && let Some((descriptors, bit)) = read_file(c_long::from(descriptor))
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
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
        note_out_of_sight("fcntl");
    }
    let arguments = [descriptor as usize, command as usize, argument];
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

/// Functions of the C library that are passed on to it, noted.
macro_rules! noted_functions {
    ($($name:ident($($argument:ident),*);)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`, as of the C library.")]
            ///
            /// # Safety
            ///
            /// As for the C library's function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: usize),*) -> c_int {
                note_out_of_sight(stringify!($name));
                // SAFETY: the name ends with a null byte.
                let next = unsafe { libc::dlsym(libc::RTLD_NEXT, concat!(stringify!($name), "\0").as_ptr().cast()) };
                if next.is_null() {
                    return failed(libc::ENOSYS) as c_int;
                }
                // SAFETY: the C library's function of that name takes words and returns an integer.
                unsafe {
                    std::mem::transmute::<*mut c_void, unsafe extern "C" fn($(noted_functions!(@word $argument)),*) -> c_int>(next)(
                        $($argument),*
                    )
                }
            }
        )*
    };
    (@word $argument:ident) => { usize };
}

noted_functions! {
    setenv(name, value, overwrite);
    unsetenv(name);
    putenv(assignment);
    clearenv();
}

/// The seed of the next random bytes, if they are to be the same in every execution: it depends on the thread, and on
/// how often the thread has drawn before.
fn draw() -> Option<u64> {
    if in_program() {
        ownership::visible();
        let thread = region::stack_thread(region::stack_pointer());
        // SAFETY: a model thread runs, so the region is reserved and its record is not used by anyone else.
        let draws = unsafe { &mut (*region::record(thread)).draws };
        if *draws == 0 {
            region::mark_used(thread);
        }
        *draws += 1;
        return Some((thread as u64 + 1) << 40 ^ *draws);
    }
    None
}

/// Fills `size` bytes with the stream of SplitMix64 (Steele, Lea, Flood 2014) that `seed` starts.
///
/// # Safety
///
/// The bytes can be written.
unsafe fn fill(buffer: *mut u8, size: usize, seed: u64) {
    let mut state = seed.wrapping_mul(0xD1B5_4A32_D192_ED03);
    for start in (0..size).step_by(8) {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^= word >> 31;
        // SAFETY: the caller's promise; no more than the rest is written.
        unsafe { std::ptr::copy_nonoverlapping((&raw const word).cast(), buffer.add(start), (size - start).min(8)) };
    }
}

/// What the model's clocks show when an execution starts: an hour of uptime, and the first day of 2026.
const UPTIME: Duration = Duration::from_secs(3_600);
const UNIX_TIME: Duration = Duration::from_secs(1_767_225_600);

/// `clock_gettime(2)`.
///
/// # Safety
///
/// As for the C library's function: a value can be written to `time`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if !in_program() {
        // SAFETY: the caller's promise.
        return unsafe { syscall(libc::SYS_clock_gettime, clock as usize, time as usize, 0, 0, 0, 0) as c_int };
    }
    let start = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => UNIX_TIME,
        _ => UPTIME,
    };
    let now = start.saturating_add(crate::time::now());
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    // SAFETY: the caller's promise.
    unsafe {
        time.write(timespec {
            tv_sec: seconds,
            tv_nsec: i64::from(now.subsec_nanos()),
        })
    };
    0
}

/// `pthread_create(3)`.
///
/// # Safety
///
/// As for the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(
        *mut pthread_t,
        *const pthread_attr_t,
        extern "C" fn(*mut c_void) -> *mut c_void,
        *mut c_void,
    ) -> c_int;
    if in_program() {
        unsupported("a thread of the operating system (pthread_create)");
        return libc::EAGAIN;
    }
    // SAFETY: the name ends with a null byte.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
    if next.is_null() {
        return libc::ENOSYS;
    }
    // SAFETY: the C library's function of that name has this type.
    let next = unsafe { std::mem::transmute::<*mut c_void, Create>(next) };
    // SAFETY: the caller's promise.
    unsafe { next(thread, attributes, start, argument) }
}

/// `getrandom(2)`.
///
/// # Safety
///
/// As for the C library's function: `size` bytes at `buffer` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, size: size_t, flags: c_uint) -> ssize_t {
    // SAFETY: the caller's promise.
    unsafe { syscall(libc::SYS_getrandom, buffer as usize, size, flags as usize, 0, 0, 0) as ssize_t }
}

/// `syscall(2)`. The C library's function takes any number of arguments; six is the most that a system call has, and the
/// calling convention passes both alike.
///
/// # Safety
///
/// That of the system call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    if number == libc::SYS_getrandom
        && let Some(seed) = draw()
    {
        // SAFETY: the caller's promise, as for `getrandom`.
        unsafe { fill(a as *mut u8, b, seed) };
        return b as c_long;
    }
    // A wake-up is let through: it never blocks, and someone off the model may wait.
    if number == libc::SYS_futex && is_wait(b as c_int) && in_program() {
        return unsupported("futex wait");
    }
    if let Some(name) = noted_name(number) {
        note_out_of_sight(name);
    }
    // SAFETY: the caller's promise.
    unsafe { system_call(number, [a, b, c, d, e, f].into_iter()) }
}

/// The system call with up to six arguments, as the C library makes it.
///
/// # Safety
///
/// That of the system call.
unsafe fn system_call(number: c_long, arguments: impl Iterator<Item = usize>) -> c_long {
    let mut all = [0; 6];
    all.iter_mut()
        .zip(arguments)
        .for_each(|(place, argument)| *place = argument);
    // SAFETY: the caller's promise.
    let result = unsafe { raw(number, all) };
    if (-4095..0).contains(&result) {
        failed(-result as c_int)
    } else {
        result
    }
}

fn is_wait(operation: c_int) -> bool {
    matches!(
        operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME),
        libc::FUTEX_WAIT
            | libc::FUTEX_WAIT_BITSET
            | libc::FUTEX_LOCK_PI
            | libc::FUTEX_LOCK_PI2
            | libc::FUTEX_WAIT_REQUEUE_PI
    )
}

#[cold]
fn unsupported(what: &'static str) -> c_long {
    let hook = UNSUPPORTED_HOOK.load(Relaxed);
    if hook != 0 {
        // SAFETY: only `set_unsupported_hook` writes the static, and only functions of this type.
        unsafe { std::mem::transmute::<usize, fn(&'static str)>(hook)(what) };
    }
    failed(libc::ENOSYS)
}

fn failed(error: c_int) -> c_long {
    // SAFETY: the C library's own place for the calling thread's error.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// The system call itself: its result, or the negative error.
///
/// # Safety
///
/// That of the system call.
unsafe fn raw(number: c_long, arguments: [usize; 6]) -> c_long {
    let result;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the caller's promise; the kernel changes no other registers than these.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::arena;
    use crate::memory::testing::{Model, on_thread};
    use std::collections::HashSet;
    use std::hint::black_box;
    use std::sync::atomic::{AtomicBool, AtomicU32};
    use std::sync::{Arc, Condvar, Mutex, Once};

    /// Bytes as the C library's callers get them.
    fn bytes() -> [u8; 19] {
        let mut bytes = [0; 19];
        // SAFETY: the buffer has that size.
        let length = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        assert_eq!(length, 19);
        bytes
    }

    #[test]
    fn random_bytes_depend_on_the_thread_and_its_history_only() {
        let _model = Model::enter();
        let run = || {
            // SAFETY: nothing of the arenas is used any more.
            unsafe { arena::reset() };
            [0, 1, 1, 2].map(|thread| on_thread(thread, bytes))
        };
        let first = run();
        assert_eq!(first, run());
        assert!(first[0] != first[1] && first[1] != first[2] && first[2] != first[3]);
        assert_ne!(bytes(), bytes());
    }

    #[test]
    fn the_order_of_a_hash_map_is_the_same_in_every_execution() {
        let _model = Model::enter();
        let order = || {
            // SAFETY: nothing of the arenas is used any more.
            unsafe { arena::reset() };
            // A thread of its own, as it has no hash keys yet.
            let fresh = || {
                on_thread(0, || {
                    HashSet::<u32>::from_iter(0..50)
                        .into_iter()
                        .map(|i| i.to_string())
                        .collect::<String>()
                })
            };
            std::thread::spawn(move || fresh().clone()).join().unwrap()
        };
        assert_eq!(order(), order());
    }

    #[test]
    fn waiting_on_a_futex_is_unsupported_in_the_program_only() {
        static CALLED: AtomicBool = AtomicBool::new(false);
        let _model = Model::enter();
        set_unsupported_hook(|what| CALLED.store(what == "futex wait", Relaxed));
        let word = AtomicU32::new(0);
        let futex = |operation: c_int, value: u32| {
            // SAFETY: the word is borrowed, and no time-out is given.
            let result =
                unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, 0usize, 0usize, 0u32) };
            (result, std::io::Error::last_os_error().raw_os_error().unwrap())
        };
        assert_eq!(
            on_thread(0, || futex(libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, 0)),
            (-1, libc::ENOSYS)
        );
        assert!(CALLED.swap(false, Relaxed));
        assert_eq!(on_thread(0, || futex(libc::FUTEX_WAKE, 1)).0, 0);
        assert_eq!(futex(libc::FUTEX_WAIT, 1), (-1, libc::EAGAIN));
        assert!(!CALLED.load(Relaxed));
    }

    #[test]
    #[expect(
        clippy::undocumented_unsafe_blocks,
        reason = "all call the C library's functions with valid arguments, and free blocks once"
    )]
    fn what_is_out_of_sight_is_noted_in_the_program_only() {
        static NOTED: Mutex<Vec<String>> = Mutex::new(Vec::new());
        fn note(what: &str) {
            crate::memory::switch::in_checker(|| NOTED.lock().unwrap().push(what.to_owned()));
        }
        let _model = Model::enter();
        set_out_of_sight_hook(note);
        let calls: [(&str, fn()); 12] = [
            ("malloc", || unsafe { libc::free(black_box(libc::malloc(100))) }),
            ("calloc", || unsafe { libc::free(black_box(libc::calloc(3, 100))) }),
            ("realloc", || unsafe {
                libc::free(black_box(libc::realloc(black_box(libc::malloc(5)), 50)))
            }),
            ("memalign", || unsafe { libc::free(black_box(libc::memalign(64, 5))) }),
            ("posix_memalign", || unsafe {
                let mut block = std::ptr::null_mut();
                assert_eq!(libc::posix_memalign(&raw mut block, 3, 5), libc::EINVAL);
                assert_eq!(libc::posix_memalign(&raw mut block, 256, 5), 0);
                assert!(block.addr().is_multiple_of(256));
                libc::free(block);
            }),
            // The C library's own use is seen as well.
            ("malloc", || unsafe {
                libc::free(black_box(libc::strdup(c"text".as_ptr())).cast())
            }),
            ("mmap", || unsafe {
                let (shared, any) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, std::ptr::null_mut());
                let page = libc::mmap(any, 4096, libc::PROT_READ | libc::PROT_WRITE, shared, -1, 0);
                page.cast::<u8>().write(1);
                assert_eq!(libc::munmap(page, 4096), 0);
            }),
            ("SYS_pipe2", || unsafe {
                let mut ends = [0; 2];
                assert_eq!(libc::syscall(libc::SYS_pipe2, ends.as_mut_ptr(), 0), 0);
                assert_eq!(ends.map(|end| libc::close(end)), [0, 0]);
            }),
            ("open", || {
                drop(std::fs::File::options().write(true).open("/dev/null").unwrap())
            }),
            ("fcntl", || {
                let file = std::fs::File::open("/dev/null").unwrap();
                assert_eq!(reads_files(), in_program());
                drop(file.try_clone().unwrap());
                drop(file);
                assert!(!reads_files());
            }),
            ("setenv", || unsafe { std::env::set_var("DPOR_TEST", "1") }),
            ("unsetenv", || unsafe { std::env::remove_var("DPOR_TEST") }),
        ];
        for (name, call) in calls {
            call();
            assert_eq!(*NOTED.lock().unwrap(), [""; 0], "{name}");
            on_thread(0, call);
            assert!(NOTED.lock().unwrap().drain(..).any(|noted| noted == name), "{name}");
        }
        on_thread(0, || {
            drop(black_box(vec![1; 100]));
            crate::memory::switch::in_checker(|| drop(black_box(vec![1; 100])));
        });
        assert_eq!(*NOTED.lock().unwrap(), [""; 0]);
        OUT_OF_SIGHT_HOOK.store(0, Relaxed);
    }

    #[test]
    fn the_real_primitives_work_off_the_model() {
        let shared = Arc::new((Mutex::new(0), Condvar::new(), Once::new()));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let shared = shared.clone();
                std::thread::spawn(move || {
                    shared
                        .2
                        .call_once(|| std::thread::sleep(std::time::Duration::from_millis(10)));
                    for _ in 0..10_000 {
                        *shared.0.lock().unwrap() += 1;
                    }
                    shared.1.notify_all();
                })
            })
            .collect();
        let done = shared
            .1
            .wait_while(shared.0.lock().unwrap(), |count| *count < 40_000)
            .unwrap();
        drop(done);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn errors_are_set_as_the_c_library_sets_them() {
        // SAFETY: closes what is not open.
        assert_eq!(unsafe { libc::syscall(libc::SYS_close, -1) }, -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
        // SAFETY: takes no arguments.
        assert_eq!(unsafe { libc::syscall(libc::SYS_getpid) }, std::process::id() as c_long);
    }
}
