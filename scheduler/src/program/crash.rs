//! Fatal signals of the explored program.

use super::SetupError;
use crate::platform::signals::{CrashHandler, CrashInfo, CrashKind};
use dpor_explorer::ThreadId;
use std::mem;

/// What a fatal signal says of the explored program. For [`on_crash`].
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// The signal's number.
    pub signal: i32,
    /// The address that was accessed; 0 if the signal is not about an access.
    pub address: usize,
    /// The model thread that ran.
    pub thread: Option<ThreadId>,
    /// The thread's stack is used up.
    pub stack_overflow: bool,
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
        }
    }
}

/// Reports fatal signals of the calling OS thread, as long as it lives.
pub struct CrashReporter(#[expect(dead_code, reason = "held for its destructor")] CrashHandler);

/// Has `callback` called when the calling OS thread receives a fatal signal. It must be async-signal-safe, and may
/// end the process; otherwise the handler that was there before goes on.
///
/// # Errors
/// Another reporter is alive, or there is no memory.
pub fn on_crash(callback: fn(Crash)) -> Result<CrashReporter, SetupError> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    #[unsafe(link_section = ".dpor.data")]
    static CALLBACK: AtomicUsize = AtomicUsize::new(0);
    CALLBACK.store(callback as usize, Ordering::Relaxed);
    let handler = CrashHandler::install(|info| {
        // SAFETY: only the function above stores here, and only values of this type.
        let callback = unsafe { mem::transmute::<usize, fn(Crash)>(CALLBACK.load(Ordering::Relaxed)) };
        callback(Crash::of(info));
    });
    handler
        .map(CrashReporter)
        .map_err(|error| SetupError(format!("cannot watch for crashes: {error}")))
}
