//! The explored program's output, which is held back during exploration.

use super::{on_model, on_model_thread};
use crate::machine::cell;
pub use crate::machine::logs::{Output, Stream};
use std::fmt;

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
    on_model(|machine| {
        let thread = machine.step.thread;
        machine.execution.output.0.push(Output {
            stream,
            thread,
            text: text.as_str().to_owned(),
        });
    });
}

/// Writes what the current execution has printed to a file descriptor. For a process that is about to die: a signal
/// handler of the model's OS thread may call it.
pub fn dump(descriptor: i32) {
    let Some(machine) = cell::installed() else {
        return;
    };
    // SAFETY: a signal handler interrupts the model's OS thread, so nobody else uses the machine; it is only read.
    for piece in unsafe { &(*machine).execution.output.0 } {
        // SAFETY: the text is borrowed. What cannot be written is lost.
        unsafe { libc::write(descriptor, piece.text.as_ptr().cast(), piece.text.len()) };
    }
}
