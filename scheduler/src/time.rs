//! The virtual clock of the explored program.
//!
//! Each thread has a time of its own, which starts where its creator was and passes only by sleeping, by
//! timeouts and by asking. It takes over the time of what it touches, like a Lamport clock: so no thread sees an
//! `Instant` from its future, and equivalent executions have equal times.

use crate::ownership;
use crate::runtime::{Runtime, on_model, on_model_thread};
use dpor_explorer::{AccessKind, Location};
use std::time::Duration;

/// What the first question for the time costs.
const TICK: Duration = Duration::from_micros(1);
/// It costs twice as much after every so many questions of a thread, so that a loop that waits for a deadline gets there.
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
        record.spin.looked_at_clock();
        [record.time.as_secs(), u64::from(record.time.subsec_nanos())]
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

/// Lets time pass for the current model thread until it shows `at`, if that is to come.
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
