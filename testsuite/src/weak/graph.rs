//! Execution graphs in canonical form, and the outcomes that they stand for.

use std::fmt;

/// The n-th event of a thread. Events are numbered from 0 in each thread, fences included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name {
    /// The thread.
    pub thread: usize,
    /// Number of events of the thread before it.
    pub index: usize,
}

/// What is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reads {
    /// The event that wrote it; `None` stands for the initial write.
    pub from: Option<Name>,
    /// The value.
    pub value: u32,
}

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// Of an atomic.
    Access {
        /// Which one.
        location: usize,
        /// What it reads, if it is a load or a modification.
        reads: Option<Reads>,
        /// What it writes, if it is a store or a modification.
        writes: Option<u32>,
    },
    /// A fence.
    Fence,
    /// A mutex is locked, after the event that unlocked it, if one did.
    Lock(usize, Option<Name>),
    /// A mutex is unlocked.
    Unlock(usize),
    /// A thread is spawned.
    Spawn(usize),
    /// The end of a thread has come.
    Join(usize),
    /// A spawned thread starts.
    Start,
    /// A spawned thread ends.
    End,
}

/// An execution, without the order in which independent events ran.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Graph {
    /// The events of each thread.
    pub threads: Vec<Vec<Event>>,
    /// The modification order of each atomic, without the initial write.
    pub orders: Vec<Vec<Name>>,
}

impl Graph {
    /// The graph of no event.
    pub(super) fn new(threads: usize, locations: usize) -> Graph {
        Graph {
            threads: vec![Vec::new(); threads],
            orders: vec![Vec::new(); locations],
        }
    }

    /// Adds the next event of the thread, and returns its name.
    pub(super) fn push(&mut self, thread: usize, event: Event) -> Name {
        let index = self.threads[thread].len();
        self.threads[thread].push(event);
        Name { thread, index }
    }

    /// The last value of the atomic.
    pub(super) fn last(&self, location: usize) -> u32 {
        let Some(name) = self.orders[location].last() else {
            return 0;
        };
        match self.threads[name.thread][name.index] {
            Event::Access {
                writes: Some(value), ..
            } => value,
            ref other => unreachable!("a modification order has no {other:?}"),
        }
    }
}

/// What can be seen of an execution at its end. It prints as the rendered program does, but for the word in front.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Outcome {
    /// The registers of each thread.
    pub registers: Vec<Vec<u32>>,
    /// The value of each atomic.
    pub finals: Vec<u32>,
}

/// The name of an atomic in outcomes.
pub(super) fn location_name(location: usize) -> String {
    const NAMES: [&str; 4] = ["x", "y", "z", "w"];
    NAMES
        .get(location)
        .map_or_else(|| format!("v{location}"), |&name| name.to_owned())
}

/// The name of a register in outcomes.
pub(super) fn register_name(thread: usize, register: usize) -> String {
    format!("r{thread}{register}")
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (thread, registers) in self.registers.iter().enumerate() {
            for (register, value) in registers.iter().enumerate() {
                write!(f, "{}={value} ", register_name(thread, register))?;
            }
        }
        f.write_str("|")?;
        for (location, value) in self.finals.iter().enumerate() {
            write!(f, " {}={value}", location_name(location))?;
        }
        Ok(())
    }
}
