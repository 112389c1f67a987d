//! The side of the explored program: what the facades of std call, on a model thread or off it.
//!
//! Nobody else asks for the machine on a model thread ([`OnModel`]).

pub mod atomics;
pub mod cells;
pub mod hint;
pub mod label;
mod native;
pub mod order;
pub mod output;
pub mod ownership;
pub mod panic;
pub(crate) mod plain;
pub(crate) mod queue;
pub mod thread;
pub mod time;
pub(crate) mod touch;
mod unshared;
pub(crate) mod word;

use crate::detect::spin::Spin;
use crate::failure::{self, failure};
use crate::image::registers::Registers;
use crate::image::switch::{Plain, in_checker};
use crate::image::{callers, region};
use crate::machine::Machine;
use crate::machine::cell::{self, OnModel};
use crate::machine::libraries::Library;
use crate::machine::step::Request;
use crate::operation::{Operation, OperationKind, access_of};
use crate::report::trace::{Mark, StepTrace};
use dpor_explorer::{AccessKind, Effect, Location, Stop, ThreadId};
use dpor_protocol::{FailureKind, Options};
use std::panic::Location as Caller;
pub use touch::Touch;

/// The witness of a caller that has asked whether it runs on a model thread.
#[inline]
fn witness() -> OnModel {
    match OnModel::here() {
        Some(witness) => witness,
        None => unreachable!("only a model thread comes here"),
    }
}

/// Lends the machine to `f`, on a model thread, as the checker's work.
#[inline]
pub(crate) fn on_model<R: Plain>(f: impl FnOnce(&mut Machine) -> R) -> R {
    witness().with(f)
}

/// Like [`on_model`], for work that allocates nothing: where states are not compared, it need not leave the stack.
#[inline]
pub(crate) fn on_model_in_place<R: Plain>(f: impl FnOnce(&mut Machine) -> R) -> R {
    witness().with_in_place(|_| true, f)
}

/// Like [`on_model_in_place`], for work that allocates nothing if the machine is `ready` for it.
#[inline]
fn on_model_in_place_if<R: Plain>(ready: impl FnOnce(&Machine) -> bool, f: impl FnOnce(&mut Machine) -> R) -> R {
    witness().with_in_place(ready, f)
}

/// Reads something from the machine, on a model thread, whose stack may keep whatever `f` finds. So this must not
/// depend on what was explored before: `f` reads flags and numbers, follows no pointer into the machine's collections,
/// and does not ask which variant an `Option` of such a collection is, which the collection's capacity may tell.
#[inline]
pub(crate) fn of_model<R: Copy>(f: impl FnOnce(&Machine) -> R) -> R {
    witness().look(f)
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
        on_model(|machine| machine.session.replays = true);
    }
    in_checker(f);
}

/// Says whether the address is in the explored program's statics; only once there is a model.
pub(crate) fn in_statics(address: usize) -> bool {
    cell::installed().is_some_and(|machine| {
        // SAFETY: the machine is only touched by the model's OS thread, on which the explored program asks.
        unsafe { &(*machine).session }.statics.contains(address)
    })
}

/// Says whether the caller runs on a model thread. Looks only at the stack pointer.
#[inline]
pub fn on_model_thread() -> bool {
    region::on_model_thread()
}

#[inline(never)]
pub(crate) fn effect(effect: Effect) {
    if !on_model_thread() {
        return;
    }
    // Where states are compared, whether the step is run again is asked on the other stack, so that the program's own
    // looks the same.
    let ready = |machine: &Machine| {
        machine.step.repeating || machine.step.record.effects.len() < machine.step.record.effects.capacity()
    };
    on_model_in_place_if(ready, |machine| {
        machine.execution.threads.note_change(effect.variable);
        if machine.step.repeating {
            return;
        }
        let effects = &mut machine.step.record.effects;
        match effects.iter_mut().find(|other| other.variable == effect.variable) {
            Some(other) => other.after = effect.after,
            None => effects.push(effect),
        }
    });
}

