//! Operations off model threads: the same enabledness and the same effects, under one process-wide lock.
//!
//! Instrumented objects are also used where no model runs: in the test harness, in constructors and
//! destructors of the process, in tests run without exploration. There each operation takes the lock, waits
//! until it is enabled, takes effect, and wakes everybody else.

use super::Touch;
use crate::operation::{Operation, holds_now};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

static WORLD: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

pub(crate) fn perform<R>(operation: &Operation<'_>, apply: impl FnOnce(u32, Touch<'_>) -> R) -> R {
    let timeout = operation
        .timeout
        .map(|(alternative, after)| (alternative, Instant::now().checked_add(after)));
    let mut world = WORLD.lock().unwrap_or_else(PoisonError::into_inner);
    let chosen = loop {
        if operation.alternatives.is_empty() {
            break 0;
        }
        let expired = timeout.is_some_and(|(_, deadline)| deadline.is_some_and(|at| Instant::now() >= at));
        let enabled = operation.alternatives.iter().zip(0u32..).find(|&(guard, i)| {
            let is_timeout = timeout.is_some_and(|(alternative, _)| alternative == i);
            (!is_timeout || expired) && holds_now(guard)
        });
        if let Some((_, alternative)) = enabled {
            break alternative;
        }
        world = match timeout.and_then(|(_, deadline)| deadline).filter(|_| !expired) {
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                CHANGED
                    .wait_timeout(world, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => CHANGED.wait(world).unwrap_or_else(PoisonError::into_inner),
        };
    };
    let result = apply(chosen, Touch::of(operation));
    CHANGED.notify_all();
    drop(world);
    result
}

pub(crate) fn release<R>(operation: &Operation<'_>, apply: impl FnOnce(Touch<'_>) -> R) -> R {
    let world = WORLD.lock().unwrap_or_else(PoisonError::into_inner);
    let result = apply(Touch::of(operation));
    CHANGED.notify_all();
    drop(world);
    result
}
