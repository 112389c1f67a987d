//! The running model: what the explored program's threads and the scheduler share.
//!
//! Model threads are coroutines on one OS thread, so nothing here is synchronised. All of it is reached
//! through one raw pointer with short-lived borrows, because a coroutine that is resumed from the scheduler
//! comes back here in the middle of the scheduler's own call.

use crate::callers;
use crate::failure;
use crate::memory::{
    region,
    statics::Statics,
    switch::{Plain, in_checker},
    tls::{TlsBlock, TlsImage},
};
use crate::operation::{Operation, OperationKind, access_of, awaiting, part_of};
use crate::options::Options;
use crate::ordering::{Orderings, WeakOrderings};
use crate::output::Output;
use crate::overlap;
use crate::ownership::{self, Shares};
use crate::recall::Recall;
use crate::report::{BlockUse, Mark, Source, StepTrace};
use crate::spin::{Before, Registers, Surroundings};
use crate::state::{ExactStates, Symbols};
use crate::thread::Record;
// The standard maps keep their seeds in a thread-local, which is the explored program's.
use dpor_explorer::keys::{KeyMap, KeySet};
use dpor_explorer::{Access, AccessKind, Awaits, Effect, Failure, Location, Status, Step, Stop, ThreadId};
use std::cell::{Cell, OnceCell, UnsafeCell};
use std::ops::Range;
use std::panic::Location as Caller;
use std::time::Duration;

/// What a coroutine wants when it suspends.
#[derive(Debug)]
pub(crate) enum Request {
    /// It has reached a scheduling point; its record holds the pending operation.
    Point,
    /// A thread was created and runs to its first scheduling point before the creator goes on.
    Spawn(ThreadId),
    /// The execution ends here.
    Stop(Stop),
}

/// What exploration has learnt that it needs; survives restarts.
#[derive(Clone, Default, Debug)]
pub(crate) struct Refinements {
    /// Locations whose release is observed, so that it is a scheduling point.
    pub observed: KeySet<Location>,
    /// The same, in the order in which it was learnt.
    pub observed_in_order: Vec<Location>,
    /// The kinds of locations of which all count as observed: objects, and parts of objects by number.
    pub observed_kinds: KeySet<u64>,
    /// Places of the program that a thread came back to without having changed anything.
    pub loops: KeySet<u64>,
    /// States of threads are compared.
    pub hashing: bool,
    /// There are words in which atomics overlap; they count as observed.
    pub overlaps: bool,
    /// The atomics that were used so far, in any execution.
    pub atomics: overlap::Used,
}

dpor_explorer::codec!(struct Refinements { observed, observed_in_order, observed_kinds, loops, hashing, overlaps, atomics });

impl Refinements {
    /// Takes releases of the location as scheduling points. Says whether that is new.
    pub fn observe(&mut self, object: Location) -> bool {
        /// After so many locations of a kind, all count as observed: their addresses may depend on the interleaving.
        const MANY: usize = 64;
        if self.is_observed(object) {
            return false;
        }
        self.observed.insert(object);
        self.overlaps |= overlap::is_word(object);
        self.observed_in_order.push(object);
        let kind = part_of(object);
        if self.observed.iter().filter(|&&other| part_of(other) == kind).count() > MANY {
            self.observed_kinds.insert(kind);
        }
        true
    }

    /// Whether releases of the location are scheduling points.
    #[inline]
    pub fn is_observed(&self, object: Location) -> bool {
        self.observed.contains(&object)
            || !self.observed_kinds.is_empty() && self.observed_kinds.contains(&part_of(object))
    }
}

