//! What reports can tell about an execution.

use super::Program;
use crate::label::Label;
use crate::memory::executable::Executable;
use crate::operation::{NEVER, OperationKind};
use crate::output::Output;
use crate::panic::PanicRecord;
use crate::report::{BlockUse, BlockedReport, Function, Source, StepReport, ThreadReport};
use crate::state::{Caller, Symbols};
use crate::thread::Record;
use dpor_explorer::{Location, Status, ThreadId};

/// The program's functions at return addresses, which [`Place::callers`](super::Place::callers) gives.
pub fn functions_at(addresses: &[u64]) -> Vec<Function> {
    let (symbols, bias) = (Symbols::of_executable(), Executable::running().bias);
    let frames = addresses
        .iter()
        .flat_map(|&address| symbols.frames(bias.wrapping_add(address as usize)));
    frames.filter(|caller| caller.of_program).map(Function::from).collect()
}

impl From<Caller> for Function {
    fn from(caller: Caller) -> Function {
        Function {
            source: caller.source(),
            name: caller.name,
        }
    }
}

impl Program {
    /// In a traced execution, the thread that a location stands for.
    pub fn thread_of(&self, object: Location) -> Option<ThreadId> {
        let trace = Self::runtime().trace.as_ref();
        trace.and_then(|trace| trace.thread_of(object))
    }

    /// The path of the static at a location.
    pub fn static_name(&self, object: Location) -> Option<String> {
        let address = (object.0 & ((1 << 48) - 1)) as usize;
        let runtime = Self::runtime();
        runtime.statics.filter(|statics| statics.contains(address))?;
        let (name, _) = runtime.symbols.get_or_init(Symbols::of_executable).item(address)?;
        Some(name)
    }

    /// The address in the executable's file of this location, if it is in a static.
    pub fn static_address(&self, object: Location) -> Option<u64> {
        let address = (object.0 & ((1 << 48) - 1)) as usize;
        Self::runtime().statics.filter(|statics| statics.contains(address))?;
        Some(address.wrapping_sub(Executable::running().bias) as u64)
    }

    /// In a traced execution that ended because a block was freed wrongly: the history of the block.
    pub fn wrong_free(&self) -> Vec<BlockUse> {
        Self::runtime().wrong_free()
    }

    /// In a traced execution that a thread ended as a failure, the functions in which this thread was: innermost first.
    pub fn failed_in(&self) -> Vec<Function> {
        let runtime = Self::runtime();
        runtime.frames(&runtime.failed_at).map(Function::from).collect()
    }

    /// The last step of a traced execution.
    pub fn last_step(&self) -> Option<StepReport> {
        Self::runtime().trace.as_ref().and_then(|trace| trace.last.clone())
    }

    /// The kind of a thread's pending operation.
    #[inline]
    pub fn pending_kind(&self, thread: ThreadId) -> Option<OperationKind> {
        let record = Self::runtime().threads.get(thread.index());
        Some(record.filter(|record| record.alive)?.operation().kind)
    }

    /// The kind and place of a thread's pending operation.
    pub fn pending_operation(&self, thread: ThreadId) -> Option<(OperationKind, Option<Source>)> {
        let runtime = Self::runtime();
        let record = runtime.threads.get(thread.index()).filter(|record| record.alive)?;
        Some((record.operation().kind, runtime.source(record)))
    }

    /// The threads of this execution, including those that have ended.
    pub fn thread_reports(&self) -> Vec<ThreadReport> {
        let created = Self::runtime()
            .threads
            .iter()
            .enumerate()
            .filter(|(_, record)| record.created);
        let report = |(i, record): (usize, &Record)| ThreadReport {
            id: ThreadId(i as u32),
            parent: record.parent,
            name: record.name.as_deref().map(str::to_owned),
            source: record.created_at.map(Source::from),
        };
        created.map(report).collect()
    }

    /// The last panic of a thread in this execution.
    pub fn last_panic(&self, thread: ThreadId) -> Option<PanicRecord> {
        Self::runtime()
            .threads
            .get(thread.index())
            .and_then(|record| record.panic.clone())
    }

    /// The name of a thread for reports, if the program gave it one.
    pub fn thread_name(&self, thread: ThreadId) -> Option<String> {
        Self::runtime()
            .threads
            .get(thread.index())
            .and_then(|record| record.name.as_deref().map(str::to_owned))
    }

    /// The thread that moved last.
    pub fn last_thread(&self) -> ThreadId {
        Self::runtime().current
    }

    /// The threads that are blocked now.
    pub fn blocked(&self) -> Vec<BlockedReport> {
        let runtime = Self::runtime();
        let blocked = runtime
            .threads
            .iter()
            .enumerate()
            .filter(|(_, record)| record.alive && record.status(true) == Status::Blocked);
        let report = |(i, record): (usize, &Record)| {
            let operation = record.operation();
            BlockedReport {
                thread: ThreadId(i as u32),
                name: record.display_name(),
                kind: operation.kind,
                object: operation.object,
                source: runtime.source(record),
                spinning: record.spin.awaiting().is_some(),
                endless: operation
                    .timeout
                    .and_then(|(alternative, after)| (alternative == NEVER).then_some(after)),
                holders: match (&runtime.trace, self.thread_of(operation.object)) {
                    (Some(_), Some(thread)) if operation.kind == OperationKind::Join => vec![(thread, None)],
                    (Some(trace), _) => trace.holders(operation.object),
                    (None, _) => Vec::new(),
                },
            }
        };
        blocked.map(report).collect()
    }

    /// The output of the current execution.
    pub fn output(&self) -> &[Output] {
        &Self::runtime().output
    }

    /// Counts the labels that the current execution has reached as those of a complete execution.
    pub fn count_labels(&mut self) {
        Self::runtime().labels.complete();
    }

    /// The labels that any execution, the current one included, has reached or required.
    pub fn labels(&mut self) -> Vec<Label> {
        let labels = &mut Self::runtime().labels;
        labels.end();
        labels.all()
    }
}