/// Attaches a detail such as `0 → 1` to the current step, if the execution is traced.
#[inline]
pub fn note(detail: impl FnOnce() -> String) {
    if on_model_thread() && of_model(|machine| machine.traced.is_some()) {
        on_model(|machine| {
            if let Some(traced) = &mut machine.traced {
                traced.steps.note(detail());
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
    if on_model_thread() && of_model(|machine| machine.traced.is_some()) {
        on_model(|machine| {
            if let Some(traced) = &mut machine.traced {
                what(&mut traced.steps, machine.step.thread);
            }
        });
    }
}

/// The options of the model; the defaults off model threads.
pub fn options() -> Options {
    if on_model_thread() {
        of_model(|machine| machine.session.options)
    } else {
        Options::default()
    }
}

/// Records that the program uses a library that is taken as specified.
#[inline]
pub fn specified(library: Library) {
    if on_model_thread() {
        on_model(|machine| machine.session.libraries.add(library));
    }
}

/// Records that the program uses a library that is taken as specified, and that, as it is written, the library counts
/// how often a thread comes here, and does something else at some count. It is unclear of a thread that comes here
/// again and again whether it would do so for ever.
#[inline]
pub fn specified_without_count(library: Library) {
    if on_model_thread() {
        on_model(|machine| {
            machine.session.libraries.add(library);
            Spin::leaves_count_out(&mut machine.execution.threads[machine.step.thread].spin);
        });
    }
}

/// Declares that the checker holds the explored program's block at an address, so that it is no leak.
pub fn hold<T: ?Sized>(block: *const T) {
    if on_model_thread() {
        let address = block.cast::<u8>().addr();
        on_model(|machine| machine.execution.held.0.push(address));
    }
}

/// Runs an operation: the only way to touch what threads share.
///
/// On a model thread this is a scheduling point: the thread stops with `operation` pending until the
/// scheduler picks one of its alternatives, and `apply` runs as part of that step. Off model threads it blocks
/// until an alternative is enabled.
///
/// `apply` gets the alternative, takes effect, and notes what it really touched with the [`Touch`], which reaches what
/// the operation has declared. It must neither perform another operation nor run code of the explored program, which
/// off model threads would wait for `apply` to return.
///
/// If `apply` touches what was not declared, the execution ends: the verdict is `incomplete` ([`Touch`]).
#[track_caller]
#[inline]
pub fn perform<R>(operation: &Operation<'_>, apply: impl FnOnce(u32, Touch<'_>) -> R) -> R {
    if on_model_thread() {
        let chosen = arrive(operation, Some(Caller::caller()), &Registers::save());
        plain::quietly(|| apply(chosen, Touch::of(operation)))
    } else {
        native::perform(operation, apply)
    }
}

/// Like [`perform`], for an operation that reports show at another place of the program than that of the call.
#[inline]
pub fn perform_from<R>(
    caller: &'static Caller<'static>,
    operation: &Operation<'_>,
    apply: impl FnOnce(u32, Touch<'_>) -> R,
) -> R {
    if on_model_thread() {
        let chosen = arrive(operation, Some(caller), &Registers::save());
        plain::quietly(|| apply(chosen, Touch::of(operation)))
    } else {
        native::perform(operation, apply)
    }
}

/// A number that is another one after each operation of this execution: equal numbers before and after something show
/// that it made none. 0 off model threads.
pub fn operations_begun() -> u64 {
    if on_model_thread() {
        of_model(|machine| u64::from(machine.execution.length.0) << 32 | machine.step.places.len() as u64)
    } else {
        0
    }
}

/// Like [`perform`], on a model thread, for a function of the C library, whose caller does not say where it is.
#[inline]
pub(crate) fn perform_call<R>(operation: &Operation<'_>, apply: impl FnOnce(u32, Touch<'_>) -> R) -> R {
    let chosen = arrive(operation, None, &Registers::save());
    plain::quietly(|| apply(chosen, Touch::of(operation)))
}

/// Runs an operation that moves left over everything that other threads do (unlock, thread exit, the drop of a sender):
/// it belongs to the previous step, unless some thread [`observe`]s the location.
///
/// `apply` takes effect as that of [`perform`] does. It may touch the object, in any way.
#[track_caller]
#[inline]
pub fn release<R>(kind: OperationKind, object: Location, apply: impl FnOnce(Touch<'_>) -> R) -> R {
    let accesses = [access_of(object, AccessKind::Write)];
    release_from(
        &Operation::always(kind, object, &accesses),
        Some(Caller::caller()),
        apply,
    )
}

/// Like [`release`], for an operation that touches other locations than its object as well.
#[track_caller]
#[inline]
pub fn release_all<R>(operation: &Operation<'_>, apply: impl FnOnce(Touch<'_>) -> R) -> R {
    release_from(operation, Some(Caller::caller()), apply)
}

/// Like [`release`], for a function of the C library.
#[inline]
pub(crate) fn release_call<R>(kind: OperationKind, object: Location, apply: impl FnOnce(Touch<'_>) -> R) -> R {
    let accesses = [access_of(object, AccessKind::Write)];
    release_from(&Operation::always(kind, object, &accesses), None, apply)
}

#[inline(always)]
fn release_from<R>(
    operation: &Operation<'_>,
    caller: Option<&'static Caller<'static>>,
    apply: impl FnOnce(Touch<'_>) -> R,
) -> R {
    if !on_model_thread() {
        return native::release(operation, apply);
    }
    let Operation { kind, object, .. } = *operation;
    if is_observed(object) {
        // Where a destructor is called no caller says; a traced execution looks for it on the stack.
        let caller = caller.filter(|_| of_model(|machine| machine.traced.is_none()));
        arrive(operation, caller, &Registers::save());
    }
    if kind.releases() {
        tell(|trace, thread| trace.released(thread, object));
    }
    plain::quietly(|| apply(Touch::of(operation)))
}

/// Says whether some thread [`observe`]s the location. Only on a model thread; the same throughout an exploration.
#[inline]
pub fn is_observed(object: Location) -> bool {
    let none = of_model(|machine| machine.session.refinements.observed.is_empty());
    !none && on_model_in_place(|machine| machine.session.refinements.is_observed(object))
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
        && on_model(|machine| {
            objects
                .iter()
                .fold(false, |new, &object| machine.session.refinements.observe(object) | new)
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
    if caller.is_none() && of_model(|machine| machine.traced.is_some()) {
        on_model(|machine| machine.execution.threads[machine.step.thread].callers = backtrace());
    }
    if of_model(|machine| machine.session.stronger.is_some()) {
        on_model(|machine| {
            let asked = machine.step.asked.take();
            machine.step.asked = asked.map(|request| machine.session.stronger.request(caller, request));
        });
    }
    if of_model(|machine| machine.session.refinements.unshared.is_any_chosen())
        && let Some(chosen) = unshared::joins(operation, caller)
    {
        return chosen;
    }
    let unwinds = std::thread::panicking();
    witness().suspend(|machine| {
        let record = &mut machine.execution.threads[machine.step.thread];
        record.unwinds = unwinds;
        record.pending = std::ptr::from_ref(operation).cast();
        record.request = machine.step.asked.take();
        record.caller = caller;
        record.registers = registers;
        machine.session.timeouts_matter |= record.set_deadline(machine.session.options.timeouts());
        machine.step.request = Some(Request::Point);
    });
    of_model(|machine| machine.step.chosen)
}

/// Records where the explored program allocates or frees a block.
pub(crate) fn note_block(block: usize, freed: bool) {
    if on_model_thread() {
        on_model(|machine| {
            let mark = mark(machine);
            let Some(traced) = &mut machine.traced else { return };
            match freed {
                true => {
                    traced.steps.frees(block);
                    traced.frees.insert(block, mark);
                }
                false => {
                    traced.allocations.insert(block, mark);
                }
            }
        });
    }
}

/// Records where the explored program frees an address without a live block.
pub(crate) fn note_wrong_free(block: usize) {
    on_traced(|machine| {
        let mark = mark(machine);
        if let Some(traced) = &mut machine.traced {
            traced.freed_wrongly = Some((block, mark));
        }
    });
}

/// Lends the machine to `f`, on a model thread, if the execution is traced.
#[inline]
fn on_traced(f: impl FnOnce(&mut Machine)) {
    if of_model(|machine| machine.traced.is_some()) {
        on_model(f);
    }
}

/// The position of the model thread that has called the checker.
fn mark(machine: &Machine) -> Mark {
    Mark {
        step: machine.execution.length.0.saturating_sub(1),
        thread: machine.step.thread,
        place: None,
        callers: backtrace(),
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
    if cell::installed().is_none() {
        return;
    }
    on_model(|machine| {
        if machine.session.out_of_sight.is_none() {
            let thread = machine.step.thread;
            let after = after_operation(machine);
            machine.session.out_of_sight = Some(format!("{what} (called by thread {thread}{after})"));
        }
    });
}

/// Ends the execution from a model thread. Nothing unwinds.
pub(crate) fn stop(stop: Stop) -> ! {
    witness().stop(stop)
}

/// Fails the execution here and now, from a model thread. Nothing unwinds.
///
/// # Panics
/// Off model threads.
pub fn fail(kind: FailureKind, message: String) -> ! {
    assert!(on_model_thread(), "{kind}: {message}");
    let failure = failure::owned(kind.name(), &message);
    on_traced(|machine| {
        let callers = backtrace();
        if let Some(traced) = &mut machine.traced {
            traced.failed_at = callers;
        }
    });
    stop(Stop::Failed(failure))
}

/// Ends the execution from a model thread because the program does something that cannot be modelled: the verdict can
/// only be `incomplete`. Nothing unwinds.
///
/// # Panics
/// Off model threads.
pub fn unsupported(message: &str) -> ! {
    assert!(on_model_thread(), "{message}");
    let mut failure = failure(FailureKind::Unsupported, String::new());
    on_model(|machine| {
        let thread = machine.step.thread;
        let name = machine.execution.threads[thread].display_name();
        let after = after_operation(machine);
        failure.message = format!("{message} (thread {thread}, {name}{after})");
        for frame in machine.session.symbols().of_program(&backtrace()) {
            failure.message.push_str(&format!("\n  in {frame}"));
        }
    });
    stop(Stop::Unsupported(failure))
}

/// The place of the running thread's last operation, as the end of a message.
fn after_operation(machine: &Machine) -> String {
    let record = machine.execution.threads.get(machine.step.thread);
    let caller = record.and_then(|record| record.caller);
    caller.map_or_else(String::new, |caller| {
        format!(", after the operation at {}:{}", caller.file(), caller.line())
    })
}
