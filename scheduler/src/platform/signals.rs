//! Signals that concern the explored program: fatal ones, caught on their own stack and classified, and one that asks
//! where it is.

use crate::image::region;
use crate::image::stacks;
use crate::image::tls::thread_pointer;
use libc::{c_int, c_void, siginfo_t};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The signals that mean a crash.
const SIGNALS: [c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGABRT,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
];

/// Size of the handler's stack: enough for a callback that formats, and for a processor with large vector registers.
const STACK_SIZE: usize = 128 << 10;

/// What a fatal signal means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CrashKind {
    /// The model thread with this index has overflowed its stack.
    StackOverflow(usize),
    /// An access through a null pointer, or a small offset from one.
    NullAccess,
    /// An access to another address that is not accessible.
    InvalidAccess,
    /// No access: `abort`, an illegal instruction, a trap, a division.
    Other,
}

/// A fatal signal that the model's thread has received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrashInfo {
    /// The signal's number.
    pub signal: c_int,
    /// What it means.
    pub kind: CrashKind,
    /// The address of the access or instruction, 0 where there is none.
    pub address: usize,
    /// The index of the model thread whose stack was in use.
    pub thread: Option<usize>,
    /// Where the thread was.
    pub place: Interrupted,
}

/// The position of a thread when a signal came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interrupted {
    /// The address of the instruction.
    pub instruction: usize,
    /// The stack pointer.
    pub stack: usize,
}

impl Interrupted {
    /// # Safety
    ///
    /// The argument is that of a signal handler.
    unsafe fn of(context: *const c_void) -> Interrupted {
        // SAFETY: the caller's promise.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        Interrupted {
            instruction: registers[libc::REG_RIP as usize] as usize,
            stack: registers[libc::REG_RSP as usize] as usize,
        }
    }
}

/// The functions that signal handlers call. They must be async-signal-safe.
#[derive(Clone, Copy)]
pub(crate) struct Callbacks {
    /// Called on a fatal signal. May end the process; if it returns, the previous handler goes on.
    pub crashed: fn(&CrashInfo),
    /// The signal that asks where the thread is.
    pub question: c_int,
    /// Called when that signal has come.
    pub asked: fn(Interrupted),
}

/// The functions to call, or 0: for a fatal signal, and for the signal that asks.
#[unsafe(link_section = ".dpor.data")]
static CALLBACKS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// The thread pointer of the thread whose crashes are ours, or 0.
#[unsafe(link_section = ".dpor.data")]
static OWNER: AtomicUsize = AtomicUsize::new(0);

/// The previous handlers, which go on after ours. Only `install` writes them, while none of our handlers is installed.
#[unsafe(link_section = ".dpor.data")]
static mut PREVIOUS: [MaybeUninit<libc::sigaction>; SIGNALS.len()] = [MaybeUninit::uninit(); SIGNALS.len()];

/// Reports signals of the thread that created it, as long as it lives.
pub(crate) struct SignalHandler {
    stack: *mut c_void,
    previous_stack: libc::stack_t,
    /// The signal that asks, and its previous handler.
    question: (c_int, libc::sigaction),
}

impl SignalHandler {
    /// Calls the callbacks when the calling thread receives a fatal signal, or is asked where it is.
    ///
    /// Signals of other threads go to the handlers that were installed before.
    ///
    /// # Errors
    ///
    /// There is no memory for the handlers' stack, or another `SignalHandler` is alive.
    pub(crate) fn install(callbacks: Callbacks) -> io::Result<SignalHandler> {
        if OWNER.compare_exchange(0, thread_pointer(), Relaxed, Relaxed).is_err() {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another model runs in this process",
            ));
        }
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: a new mapping.
        let stack = unsafe { libc::mmap(ptr::null_mut(), STACK_SIZE, protection, flags, -1, 0) };
        if stack == libc::MAP_FAILED {
            OWNER.store(0, Relaxed);
            return Err(io::Error::last_os_error());
        }
        CALLBACKS[0].store(callbacks.crashed as usize, Relaxed);
        CALLBACKS[1].store(callbacks.asked as usize, Relaxed);
        let ours = libc::stack_t {
            ss_sp: stack,
            ss_flags: 0,
            ss_size: STACK_SIZE,
        };
        // SAFETY: all-zero values are valid for all these types; the stack stays mapped until `drop`, and `OWNER` makes
        // this the only writer of `PREVIOUS`.
        unsafe {
            let mut previous_stack: libc::stack_t = std::mem::zeroed();
            libc::sigaltstack(&ours, &mut previous_stack);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = crashes as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // If looking at the stack of a crashed program crashes as well, the process ends then and there.
            for signal in SIGNALS {
                libc::sigaddset(&mut action.sa_mask, signal);
            }
            for (i, signal) in SIGNALS.into_iter().enumerate() {
                libc::sigaction(signal, &action, (&raw mut PREVIOUS[i]).cast());
            }
            let mut question: (c_int, libc::sigaction) = (callbacks.question, std::mem::zeroed());
            action.sa_sigaction = is_asked as *const () as usize;
            action.sa_mask = std::mem::zeroed();
            action.sa_flags |= libc::SA_RESTART;
            libc::sigaction(question.0, &action, &mut question.1);
            Ok(SignalHandler {
                stack,
                previous_stack,
                question,
            })
        }
    }
}

