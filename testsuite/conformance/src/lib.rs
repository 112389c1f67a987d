//! std's promises about threads, locks, channels and atomics, as ordinary tests.
//!
//! A test passes if what it asserts holds in every schedule. Tests called `reach_…` are the other way round: they fail
//! if and only if some schedule does what their name says, so a checker that explores all schedules must fail them.
//! Tests called `fail_…` or `race_…` must fail, too, in the way that `expected.toml` gives.

pub mod plain;

use std::sync::Arc;
use std::thread;

/// Runs two functions in a thread each, on shared data, and returns their results.
///
/// # Panics
///
/// If one of them panicked.
pub fn race<S, A, B>(
    shared: S,
    a: impl FnOnce(&S) -> A + Send + 'static,
    b: impl FnOnce(&S) -> B + Send + 'static,
) -> (A, B)
where
    S: Send + Sync + 'static,
    A: Send + 'static,
    B: Send + 'static,
{
    let first = Arc::new(shared);
    let second = Arc::clone(&first);
    let a = thread::spawn(move || a(&first));
    let b = thread::spawn(move || b(&second));
    (
        a.join().expect("the first thread does not panic"),
        b.join().expect("the second thread does not panic"),
    )
}

/// Fails a `reach_…` test if the event in its name has happened.
///
/// # Panics
///
/// If `happened`.
#[track_caller]
pub fn unless(happened: bool) {
    assert!(!happened, "reached");
}
