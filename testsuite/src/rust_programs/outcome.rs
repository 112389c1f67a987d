//! The observable outcome of an execution.

use super::{Op, Program};
use std::fmt;

/// The observations of a thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Seen {
    /// The number of its line, or one of the constants below.
    pub at: u8,
    /// The values that it has logged.
    pub log: Vec<u8>,
}

impl Seen {
    /// The thread has not begun.
    pub const UNBORN: u8 = 0xFF;
    /// The thread has run all of its lines.
    pub const ENDED: u8 = 0xFE;
    /// The main thread is at the end of the scope, or has joined all threads.
    pub const SCOPE: u8 = 0xFD;
    /// The main thread is joining the thread with this number added.
    pub const JOINING: u8 = 0xE0;
}

/// The values of `x[0]`, `x[1]`, `m[0]`, `m[1]` and `rw` in the end; 0 for those that the program does not use.
pub type Finals = [u8; 5];

/// One outcome of a program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Outcome {
    /// Threads are left over that cannot go on.
    pub stuck: bool,
    /// The observations of each thread.
    pub threads: Vec<Seen>,
    /// The values in the end; all 0 if the program is stuck.
    pub finals: Finals,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (thread, seen) in self.threads.iter().enumerate() {
            write!(f, "t{thread}{:02x?}", seen.log)?;
            match seen.at {
                Seen::UNBORN => write!(f, " unborn; ")?,
                Seen::ENDED | Seen::SCOPE if !self.stuck => write!(f, "; ")?,
                Seen::ENDED => write!(f, " ended; ")?,
                Seen::SCOPE => write!(f, " at the end of the scope; ")?,
                at if at >= Seen::JOINING => write!(f, " joining t{}; ", at - Seen::JOINING)?,
                at => write!(f, " at line {at}; ")?,
            }
        }
        if self.stuck {
            write!(f, "stuck")
        } else {
            write!(f, "finally {:02x?}", self.finals)
        }
    }
}

impl Program {
    /// Whether the main thread parks, or is unparked.
    pub(super) fn parks_main(&self) -> bool {
        self.ops().any(|op| op == Op::Unpark(0))
            || self.threads[0]
                .iter()
                .any(|line| matches!(line.op, Op::Park | Op::ParkTimeout))
    }
}