/// The state of the current execution and of the scheduler.
#[derive(Default)]
pub(crate) struct Runtime {
    pub options: Options,
    pub threads: Vec<Record>,
    pub statuses: Vec<Status>,
    pub current: ThreadId,
    /// The alternative that was chosen for the current step.
    pub chosen: u32,
    /// The record of the current step.
    pub step: Step,
    /// The step runs again what ran before: only its signature counts.
    pub repeating: bool,
    /// Something has moved since the statuses were evaluated.
    pub stale: bool,
    pub request: Option<Request>,
    /// Steps begun in this execution.
    pub steps: u32,
    pub refinements: Refinements,
    /// Threads with an entry in the spin detector's tables.
    pub watched: bool,
    /// Between start and end of a step, if the thread that makes it is watched.
    pub before: Option<Before>,
    /// What was around the thread that made the last step, after it, if that is known.
    pub surroundings: Option<(ThreadId, Surroundings)>,
    /// What is known of the steps of this execution from earlier ones.
    pub recall: Recall,
    /// The thread that makes the step is watched, and has more than one alternative.
    pub choosing: bool,
    pub output: Vec<Output>,
    pub labels: crate::label::Labels,
    pub weak_orderings: WeakOrderings,
    pub clock_started: bool,
    pub times: KeyMap<Location, Duration>,
    pub shares: Shares,
    pub main_result: Option<Result<(), dpor_explorer::Failure>>,
    /// Blocks that the program can never free any more are failures.
    pub find_leaks: bool,
    /// Addresses of what the checker holds for the program in this execution.
    pub held: Vec<usize>,
    pub trace: Option<StepTrace>,
    pub user_hook: Option<crate::panic::Hook>,
    /// A loop that is noticed is watched from then on, instead of starting again.
    pub learn_in_place: bool,
    /// Threads that only repeat themselves are held back.
    pub spin_blocks: bool,
    /// The execution has ended, and is run on to see whether it comes back to where it was. Nobody is watched for
    /// repeating itself.
    pub trying_out: bool,
    /// States are going to be compared.
    pub comparing: bool,
    /// In this execution, threads start on stacks where nothing is left of earlier executions.
    pub clean: bool,
    /// Why states cannot be compared any more: part of them is out of sight.
    pub out_of_sight: Option<String>,
    /// What each fingerprint so far stands for, if that is checked.
    pub exact: Option<ExactStates>,
    /// How many bytes were hashed for fingerprints.
    pub hashed: u64,
    /// Memory for the next hash.
    pub scratch: Cell<Vec<u8>>,
    /// In a traced execution, where the blocks of the heap were allocated.
    pub allocations: KeyMap<usize, Mark>,
    /// In a traced execution, where they were freed.
    pub frees: KeyMap<usize, Mark>,
    /// In a traced execution, the block that was freed wrongly, and where.
    pub freed_wrongly: Option<(usize, Mark)>,
    /// In a traced execution that a thread has ended as a failure, where that thread stands: return addresses,
    /// innermost first.
    pub failed_at: Box<[usize]>,
    /// The executable's symbols, once something was looked up.
    pub symbols: OnceCell<Symbols>,
    /// Fingerprints leave out the stacks.
    #[cfg(feature = "faults")]
    pub coarse: bool,
    pub statics: Option<&'static Statics>,
    pub tls: Option<TlsBlock>,
    /// What the thread-locals of a new model thread start with.
    pub base_tls: Option<TlsImage>,
    /// The OS thread's own, while those of a model thread are in place.
    pub os_tls: Option<TlsImage>,
    /// The model thread whose thread-locals are in place; none if they are the OS thread's own.
    pub tls_owner: Option<ThreadId>,
}

impl Runtime {
    /// Where in the source a thread's pending operation stands, as far as that is known.
    pub fn source(&self, record: &Record) -> Option<Source> {
        record
            .caller
            .map(Source::from)
            .or_else(|| self.frames(&record.callers).find_map(|caller| caller.source()))
    }

    /// Where the model thread stands that has called the checker.
    fn mark(&self) -> Mark {
        Mark {
            step: self.steps.saturating_sub(1),
            thread: self.current,
            callers: backtrace(),
        }
    }

