//! Functions of the C library that this crate replaces, as the executable's own definition comes first.
//!
//! * [`clock`]: the explored program sees the model's virtual time, and sleeps in it.
//! * [`random`]: it gets random bytes that are the same in every execution.
//! * [`futex`], [`pthread`]: where it waits, and wakes, are operations of the model.
//! * [`descriptors`]: pipes, pairs of sockets, `eventfd` and `epoll` are the model's own.
//! * [`process`], [`blocking`]: threads and processes beside the model, and calls that would stop the model's one
//!   thread, are recognised.
//! * [`memory`], [`files`]: passed on, but noted: the program keeps something then where the checker does not see it.
//! * [`signals`]: what the program does on signals is part of its state.
//!
//! `syscall` does the same for the system calls behind them. Off the model's threads all are those of the C library and
//! the kernel. Calls that the C library makes inside itself are not seen.

mod blocking;
mod clock;
mod descriptors;
mod files;
mod futex;
mod memory;
mod process;
mod pthread;
mod random;
mod signals;

use crate::api;
use crate::image::arena::in_program;
use crate::image::region;
use crate::image::switch::in_checker;
use libc::{c_int, c_long, c_void};
use std::arch::asm;
use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The function to call when the program requests what cannot be explored, or 0.
#[unsafe(link_section = ".dpor.data")]
static UNSUPPORTED_HOOK: AtomicUsize = AtomicUsize::new(0);

/// Sets the function to call, with the call's name, when the explored program makes a call that cannot be explored.
///
/// The hook runs on the model thread's stack and may not return. If it returns, the call fails with `ENOSYS`.
pub(crate) fn set_unsupported_hook(hook: fn(&'static str)) {
    UNSUPPORTED_HOOK.store(hook as usize, Relaxed);
}

/// The function to call when the program ends its process, or 0.
#[unsafe(link_section = ".dpor.data")]
static EXIT_HOOK: AtomicUsize = AtomicUsize::new(0);

/// Sets the function to call, with the exit code, when the explored program ends its process. It runs on the model
/// thread's stack. If it returns, the process ends.
pub(crate) fn set_exit_hook(hook: fn(i32)) {
    EXIT_HOOK.store(hook as usize, Relaxed);
}

/// The function to call when the program creates something that the checker does not see, or 0.
#[unsafe(link_section = ".dpor.data")]
static OUT_OF_SIGHT_HOOK: AtomicUsize = AtomicUsize::new(0);

/// Sets the function to call, with a name, when the explored program creates something that the checker does not see:
/// memory that is not its own, files. It runs on the model thread's stack.
pub(crate) fn set_out_of_sight_hook(hook: fn(&str)) {
    OUT_OF_SIGHT_HOOK.store(hook as usize, Relaxed);
}

/// Notes that the explored program calls this function, if the caller is the program.
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

/// Says whether the address is in memory of the explored program. A wait at any other address does not concern the
/// model: at a lock of the real standard library, say, which threads beside the model use as well.
fn is_programs(address: usize) -> bool {
    region::in_arena(address) || region::in_stacks(address) || api::in_statics(address)
}

/// A function of the C library that one of ours precedes.
struct Next {
    name: &'static CStr,
    /// The symbol version, where the name alone means an older function.
    version: Option<&'static CStr>,
    found: AtomicUsize,
}

impl Next {
    const fn new(name: &'static CStr, version: Option<&'static CStr>) -> Next {
        Next {
            name,
            version,
            found: AtomicUsize::new(0),
        }
    }

    /// Its address, or null if the C library has no such function.
    ///
    /// The first call of all looks for it. So each asks on the checker's stack, and the program's own looks the same.
    fn get(&self) -> *const c_void {
        in_checker(|| {
            if self.found.load(Relaxed) == 0 {
                // SAFETY: names and versions end with a null byte.
                let found = unsafe {
                    match self.version {
                        Some(version) => libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr()),
                        None => libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()),
                    }
                };
                self.found.store(found as usize, Relaxed);
            }
            std::ptr::with_exposed_provenance(self.found.load(Relaxed))
        })
    }
}

