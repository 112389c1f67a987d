//! The running model, which the explored program's threads and the scheduler share.
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
use crate::operation::{Operation, OperationKind, Variables, access_of, awaiting, part_of};
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

/// Why a coroutine suspends.
#[derive(Debug)]
pub(crate) enum Request {
    /// It has reached a scheduling point; its record holds the pending operation.
    Point,
    /// A thread was created and runs to its first scheduling point before the creator goes on.
    Spawn(ThreadId),
    /// The execution ends here.
    Stop(Stop),
}

/// What exploration has learnt that it needs; it survives restarts.
#[derive(Clone, Default, Debug)]
pub(crate) struct Refinements {
    /// Locations whose release is observed, so that it is a scheduling point.
    pub observed: KeySet<Location>,
    /// The same locations, in the order in which they were learnt.
    pub observed_in_order: Vec<Location>,
    /// The kinds of locations all of which count as observed: objects, and parts of objects by number.
    pub observed_kinds: KeySet<u64>,
    /// Places of the program to which a thread came back without having changed anything.
    pub loops: KeySet<u64>,
    /// Whether states of threads are compared.
    pub hashing: bool,
    /// Whether atomics overlap in some words; these count as observed.
    pub overlaps: bool,
    /// The atomics used so far, in any execution.
    pub atomics: overlap::Used,
}

dpor_explorer::codec!(struct Refinements {
    observed,
    observed_in_order,
    observed_kinds,
    loops,
    hashing,
    overlaps,
    atomics
});

impl Refinements {
    /// Makes releases of the location scheduling points. Says whether that is new.
    pub fn observe(&mut self, object: Location) -> bool {
        /// Number of observed locations of a kind after which all of them count as observed: their addresses may depend
        /// on the interleaving.
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
    /// The chosen alternative of the current step.
    pub chosen: u32,
    /// The record of the current step.
    pub step: Step,
    /// Whether the step runs again what ran before: only its signature counts.
    pub repeating: bool,
    /// Variables that have changed since the statuses were evaluated.
    pub changed: Variables,
    /// Whether a thread has moved since the statuses were evaluated.
    pub stale: bool,
    pub request: Option<Request>,
    /// Number of steps begun in this execution.
    pub steps: u32,
    pub refinements: Refinements,
    /// Threads with an entry in the spin detector's tables.
    pub watched: bool,
    /// What is known before the step, between its start and end, if its thread is watched.
    pub before: Option<Before>,
    /// The surroundings of the thread that made the last step, after that step, if known.
    pub surroundings: Option<(ThreadId, Surroundings)>,
    /// What earlier executions have shown of the steps of this one.
    pub recall: Recall,
    /// Whether the step's thread is watched, and has more than one alternative.
    pub choosing: bool,
    pub output: Vec<Output>,
    pub labels: crate::label::Labels,
    pub weak_orderings: WeakOrderings,
    pub clock_started: bool,
    pub times: KeyMap<Location, Duration>,
    pub shares: Shares,
    pub main_result: Option<Result<(), dpor_explorer::Failure>>,
    /// Whether it is a failure to leave blocks that the program can no longer free.
    pub find_leaks: bool,
    /// Addresses that the checker holds for the program in this execution.
    pub held: Vec<usize>,
    pub trace: Option<StepTrace>,
    pub user_hook: Option<crate::panic::Hook>,
    /// Whether a loop is watched from where it is noticed, instead of starting again.
    pub learn_in_place: bool,
    /// Whether threads that only repeat themselves are held back.
    pub spin_blocks: bool,
    /// Whether the execution has ended, and runs on to see whether it comes back to where it was. No thread is watched
    /// for repeating itself then.
    pub trying_out: bool,
    /// Whether states will be compared.
    pub comparing: bool,
    /// Whether threads of this execution start on stacks without leftovers of earlier executions.
    pub clean: bool,
    /// Why states cannot be compared any more: the checker does not see part of them.
    pub out_of_sight: Option<String>,
    /// The exact state behind each fingerprint so far, if checked.
    pub exact: Option<ExactStates>,
    /// Number of bytes hashed for fingerprints.
    pub hashed: u64,
    /// Memory for the next hash.
    pub scratch: Cell<Vec<u8>>,
    /// In a traced execution, where the heap blocks were allocated.
    pub allocations: KeyMap<usize, Mark>,
    /// In a traced execution, where they were freed.
    pub frees: KeyMap<usize, Mark>,
    /// In a traced execution, the block that was freed wrongly, and where.
    pub freed_wrongly: Option<(usize, Mark)>,
    /// In a traced execution that a thread ended as a failure, the position of that thread: return addresses, innermost
    /// first.
    pub failed_at: Box<[usize]>,
    /// The executable's symbols, after the first lookup.
    pub symbols: OnceCell<Symbols>,
    /// The steps that lead to a state are run again instead of copying it back: they may change what cannot be seen.
    pub replays: bool,
    /// Whether fingerprints leave out the stacks.
    #[cfg(feature = "faults")]
    pub coarse: bool,
    pub statics: Option<&'static Statics>,
    pub tls: Option<TlsBlock>,
    /// The initial thread-locals of a new model thread.
    pub base_tls: Option<TlsImage>,
    /// The OS thread's own thread-locals, while those of a model thread are in place.
    pub os_tls: Option<TlsImage>,
    /// The model thread whose thread-locals are in place; `None` if they are the OS thread's own.
    pub tls_owner: Option<ThreadId>,
}

impl Runtime {
    /// The place in the source of a thread's pending operation, as far as known.
    pub fn source(&self, record: &Record) -> Option<Source> {
        record
            .caller
            .map(Source::from)
            .or_else(|| self.frames(&record.callers).find_map(|caller| caller.source()))
    }

