//! Turns the scheduler's reports into those that the parent prints.

use super::coverage::Shortfall;
use dpor_explorer::Failure;
use dpor_protocol::{
    AccessedMemory, BlockReport, BlockedThread, CallerReport, Culprit, FailureKind, FailureReport, Holder, LabelReport,
    MemoryPlace, PanicReport, SourceLocation, StepReport, ThreadReport, ValueReport,
};
use dpor_scheduler::label::Label;
use dpor_scheduler::panic::PanicRecord;
use dpor_scheduler::report::{self, BlockUse, BlockedReport, Function};
use dpor_scheduler::{Location, OperationKind, Program, ThreadId, time};

/// Names of objects: their kind, and a number in order of first use. Threads have their own.
#[derive(Default)]
pub(crate) struct Objects {
    names: Vec<(Location, String)>,
    counts: Vec<(&'static str, u32)>,
}

impl Objects {
    pub fn name(&mut self, program: &Program, object: Location, kind: OperationKind) -> String {
        if let Some(thread) = program.thread_of(object) {
            return thread.to_string();
        }
        self.name_in(object, kind.object())
    }

    /// The name of an object, if it was the object of an operation.
    fn known(&self, object: Location) -> Option<String> {
        let known = self.names.iter().find(|(known, _)| *known == object);
        known.map(|(_, name)| name.clone())
    }

