//! The virtual clock, as the explored program reads it and lets it pass. How it goes is in `machine::clock`.

use super::{arrive, hint, on_model, on_model_thread, options, ownership};
use crate::image::registers::Registers;
use crate::machine::execution::Execution;
use crate::operation::{LONGEST, NEVER, Operation, OperationKind};
use dpor_explorer::{Guard, Location};
use dpor_protocol::Timeouts;
use std::panic::Location as Caller;
use std::rc::Rc;
use std::time::Duration;

/// The current model thread's time since the start of the execution. Zero off model threads.
pub fn now() -> Duration {
    if !on_model_thread() {
        return Duration::ZERO;
    }
    ownership::visible();
    let [seconds, nanoseconds] = on_model(|machine| {
        let execution = &mut machine.execution;
        let record = &mut execution.threads[machine.step.thread];
        Rc::make_mut(&mut record.spin).looked_at_clock();
        let time = execution.clock.ask(record);
        [time.as_secs(), u64::from(time.subsec_nanos())]
    });
    Duration::new(seconds, nanoseconds as u32)
}

/// A duration in readable form, also if it is one of many years.
pub fn in_words(duration: Duration) -> String {
    if !is_longer_than_any_run(duration) {
        return format!("{duration:?}");
    }
    match duration.as_secs() / (LONGEST.as_secs() + LONGEST.as_secs() / (4 * 365)) {
        0 | 1 => "more than a year".to_owned(),
        years => format!("{years} years"),
    }
}

/// Whether no run of a program is long enough for the duration. Programs that mean never ask for `Duration::MAX`, or
/// for decades: to let that time pass in a model would be wrong, and a thread that only this could wake is stuck.
pub fn is_longer_than_any_run(duration: Duration) -> bool {
    duration > LONGEST
}

/// Whether a wait of this duration does not end; off model threads any does.
fn is_endless(duration: Duration) -> bool {
    is_longer_than_any_run(duration) && on_model_thread()
}

/// The timeout, if it is one that can fire. A wait without time is none, and ends whenever timeouts fire.
pub fn firing(timeout: Option<Duration>) -> Option<Duration> {
    timeout.filter(|&timeout| {
        let fires = timeout.is_zero() || options().timeouts() != Timeouts::Never;
        fires && !is_endless(timeout)
    })
}

/// The [`Operation::timeout`] that is the alternative with this number if it can fire, and none otherwise.
pub fn alternative(number: u32, timeout: Option<Duration>) -> Option<(u32, Duration)> {
    let number = if firing(timeout).is_some() { number } else { NEVER };
    timeout.map(|timeout| (number, timeout))
}

/// Makes the current model thread sleep: its clock goes on, and others may run. It does not wake from a sleep that is
/// longer than any run.
#[track_caller]
pub fn sleep(duration: Duration) {
    sleep_from(duration, Some(Caller::caller()));
}

/// Like [`sleep`], for a function of the C library, which does not say where it is called.
pub(crate) fn sleep_from(duration: Duration, caller: Option<&'static Caller<'static>>) {
    if is_endless(duration) {
        let asleep = [Guard::always().and([])];
        let operation = Operation {
            timeout: Some((NEVER, duration)),
            ..Operation::guarded(OperationKind::Sleep, Location(0), &[], &asleep)
        };
        arrive(&operation, caller, &Registers::save());
    }
    advance(duration);
    hint::hint_from(OperationKind::Yield, caller);
}

/// The time that has passed for the current model thread. It does not count as asking for the time.
pub(crate) fn passed() -> Duration {
    let [seconds, nanoseconds] = on_model(|machine| {
        let time = machine.execution.threads[machine.step.thread].time;
        [time.as_secs(), u64::from(time.subsec_nanos())]
    });
    Duration::new(seconds, nanoseconds as u32)
}

/// Lets time pass for the current model thread until a timeout of this duration has passed, which has just fired: where
/// timeouts fire last, until the deadline of the wait, if that is known.
pub fn timed_out(after: Duration) {
    if on_model_thread() {
        ownership::visible();
        on_model(|machine| {
            let Execution { clock, threads, .. } = &mut machine.execution;
            let record = &mut threads[machine.step.thread];
            match record.deadline {
                Some(deadline) => clock.pass_until(record, deadline),
                None => clock.pass(record, after),
            }
        });
    }
}

/// Lets time pass for the current model thread.
pub fn advance(duration: Duration) {
    if on_model_thread() {
        ownership::visible();
        on_model(|machine| {
            let Execution { clock, threads, .. } = &mut machine.execution;
            clock.pass(&mut threads[machine.step.thread], duration);
        });
    }
}

/// Lets time pass for the current model thread until it shows `at`, if that time can come.
pub(crate) fn advance_to(at: Duration) {
    on_model(|machine| {
        let Execution { clock, threads, .. } = &mut machine.execution;
        clock.pass_until(&mut threads[machine.step.thread], at);
    });
}
