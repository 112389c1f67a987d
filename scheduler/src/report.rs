//! What a traced execution tells of itself, for reports of a failure.

use crate::operation::OperationKind;
use dpor_explorer::{Location, ThreadId};
use std::borrow::Cow;
use std::fmt;
use std::panic::Location as Caller;

/// A place in the explored program's source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The file, as the compiler was given it.
    pub file: Cow<'static, str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if it is not known.
    pub column: u32,
}

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

/// One step of a traced execution.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// Who moved.
    pub thread: ThreadId,
    /// What operation it performed.
    pub kind: OperationKind,
    /// On which object; 0 if on none.
    pub object: Location,
    /// Where in the source.
    pub source: Option<Source>,
    /// Values and outcomes, such as `0 → 1`.
    pub detail: String,
    /// The threads that it created.
    pub spawned: Vec<ThreadId>,
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
    /// Where it was created.
    pub source: Option<Source>,
}

/// A thread that was blocked when the execution ended.
#[derive(Clone, Debug)]
pub struct BlockedReport {
    /// Which thread.
    pub thread: ThreadId,
    /// Its name.
    pub name: String,
    /// What it waits to do.
    pub kind: OperationKind,
    /// On which object.
    pub object: Location,
    /// Where in the source.
    pub source: Option<Source>,
    /// It is not blocked by itself, but would only repeat what it did.
    pub spinning: bool,
    /// Who holds the object, and where it was acquired, if that is known (traced executions).
    pub holder: Option<(ThreadId, Option<Source>)>,
}

/// Details of the steps of a traced execution.
#[derive(Default, Debug)]
pub(crate) struct StepTrace {
    notes: Vec<String>,
    holders: Vec<(Location, ThreadId, Option<Source>)>,
    /// Releases in the current step of what was acquired in the same step.
    released_at_once: Vec<(Location, ThreadId)>,
    pub last: Option<StepReport>,
}

impl StepTrace {
    pub fn note(&mut self, detail: String) {
        // A copy of the checker's own: the note was made by the explored program's code.
        self.notes.push(detail.as_str().to_owned());
        std::mem::forget(detail);
    }

    pub fn take_notes(&mut self) -> String {
        let notes = self.notes.join(", ");
        self.notes.clear();
        notes
    }

    /// Notes what the step that has just ended acquired.
    pub fn acquired(&mut self, thread: ThreadId, object: Location, source: Option<Source>) {
        match self
            .released_at_once
            .iter()
            .position(|&release| release == (object, thread))
        {
            Some(at) => {
                self.released_at_once.remove(at);
            }
            None => self.holders.push((object, thread, source)),
        }
    }

    pub fn released(&mut self, thread: ThreadId, object: Location) {
        match self.holders.iter().rposition(|&(o, t, _)| o == object && t == thread) {
            Some(at) => {
                self.holders.remove(at);
            }
            None => self.released_at_once.push((object, thread)),
        }
    }

    pub fn holder(&self, object: Location) -> Option<(ThreadId, Option<Source>)> {
        self.holders
            .iter()
            .find(|&&(o, _, _)| o == object)
            .map(|(_, thread, source)| (*thread, source.clone()))
    }
}
