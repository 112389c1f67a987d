//! The virtual clock of the explored program.
//!
//! Each thread has a time of its own, which starts where its creator was and passes only by sleeping, by
//! timeouts and by asking. It takes over the time of what it touches, like a Lamport clock: so no thread sees an
//! `Instant` from its future, and equivalent executions have equal times.

use crate::runtime::{Runtime, on_model, on_model_thread};
use dpor_explorer::{AccessKind, Location};
use std::time::Duration;

/// What one question for the time costs.
const TICK: Duration = Duration::from_micros(1);

/// The current model thread's time since the start of the execution. Zero off model threads.
pub fn now() -> Duration {
    advance(TICK);
    if !on_model_thread() {
        return Duration::ZERO;
    }
    on_model(|runtime| runtime.threads[runtime.current.index()].time)
}

/// Lets time pass for the current model thread.
pub fn advance(duration: Duration) {
    if on_model_thread() {
        on_model(|runtime| {
            runtime.clock_started = true;
            let record = &mut runtime.threads[runtime.current.index()];
            record.time = record.time.saturating_add(duration);
        });
    }
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