impl Drop for SignalHandler {
    fn drop(&mut self) {
        // SAFETY: `install` has filled `PREVIOUS`; the stack is ours and no handler runs on it.
        unsafe {
            for (i, signal) in SIGNALS.into_iter().enumerate() {
                libc::sigaction(signal, (&raw const PREVIOUS[i]).cast(), ptr::null_mut());
            }
            libc::sigaction(self.question.0, &self.question.1, ptr::null_mut());
            libc::sigaltstack(&self.previous_stack, ptr::null_mut());
            libc::munmap(self.stack, STACK_SIZE);
        }
        OWNER.store(0, Relaxed);
    }
}

/// Classifies the signal, with the registers of the interrupted code.
///
/// # Safety
///
/// The arguments are those of a signal handler.
unsafe fn classify(signal: c_int, info: *const siginfo_t, context: *const c_void) -> CrashInfo {
    // SAFETY: the caller's promise.
    let (info, place) = unsafe { (&*info, Interrupted::of(context)) };
    // Only a fault says where. Addresses that are not canonical come without one (code SI_KERNEL, 0x80).
    let faulted = info.si_code > 0 && info.si_code != 0x80 && signal != libc::SIGABRT;
    // SAFETY: signals of faults have an address.
    let address = if faulted { unsafe { info.si_addr() as usize } } else { 0 };
    let kind = match signal {
        libc::SIGSEGV | libc::SIGBUS if !faulted && info.si_code <= 0 => CrashKind::Other,
        libc::SIGSEGV | libc::SIGBUS => match stacks::overflowed(address) {
            Some(thread) => CrashKind::StackOverflow(thread),
            None if faulted && address < region::PAGE => CrashKind::NullAccess,
            None => CrashKind::InvalidAccess,
        },
        _ => CrashKind::Other,
    };
    // An overflow may have taken the pointer into the guard, which is still its thread's slot.
    let thread = region::in_stacks(place.stack).then(|| region::stack_thread(place.stack));
    CrashInfo {
        signal,
        kind,
        address,
        thread,
        place,
    }
}

unsafe extern "C" fn crashes(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    if OWNER.load(Relaxed) == thread_pointer() {
        // SAFETY: the kernel's arguments are passed on; `CALLBACKS` holds what `install` has put there.
        unsafe {
            let crash = classify(signal, info, context);
            std::mem::transmute::<usize, fn(&CrashInfo)>(CALLBACKS[0].load(Relaxed))(&crash);
        }
    }
    // SAFETY: the kernel's arguments are passed on.
    unsafe { chain(signal, info, context) };
}

unsafe extern "C" fn is_asked(_signal: c_int, _info: *mut siginfo_t, context: *mut c_void) {
    if OWNER.load(Relaxed) == thread_pointer() {
        // SAFETY: `CALLBACKS` holds what `install` has put there, and the context is the kernel's.
        unsafe {
            let asked = std::mem::transmute::<usize, fn(Interrupted)>(CALLBACKS[1].load(Relaxed));
            asked(Interrupted::of(context));
        }
    }
}

