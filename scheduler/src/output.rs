//! The explored program's output, which is held back during exploration.

use crate::runtime::{on_model, on_model_thread};
use dpor_explorer::ThreadId;
use std::fmt;

/// The stream on which the program prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// One piece of output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The stream.
    pub stream: Stream,
    /// The thread that printed it.
    pub thread: ThreadId,
    /// The text.
    pub text: String,
}

/// Prints: into the execution's buffer on a model thread, to the real stream elsewhere.
///
/// # Panics
/// Off model threads as the macros of std do, if the stream cannot be written to.
pub fn print(stream: Stream, text: fmt::Arguments<'_>) {
    if !on_model_thread() {
        match stream {
            Stream::Out => std::print!("{text}"),
            Stream::Err => std::eprint!("{text}"),
        }
        return;
    }
    // Formatting runs the program's code: on its own account, outside the scheduler.
    let text = fmt::format(text);
    on_model(|runtime| {
        let thread = runtime.current;
        runtime.output.push(Output {
            stream,
            thread,
            text: text.as_str().to_owned(),
        });
    });
}

/// Writes what the current execution has printed to a file descriptor. For a process that is about to die: a signal
/// handler of the model's OS thread may call it.
pub fn dump(descriptor: i32) {
    let Some(runtime) = crate::runtime::installed() else {
        return;
    };
    // SAFETY: a signal handler interrupts the model's OS thread, so nobody else uses the runtime; it is only read.
    for piece in unsafe { &(*runtime).output } {
        // SAFETY: the text is borrowed. What cannot be written is lost.
        unsafe { libc::write(descriptor, piece.text.as_ptr().cast(), piece.text.len()) };
    }
}
