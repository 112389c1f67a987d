//! The explored program as a [`System`].

mod checkpoint;
mod crash;
mod reports;
mod step;
mod stuck;

use checkpoint::Checkpoints;
pub use crash::{Crash, Place, Watch, watch};
pub use reports::functions_at;

use crate::failure;
use crate::learnt::Learnt;
use crate::memory::arena::{self, HeapFault};
use crate::memory::region;
use crate::memory::statics::{Statics, StaticsImage};
use crate::memory::tls::TlsBlock;
use crate::operation::OperationKind;
use crate::options::Options;
use crate::ordering::WeakOrderings;
use crate::platform::interpose;
use crate::report::{Source, StepTrace};
use crate::runtime::{self, Runtime, runtime};
use crate::state::{self, StateImage, leaks};
use crate::thread::{self, Record};
use crate::{panic, queue};
use dpor_explorer::{
    Failure, Fingerprint, Location, Outlook, Pending, Rewindable, Status, Step, Stop, System, ThreadId, Transition,
};
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fmt, mem};

/// Allows one model at a time in a process: its memory lies at fixed addresses.
static MODEL: Mutex<()> = Mutex::new(());

/// The error for a model that cannot be set up in this process.
#[derive(Debug)]
pub struct SetupError(String);

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetupError {}

/// A concurrent program, run step by step in this process.
///
/// Its main thread runs `body`; all others are created by it. While a `Program` exists, no other can be made.
pub struct Program {
    body: Box<dyn Fn() -> Result<(), Failure>>,
    image: Option<StaticsImage>,
    initialised: bool,
    checkpoints: Checkpoints,
    _model: MutexGuard<'static, ()>,
}

impl Program {
    /// Sets up a model whose main thread runs `body`: its error is the execution's failure, and so is its panic. Waits
    /// until no other model exists in the process.
    ///
    /// # Errors
    /// The process cannot hold a model: addresses are taken, or the executable has no symbols.
    pub fn new(options: Options, body: impl Fn() -> Result<(), Failure> + 'static) -> Result<Program, SetupError> {
        let model = MODEL.lock().unwrap_or_else(PoisonError::into_inner);
        let setup = |error: &dyn fmt::Display| SetupError(error.to_string());
        region::reserve().map_err(|error| setup(error))?;
        let tls = TlsBlock::of_this_thread().map_err(|error| setup(&error))?;
        let statics = Statics::of_executable().map_err(|error| setup(error))?;
        panic::install_hook();
        arena::set_fault_hook(heap_fault);
        interpose::set_unsupported_hook(|what| runtime::unsupported(what));
        interpose::set_out_of_sight_hook(runtime::out_of_sight);
        interpose::set_exit_hook(|code| runtime::fail("exit", format!("the program called exit({code})")));
        // So that their lazy initialisation does not fall into an execution, whose memory goes away.
        let _ = (
            std::io::stdin(),
            std::io::stdout(),
            std::io::stderr(),
            std::thread::current(),
        );
        let (base_tls, os_tls) = (tls.initial(), tls.initial());
        let runtime = Runtime {
            options,
            statics: Some(statics),
            tls: Some(tls),
            base_tls: Some(base_tls),
            os_tls: Some(os_tls),
            spin_blocks: true,
            ..Runtime::default()
        };
        // SAFETY: we hold `MODEL`, and no model thread exists.
        unsafe { runtime::install(Some(runtime)) };
        thread::intern(Self::runtime(), ThreadId::MAIN, 0);
        // SAFETY: the model has not run.
        let image = unsafe { statics.capture() };
        Ok(Program {
            body: Box::new(body),
            image: Some(image),
            initialised: false,
            checkpoints: Checkpoints::default(),
            _model: model,
        })
    }

    /// The runtime, while no model thread runs.
    fn runtime<'a>() -> &'a mut Runtime {
        // SAFETY: called by the scheduler between resumptions only, on the model's OS thread; callers drop the
        // borrow before they resume a coroutine.
        unsafe { &mut *runtime() }
    }

    /// Records the steps of the next executions. Loops are watched from where they are noticed, and threads that only
    /// repeat themselves are not held back, so that a schedule can be followed that was found under other
    /// circumstances; [`Program::hold_spinning`] ends that.
    pub fn trace(&mut self) {
        let runtime = Self::runtime();
        runtime.trace = Some(StepTrace::default());
        runtime.learn_in_place = true;
        runtime.refinements.hashing = true;
        arena::set_trace_hook(Some(runtime::note_block));
        runtime.spin_blocks = false;
    }