    /// What is known of the block that was freed wrongly, in the order in which it happened.
    pub fn wrong_free(&self) -> Vec<BlockUse> {
        let Some((block, again)) = &self.freed_wrongly else {
            return Vec::new();
        };
        let born = self.allocations.get(block).map(|mark| (false, mark));
        let freed = self.frees.get(block).map(|mark| (true, mark));
        let told = |(freed, mark): (bool, &Mark)| BlockUse {
            freed,
            step: mark.step,
            thread: mark.thread,
            source: self.frames(&mark.callers).find_map(|caller| caller.source()),
        };
        born.into_iter().chain(freed).chain([(true, again)]).map(told).collect()
    }

    /// The functions of the explored program among the callers, innermost first.
    pub fn frames(&self, callers: &[usize]) -> impl Iterator<Item = crate::state::Caller> {
        let addresses = callers.iter();
        let frames = addresses.flat_map(|&address| self.symbols.get_or_init(Symbols::of_executable).frames(address));
        frames.filter(|caller| caller.of_program)
    }

    /// Copies the thread-locals that are in place to where their owner keeps them.
    pub fn save_tls(&mut self) {
        let image = match self.tls_owner {
            Some(thread) => self.threads[thread.index()].tls.as_mut(),
            None => self.os_tls.as_mut(),
        };
        if let (Some(tls), Some(image)) = (&self.tls, image) {
            // SAFETY: the block is that of the model's OS thread, on which we run.
            unsafe { tls.save(image) };
        }
    }

    /// Puts the thread-locals of a model thread in place, or those of the OS thread.
    pub fn switch_tls(&mut self, to: Option<ThreadId>) {
        if self.tls_owner == to {
            return;
        }
        self.save_tls();
        self.tls_owner = to;
        let image = match to {
            Some(thread) => self.threads[thread.index()].tls.as_ref(),
            None => self.os_tls.as_ref(),
        };
        if let (Some(tls), Some(image)) = (&self.tls, image) {
            // SAFETY: as above; the checker holds no references to thread-locals.
            unsafe { tls.load(image) };
        }
    }
}

struct Shared(UnsafeCell<Option<Runtime>>);

// SAFETY: the cell is touched only by the OS thread that runs the model, which holds `program::MODEL`, and by
// code that runs on model threads, which are coroutines of that OS thread.
unsafe impl Sync for Shared {}

#[unsafe(link_section = ".dpor.bss")]
static RUNTIME: Shared = Shared(UnsafeCell::new(None));

/// The runtime of the model that is set up.
///
/// Borrows made from the pointer must end before a coroutine is resumed or suspends.
#[inline]
pub(crate) fn runtime() -> *mut Runtime {
    match installed() {
        Some(runtime) => runtime,
        None => unreachable!("the runtime is set up while a model exists"),
    }
}

/// The runtime, if a model is set up.
#[inline]
pub(crate) fn installed() -> Option<*mut Runtime> {
    // SAFETY: `RUNTIME` is only touched by the model's OS thread (see `Shared`).
    unsafe { &mut *RUNTIME.0.get() }.as_mut().map(std::ptr::from_mut)
}

/// Where the runtime lies.
pub(crate) fn place() -> Range<usize> {
    let start = RUNTIME.0.get().addr();
    start..start + size_of::<Option<Runtime>>()
}

/// Sets up or takes down the runtime.
///
/// # Safety
/// The caller holds `program::MODEL`, and no model thread runs.
pub(crate) unsafe fn install(new: Option<Runtime>) {
    // SAFETY: by the contract, nobody else touches the cell.
    unsafe { *RUNTIME.0.get() = new }
}

/// Runs `f` on the runtime from a model thread, as the checker's work.
#[inline]
pub(crate) fn on_model<R: Plain>(f: impl FnOnce(&mut Runtime) -> R) -> R {
    // SAFETY: on a model thread the scheduler is suspended in `resume` and holds no borrow; `f` does not
    // suspend.
    in_checker(|| f(unsafe { &mut *runtime() }))
}

