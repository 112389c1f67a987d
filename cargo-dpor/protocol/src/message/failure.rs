//! What a process reports of a failure.

use super::step::{SourceLocation, thread_name};
use crate::{FailureKind, OperationKind};
use std::fmt;

/// A panic of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct PanicReport {
    /// The thread.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The number of the step in which it happened, counted from 0.
    pub step: u64,
    /// Its message.
    pub message: String,
    /// The place where it happened.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct PanicReport { thread, thread_name, step, message, location });

/// A function of the program that was running.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct CallerReport {
    /// Its path.
    pub function: String,
    /// The line that was running, if debug information tells.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct CallerReport { function, location });

/// The function, and its line in parentheses.
impl fmt::Display for CallerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        match &self.location {
            Some(place) => write!(f, " ({}:{})", place.file, place.line),
            None => Ok(()),
        }
    }
}

/// An event in the history of a memory block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct BlockReport {
    /// Whether it was freed; otherwise it was allocated.
    pub freed: bool,
    /// What was done, if it is an access to memory, such as `written`.
    pub access: Option<String>,
    /// The number of the step, counted from 0.
    pub step: u64,
    /// The thread.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The place, if known.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct BlockReport { freed, access, step, thread, thread_name, location });

/// Memory that was accessed wrongly, as far as debug information tells what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct AccessedMemory {
    /// Its name, such as `Shared.counter`; empty until it is found.
    pub name: String,
    /// The type of what has this name, such as `u64`.
    #[cfg_attr(dpor_json, serde(rename = "type"))]
    pub type_name: String,
    /// The words for it in the failure's message.
    #[cfg_attr(dpor_json, serde(skip))]
    pub words: String,
    /// Number of bytes.
    #[cfg_attr(dpor_json, serde(skip))]
    pub size: u64,
    /// Where it is.
    #[cfg_attr(dpor_json, serde(skip))]
    pub place: MemoryPlace,
}

dpor_explorer::codec!(struct AccessedMemory { name, type_name, words, size, place });

/// A place in memory that debug information may know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryPlace {
    /// In a static.
    Static {
        /// The address in the executable's file.
        address: u64,
    },
    /// In a block of the heap, or beyond its end.
    Block {
        /// The offset from the start of the block.
        offset: u64,
        /// The block's number of bytes.
        size: u64,
        /// The functions that were running when it was allocated, innermost first: return addresses in the
        /// executable's file.
        allocated_in: Vec<u64>,
    },
}

dpor_explorer::codec!(enum MemoryPlace { 0 => Static { address }, 1 => Block { offset, size, allocated_in } });

/// A failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct FailureReport {
    /// A short, stable name of the kind of failure, such as `panic` or `deadlock`.
    pub kind: String,
    /// What happened, in a sentence or a few lines.
    pub message: String,
    /// The thread in which it happened, if there is one.
    pub thread: Option<u32>,
    /// That thread's name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The place where it happened.
    pub location: Option<SourceLocation>,
    /// All waiting threads, for deadlocks and similar failures.
    pub blocked: Vec<BlockedThread>,
    /// The panics of the failing execution, in order. Only in a replay.
    pub panics: Vec<PanicReport>,
    /// The functions of the program that were running when the process, or the execution, was ended from inside:
    /// innermost first.
    pub callers: Vec<CallerReport>,
    /// For a wrong free or access: the history of the memory. Only in a replay.
    pub block: Vec<BlockReport>,
    /// For a wrong access: the memory, if it has a name. Only in a replay.
    pub memory: Option<AccessedMemory>,
    /// What the failing execution printed.
    pub output: String,
}

dpor_explorer::codec!(struct FailureReport {
    kind, message, thread, thread_name, location, blocked, panics, callers, block, memory, output,
});

/// A thread that waits in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct BlockedThread {
    /// The thread.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The operation that it tries, such as `lock`.
    pub operation: String,
    /// The object for which it waits; empty for operations without one.
    pub object: String,
    /// As in [`StepReport::object_name`](super::StepReport::object_name).
    pub object_name: Option<String>,
    /// As in [`StepReport::static_address`](super::StepReport::static_address).
    #[cfg_attr(dpor_json, serde(skip_serializing_if = "Option::is_none"))]
    pub static_address: Option<u64>,
    /// The operation in the program's source.
    pub location: Option<SourceLocation>,
    /// The threads that hold what it waits for.
    pub held_by: Vec<Holder>,
    /// The timeout of its wait, such as `100 years`, if it does not fire.
    #[cfg_attr(dpor_json, serde(skip_serializing_if = "Option::is_none"))]
    pub timeout: Option<String>,
    /// Whether it does not fire only because it is too long, and not because no timeout does.
    #[cfg_attr(dpor_json, serde(skip))]
    pub timeouts_fire: bool,
}

dpor_explorer::codec!(struct BlockedThread {
    thread, thread_name, operation, object, object_name, static_address, location, held_by,
    timeout, timeouts_fire,
});

/// A thread that holds what another one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct Holder {
    /// The thread.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The place where it acquired it.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct Holder { thread, thread_name, location });

impl BlockedThread {
    /// The kind of its operation; `None` for one that this version does not know.
    pub fn kind(&self) -> Option<OperationKind> {
        OperationKind::named(&self.operation)
    }
}

impl FailureReport {
    /// Its kind; `None` for one that this version does not know.
    pub fn known_kind(&self) -> Option<FailureKind> {
        FailureKind::named(&self.kind)
    }
}

/// What happened and where, the waiting threads, and the output, on separate lines.
impl fmt::Display for FailureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)?;
        if let Some(thread) = self.thread {
            f.write_str("\n  in ")?;
            thread_name(f, thread, self.thread_name.as_deref())?;
        }
        if let Some(location) = &self.location {
            write!(f, "\n  at {location}")?;
        }
        for caller in &self.callers {
            write!(f, "\n  in {caller}")?;
        }
        for thread in &self.blocked {
            write!(f, "\n  {thread}")?;
        }
        for event in &self.block {
            write!(f, "\n  {event}")?;
        }
        if !self.output.is_empty() {
            write!(f, "\noutput of this execution:\n{}", self.output)?;
        }
        Ok(())
    }
}

/// What was done, in which step, by whom, and where.
impl fmt::Display for BlockReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.access.as_deref();
        f.write_str(what.unwrap_or(if self.freed { "freed" } else { "allocated" }))?;
        write!(f, " in step {} by ", self.step)?;
        thread_name(f, self.thread, self.thread_name.as_deref())?;
        match &self.location {
            Some(location) => write!(f, " at {location}"),
            None => Ok(()),
        }
    }
}

/// The waiting thread, its operation, its place, and the holders.
impl fmt::Display for BlockedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        thread_name(f, self.thread, self.thread_name.as_deref())?;
        write!(f, " waits in {}", self.operation)?;
        if !self.object.is_empty() {
            write!(f, " of {}", self.object)?;
        }
        if let Some(location) = &self.location {
            write!(f, " at {location}")?;
        }
        if let Some(timeout) = &self.timeout {
            write!(f, ", for {timeout}")?;
        }
        for holder in &self.held_by {
            f.write_str(match self.kind() {
                Some(OperationKind::Join) => ", which is the end of ",
                _ => ", held by ",
            })?;
            thread_name(f, holder.thread, holder.thread_name.as_deref())?;
            if let Some(location) = &holder.location {
                write!(f, " since {location}")?;
            }
        }
        Ok(())
    }
}
