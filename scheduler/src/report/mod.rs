//! What reports of a failure are made from.

pub(crate) mod difference;
pub(crate) mod leaks;
pub(crate) mod survey;
pub(crate) mod symbols;
pub(crate) mod trace;

use crate::operation::OperationKind;
use dpor_explorer::{Location, ThreadId};
use std::borrow::Cow;
use std::fmt;
use std::panic::Location as Caller;
use std::time::Duration;

/// A place in the explored program's source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The file, as it was given to the compiler.
    pub file: Cow<'static, str>,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1; 0 if it is unknown.
    pub column: u32,
}

dpor_explorer::codec!(struct Source { file, line, column });

impl From<&'static Caller<'static>> for Source {
    fn from(caller: &'static Caller<'static>) -> Source {
        Source {
            file: Cow::Borrowed(caller.file()),
            line: caller.line(),
            column: caller.column(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A function of the explored program that was running.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its path.
    pub name: String,
    /// The line that was running, if debug information tells.
    pub source: Option<Source>,
}

/// One step of a traced execution.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// The thread that moved.
    pub thread: ThreadId,
    /// The kind of its operation.
    pub kind: OperationKind,
    /// The object of the operation; 0 if there is none.
    pub object: Location,
    /// Its place in the source.
    pub source: Option<Source>,
    /// Values and outcomes, such as `0 → 1`.
    pub detail: String,
    /// The threads that it created.
    pub spawned: Vec<ThreadId>,
    /// Values of objects before and after it, as far as known.
    pub values: Vec<Value>,
    /// The locks that it has released.
    pub released: Vec<Location>,
    /// The addresses of the heap blocks that it has freed.
    pub freed: Vec<usize>,
    /// The step, counted from 0, that wrote what it read, sent what it received, or woke it.
    pub reads_from: Option<u32>,
}

/// The value of an object before and after a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    /// The object.
    pub object: Location,
    /// Its value before.
    pub before: String,
    /// Its value after.
    pub after: String,
}

/// A thread of a traced execution.
#[derive(Clone, Debug)]
pub struct ThreadReport {
    /// Its id.
    pub id: ThreadId,
    /// Its creator.
    pub parent: ThreadId,
    /// The name that the program gave it.
    pub name: Option<String>,
    /// The place where it was created.
    pub source: Option<Source>,
}

/// A thread that was blocked when the execution ended.
#[derive(Clone, Debug)]
pub struct BlockedReport {
    /// The thread.
    pub thread: ThreadId,
    /// Its name.
    pub name: String,
    /// The kind of the operation for which it waits.
    pub kind: OperationKind,
    /// The object of the operation.
    pub object: Location,
    /// The place of the operation in the source.
    pub source: Option<Source>,
    /// Whether it is not blocked itself, but would only repeat what it did.
    pub spinning: bool,
    /// The timeout of its wait, if no run is long enough for it.
    pub endless: Option<Duration>,
    /// The threads that hold the object, and where they acquired it, if known (traced executions).
    pub holders: Vec<(ThreadId, Option<Source>)>,
}

/// An event in the history of a heap block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockUse {
    /// Whether the block was freed; otherwise it was allocated.
    pub freed: bool,
    /// What was done, if it is an access to memory: a participle, and what to say of it.
    pub access: Option<String>,
    /// The step, counted from 0.
    pub step: u32,
    /// The thread.
    pub thread: ThreadId,
    /// The place in the source, if known.
    pub source: Option<Source>,
}

/// Memory that was accessed wrongly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessedMemory {
    /// The words for it in the failure's message.
    pub words: String,
    /// Number of bytes.
    pub size: usize,
    /// Where it is.
    pub place: MemoryPlace,
}

/// A place in a static or in a block of the heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemoryPlace {
    /// In a static, at this address in the executable's file.
    Static(u64),
    /// In a block of the heap, or beyond its end.
    Block {
        /// The offset from the start of the block.
        offset: usize,
        /// The block's number of bytes.
        size: usize,
        /// The functions that were running when it was allocated, innermost first: return addresses in the
        /// executable's file.
        allocated_in: Vec<u64>,
    },
}