/// As [`on_model`], for work that allocates nothing: where states are not compared, it need not leave the stack.
#[inline]
pub(crate) fn on_model_in_place<R: Plain>(f: impl FnOnce(&mut Runtime) -> R) -> R {
    on_model_in_place_if(|_| true, f)
}

/// As [`on_model_in_place`], for work that allocates nothing if the runtime is `ready` for it.
#[inline]
pub(crate) fn on_model_in_place_if<R: Plain>(
    ready: impl FnOnce(&Runtime) -> bool,
    f: impl FnOnce(&mut Runtime) -> R,
) -> R {
    if of_model(|runtime| !runtime.clean && ready(runtime)) {
        // SAFETY: as in `on_model`.
        f(unsafe { &mut *runtime() })
    } else {
        on_model(f)
    }
}

/// Reads something of the runtime, from a model thread. What `f` returns must not depend on what was explored before,
/// as the program's stack may keep it.
#[inline]
pub(crate) fn of_model<R: Copy>(f: impl FnOnce(&Runtime) -> R) -> R {
    // SAFETY: as in `on_model`.
    f(unsafe { &*runtime() })
}

/// Runs `f` on the checker's side: what it allocates outlives the execution, and what it frees was allocated so. This
/// is how a model's closure adds to a collection that was made before; off model threads it is just a call.
///
/// `f` copies what it keeps: whatever was allocated by the model goes away with the execution. It must not use anything
/// that is redefined for models, and what it finds is not part of the program's state: a strategy that compares states
/// may leave out an execution that would have added something, so a set of the outcomes of whole executions asks for
/// one that does not.
///
/// A panic in `f` ends the process.
pub fn outside(f: impl FnOnce()) {
    in_checker(f);
}

/// Says whether the address is in the explored program's statics; not before there is a model.
pub(crate) fn in_statics(address: usize) -> bool {
    installed().is_some() && of_model(|runtime| runtime.statics.is_some_and(|statics| statics.contains(address)))
}

/// Says whether the caller runs on a model thread. Looks at the stack pointer only.
#[inline]
pub fn on_model_thread() -> bool {
    region::on_model_thread()
}

/// Notes an access in the footprint of the current step; nothing off model threads.
#[inline]
pub fn access(location: Location, kind: AccessKind) {
    note_access(access_of(location, kind));
}

/// Notes the access of the atomic operation that is the current step's, as [`access`] does, and the orderings that it
/// asks for.
#[inline]
pub fn atomic_access(location: Location, kind: AccessKind, orderings: Orderings) {
    if !on_model_thread() {
        return;
    }
    note_access(access_of(overlap::location_of(location), kind));
    if orderings.are_weak() {
        on_model(|runtime| {
            if !runtime.repeating {
                let signature = runtime.step.signature;
                runtime.weak_orderings.note(signature, location, orderings);
            }
        });
    }
}

/// Notes an access that had to wait for something to be done to the location; nothing off model threads.
#[inline]
pub fn access_awaiting(location: Location, kind: AccessKind, awaits: Awaits) {
    note_access(awaiting(location, kind, awaits));
}

// On its own, so that it leaves nothing in the frame of a function that goes round a loop.
#[inline(never)]
fn note_access(access: Access) {
    if on_model_thread() {
        ownership::visible();
        let Access { location, kind, .. } = access;
        let ready = |runtime: &Runtime| !runtime.clock_started && runtime.step.footprint.has_room();
        on_model_in_place_if(ready, |runtime| {
            runtime.step.footprint.insert(access);
            if runtime.clock_started {
                crate::time::synchronise(runtime, location, kind);
            }
        });
    }
}

#[inline(never)]
pub(crate) fn effect(effect: Effect) {
    if !on_model_thread() {
        return;
    }
    // Where states are compared, whether the step is run again is asked on the other stack, so that the program's own
    // looks the same.
    let ready = |runtime: &Runtime| runtime.repeating || runtime.step.effects.len() < runtime.step.effects.capacity();
    on_model_in_place_if(ready, |runtime| {
        if runtime.repeating {
            return;
        }
        let effects = &mut runtime.step.effects;
        match effects.iter_mut().find(|other| other.variable == effect.variable) {
            Some(other) => other.after = effect.after,
            None => effects.push(effect),
        }
    });
}

