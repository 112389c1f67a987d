//! The pipe to `cargo dpor`, and the ways to end the process.

use dpor_protocol::Message;
use std::fs::File;
use std::io::Write;

/// The exit code if the process cannot communicate with its parent at all.
pub(crate) const NO_CONVERSATION: i32 = 71;

/// The parent process.
pub(crate) struct Parent {
    pipe: File,
}

impl Parent {
    /// The parent that reads from this pipe.
    pub fn on(pipe: File) -> Parent {
        Parent { pipe }
    }

    pub fn send(&mut self, message: &Message) {
        // A parent that has gone away needs no answer.
        if self.pipe.write_all(message.to_line().as_bytes()).is_err() {
            leave(NO_CONVERSATION);
        }
    }
}

pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: ends the process without running destructors: the explored program's memory is gone.
    unsafe { libc::_exit(code) }
}