/// Defines functions that replace those of the C library and evaluate the expression. Where it is `None`, the call is
/// passed on: as a system call where one is named, else to the C library's own function. A system call on a descriptor
/// of the model is made by the model, and the expression is not evaluated.
macro_rules! interposed {
    ($($name:ident($($argument:ident),*) $([$version:literal])? => $model:expr;)*) => {
        $($crate::platform::interpose::interposed!(@function $name($($argument),*), $model, {
            #[unsafe(link_section = ".dpor.data")]
            static NEXT: $crate::platform::interpose::Next = $crate::platform::interpose::Next::new(
                match ::std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without null bytes"),
                },
                $crate::platform::interpose::interposed!(@version $($version)?),
            );
            let next = NEXT.get();
            if next.is_null() {
                return $crate::platform::interpose::failed(::libc::ENOSYS);
            }
            // SAFETY: the C library's function of that name takes words, and returns a word or less. The caller's
            // promise.
            unsafe {
                ::std::mem::transmute::<
                    *const ::libc::c_void,
                    unsafe extern "C" fn($($crate::platform::interpose::interposed!(@word $argument)),*)
                        -> ::libc::c_long,
                >(next)($($argument),*)
            }
        });)*
    };
    ($($name:ident($($argument:ident),*) = $number:ident => $model:expr;)*) => {
        $($crate::platform::interpose::interposed!(@function $name($($argument),*), {
            let arguments = $crate::platform::interpose::padded([$($argument),*].into_iter());
            $crate::platform::interpose::descriptors::modelled(::libc::$number, arguments).or_else(|| $model)
        }, {
            // SAFETY: the caller's promise.
            unsafe { $crate::platform::interpose::system_call(::libc::$number, [$($argument),*].into_iter()) }
        });)*
    };
    (@function $name:ident($($argument:ident),*), $model:expr, $otherwise:block) => {
        #[doc = concat!("`", stringify!($name), "`, as of the C library.")]
        ///
        /// # Safety
        ///
        /// As for the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: usize),*) -> ::libc::c_long {
            if let Some(result) = $model {
                return result;
            }
            $otherwise
        }
    };
    (@word $argument:ident) => { usize };
    (@version) => { None };
    (@version $version:literal) => { Some($version) };
}
use interposed;

/// `syscall(2)`. The C library's function takes any number of arguments; a system call has at most six, and the calling
/// convention passes both alike.
///
/// # Safety
///
/// That of the system call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    if in_program() {
        // SAFETY: the caller's promise.
        let modelled = unsafe {
            match number {
                libc::SYS_futex => futex::call([a, b, c, d, e, f]),
                libc::SYS_getrandom => random::get(a, b),
                libc::SYS_clock_gettime => clock::get(a, b),
                libc::SYS_nanosleep => clock::nano_sleep(a),
                libc::SYS_clock_nanosleep => clock::sleep_on(a, b, c).map(negative_or_zero),
                libc::SYS_sched_yield => clock::give_way(),
                libc::SYS_exit_group => process::ended(a),
                libc::SYS_rt_sigaction => signals::called(a, b != 0),
                _ => process::call(number)
                    .or_else(|| descriptors::call(number, [a, b, c, d, e, f]))
                    .or_else(|| blocking::call(number, [a, b, c, d, e, f])),
            }
        };
        if let Some(result) = modelled {
            return result;
        }
        if let Some(name) = files::noted_name(number) {
            note_out_of_sight(name);
        }
    }
    // SAFETY: the caller's promise.
    unsafe { system_call(number, [a, b, c, d, e, f].into_iter()) }
}

/// The result of a system call whose function returns the error.
fn negative_or_zero(error: c_long) -> c_long {
    if error == 0 { 0 } else { failed(error as c_int) }
}

/// Six arguments, of which the last are zero.
fn padded(arguments: impl Iterator<Item = usize>) -> [usize; 6] {
    let mut all = [0; 6];
    all.iter_mut()
        .zip(arguments)
        .for_each(|(place, argument)| *place = argument);
    all
}

/// Makes a system call with up to six arguments as the C library does.
///
/// # Safety
///
/// That of the system call.
unsafe fn system_call(number: c_long, arguments: impl Iterator<Item = usize>) -> c_long {
    // SAFETY: the caller's promise.
    let result = unsafe { raw(number, padded(arguments)) };
    if (-4095..0).contains(&result) {
        failed(-result as c_int)
    } else {
        result
    }
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

/// Makes the system call itself: returns its result, or the negative error.
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
    use crate::image::arena;
    use crate::image::testing::{Model, on_thread};
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
        set_unsupported_hook(|what| CALLED.store(what.starts_with("futex wait"), Relaxed));
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
            crate::image::switch::in_checker(|| NOTED.lock().unwrap().push(what.to_owned()));
        }
        let _model = Model::enter();
        set_out_of_sight_hook(note);
        let calls: [(&str, fn()); 13] = [
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
            ("SYS_memfd_create", || unsafe {
                let made = libc::syscall(libc::SYS_memfd_create, c"memory".as_ptr(), 0);
                assert_eq!(libc::close(made as c_int), 0);
            }),
            ("open", || {
                drop(std::fs::File::options().write(true).open("/dev/null").unwrap())
            }),
            ("fcntl", || {
                let file = std::fs::File::open("/dev/null").unwrap();
                assert_eq!(crate::image::files::are_open(), in_program());
                drop(file.try_clone().unwrap());
                drop(file);
                assert!(!crate::image::files::are_open());
            }),
            ("chmod", || unsafe {
                assert_eq!(libc::chmod(c"/nowhere/at/all".as_ptr(), 0o600), -1)
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
            crate::image::switch::in_checker(|| drop(black_box(vec![1; 100])));
            // The C library would allocate an entry of its list.
            assert_eq!(unsafe { libc::pthread_atfork(None, None, None) }, 0);
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