/// Attaches a detail such as `0 → 1` to the current step, if the execution is being traced.
#[inline]
pub fn note(detail: impl FnOnce() -> String) {
    if on_model_thread() && of_model(|runtime| runtime.trace.is_some()) {
        on_model(|runtime| {
            if let Some(trace) = &mut runtime.trace {
                trace.note(detail());
            }
        });
    }
}

/// Tells of the value that an object has now, if there are words for it and the execution is being traced.
#[inline]
pub fn value_if(object: Location, text: impl FnOnce() -> Option<String>) {
    tell(|trace, _| {
        if let Some(text) = text() {
            trace.value(object, text);
        }
    });
}

/// Tells of the value that an object has now, if the execution is being traced.
#[inline]
pub fn value(object: Location, text: impl FnOnce() -> String) {
    value_if(object, || Some(text()));
}

/// Tells that the current step gives back a lock which is not the object of its operation, if the execution is being
/// traced.
#[inline]
pub fn gives_back(object: Location) {
    tell(|trace, thread| trace.released(thread, object));
}

/// Tells that the current step takes a lock which is not the object of its operation, if the execution is being traced.
#[inline]
pub fn takes(object: Location) {
    tell(|trace, _| trace.takes(object));
}

/// Tells that a location stands for a thread in operations, if the execution is being traced.
#[inline]
pub fn stands_for(object: Location, thread: ThreadId) {
    tell(|trace, _| trace.stands_for(object, thread));
}

#[inline]
fn tell(what: impl FnOnce(&mut StepTrace, ThreadId)) {
    if on_model_thread() && of_model(|runtime| runtime.trace.is_some()) {
        on_model(|runtime| {
            if let Some(trace) = &mut runtime.trace {
                what(trace, runtime.current);
            }
        });
    }
}

/// The options of the model; the defaults off model threads.
pub fn options() -> Options {
    if on_model_thread() {
        of_model(|runtime| runtime.options)
    } else {
        Options::default()
    }
}

/// Says that what the explored program has allocated at an address is held by the checker, and no leak.
pub fn hold<T: ?Sized>(block: *const T) {
    if on_model_thread() {
        let address = block.cast::<u8>().addr();
        on_model(|runtime| runtime.held.push(address));
    }
}

/// Runs an operation: the only way to touch what threads share.
///
/// On a model thread this is a scheduling point: the thread stops with `operation` pending until the
/// scheduler picks one of its alternatives, and `apply` runs as part of that step. Off model threads it blocks
/// until an alternative is enabled.
///
/// `apply` gets the alternative, takes effect, and notes what it really touched with [`access`]. It must
/// neither perform another operation nor run code of the explored program.
#[track_caller]
#[inline]
pub fn perform<R>(operation: &Operation<'_>, apply: impl FnOnce(u32) -> R) -> R {
    if on_model_thread() {
        let chosen = arrive(operation, Some(Caller::caller()), &Registers::save());
        apply(chosen)
    } else {
        crate::native::perform(operation, apply)
    }
}

/// [`perform`], for an operation that reports are to show at another place of the program than that of the call.
#[inline]
pub fn perform_from<R>(caller: &'static Caller<'static>, operation: &Operation<'_>, apply: impl FnOnce(u32) -> R) -> R {
    if on_model_thread() {
        let chosen = arrive(operation, Some(caller), &Registers::save());
        apply(chosen)
    } else {
        crate::native::perform(operation, apply)
    }
}

/// How many steps have begun in this execution: who must not make one can be asked before and after. 0 off model
/// threads.
pub fn steps_begun() -> u32 {
    if on_model_thread() {
        of_model(|runtime| runtime.steps)
    } else {
        0
    }
}