/// Does what would have happened without our handler.
///
/// # Safety
///
/// The arguments are those of a signal handler.
unsafe fn chain(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(i) = SIGNALS.iter().position(|&known| known == signal) else {
        return;
    };
    // SAFETY: our handler is installed, so `PREVIOUS` is filled; a handler gets the arguments of its kind.
    unsafe {
        let previous = (&raw const PREVIOUS[i]).read().assume_init();
        match previous.sa_sigaction {
            libc::SIG_IGN => {}
            libc::SIG_DFL => {
                libc::sigaction(signal, &previous, ptr::null_mut());
                if (*info).si_code <= 0 {
                    // Nothing will fault again on return. The signal stays blocked until then.
                    libc::raise(signal);
                }
            }
            handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
                type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
                std::mem::transmute::<usize, Handler>(handler)(signal, info, context);
            }
            handler => std::mem::transmute::<usize, unsafe extern "C" fn(c_int)>(handler)(signal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::callers;
    use crate::image::testing::{Model, on_thread};
    use crate::report::symbols::Symbols;
    use std::hint::black_box;
    use std::sync::atomic::AtomicBool;

    const CALLBACKS: Callbacks = Callbacks {
        crashed: |_| (),
        question: libc::SIGURG,
        asked: |_| (),
    };

    /// Runs `crash` in a child process and returns what the callback saw, or how the child died.
    fn in_child(callback: fn(&CrashInfo), crash: impl FnOnce()) -> Result<String, c_int> {
        let _model = Model::enter();
        let (mut ends, mut status) = ([0; 2], 0);
        // SAFETY: the child only makes calls that do without locks of other threads, and ends in this block.
        unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let child = libc::fork();
            if child == 0 {
                libc::dup2(ends[1], 2);
                let _handler = SignalHandler::install(Callbacks {
                    crashed: callback,
                    ..CALLBACKS
                });
                crash();
                libc::_exit(9);
            }
            libc::close(ends[1]);
            let mut seen = [0u8; 256];
            let length = libc::read(ends[0], seen.as_mut_ptr().cast(), seen.len());
            libc::close(ends[0]);
            libc::waitpid(child, &mut status, 0);
            let seen = String::from_utf8_lossy(&seen[..length.max(0) as usize]).into_owned();
            if libc::WIFSIGNALED(status) {
                Err(libc::WTERMSIG(status))
            } else {
                Ok(seen)
            }
        }
    }

    fn report(crash: &CrashInfo) {
        let text = format!(
            "{} {:?} {:#x} {:?}",
            crash.signal, crash.kind, crash.address, crash.thread
        );
        // SAFETY: writes a buffer and ends the process.
        unsafe {
            libc::write(2, text.as_ptr().cast(), text.len());
            libc::_exit(0);
        }
    }

    fn recurse(depth: usize) -> usize {
        let frame = black_box([depth; 64]);
        if depth == 0 {
            frame[0]
        } else {
            recurse(black_box(depth - 1)) + frame[1]
        }
    }

    #[test]
    fn crashes_are_classified() {
        // SAFETY: the reads crash the child on purpose.
        let read = |address: usize| unsafe { black_box(address as *const u8).read_volatile() };
        let null = || on_thread(2, || read(8));
        assert_eq!(in_child(report, || _ = null()).unwrap(), "11 NullAccess 0x8 Some(2)");
        let wild = || _ = read(0x123000);
        assert_eq!(in_child(report, wild).unwrap(), "11 InvalidAccess 0x123000 None");
        let wild = || _ = read(1 << 63);
        assert_eq!(in_child(report, wild).unwrap(), "11 InvalidAccess 0x0 None");
        let deep = || _ = on_thread(5, || recurse(usize::MAX));
        let overflow = in_child(report, deep).unwrap();
        assert!(
            overflow.starts_with("11 StackOverflow(5) 0x1000") && overflow.ends_with("Some(5)"),
            "{overflow}"
        );
        let abort = || on_thread(1, || std::process::abort());
        assert_eq!(in_child(report, abort).unwrap(), "6 Other 0x0 Some(1)");
        // SAFETY: executes an illegal instruction on purpose.
        let trap = || on_thread(1, || unsafe { std::arch::asm!("ud2") });
        assert!(in_child(report, trap).unwrap().starts_with("4 Other"));
    }

    /// The functions of this file that were running, innermost first, without their modules.
    fn own_functions(place: Interrupted) -> String {
        let mut addresses = Vec::new();
        callers::walk_interrupted(place.instruction, place.stack, |address| {
            addresses.push(address);
            addresses.len() < 16
        });
        let symbols = Symbols::of_executable();
        let frames = addresses.iter().flat_map(|&address| symbols.frames(address));
        let own = frames.filter_map(|caller| {
            let caller = caller.to_string();
            let (function, _) = caller
                .strip_prefix("dpor_scheduler::platform::signals::tests::")?
                .split_once(' ')?;
            Some(format!(" {function}"))
        });
        own.collect()
    }

    fn tell_where(crash: &CrashInfo) {
        let text = own_functions(crash.place);
        // SAFETY: writes a buffer and ends the process.
        unsafe {
            libc::write(2, text.as_ptr().cast(), text.len());
            libc::_exit(0);
        }
    }

    #[inline(never)]
    fn reads_null() -> u8 {
        // SAFETY: reads null on purpose.
        black_box(unsafe { black_box(ptr::null::<u8>()).read_volatile() })
    }

    #[inline(never)]
    fn calls_null() -> u8 {
        // SAFETY: calls null on purpose.
        let function = unsafe { std::mem::transmute::<usize, Option<fn() -> u8>>(black_box(1)) };
        black_box(function.map_or(0, |function| function()))
    }

    #[inline(never)]
    fn aborts() -> u8 {
        std::process::abort()
    }

    #[inline(never)]
    fn overflows() -> usize {
        black_box(recurse(usize::MAX))
    }

    /// Its caller, so that it is on the stack itself.
    #[inline(never)]
    fn outer<R>(f: fn() -> R) -> R {
        black_box(black_box(f)())
    }

    #[test]
    fn a_crash_is_located_on_the_stack_of_the_thread() {
        let functions = |f: fn() -> u8| in_child(tell_where, || _ = on_thread(2, || outer(f))).unwrap();
        assert!(
            functions(reads_null).starts_with(" reads_null outer"),
            "{}",
            functions(reads_null)
        );
        // Of the frame that never was there is nothing, and of the caller's callers nobody knows.
        assert!(
            functions(calls_null).ends_with(" calls_null"),
            "{}",
            functions(calls_null)
        );
        assert!(functions(aborts).starts_with(" aborts"), "{}", functions(aborts));
        let overflow = in_child(tell_where, || _ = on_thread(2, || outer(overflows))).unwrap();
        assert!(overflow.starts_with(" recurse recurse"), "{overflow}");
        // Nothing is said of the checker's own stacks.
        assert_eq!(in_child(tell_where, || _ = outer(reads_null)).unwrap(), "");
    }

    #[test]
    fn a_thread_says_where_it_is_and_goes_on() {
        static SEEN: std::sync::Mutex<String> = std::sync::Mutex::new(String::new());
        static DONE: AtomicBool = AtomicBool::new(false);
        #[inline(never)]
        fn works() {
            // SAFETY: the signal has a handler.
            unsafe { libc::raise(libc::SIGURG) };
            assert!(DONE.load(Relaxed));
        }
        let _model = Model::enter();
        let _handler = SignalHandler::install(Callbacks {
            asked: |place| {
                *SEEN.lock().unwrap() = own_functions(place);
                DONE.store(true, Relaxed);
            },
            ..CALLBACKS
        });
        on_thread(1, works);
        let seen = SEEN.lock().unwrap();
        assert!(seen.contains("works"), "{seen}");
    }

    #[test]
    fn without_an_end_in_the_callback_the_process_dies_as_ever() {
        // SAFETY: reads null on purpose.
        let null = || _ = unsafe { black_box(ptr::null::<u8>()).read_volatile() };
        assert_eq!(in_child(|_| (), null), Err(libc::SIGSEGV));
        assert_eq!(in_child(|_| (), || std::process::abort()), Err(libc::SIGABRT));
        // SAFETY: kills the child.
        let trap = || _ = unsafe { libc::raise(libc::SIGTRAP) };
        assert_eq!(in_child(|_| (), trap), Err(libc::SIGTRAP));
    }

    #[test]
    fn one_model_at_a_time() {
        let _model = Model::enter();
        let handler = SignalHandler::install(CALLBACKS).unwrap();
        assert!(SignalHandler::install(CALLBACKS).is_err());
        drop(handler);
        SignalHandler::install(CALLBACKS).unwrap();
    }
}