    /// Sets whether states are comparable: threads then start on clean stacks, so that leftovers of earlier executions
    /// do not count. Takes effect at the next restart; a strategy that asks for fingerprints needs it before the first.
    pub fn compare_states(&mut self, comparing: bool) {
        Self::runtime().comparing = comparing;
    }

    /// Sets whether all states with a fingerprint are kept, to check that equal fingerprints mean equal states. For
    /// tests: it takes the memory of all states together.
    ///
    /// # Panics
    /// [`System::fingerprint`] then panics if two different states have the same.
    pub fn exact_states(&mut self, exact: bool) {
        Self::runtime().exact = exact.then(Default::default);
    }

    /// Sets whether states are saved, so that going back to one does not run the steps again that lead there. They are,
    /// unless this says otherwise.
    pub fn save_states(&mut self, save: bool) {
        Self::runtime().replays = !save;
    }

    /// A function of a library that the executable imports and that may keep state out of sight, such as `rand`: a
    /// program that calls it may depend on its being called again in each execution.
    pub fn hidden_import(&self) -> Option<&str> {
        Self::runtime().statics?.hidden()
    }

    /// Sets whether it is a failure if an execution succeeds but leaves blocks on the heap that it can no longer free.
    pub fn find_leaks(&mut self, find: bool) {
        Self::runtime().find_leaks = find;
    }

    /// Why leaks are not (or no longer) looked for, if they should be: the program has memory that the checker does not
    /// see, in which there may be references.
    pub fn leaks_out_of_sight(&self) -> Option<String> {
        self.state_out_of_sight().filter(|_| Self::runtime().find_leaks)
    }

    /// Why states are not (or no longer) compared: something of the program that the checker does not see.
    pub fn state_out_of_sight(&self) -> Option<String> {
        Self::runtime().out_of_sight.clone()
    }

    /// Number of bytes hashed for all fingerprints so far. The same in every process that asks for the same ones.
    pub fn fingerprint_cost(&self) -> u64 {
        Self::runtime().hashed
    }

    /// Leaves the stacks out of fingerprints, so that different states look equal. For tests of tests.
    #[cfg(feature = "faults")]
    pub fn coarse_fingerprints(&mut self) {
        Self::runtime().coarse = true;
    }

    /// Copies the current state, between two steps. In a traced execution, the copy knows where blocks were allocated.
    pub fn capture(&mut self) -> StateImage {
        let runtime = Self::runtime();
        bring_up_to_date(runtime);
        StateImage::of(runtime)
    }

    /// The places at which the program requests weaker orderings than it gets.
    pub fn weak_orderings(&self) -> &WeakOrderings {
        &Self::runtime().weak_orderings
    }

    /// The creation path of every thread id, in order of ids: its creator, and its index among the creator's children.
    pub fn thread_table(&self) -> Vec<(ThreadId, u32)> {
        Self::runtime()
            .threads
            .iter()
            .map(|record| (record.parent, record.nth))
            .collect()
    }

    /// Number of steps of the current execution so far.
    pub fn length(&self) -> usize {
        Self::runtime().steps as usize
    }

    /// Number of thread ids.
    pub fn known_threads(&self) -> usize {
        Self::runtime().threads.len()
    }

    /// Assigns thread ids as in an earlier exploration. Must come before the first execution.
    pub fn intern_threads(&mut self, table: &[(ThreadId, u32)]) {
        for &(parent, nth) in table {
            let known = Self::runtime()
                .threads
                .get(parent.index())
                .map_or(0, |record| record.children.len());
            if parent.index() < Self::runtime().threads.len() && nth as usize <= known {
                thread::intern(Self::runtime(), parent, nth);
            }
        }
    }

    /// The locations whose releases are observed.
    pub fn observed(&self) -> Vec<Location> {
        Self::runtime().refinements.observed_in_order.clone()
    }

    /// Makes releases of these locations scheduling points from the start.
    pub fn observe(&mut self, locations: &[Location]) {
        let runtime = Self::runtime();
        for &location in locations {
            runtime.refinements.observe(location);
        }
        runtime.recall.forget();
    }

    /// What exploration has learnt about the program.
    pub fn learnt(&mut self) -> Learnt {
        let labels = self.labels();
        let runtime = Self::runtime();
        Learnt {
            threads: self.thread_table(),
            refinements: runtime.refinements.clone(),
            labels,
            weak_orderings: runtime.weak_orderings.clone(),
            out_of_sight: runtime.out_of_sight.clone(),
        }
    }