    fn name_in(&mut self, object: Location, class: &'static str) -> String {
        if object == Location(0) || class.is_empty() {
            return String::new();
        }
        if let Some(name) = self.known(object) {
            return name;
        }
        if !self.counts.iter().any(|(known, _)| *known == class) {
            self.counts.push((class, 0));
        }
        let mut name = class.to_owned();
        if let Some((_, count)) = self.counts.iter_mut().find(|(known, _)| *known == class) {
            *count += 1;
            name = format!("{class}#{count}");
        }
        self.names.push((object, name.clone()));
        name
    }
}

pub(super) fn location(source: Option<dpor_scheduler::report::Source>) -> Option<SourceLocation> {
    source.map(|source| SourceLocation {
        file: source.file.into_owned(),
        line: source.line,
        column: source.column,
    })
}

/// The place, unless it is one in the facades, of which the program knows nothing.
pub(super) fn location_in_program(source: Option<dpor_scheduler::report::Source>) -> Option<SourceLocation> {
    location(source).filter(|place| !place.file.starts_with("shim-std/src/"))
}

/// A function that was running.
pub(super) fn caller(function: Function) -> CallerReport {
    CallerReport {
        function: function.name,
        location: location(function.source),
    }
}

/// A thread of the program.
pub(super) fn thread(thread: dpor_scheduler::report::ThreadReport) -> ThreadReport {
    ThreadReport {
        id: thread.id.0,
        parent: Some(thread.parent.0).filter(|_| thread.id != ThreadId::MAIN),
        name: thread.name,
        location: location(thread.source),
    }
}

/// The step that the program has just run.
pub(crate) fn step(program: &Program, objects: &mut Objects, index: u64, switched: bool) -> Option<StepReport> {
    let step = program.last_step()?;
    let object = objects.name(program, step.object, step.kind);
    let values = step.values.into_iter().map(|value| ValueReport {
        object: objects.name_in(value.object, "object"),
        before: value.before,
        after: value.after,
    });
    let values = values.collect();
    // A flag such as that of a poisoned lock is none that was taken.
    let released = step.released.into_iter().filter_map(|lock| objects.known(lock));
    Some(StepReport {
        index,
        thread: step.thread.0,
        thread_name: program.thread_name(step.thread),
        operation: step.kind.to_string(),
        object_name: program.static_name(step.object).filter(|_| !object.is_empty()),
        static_address: program.static_address(step.object).filter(|_| !object.is_empty()),
        object,
        location: location_in_program(step.source),
        detail: Some(step.detail).filter(|detail| !detail.is_empty()),
        switched,
        preempted: false,
        reads_from: step.reads_from.map(u64::from),
        released: released.collect(),
        freed: step.freed.iter().map(|block| format!("{block:#x}")).collect(),
        values,
    })
}

/// The step that the thread is about to make.
pub(crate) fn next(program: &Program, thread: ThreadId, index: u64, switched: bool) -> StepReport {
    let pending = program.pending_operation(thread);
    StepReport {
        index,
        thread: thread.0,
        thread_name: program.thread_name(thread),
        operation: pending.as_ref().map_or_else(String::new, |(kind, _)| kind.to_string()),
        location: location(pending.and_then(|(_, source)| source)),
        switched,
        ..StepReport::default()
    }
}

/// The report on a label.
pub(crate) fn label(label: Label) -> LabelReport {
    LabelReport {
        label: label.name,
        complete: label.complete,
        all: label.all,
        required: location(label.required),
    }
}

/// A failure of all executions together.
pub(crate) fn shortfall(shortfall: Shortfall) -> FailureReport {
    FailureReport {
        kind: shortfall.failure.kind.to_owned(),
        message: shortfall.failure.message,
        location: location(Some(shortfall.required)),
        ..FailureReport::default()
    }
}

/// A failure in the program's present state.
pub(crate) fn failure(program: &Program, failure: &Failure, objects: &mut Objects) -> FailureReport {
    let kind = FailureKind::named(failure.kind);
    let blocked = match kind.is_some_and(FailureKind::is_stuck) {
        true => program.blocked(),
        false => Vec::new(),
    };
    let last = program.last_thread();
    let thread = match kind.map_or(Culprit::Last, FailureKind::culprit) {
        Culprit::Nobody => None,
        Culprit::Main => Some(ThreadId::MAIN),
        Culprit::Last => Some(last),
        Culprit::Panicked => Some(last)
            .filter(|&thread| program.last_panic(thread).is_some())
            .or(Some(ThreadId::MAIN)),
    };
    let panic = thread
        .filter(|_| kind == Some(FailureKind::Panic))
        .and_then(|thread| program.last_panic(thread));
    let location = panic.and_then(|panic| panic.location);
    let location = location.map(|(file, line, column)| SourceLocation { file, line, column });
    let block = program.misuse();
    // Where memory was misused is the last thing that is told of it.
    let callers: Vec<_> = match block.is_empty() {
        true => program.failed_in().into_iter().map(caller).collect(),
        false => Vec::new(),
    };
    FailureReport {
        kind: failure.kind.to_owned(),
        message: failure.message.clone(),
        thread: thread.map(|thread| thread.0),
        thread_name: thread.and_then(|thread| program.thread_name(thread)),
        location: location.or_else(|| callers.iter().find_map(|caller| caller.location.clone())),
        callers,
        blocked: blocked
            .into_iter()
            .map(|thread| blocked_thread(program, objects, thread))
            .collect(),
        panics: Vec::new(),
        block: block.into_iter().map(|what| block_report(program, what)).collect(),
        memory: program.accessed_memory().map(accessed_memory),
        output: program.output().iter().map(|piece| piece.text.as_str()).collect(),
    }
}

/// A thread that waits.
fn blocked_thread(program: &Program, objects: &mut Objects, thread: BlockedReport) -> BlockedThread {
    let holder = |(holder, source): (ThreadId, _)| Holder {
        thread: holder.0,
        thread_name: program.thread_name(holder),
        location: location(source),
    };
    // A reader that is kept out by a writer, and a writer that waits for readers, may be readers themselves; it is the
    // others that they wait for.
    let beside = matches!(thread.kind, OperationKind::ReadLock | OperationKind::AwaitReaders)
        && thread.holders.iter().any(|(holder, _)| *holder != thread.thread);
    let holders = thread.holders.into_iter();
    let holders = holders.filter(|(holder, _)| !beside || *holder != thread.thread);
    BlockedThread {
        thread: thread.thread.0,
        thread_name: program.thread_name(thread.thread),
        operation: thread.kind.to_string(),
        object: objects.name(program, thread.object, thread.kind),
        object_name: program.static_name(thread.object),
        static_address: program.static_address(thread.object),
        location: location(thread.source),
        timeout: thread.endless.map(time::in_words),
        timeouts_fire: thread.endless.is_none_or(time::is_longer_than_any_run),
        held_by: holders.map(holder).collect(),
    }
}

/// The history of a memory block.
pub(super) fn block_report(program: &Program, what: BlockUse) -> BlockReport {
    BlockReport {
        freed: what.freed,
        access: what.access,
        step: what.step.into(),
        thread: what.thread.0,
        thread_name: program.thread_name(what.thread),
        location: location(what.source),
    }
}

/// Memory that was accessed wrongly, which `cargo dpor` looks up in debug information.
fn accessed_memory(memory: report::AccessedMemory) -> AccessedMemory {
    AccessedMemory {
        name: String::new(),
        type_name: String::new(),
        words: memory.words,
        size: memory.size as u64,
        place: match memory.place {
            report::MemoryPlace::Static(address) => MemoryPlace::Static { address },
            report::MemoryPlace::Block {
                offset,
                size,
                allocated_in,
            } => MemoryPlace::Block {
                offset: offset as u64,
                size: size as u64,
                allocated_in,
            },
        },
    }
}

/// The panics of an execution, in order.
#[derive(Default)]
pub(crate) struct Panics {
    known: Vec<(ThreadId, PanicRecord)>,
    reports: Vec<PanicReport>,
}

impl Panics {
    /// Records new panics after a step. A thread may have run in the step of its creator.
    pub fn look(&mut self, program: &Program, step: u64) {
        for thread in program.thread_reports() {
            let Some(panic) = program.last_panic(thread.id) else {
                continue;
            };
            let new = (thread.id, panic);
            if self.known.contains(&new) {
                continue;
            }
            let location = new.1.location.clone();
            self.reports.push(PanicReport {
                thread: thread.id.0,
                thread_name: thread.name,
                step,
                message: new.1.message.clone(),
                location: location.map(|(file, line, column)| SourceLocation { file, line, column }),
            });
            self.known.push(new);
        }
    }

    /// Takes all panics, in order.
    pub fn take(&mut self) -> Vec<PanicReport> {
        std::mem::take(&mut self.reports)
    }
}
