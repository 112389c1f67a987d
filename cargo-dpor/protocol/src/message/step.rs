//! What a process reports of a step, and where and by whom it was made.

use crate::OperationKind;
use std::fmt;

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct SourceLocation {
    /// The file, as it was given to the compiler.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1; 0 if it is unknown.
    pub column: u32,
}

dpor_explorer::codec!(struct SourceLocation { file, line, column });

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            0 => Ok(()),
            column => write!(f, ":{column}"),
        }
    }
}

impl From<&std::panic::Location<'_>> for SourceLocation {
    fn from(location: &std::panic::Location<'_>) -> Self {
        SourceLocation {
            file: location.file().into(),
            line: location.line(),
            column: location.column(),
        }
    }
}

/// The stream to which a program printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub enum OutputStream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

dpor_explorer::codec!(enum OutputStream { 0 => Out, 1 => Err });

/// A thread of the explored program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct ThreadReport {
    /// Its id.
    pub id: u32,
    /// The thread that created it; `None` for the main thread.
    pub parent: Option<u32>,
    /// Its name, if the program gave it one.
    pub name: Option<String>,
    /// The place where it was created.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct ThreadReport { id, parent, name, location });

/// A step of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct StepReport {
    /// The number of the step, counted from 0.
    pub index: u64,
    /// The thread that made it.
    pub thread: u32,
    /// That thread's name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The kind of operation, such as `lock`.
    pub operation: String,
    /// The object, such as `mutex#1`; empty for operations without one.
    pub object: String,
    /// The readable name of the object: the path of a static, or what stands for it in the source.
    pub object_name: Option<String>,
    /// The address of the object in the executable's file, if it is in a static. Only until a name is found for it.
    #[cfg_attr(dpor_json, serde(skip_serializing_if = "Option::is_none"))]
    pub static_address: Option<u64>,
    /// The operation in the program's source.
    pub location: Option<SourceLocation>,
    /// What it did, such as `0 → 1`.
    pub detail: Option<String>,
    /// Whether the previous step was another thread's.
    pub switched: bool,
    /// Whether that thread could also have gone on.
    pub preempted: bool,
    /// The number, counted from 0, of the step that wrote what it read, sent what it received, or woke it.
    pub reads_from: Option<u64>,
    /// Values of objects before and after it, where there are words for them.
    pub values: Vec<ValueReport>,
    /// The locks that it released, by the names that steps have in `object`.
    pub released: Vec<String>,
    /// The memory blocks that it freed, as pointers are printed.
    pub freed: Vec<String>,
}

dpor_explorer::codec!(struct StepReport {
    index, thread, thread_name, operation, object, object_name, static_address, location, detail, switched,
    preempted, reads_from, values, released, freed,
});

/// The value of an object before and after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct ValueReport {
    /// The object, as in [`StepReport::object`].
    pub object: String,
    /// Its value before.
    pub before: String,
    /// Its value after.
    pub after: String,
}

dpor_explorer::codec!(struct ValueReport { object, before, after });

/// `t1 (name)`, or `t1`.
pub(super) fn thread_name(f: &mut fmt::Formatter<'_>, thread: u32, name: Option<&str>) -> fmt::Result {
    match name {
        Some(name) => write!(f, "t{thread} ({name})"),
        None => write!(f, "t{thread}"),
    }
}

impl StepReport {
    /// The kind of its operation; `None` for one that this version does not know.
    pub fn kind(&self) -> Option<OperationKind> {
        OperationKind::named(&self.operation)
    }
}

/// The step on one line: thread, operation, object, effect, place.
impl fmt::Display for StepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        thread_name(f, self.thread, self.thread_name.as_deref())?;
        write!(f, "  {}", self.operation)?;
        if !self.object.is_empty() {
            write!(f, " {}", self.object)?;
        }
        if let Some(detail) = &self.detail {
            write!(f, "  {detail}")?;
        }
        if let Some(location) = &self.location {
            write!(f, "  {location}")?;
        }
        Ok(())
    }
}