/// [`perform`], on a model thread, for a function of the C library: who calls it does not say where.
#[inline]
pub(crate) fn perform_call<R>(operation: &Operation<'_>, apply: impl FnOnce(u32) -> R) -> R {
    let chosen = arrive(operation, None, &Registers::save());
    apply(chosen)
}

/// A scheduling point before an operation that never blocks and touches one location; nothing off model
/// threads.
#[track_caller]
#[inline]
pub fn point(kind: OperationKind, object: Location, predicted: AccessKind) {
    if on_model_thread() {
        let accesses = [access_of(object, predicted)];
        arrive(
            &Operation::always(kind, object, &accesses),
            Some(Caller::caller()),
            &Registers::save(),
        );
    }
}

/// Runs an operation that moves left over everything that other threads do (unlock, thread exit, the drop of
/// a sender): it belongs to the step that it follows, unless some thread [`observe`]s the location.
#[track_caller]
#[inline]
pub fn release<R>(kind: OperationKind, object: Location, apply: impl FnOnce() -> R) -> R {
    if !on_model_thread() {
        return crate::native::release(apply);
    }
    release_from(kind, object, Some(Caller::caller()), apply)
}

/// [`release`], on a model thread, for a function of the C library.
#[inline]
pub(crate) fn release_call<R>(kind: OperationKind, object: Location, apply: impl FnOnce() -> R) -> R {
    release_from(kind, object, None, apply)
}

#[inline(always)]
fn release_from<R>(
    kind: OperationKind,
    object: Location,
    caller: Option<&'static Caller<'static>>,
    apply: impl FnOnce() -> R,
) -> R {
    if is_observed(object) {
        let accesses = [access_of(object, AccessKind::Write)];
        // Where a destructor is called no caller says; a traced execution looks for it on the stack.
        let caller = caller.filter(|_| of_model(|runtime| runtime.trace.is_none()));
        arrive(&Operation::always(kind, object, &accesses), caller, &Registers::save());
    }
    if matches!(
        kind,
        OperationKind::Unlock | OperationKind::ReadUnlock | OperationKind::WriteUnlock
    ) {
        tell(|trace, thread| trace.released(thread, object));
    }
    apply()
}

/// Whether some thread [`observe`]s the location. Only on a model thread; the same throughout an exploration.
#[inline]
pub fn is_observed(object: Location) -> bool {
    let none = of_model(|runtime| runtime.refinements.observed.is_empty());
    !none && on_model_in_place(|runtime| runtime.refinements.is_observed(object))
}

/// Says that the operation that follows sees whether `object` has been released, without waiting for it.
///
/// The first time for a location, exploration starts again with releases of it as scheduling points.
pub fn observe(object: Location) {
    observe_each(&[object]);
}

/// As [`observe`], for several locations.
pub fn observe_each(objects: &[Location]) {
    let new = on_model_thread()
        && on_model(|runtime| {
            objects
                .iter()
                .fold(false, |new, &object| runtime.refinements.observe(object) | new)
        });
    if new {
        stop(Stop::Refine);
    }
}

/// Suspends the current model thread with `operation` pending; returns the alternative that was chosen.
///
/// The caller saves its registers in the frame that asks for the operation, so that what this function and those
/// below it leave on the stack does not count as the thread's state.
#[inline(never)]
pub(crate) fn arrive(
    operation: &Operation<'_>,
    caller: Option<&'static Caller<'static>>,
    registers: &Registers,
) -> u32 {
    ownership::visible();
    if caller.is_none() && of_model(|runtime| runtime.trace.is_some()) {
        on_model(|runtime| runtime.threads[runtime.current.index()].callers = backtrace());
    }
    let yielder = on_model_in_place(|runtime| {
        let record = &mut runtime.threads[runtime.current.index()];
        record.pending = std::ptr::from_ref(operation).cast();
        record.caller = caller;
        record.registers = registers;
        runtime.request = Some(Request::Point);
        record.yielder
    });
    // SAFETY: the yielder belongs to the coroutine that we run on, and lives as long as it.
    unsafe { (*yielder).suspend(()) };
    of_model(|runtime| runtime.chosen)
}

