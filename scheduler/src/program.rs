//! The explored program as a [`System`].

use crate::failure;
use crate::label::Label;
use crate::memory::arena::{self, HeapFault};
use crate::memory::region;
use crate::memory::stacks;
use crate::memory::statics::{Statics, StaticsImage};
use crate::memory::switch;
use crate::memory::tls::TlsBlock;
use crate::operation::{OperationKind, values_now};
use crate::options::Options;
use crate::output::Output;
use crate::panic::PanicRecord;
use crate::platform::interpose;
use crate::platform::signals::{CrashHandler, CrashInfo, CrashKind};
use crate::report::{BlockedReport, Source, StepReport, StepTrace, ThreadReport};
use crate::runtime::{self, Request, Runtime, runtime};
use crate::spin::Awaiting;
use crate::state::{self, StateImage, leaks};
use crate::thread::{self, Record};
use crate::{panic, queue, spin};
use corosensei::CoroutineResult;
use dpor_explorer::{
    AccessKind, Checkpoint, Failure, Fingerprint, Location, Pending, SplitMix64, Status, Step, Stop, System, ThreadId,
    Transition,
};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fmt, mem};

/// One model at a time in a process: its memory lies at fixed addresses.
static MODEL: Mutex<()> = Mutex::new(());

/// Why a model cannot be set up in this process.
#[derive(Debug)]
pub struct SetupError(String);

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetupError {}

/// What a fatal signal says of the explored program. For [`on_crash`].
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// The signal's number.
    pub signal: i32,
    /// The address that was accessed; 0 if the signal is not about an access.
    pub address: usize,
    /// The model thread that ran.
    pub thread: Option<ThreadId>,
    /// The thread's stack is used up.
    pub stack_overflow: bool,
}

impl Crash {
    fn of(info: &CrashInfo) -> Crash {
        let overflowing = match info.kind {
            CrashKind::StackOverflow(thread) => Some(thread),
            _ => None,
        };
        Crash {
            signal: info.signal,
            address: info.address,
            thread: overflowing.or(info.thread).map(|thread| ThreadId(thread as u32)),
            stack_overflow: overflowing.is_some(),
        }
    }
}

/// Reports fatal signals of the calling OS thread, as long as it lives.
pub struct CrashReporter(#[expect(dead_code, reason = "held for its destructor")] CrashHandler);

/// Has `callback` called when the calling OS thread receives a fatal signal. It must be async-signal-safe, and may
/// end the process; otherwise the handler that was there before goes on.
///
/// # Errors
/// Another reporter is alive, or there is no memory.
pub fn on_crash(callback: fn(Crash)) -> Result<CrashReporter, SetupError> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    #[unsafe(link_section = ".dpor.data")]
    static CALLBACK: AtomicUsize = AtomicUsize::new(0);
    CALLBACK.store(callback as usize, Ordering::Relaxed);
    let handler = CrashHandler::install(|info| {
        // SAFETY: only the function above stores here, and only values of this type.
        let callback = unsafe { mem::transmute::<usize, fn(Crash)>(CALLBACK.load(Ordering::Relaxed)) };
        callback(Crash::of(info));
    });
    handler
        .map(CrashReporter)
        .map_err(|error| SetupError(format!("cannot watch for crashes: {error}")))
}

/// A concurrent program, run step by step in this process.
///
/// Its main thread runs `body`; all others are created by it. While a `Program` exists, no other can be made.
pub struct Program {
    body: Box<dyn Fn() -> Result<(), Failure>>,
    image: Option<StaticsImage>,
    initialised: bool,
    _model: MutexGuard<'static, ()>,
}

