//! Signals that concern the explored program.

use super::SetupError;
use crate::image::callers;
use crate::platform::signals::{Callbacks, CrashInfo, CrashKind, Interrupted, SignalHandler};
use dpor_explorer::ThreadId;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A fatal signal of the explored program. For [`watch`].
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// The signal's number.
    pub signal: i32,
    /// The accessed address; 0 if the signal is not about an access.
    pub address: usize,
    /// The model thread that was running.
    pub thread: Option<ThreadId>,
    /// Whether the thread's stack has overflowed.
    pub stack_overflow: bool,
    /// The position of the program.
    pub place: Place,
}

/// The position of the explored program when a signal came. For [`watch`].
#[derive(Clone, Copy, Debug)]
pub struct Place(Interrupted);

impl Place {
    /// Calls `found` with the return addresses of the model thread's frames, innermost first, as addresses in the
    /// executable's file, which [`functions_at`](super::functions_at) takes. Frames of libraries are left out.
    /// Async-signal-safe if `found` is, and only for the callback that received this: the stack is still there then.
    /// Where the stack is damaged, the process may die in this call.
    pub fn callers(&self, mut found: impl FnMut(u64)) {
        /// Maximum number of callers; those further out are of no interest.
        const CALLERS: usize = 48;
        let mut count = 0;
        callers::walk_interrupted(self.0.instruction, self.0.stack, |address| {
            count += 1;
            callers::in_file(address).into_iter().for_each(&mut found);
            count < CALLERS
        });
    }
}

impl Crash {
    fn of(info: &CrashInfo) -> Crash {
        let overflowing = match info.kind {
            CrashKind::StackOverflow(thread) => Some(thread),
            _ => None,
        };
        Crash {
            signal: info.signal,
            address: info.address,
            thread: overflowing.or(info.thread).map(|thread| ThreadId(thread as u32)),
            stack_overflow: overflowing.is_some(),
            place: Place(info.place),
        }
    }
}

/// Watches the signals of the calling OS thread as long as it lives.
pub struct Watch(#[expect(dead_code, reason = "held for its destructor")] SignalHandler);

/// Calls `crashed` when the calling OS thread receives a fatal signal, and `asked` when it receives the signal
/// `question`. Both must be async-signal-safe. `crashed` may end the process; otherwise the previous handler goes on.
///
/// # Errors
/// Another watch is alive, or there is no memory.
pub fn watch(crashed: fn(Crash), question: i32, asked: fn(Place)) -> Result<Watch, SetupError> {
    #[unsafe(link_section = ".dpor.data")]
    static CRASHED: AtomicUsize = AtomicUsize::new(0);
    #[unsafe(link_section = ".dpor.data")]
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    CRASHED.store(crashed as usize, Relaxed);
    ASKED.store(asked as usize, Relaxed);
    callers::prepare();
    let handler = SignalHandler::install(Callbacks {
        crashed: |info| {
            // SAFETY: only the function above stores here, and only values of this type.
            let crashed = unsafe { mem::transmute::<usize, fn(Crash)>(CRASHED.load(Relaxed)) };
            crashed(Crash::of(info));
        },
        question,
        asked: |place| {
            // SAFETY: likewise.
            let asked = unsafe { mem::transmute::<usize, fn(Place)>(ASKED.load(Relaxed)) };
            asked(Place(place));
        },
    });
    handler
        .map(Watch)
        .map_err(|error| SetupError(format!("cannot watch for crashes: {error}")))
}
