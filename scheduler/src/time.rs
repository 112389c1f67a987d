//! The virtual clock of the explored program.
//!
//! Each thread has a time of its own, which starts where its creator was and passes only by sleeping, by
//! timeouts and by asking. It takes over the time of what it touches, like a Lamport clock: so no thread sees an
//! `Instant` from its future, and equivalent executions have equal times.

use crate::operation::{NEVER, Operation, OperationKind};
use crate::ownership;
use crate::runtime::{Runtime, arrive, on_model, on_model_thread};
use crate::spin::{self, Registers};
use dpor_explorer::{AccessKind, Guard, Location};
use std::panic::Location as Caller;
use std::rc::Rc;
use std::time::Duration;

/// The cost of the first question for the time.
const TICK: Duration = Duration::from_micros(1);
/// Number of a thread's questions after which the cost doubles, so that a loop that waits for a deadline reaches it.
const DOUBLE_AFTER: u32 = 16;

/// The current model thread's time since the start of the execution. Zero off model threads.
pub fn now() -> Duration {
    if !on_model_thread() {
        return Duration::ZERO;
    }
    ownership::visible();
    let [seconds, nanoseconds] = on_model(|runtime| {
        runtime.clock_started = true;
        let record = &mut runtime.threads[runtime.current.index()];
        let tick = TICK.saturating_mul(1 << (record.clock_reads / DOUBLE_AFTER).min(31));
        record.clock_reads += 1;
        record.time = record.time.saturating_add(tick);
        Rc::make_mut(&mut record.spin).looked_at_clock();
        [record.time.as_secs(), u64::from(record.time.subsec_nanos())]
    });
    Duration::new(seconds, nanoseconds as u32)
}

/// The duration above which a wait in a model never ends: a year, which no run of a program takes.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A duration of more than a year, in readable form.
pub fn in_years(duration: Duration) -> String {
    match duration.as_secs() / (LONGEST.as_secs() + LONGEST.as_secs() / (4 * 365)) {
        0 | 1 => "more than a year".to_owned(),
        years => format!("{years} years"),
    }
}

/// The timeout, if it is one that can fire; off model threads all can. Programs that mean never ask for
/// `Duration::MAX`, or for decades: to let that time pass would be wrong, and a thread that only this could wake is
/// stuck.
pub fn firing(timeout: Option<Duration>) -> Option<Duration> {
    timeout.filter(|&timeout| timeout <= LONGEST || !on_model_thread())
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
    if firing(Some(duration)).is_none() {
        let asleep = [Guard::always().and([])];
        let operation = Operation {
            timeout: alternative(0, Some(duration)),
            ..Operation::guarded(OperationKind::Sleep, Location(0), &[], &asleep)
        };
        arrive(&operation, caller, &Registers::save());
    }
    advance(duration);
    spin::hint_from(OperationKind::Yield, caller);
}

/// The time that has passed for the current model thread. It does not count as asking for the time.
pub(crate) fn passed() -> Duration {
    let [seconds, nanoseconds] = on_model(|runtime| {
        let time = runtime.threads[runtime.current.index()].time;
        [time.as_secs(), u64::from(time.subsec_nanos())]
    });
    Duration::new(seconds, nanoseconds as u32)
}

/// Lets time pass for the current model thread.
pub fn advance(duration: Duration) {
    if on_model_thread() {
        ownership::visible();
        on_model(|runtime| {
            runtime.clock_started = true;
            let record = &mut runtime.threads[runtime.current.index()];
            record.time = record.time.saturating_add(duration);
        });
    }
}

/// Lets time pass for the current model thread until it shows `at`, if that time can come.
pub(crate) fn advance_to(at: Duration) {
    on_model(|runtime| {
        runtime.clock_started = true;
        let record = &mut runtime.threads[runtime.current.index()];
        record.time = record.time.max(at);
    });
}

/// Carries time along happens-before.
pub(crate) fn synchronise(runtime: &mut Runtime, location: Location, kind: AccessKind) {
    let record = &mut runtime.threads[runtime.current.index()];
    let time = runtime.times.entry(location).or_default();
    record.time = record.time.max(*time);
    if kind != AccessKind::Read {
        *time = record.time;
    }
}