    /// Resumes with what exploration of the same program has learnt in another process. Must come before the first
    /// execution.
    pub fn go_on_from(&mut self, learnt: Learnt) {
        self.intern_threads(&learnt.threads);
        let runtime = Self::runtime();
        runtime.refinements = learnt.refinements;
        runtime.labels.go_on_from(learnt.labels);
        runtime.weak_orderings = learnt.weak_orderings;
        runtime.out_of_sight = learnt.out_of_sight;
    }

    /// Drops the rest of the execution without unwinding it.
    fn discard(&mut self) {
        let runtime = Self::runtime();
        runtime.switch_tls(None);
        runtime.threads.iter_mut().for_each(Record::discard);
        // It lives in the program's memory, which is about to go.
        mem::forget(runtime.user_hook.take());
    }

    fn make_main(&mut self) {
        let runtime = Self::runtime();
        // Not a share of it: an execution that is given up drops nothing that its stacks hold.
        let body = &raw const *self.body;
        let main = move || {
            // SAFETY: the execution is discarded before the program is dropped, which owns the body.
            let result = catch_unwind(AssertUnwindSafe(|| unsafe { (*body)() }));
            runtime::on_model(|runtime| {
                runtime.main_result = Some(match &result {
                    Ok(Ok(())) => Ok(()),
                    Ok(Err(failed)) => Err(failure::owned(failed.kind, &failed.message)),
                    Err(_) => Err(panic_failure(&runtime.threads[ThreadId::MAIN.index()])),
                });
            });
            // The payload is the program's; its destructor is not part of the test.
            mem::forget(result);
        };
        let Some(base) = runtime.base_tls.take() else {
            unreachable!("a set-up model has a base image")
        };
        let name = Some("main".to_owned());
        let created = thread::create(runtime, ThreadId::MAIN, main, name, None, &base, None);
        runtime.base_tls = Some(base);
        if let Err(message) = created {
            runtime.main_result = Some(Err(Failure {
                kind: "unsupported",
                message,
            }));
        }
        runtime.threads[ThreadId::MAIN.index()].time = std::time::Duration::ZERO;
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.discard();
        // SAFETY: no model thread exists any more; what the program left in its memory is unreachable, because its
        // statics get their contents from before the first execution.
        unsafe {
            arena::reset();
            arena::set_trace_hook(None);
            if let Some(image) = self.image.take() {
                image.restore();
            }
            runtime::install(None);
        }
    }
}

/// Re-evaluates what the threads can do that have moved since the last time, or that depend on what has changed.
fn refresh(runtime: &mut Runtime) {
    let spin_blocks = runtime.spin_blocks;
    runtime.stale = false;
    let changed = mem::take(&mut runtime.changed);
    debug_assert_eq!(runtime.threads.len(), runtime.statuses.len());
    for (record, status) in runtime.threads.iter_mut().zip(&mut runtime.statuses) {
        if record.moved {
            record.depends_on = record.dependencies();
            record.moved = false;
        } else if !record.depends_on.may_be_among(changed) {
            debug_assert_eq!(*status, record.status(spin_blocks), "nothing else has changed");
            continue;
        }
        let new = record.status(spin_blocks);
        if *status != new {
            *status = new;
        }
    }
}

/// Prepares the runtime for a look at its state.
fn bring_up_to_date(runtime: &mut Runtime) {
    if runtime.stale {
        refresh(runtime);
    }
    runtime.save_tls();
}

impl System for Program {
    fn restart(&mut self) {
        self.discard();
        if self.initialised {
            // SAFETY: no model thread exists; see `Drop`.
            unsafe {
                arena::reset();
                if let Some(image) = &self.image {
                    image.restore();
                }
            }
        }
        self.initialised = true;
        let runtime = Self::runtime();
        let clean = runtime.wants_clean_stacks();
        if clean != runtime.clean {
            runtime.recall.forget();
        }
        runtime.clean = clean;
        runtime.allocations.clear();
        runtime.frees.clear();
        runtime.freed_wrongly = None;
        runtime.failed_at = Box::default();
        interpose::forget_files();
        queue::forget_all();
        runtime.output.clear();
        runtime.held.clear();
        runtime.labels.end();
        runtime.times.clear();
        runtime.shares.clear();
        runtime.clock_started = false;
        runtime.steps = 0;
        runtime.watched = false;
        runtime.surroundings = None;
        // What is out of sight may be elsewhere each time, and there may be references to it in what can be seen.
        runtime.recall.restart(runtime.out_of_sight.is_none());
        runtime.main_result = None;
        runtime.request = None;
        runtime.step.clear();
        if runtime.trace.is_some() {
            runtime.trace = Some(StepTrace::default());
        }
        self.make_main();
        Self::runtime().stale = true;
    }

