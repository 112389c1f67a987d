//! What reports can tell about an execution.

use super::Program;
use crate::api::plain::words_for_memory;
use crate::image::arena;
use crate::image::executable::Executable;
use crate::machine::Machine;
use crate::machine::labels::Label;
use crate::machine::logs::Output;
use crate::machine::panics::PanicRecord;
use crate::machine::threads::Record;
use crate::memory_model::races::Fault;
use crate::operation::{NEVER, OperationKind};
use crate::report::symbols::{Caller, Symbols};
use crate::report::{AccessedMemory, BlockUse, BlockedReport, Function, MemoryPlace, Source, StepReport, ThreadReport};
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
        Self::machine().traced.as_ref()?.steps.thread_of(object)
    }

    /// The path of the static at a location.
    pub fn static_name(&self, object: Location) -> Option<String> {
        let address = address_of_static(object)?;
        let (name, _) = Self::machine().session.symbols().item(address)?;
        Some(name)
    }

    /// The address in the executable's file of this location, if it is in a static.
    pub fn static_address(&self, object: Location) -> Option<u64> {
        let address = address_of_static(object)?;
        Some(address.wrapping_sub(Executable::running().bias) as u64)
    }

    /// In a traced execution that ended because a block was freed wrongly: the history of the block. If it ended by an
    /// access to memory: what that is about, and the access.
    pub fn misuse(&self) -> Vec<BlockUse> {
        let Machine { session, traced, .. } = Self::machine();
        let Some(traced) = traced else { return Vec::new() };
        let mut history = traced.wrong_free(session.symbols());
        history.extend(traced.bad_access(session.symbols()));
        history
    }

    /// In a traced execution that ended by an access to a static, or to a block of the heap: the memory that was
    /// accessed.
    pub fn accessed_memory(&self) -> Option<AccessedMemory> {
        let machine = Self::machine();
        let traced = machine.traced.as_ref()?;
        let (bad, _) = traced.bad_access.as_ref()?;
        let bias = Executable::running().bias;
        let in_file = |address: usize| address.wrapping_sub(bias) as u64;
        let block = match bad.fault {
            Fault::Race(_) => bad.block,
            Fault::Unpublished { block, .. } | Fault::Freed { block } | Fault::Beyond { block, .. } => Some(block),
            Fault::NoBlock | Fault::Returned => None,
        };
        let place = match block {
            Some(block) => MemoryPlace::Block {
                offset: bad.address.checked_sub(block)?,
                // SAFETY: the access was found to have to do with this block of the running execution, and the memory
                // of freed blocks is kept.
                size: unsafe { arena::block(block) }.0,
                allocated_in: traced
                    .allocations
                    .get(&block)?
                    .callers
                    .iter()
                    .copied()
                    .map(in_file)
                    .collect(),
            },
            None if machine.session.statics.contains(bad.address) => MemoryPlace::Static(in_file(bad.address)),
            None => return None,
        };
        Some(AccessedMemory {
            words: words_for_memory(bad, machine),
            size: bad.size,
            place,
        })
    }

    /// In a traced execution that a thread ended as a failure, the functions in which this thread was: innermost first.
    pub fn failed_in(&self) -> Vec<Function> {
        let Machine { session, traced, .. } = Self::machine();
        let callers = traced.as_ref().map_or(&[][..], |traced| &traced.failed_at);
        let callers = session.symbols().of_program(callers);
        callers.map(Function::from).collect()
    }

    /// The last step of a traced execution.
    pub fn last_step(&self) -> Option<StepReport> {
        Self::machine().traced.as_ref()?.steps.last.clone()
    }

    /// The kind of a thread's pending operation.
    #[inline]
    pub fn pending_kind(&self, thread: ThreadId) -> Option<OperationKind> {
        Some(Self::machine().execution.threads.alive(thread)?.operation().kind)
    }

    /// The kind and place of a thread's pending operation.
    pub fn pending_operation(&self, thread: ThreadId) -> Option<(OperationKind, Option<Source>)> {
        Some((self.pending_kind(thread)?, self.source_of(thread)))
    }

    /// The place in the source of a thread's pending operation, as far as known.
    pub(super) fn source_of(&self, thread: ThreadId) -> Option<Source> {
        let Machine { session, execution, .. } = Self::machine();
        let record = &execution.threads[thread];
        let in_callers = || {
            let mut callers = session.symbols().of_program(&record.callers);
            callers.find_map(|caller| caller.source())
        };
        record.caller.map(Source::from).or_else(in_callers)
    }

    /// The threads of this execution, including those that have ended.
    pub fn thread_reports(&self) -> Vec<ThreadReport> {
        let report = |(id, record): (ThreadId, &Record)| ThreadReport {
            id,
            parent: record.parent,
            name: record.name.as_deref().map(str::to_owned),
            source: record.created_at.map(Source::from),
        };
        Self::machine().execution.threads.created().map(report).collect()
    }

    /// The last panic of a thread in this execution.
    pub fn last_panic(&self, thread: ThreadId) -> Option<PanicRecord> {
        Self::machine().execution.threads.get(thread)?.panic.clone()
    }

    /// The name of a thread for reports, if the program gave it one.
    pub fn thread_name(&self, thread: ThreadId) -> Option<String> {
        let record = Self::machine().execution.threads.get(thread)?;
        record.name.as_deref().map(str::to_owned)
    }

    /// The thread that moved last.
    pub fn last_thread(&self) -> ThreadId {
        Self::machine().step.thread
    }

    /// The threads that are blocked now.
    pub fn blocked(&self) -> Vec<BlockedReport> {
        let Machine { execution, traced, .. } = &*Self::machine();
        let races = &execution.races;
        let blocked = execution.threads.iter();
        let blocked = blocked.filter(|(_, record)| record.alive && record.status(true, races) == Status::Blocked);
        let report = |(thread, record): (ThreadId, &Record)| {
            let operation = record.operation();
            BlockedReport {
                thread,
                name: record.display_name(),
                kind: operation.kind,
                object: operation.object,
                source: self.source_of(thread),
                spinning: record.spin.awaiting().is_some(),
                endless: operation
                    .timeout
                    .and_then(|(alternative, after)| (alternative == NEVER).then_some(after)),
                holders: match (traced, self.thread_of(operation.object)) {
                    (Some(_), Some(thread)) if operation.kind == OperationKind::Join => vec![(thread, None)],
                    (Some(traced), _) => traced.steps.holders(operation.object),
                    (None, _) => Vec::new(),
                },
            }
        };
        blocked.map(report).collect()
    }

    /// The output of the current execution.
    pub fn output(&self) -> &[Output] {
        &Self::machine().execution.output.0
    }

    /// Counts the labels that the current execution has reached as those of a complete execution.
    pub fn count_labels(&mut self) {
        let Machine { session, execution, .. } = Self::machine();
        session.labels.complete(&execution.reached.0);
    }

    /// The labels that any execution, the current one included, has reached or required.
    pub fn labels(&mut self) -> Vec<Label> {
        let Machine { session, execution, .. } = Self::machine();
        session.labels.count(&mut execution.reached.0);
        session.labels.all()
    }
}

/// The address that a location stands for, if it is in a static of the program.
fn address_of_static(object: Location) -> Option<usize> {
    let address = (object.0 & ((1 << 48) - 1)) as usize;
    Program::machine().session.statics.contains(address).then_some(address)
}
