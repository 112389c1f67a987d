//! Functions of the C library that this crate takes the place of, as the executable's own definition comes first.
//!
//! * `clock_gettime` gives the explored program the model's virtual time, so that std's clocks are its clocks.
//! * `getrandom` gives the explored program bytes that are the same in every execution.
//! * `pthread_create` would start a thread beside the model.
//! * `syscall` does so for that call, and recognises waiting on a futex, which would stop the model's one thread.
//!
//! Off the model's threads both are the kernel's. Calls that the C library makes inside itself are not seen.

use crate::memory::arena::in_program;
use crate::memory::region;
use libc::{c_int, c_long, c_uint, c_void, clockid_t, pthread_attr_t, pthread_t, size_t, ssize_t, timespec};
use std::arch::asm;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
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

/// The seed of the next random bytes, if they are to be the same in every execution: it depends on the thread, and on
/// how often the thread has drawn before.
fn draw() -> Option<u64> {
    if in_program() {
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
    // SAFETY: the caller's promise.
    let result = unsafe { raw(number, [a, b, c, d, e, f]) };
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