    fn threads(&self) -> &[Status] {
        let runtime = Self::runtime();
        if runtime.stale {
            refresh(runtime);
        }
        &runtime.statuses
    }

    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        let result = self.advance(transition, false);
        mem::swap(step, &mut Self::runtime().step);
        result
    }

    fn repeat(&mut self, transition: Transition, _scratch: &mut Step) -> Result<Option<u64>, Stop> {
        let runtime = Self::runtime();
        let enabled = runtime.threads.get(transition.thread.index()).is_some_and(|record| {
            // Whether it was held back is not judged again: when it ran first, it was not.
            let status = record.status(false);
            status
                .alternatives()
                .is_some_and(|alternatives| alternatives.contains(transition.alternative))
        });
        if !enabled {
            return Ok(None);
        }
        let result = self.advance(transition, true);
        let step = &mut Self::runtime().step;
        let signature = step.signature;
        step.clear();
        result.map(|()| Some(signature))
    }

    fn pending(&self, thread: ThreadId) -> Pending {
        Self::runtime().threads[thread.index()].look_ahead()
    }

    fn place(&self, thread: ThreadId) -> Option<u64> {
        let record = Self::runtime().threads.get(thread.index());
        record.filter(|record| record.alive)?.named_site()
    }

    fn gives_way(&self, thread: ThreadId) -> bool {
        let record = Self::runtime().threads.get(thread.index());
        let kind = record
            .filter(|record| record.alive)
            .map(|record| record.operation().kind);
        matches!(kind, Some(OperationKind::Yield | OperationKind::SpinLoop))
    }

    fn describe(&self, signature: u64) -> String {
        let (kind, source) = operation_of(signature);
        let kind = kind.map_or("unknown operation", OperationKind::name);
        match source {
            Some(source) => format!("{kind} at {source}"),
            None => kind.to_owned(),
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let runtime = Self::runtime();
        runtime.switch_tls(None);
        match &runtime.main_result {
            Some(Ok(())) if runtime.find_leaks && runtime.out_of_sight.is_none() => {
                leaks::find(runtime).map_or(Ok(()), Err)
            }
            Some(result) => result.clone(),
            None => Err(stuck::failure(&self.blocked())),
        }
    }

    fn outlook(&mut self) -> Outlook {
        self.outlook_of_held()
    }

    fn fingerprint(&mut self) -> Option<Fingerprint> {
        let runtime = Self::runtime();
        if !runtime.clean {
            // Equal states would look different. From the next execution on they do not.
            runtime.comparing = true;
            return None;
        }
        if runtime.out_of_sight.is_some() || interpose::reads_files() {
            return None;
        }
        bring_up_to_date(runtime);
        Some(Fingerprint(state::fingerprint(runtime)))
    }

    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        Some(self)
    }
}

/// The kind and place of the operation with which a step of this signature begins.
pub fn operation_of(signature: u64) -> (Option<OperationKind>, Option<Source>) {
    let caller = std::ptr::with_exposed_provenance::<Caller<'static>>((signature & 0xFFFF_FFFF_FFFF) as usize);
    // SAFETY: signatures are made by `Record::signature` from the address of a `&'static Location`, or from 0.
    let caller = unsafe { caller.as_ref() };
    (
        OperationKind::from_code((signature >> 48) as u8),
        caller.map(Source::from),
    )
}

pub(crate) fn panic_failure(record: &Record) -> Failure {
    let message = match &record.panic {
        Some(panic) => match &panic.location {
            Some((file, line, _)) => format!("{}\n  at {file}:{line}", panic.message),
            None => panic.message.clone(),
        },
        None => "a panic whose hook did not run (resume_unwind)".to_owned(),
    };
    Failure { kind: "panic", message }
}

fn heap_fault(fault: HeapFault, address: usize) {
    let (kind, message) = match fault {
        HeapFault::DoubleFree => (
            "double-free",
            format!("the block at {address:#x} is freed a second time"),
        ),
        HeapFault::InvalidFree => (
            "invalid-free",
            format!("{address:#x} is freed, but no block starts there"),
        ),
        HeapFault::Exhausted => (
            "unsupported",
            "a thread has used up its part of the address space; memory is not reused within an execution".to_owned(),
        ),
    };
    if !runtime::on_model_thread() {
        return;
    }
    match fault {
        HeapFault::Exhausted => runtime::unsupported(&message),
        _ => {
            runtime::note_wrong_free(address);
            runtime::fail(kind, message)
        }
    }
}