/// Suspends the current model thread, which has left a request.
pub(crate) fn suspend() {
    let yielder = on_model_in_place(|runtime| runtime.threads[runtime.current.index()].yielder);
    // SAFETY: the yielder belongs to the coroutine that we run on, and lives as long as it.
    unsafe { (*yielder).suspend(()) };
}

/// Notes where the explored program allocates or frees a block.
pub(crate) fn note_block(block: usize, freed: bool) {
    if on_model_thread() {
        on_model(|runtime| {
            let mark = runtime.mark();
            if let Some(trace) = runtime.trace.as_mut().filter(|_| freed) {
                trace.frees(block);
            }
            match freed {
                true => runtime.frees.insert(block, mark),
                false => runtime.allocations.insert(block, mark),
            };
        });
    }
}

/// Notes where the explored program frees what is no live block.
pub(crate) fn note_wrong_free(block: usize) {
    if of_model(|runtime| runtime.trace.is_some()) {
        on_model(|runtime| runtime.freed_wrongly = Some((block, runtime.mark())));
    }
}

/// Where the model thread stands that has called the checker: return addresses, innermost first.
fn backtrace() -> Box<[usize]> {
    /// Callers further out are of no interest.
    const CALLERS: usize = 48;
    let mut found = Vec::with_capacity(CALLERS);
    callers::walk(|address| {
        found.push(address);
        found.len() < CALLERS
    });
    found.into_boxed_slice()
}

/// Notes that the explored program keeps something where it cannot be seen. From then on states are not compared.
pub(crate) fn out_of_sight(what: &str) {
    if installed().is_none() {
        return;
    }
    on_model(|runtime| {
        if runtime.out_of_sight.is_none() {
            let thread = runtime.current;
            let caller = runtime.threads.get(thread.index()).and_then(|record| record.caller);
            let after = caller.map_or_else(String::new, |caller| {
                format!(", after the operation at {}:{}", caller.file(), caller.line())
            });
            runtime.out_of_sight = Some(format!("{what} (called by thread {thread}{after})"));
        }
    });
}

/// Ends the execution from a model thread. Nothing unwinds.
pub(crate) fn stop(stop: Stop) -> ! {
    on_model(|runtime| runtime.request = Some(Request::Stop(stop)));
    suspend();
    unreachable!("an execution that was stopped is not resumed")
}

/// Fails the execution here and now, from a model thread. Nothing unwinds.
///
/// # Panics
/// Off model threads.
pub fn fail(kind: &'static str, message: String) -> ! {
    assert!(on_model_thread(), "{kind}: {message}");
    let failure = failure::owned(kind, &message);
    if of_model(|runtime| runtime.trace.is_some()) {
        on_model(|runtime| runtime.failed_at = backtrace());
    }
    stop(Stop::Failed(failure))
}

/// Gives up from a model thread because the program does something that cannot be modelled: no verdict but
/// `incomplete` is possible. Nothing unwinds.
///
/// # Panics
/// Off model threads.
pub fn unsupported(message: &str) -> ! {
    assert!(on_model_thread(), "{message}");
    let failure = in_checker(|| {
        // SAFETY: as in `on_model`.
        let runtime = unsafe { &*runtime() };
        let thread = runtime.current;
        let record = &runtime.threads[thread.index()];
        let after = record.caller.map_or_else(String::new, |caller| {
            format!(", after the operation at {}:{}", caller.file(), caller.line())
        });
        let mut message = format!("{message} (thread {thread}, {}{after})", record.display_name());
        for frame in runtime.frames(&backtrace()) {
            message.push_str(&format!("\n  in {frame}"));
        }
        Failure {
            kind: "unsupported",
            message,
        }
    });
    stop(Stop::Unsupported(failure))
}