    /// The position of the model thread that has called the checker.
    fn mark(&self) -> Mark {
        Mark {
            step: self.steps.saturating_sub(1),
            thread: self.current,
            callers: backtrace(),
        }
    }

    /// The history of the block that was freed wrongly.
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

    /// Whether the next execution will begin its threads on clean stacks, so that states can be compared.
    pub fn wants_clean_stacks(&self) -> bool {
        self.comparing || self.refinements.hashing
    }

    /// Copies the thread-locals in place to where their owner keeps them.
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

/// The runtime of the installed model.
///
/// Borrows made from the pointer must end before a coroutine is resumed or suspends.
#[inline]
pub(crate) fn runtime() -> *mut Runtime {
    match installed() {
        Some(runtime) => runtime,
        None => unreachable!("the runtime is set up while a model exists"),
    }
}

/// The runtime, if a model is installed.
#[inline]
pub(crate) fn installed() -> Option<*mut Runtime> {
    // SAFETY: `RUNTIME` is only touched by the model's OS thread (see `Shared`).
    unsafe { &mut *RUNTIME.0.get() }.as_mut().map(std::ptr::from_mut)
}

/// The memory of the runtime.
pub(crate) fn place() -> Range<usize> {
    let start = RUNTIME.0.get().addr();
    start..start + size_of::<Option<Runtime>>()
}

/// Installs or removes the runtime.
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

/// Like [`on_model`], for work that allocates nothing: where states are not compared, it need not leave the stack.
#[inline]
pub(crate) fn on_model_in_place<R: Plain>(f: impl FnOnce(&mut Runtime) -> R) -> R {
    on_model_in_place_if(|_| true, f)
}

/// Like [`on_model_in_place`], for work that allocates nothing if the runtime is `ready` for it.
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

/// Reads something from the runtime, on a model thread. What `f` returns must not depend on what was explored before,
/// as the program's stack may keep it.
#[inline]
pub(crate) fn of_model<R: Copy>(f: impl FnOnce(&Runtime) -> R) -> R {
    // SAFETY: as in `on_model`.
    f(unsafe { &*runtime() })
}

/// Runs `f` on the checker's side: its allocations outlive the execution, and what it frees was allocated so. With it,
/// a model's closure adds to a collection that was made before; off model threads it is just a call.
///
/// `f` copies what it keeps: whatever was allocated by the model goes away with the execution. It must not use anything
/// that is redefined for models, and what it finds is not part of the program's state: a strategy that compares states
/// may leave out an execution that would have added something, so a set of the outcomes of whole executions asks for
/// one that does not.
///
/// A panic in `f` ends the process.
pub fn outside(f: impl FnOnce()) {
    if on_model_thread() {
        // Whoever runs the steps before again makes the call again.
        on_model(|runtime| runtime.replays = true);
    }
    in_checker(f);
}

/// Says whether the address is in the explored program's statics; only once there is a model.
pub(crate) fn in_statics(address: usize) -> bool {
    installed().is_some() && of_model(|runtime| runtime.statics.is_some_and(|statics| statics.contains(address)))
}

/// Says whether the caller runs on a model thread. Looks only at the stack pointer.
#[inline]
pub fn on_model_thread() -> bool {
    region::on_model_thread()
}

/// Records an access in the footprint of the current step; does nothing off model threads.
#[inline]
pub fn access(location: Location, kind: AccessKind) {
    note_access(access_of(location, kind));
}

/// Records the access of the current step's atomic operation, like [`access`], and the orderings that it requests.
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

/// Records an access that had to wait for something to be done to the location; does nothing off model threads.
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
        runtime.changed.add(effect.variable);
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

/// Attaches a detail such as `0 → 1` to the current step, if the execution is traced.
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

/// Records the present value of an object, if there are words for it and the execution is traced.
#[inline]
pub fn value_if(object: Location, text: impl FnOnce() -> Option<String>) {
    tell(|trace, _| {
        if let Some(text) = text() {
            trace.value(object, text);
        }
    });
}

/// Records the present value of an object, if the execution is traced.
#[inline]
pub fn value(object: Location, text: impl FnOnce() -> String) {
    value_if(object, || Some(text()));
}

/// Records that the current step releases a lock other than its operation's object, if the execution is traced.
#[inline]
pub fn gives_back(object: Location) {
    tell(|trace, thread| trace.released(thread, object));
}

/// Records that the current step acquires a lock other than its operation's object, if the execution is traced.
#[inline]
pub fn takes(object: Location) {
    tell(|trace, _| trace.takes(object));
}

/// Records that a location stands for a thread in operations, if the execution is traced.
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

/// Declares that the checker holds the explored program's block at an address, so that it is no leak.
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

/// Like [`perform`], for an operation that reports show at another place of the program than that of the call.
#[inline]
pub fn perform_from<R>(caller: &'static Caller<'static>, operation: &Operation<'_>, apply: impl FnOnce(u32) -> R) -> R {
    if on_model_thread() {
        let chosen = arrive(operation, Some(caller), &Registers::save());
        apply(chosen)
    } else {
        crate::native::perform(operation, apply)
    }
}

/// Number of steps begun in this execution: equal numbers before and after something show that it made no step. 0 off
/// model threads.
pub fn steps_begun() -> u32 {
    if on_model_thread() {
        of_model(|runtime| runtime.steps)
    } else {
        0
    }
}

/// Like [`perform`], on a model thread, for a function of the C library, whose caller does not say where it is.
#[inline]
pub(crate) fn perform_call<R>(operation: &Operation<'_>, apply: impl FnOnce(u32) -> R) -> R {
    let chosen = arrive(operation, None, &Registers::save());
    apply(chosen)
}

/// A scheduling point before an operation that never blocks and touches one location; does nothing off model threads.
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

/// Runs an operation that moves left over everything that other threads do (unlock, thread exit, the drop of a sender):
/// it belongs to the previous step, unless some thread [`observe`]s the location.
#[track_caller]
#[inline]
pub fn release<R>(kind: OperationKind, object: Location, apply: impl FnOnce() -> R) -> R {
    if !on_model_thread() {
        return crate::native::release(apply);
    }
    release_from(kind, object, Some(Caller::caller()), apply)
}

/// Like [`release`], on a model thread, for a function of the C library.
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

/// Says whether some thread [`observe`]s the location. Only on a model thread; the same throughout an exploration.
#[inline]
pub fn is_observed(object: Location) -> bool {
    let none = of_model(|runtime| runtime.refinements.observed.is_empty());
    !none && on_model_in_place(|runtime| runtime.refinements.is_observed(object))
}

/// Declares that the next operation sees whether `object` has been released, without waiting for it.
///
/// The first time for a location, exploration starts again with releases of it as scheduling points.
pub fn observe(object: Location) {
    observe_each(&[object]);
}

/// Like [`observe`], for several locations.
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

/// Suspends the current model thread with `operation` pending; returns the chosen alternative.
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
    let unwinds = std::thread::panicking();
    let yielder = on_model_in_place(|runtime| {
        let record = &mut runtime.threads[runtime.current.index()];
        record.unwinds = unwinds;
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

/// Records where the explored program allocates or frees a block.
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

/// Records where the explored program frees an address without a live block.
pub(crate) fn note_wrong_free(block: usize) {
    if of_model(|runtime| runtime.trace.is_some()) {
        on_model(|runtime| runtime.freed_wrongly = Some((block, runtime.mark())));
    }
}

/// The position of the model thread that has called the checker: return addresses, innermost first.
fn backtrace() -> Box<[usize]> {
    /// Maximum number of callers; those further out are of no interest.
    const CALLERS: usize = 48;
    let mut found = Vec::with_capacity(CALLERS);
    callers::walk(|address| {
        found.push(address);
        found.len() < CALLERS
    });
    found.into_boxed_slice()
}

/// Records that the explored program keeps something that the checker does not see. From then on states are not
/// compared.
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

/// Ends the exploration from a model thread because the program does something that cannot be modelled: the verdict can
/// only be `incomplete`. Nothing unwinds.
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