impl Program {
    /// Sets up a model whose main thread runs `body`: an error of it is the execution's failure, and so is a panic.
    /// Waits until no other model exists in the process.
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
            _model: model,
        })
    }

    /// The runtime, while no model thread runs.
    fn runtime<'a>() -> &'a mut Runtime {
        // SAFETY: called by the scheduler between resumptions only, on the model's OS thread; callers drop the
        // borrow before they resume a coroutine.
        unsafe { &mut *runtime() }
    }

    /// Makes the next executions tell of their steps. Loops are watched from where they are noticed, and threads that
    /// only repeat themselves are not held back, so that a schedule can be followed that was found under other
    /// circumstances; [`Program::hold_spinning`] ends that.
    pub fn trace(&mut self) {
        let runtime = Self::runtime();
        runtime.trace = Some(StepTrace::default());
        runtime.learn_in_place = true;
        runtime.refinements.hashing = true;
        arena::set_trace_hook(Some(runtime::note_allocation));
        runtime.spin_blocks = false;
    }

    /// Makes states comparable, or no longer: threads start on clean stacks, so that what earlier executions left there
    /// does not count. Takes effect at the next restart; a strategy that asks for fingerprints wants it before the first.
    pub fn compare_states(&mut self, comparing: bool) {
        Self::runtime().comparing = comparing;
    }

    /// Keeps all states of which a fingerprint is made, and checks that equal fingerprints mean equal states; or stops
    /// doing so, and forgets them. For tests: it takes the memory of all states together.
    ///
    /// # Panics
    /// [`System::fingerprint`] then panics if two different states have the same.
    pub fn exact_states(&mut self, exact: bool) {
        Self::runtime().exact = exact.then(Default::default);
    }

    /// Makes it a failure if an execution ends well, and has blocks on the heap that it can never free any more; or no longer.
    pub fn find_leaks(&mut self, find: bool) {
        Self::runtime().find_leaks = find;
    }

    /// Why leaks are not looked for (any more), if they should be: the program has memory that cannot be seen, in which there
    /// may be references.
    pub fn leaks_out_of_sight(&self) -> Option<String> {
        self.state_out_of_sight().filter(|_| Self::runtime().find_leaks)
    }

    /// Why states are not compared (any more): what the program made that cannot be seen.
    pub fn state_out_of_sight(&self) -> Option<String> {
        Self::runtime().out_of_sight.clone()
    }

    /// How many bytes were hashed for all fingerprints so far. The same in every process that asks for the same ones.
    pub fn fingerprint_cost(&self) -> u64 {
        Self::runtime().hashed
    }

    /// Leaves the stacks out of fingerprints, so that states look equal which are not. For tests of tests.
    #[cfg(feature = "faults")]
    pub fn coarse_fingerprints(&mut self) {
        Self::runtime().coarse = true;
    }

    /// A copy of the current state, between two steps. In a traced execution it knows where blocks were allocated.
    pub fn capture(&mut self) -> StateImage {
        let runtime = Self::runtime();
        bring_up_to_date(runtime);
        StateImage::of(runtime)
    }

    /// From here on, threads that only repeat themselves are held back.
    pub fn hold_spinning(&mut self) {
        let runtime = Self::runtime();
        runtime.spin_blocks = true;
        runtime.stale = true;
        runtime.threads.iter_mut().for_each(|record| record.moved = true);
    }

    /// From here on, threads that only repeat themselves go on.
    fn release_spinning(&mut self) {
        self.hold_spinning();
        Self::runtime().spin_blocks = false;
    }

    /// Runs on, threads in turn by chance. Says whether the program gets anywhere: to the end of a thread, to an operation that it
    /// has not come to before, to a failure, or to where nobody can go on.
    ///
    /// A loop that takes a lock and gives it back is held back where it stands, which may be with the lock; others that wait for
    /// the lock are not for ever.
    fn try_out(&mut self) -> bool {
        /// So many steps a thread gets, about. With fewer than that a loop is left by whoever waits for another to go round.
        const ROUNDS: usize = 1000;
        let alive: SmallVec<[ThreadId; 8]> = (0..Self::runtime().threads.len())
            .filter(|&thread| Self::runtime().threads[thread].alive)
            .map(|thread| ThreadId(thread as u32))
            .collect();
        let mut random = SplitMix64::new(0);
        for _ in 0..ROUNDS * alive.len() {
            let enabled: SmallVec<[(ThreadId, u32); 8]> = (0..)
                .zip(self.threads())
                .filter_map(|(thread, status)| Some((ThreadId(thread), status.alternatives()?)))
                .flat_map(|(thread, alternatives)| alternatives.iter().map(move |alternative| (thread, alternative)))
                .collect();
            if enabled.is_empty() {
                return true;
            }
            let (thread, alternative) = enabled[random.below(enabled.len())];
            if self.advance(Transition { thread, alternative }, true).is_err() {
                return true;
            }
            if alive
                .iter()
                .any(|thread| !Self::runtime().threads[thread.index()].alive)
            {
                return true;
            }
        }
        false
    }

    /// What the last step of a traced execution did.
    pub fn last_step(&self) -> Option<StepReport> {
        Self::runtime().trace.as_ref().and_then(|trace| trace.last.clone())
    }

    /// The kind and place of a thread's pending operation.
    pub fn pending_operation(&self, thread: ThreadId) -> Option<(OperationKind, Option<Source>)> {
        let runtime = Self::runtime();
        let record = runtime.threads.get(thread.index()).filter(|record| record.alive)?;
        Some((record.operation().kind, runtime.source(record)))
    }

    /// The threads that exist or have existed in this execution.
    pub fn thread_reports(&self) -> Vec<ThreadReport> {
        let created = Self::runtime()
            .threads
            .iter()
            .enumerate()
            .filter(|(_, record)| record.created);
        let report = |(i, record): (usize, &Record)| ThreadReport {
            id: ThreadId(i as u32),
            parent: record.parent,
            name: record.name.clone(),
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
            .and_then(|record| record.name.clone())
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
                holder: runtime.trace.as_ref().and_then(|trace| trace.holder(operation.object)),
            }
        };
        blocked.map(report).collect()
    }

    /// What the current execution has printed.
    pub fn output(&self) -> &[Output] {
        &Self::runtime().output
    }

    /// Counts the labels that the current execution has reached as those of a complete one.
    pub fn count_labels(&mut self) {
        Self::runtime().labels.complete();
    }

    /// The labels that were reached or required in any execution, the current one included.
    pub fn labels(&mut self) -> Vec<Label> {
        let labels = &mut Self::runtime().labels;
        labels.end();
        labels.all()
    }

    /// The creation path of every thread id, in order of ids: the creator, and that it is its n-th child.
    pub fn thread_table(&self) -> Vec<(ThreadId, u32)> {
        Self::runtime()
            .threads
            .iter()
            .map(|record| (record.parent, record.nth))
            .collect()
    }

    /// How many thread ids there are.
    pub fn known_threads(&self) -> usize {
        Self::runtime().threads.len()
    }

    /// Gives thread ids as in an earlier exploration. Must come before the first execution.
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

    /// The locations whose releases were found to be observed.
    pub fn observed(&self) -> Vec<Location> {
        Self::runtime().refinements.observed_in_order.clone()
    }

    /// Takes releases of these locations as scheduling points from the start.
    pub fn observe(&mut self, locations: &[Location]) {
        let refinements = &mut Self::runtime().refinements;
        for &location in locations {
            refinements.observe(location);
        }
    }

    /// Drops what is left of the execution, without unwinding it.
    fn discard(&mut self) {
        let runtime = Self::runtime();
        runtime.switch_tls(None);
        for record in &mut runtime.threads {
            if let Some(mut coroutine) = record.coroutine.take() {
                // SAFETY: everything on the coroutine's stack belongs to the explored program: its heap is reset
                // below, and its statics are restored. Nothing of the checker's is kept there.
                unsafe { coroutine.force_reset() };
            }
            record.alive = false;
            record.created = false;
        }
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

    /// Runs the thread, and the threads that it creates, until all of them are at scheduling points.
    fn run(thread: ThreadId) -> Result<(), Stop> {
        let mut running: SmallVec<[ThreadId; 2]> = SmallVec::from_iter([thread]);
        while let Some(&top) = running.last() {
            let runtime = Self::runtime();
            runtime.current = top;
            // They hold for a suspended thread only.
            runtime.threads[top.index()].registers = std::ptr::null();
            runtime.switch_tls(Some(top));
            let coroutine = &raw mut *runtime.threads[top.index()].coroutine;
            // SAFETY: a model is set up, the scheduler runs on no model thread's stack, and a live thread has a coroutine. It stays
            // in its box while the list of threads grows.
            let result = unsafe { switch::resume(coroutine, runtime.clean) };
            let runtime = Self::runtime();
            match result {
                CoroutineResult::Return(()) => {
                    runtime.threads[top.index()].alive = false;
                    running.pop();
                    if running.is_empty() {
                        spin::stepped(runtime, top);
                    }
                }
                CoroutineResult::Yield(()) => match runtime.request.take() {
                    Some(Request::Point) => {
                        // SAFETY: the thread is suspended in `arrive`, whose caller holds the registers.
                        if let Some(registers) = unsafe { runtime.threads[top.index()].registers.as_ref() } {
                            stacks::note_depth(registers.stack().start);
                        }
                        running.pop();
                        if running.is_empty() {
                            spin::stepped(runtime, top);
                        }
                        if spin::arrived(runtime, top) {
                            for stopped in running {
                                runtime.threads[stopped.index()].abandon();
                            }
                            return Err(Stop::Refine);
                        }
                    }
                    Some(Request::Spawn(child)) => running.push(child),
                    Some(Request::Stop(stop)) => {
                        // What they had pending at the start of the step is gone from their stacks.
                        for stopped in running {
                            runtime.threads[stopped.index()].abandon();
                        }
                        return Err(stop);
                    }
                    None => unreachable!("a coroutine suspends with a request"),
                },
            }
        }
        Ok(())
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

/// Evaluates again what each thread can do. Only guards and threads that moved can have changed.
fn refresh(runtime: &mut Runtime) {
    let spin_blocks = runtime.spin_blocks;
    runtime.stale = false;
    for (record, status) in runtime.threads.iter_mut().zip(&mut runtime.statuses) {
        let free = record.alive && !record.moved && {
            let unguarded = record.operation().alternatives.is_empty();
            unguarded && record.spin.awaiting().is_none()
        };
        if !free {
            *status = record.status(spin_blocks);
            record.moved = false;
        }
    }
}

/// Makes the runtime ready to be looked at as a state.
fn bring_up_to_date(runtime: &mut Runtime) {
    if runtime.stale {
        refresh(runtime);
    }
    runtime.save_tls();
}

impl Program {
    /// Runs the transition; the record of the step is left in the runtime.
    fn advance(&mut self, transition: Transition, repeating: bool) -> Result<(), Stop> {
        let thread = transition.thread;
        let runtime = Self::runtime();
        runtime.repeating = repeating;
        runtime.stale = true;
        let source = runtime
            .trace
            .is_some()
            .then(|| runtime.source(&runtime.threads[thread.index()]))
            .flatten();
        let Runtime { threads, step: own, .. } = runtime;
        let record = &mut threads[thread.index()];
        record.moved = true;
        own.clear();
        own.signature = record.signature();
        let operation = record.operation();
        let (kind, object) = (operation.kind, operation.object);
        if !operation.alternatives.is_empty() || record.spin.awaiting().is_some() {
            for access in record.enabling_accesses() {
                own.footprint.add(access.location, access.kind);
            }
            if !repeating {
                own.guards = record.guards();
                own.values = values_now(&own.guards);
            }
        }
        runtime.chosen = transition.alternative;
        runtime.steps += 1;
        let main_ran_before = runtime.main_result.is_some();
        spin::begins(runtime, thread);
        let result = Self::run(thread);
        let runtime = Self::runtime();
        if runtime.trace.is_some() {
            report_step(runtime, thread, kind, object, source);
        }
        if let Err(Stop::Refine) = result {
            runtime.labels.start_again();
        }
        result?;
        match &runtime.main_result {
            Some(Err(failed)) if !main_ran_before => Err(Stop::Failed(failed.clone())),
            _ => Ok(()),
        }
    }
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
        runtime.clean = runtime.comparing || runtime.refinements.hashing;
        runtime.allocations.clear();
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
        self.advance(transition, true)?;
        Ok(Some(Self::runtime().step.signature))
    }

    fn pending(&self, thread: ThreadId) -> Pending {
        Self::runtime().threads[thread.index()].look_ahead()
    }

    fn describe(&self, signature: u64) -> String {
        let kind = OperationKind::from_code((signature >> 48) as u8).map_or("unknown operation", OperationKind::name);
        let caller = std::ptr::with_exposed_provenance::<Caller<'static>>((signature & 0xFFFF_FFFF_FFFF) as usize);
        // SAFETY: signatures are made by `Record::signature` from the address of a `&'static Location`, or from 0.
        match unsafe { caller.as_ref() } {
            Some(caller) => format!("{kind} at {}:{}", caller.file(), caller.line()),
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
            None => Err(stuck(&self.blocked())),
        }
    }

    fn goes_on(&mut self) -> bool {
        let runtime = Self::runtime();
        let held = |record: &Record| record.alive && record.spin.awaiting().is_some_and(Awaiting::writes);
        // A traced execution is that of a failure that has been judged.
        if runtime.trace.is_some() || !runtime.threads.iter().any(held) {
            return false;
        }
        let refinements = runtime.refinements.clone();
        let in_place = mem::replace(&mut runtime.learn_in_place, true);
        self.release_spinning();
        let goes_on = self.try_out();
        let runtime = Self::runtime();
        runtime.refinements = refinements;
        runtime.learn_in_place = in_place;
        runtime.spin_blocks = true;
        goes_on
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

    fn checkpoint(&mut self) -> Option<Checkpoint> {
        None
    }

    fn rewind(&mut self, _to: Checkpoint) {
        unreachable!("no checkpoint was handed out")
    }
}

/// The failure of an execution in which nobody can run and the test has not ended.
fn stuck(blocked: &[BlockedReport]) -> Failure {
    use std::fmt::Write;
    let spinning = blocked.iter().any(|thread| thread.spinning);
    let (kind, mut message) = match (spinning, blocked.len()) {
        (true, 1) => ("livelock", "1 thread repeats itself for ever".to_owned()),
        (true, n) => ("livelock", format!("{n} threads wait or repeat themselves for ever")),
        (false, 1) => ("deadlock", "1 thread waits for ever".to_owned()),
        (false, n) => ("deadlock", format!("{n} threads wait for ever")),
    };
    for thread in blocked {
        let waits = if thread.spinning {
            "repeats itself at"
        } else {
            "waits at"
        };
        let _ = write!(
            message,
            "\n  {} ({}) {waits} {}",
            thread.thread, thread.name, thread.kind
        );
        if let Some(source) = &thread.source {
            let _ = write!(message, " {source}");
        }
        if let Some((holder, source)) = &thread.holder {
            let _ = write!(message, ", held by {holder}");
            if let Some(source) = source {
                let _ = write!(message, " since {source}");
            }
        }
    }
    Failure { kind, message }
}

fn panic_failure(record: &Record) -> Failure {
    let message = match &record.panic {
        Some(panic) => match &panic.location {
            Some((file, line, _)) => format!("{}\n  at {file}:{line}", panic.message),
            None => panic.message.clone(),
        },
        None => "a panic whose hook did not run (resume_unwind)".to_owned(),
    };
    Failure { kind: "panic", message }
}

fn report_step(runtime: &mut Runtime, thread: ThreadId, kind: OperationKind, object: Location, source: Option<Source>) {
    use OperationKind as K;
    let touched = runtime
        .step
        .footprint
        .accesses()
        .iter()
        .find(|access| access.location == object);
    let changes = touched.is_some_and(|access| access.kind != AccessKind::Read);
    let acquires = matches!(
        kind,
        K::Lock | K::TryLock | K::ReadLock | K::TryReadLock | K::WriteLock | K::TryWriteLock
    );
    let Some(trace) = &mut runtime.trace else { return };
    if acquires && changes {
        trace.acquired(thread, object, source.clone());
    }
    let detail = trace.take_notes();
    let spawned = runtime.step.spawned.to_vec();
    trace.last = Some(StepReport {
        thread,
        kind,
        object,
        source,
        detail,
        spawned,
    });
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
        _ => runtime::fail(kind, message),
    }
}
