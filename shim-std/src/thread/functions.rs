//! The free functions of `std::thread`.

use super::builder::Builder;
use super::current::current;
use super::join::JoinHandle;
use dpor_scheduler::{OperationKind, hint, on_model_thread, ownership, time};
use std::io;
use std::num::NonZero;
use std::thread as real;
use std::time::Duration;

/// Result of `available_parallelism` on model threads: enough for code to use threads at all.
const PARALLELISM: NonZero<usize> = NonZero::new(4).unwrap();

/// `std::thread::spawn`.
///
/// # Panics
/// If no thread can be created.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T,
    F: Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// `std::thread::yield_now`.
#[track_caller]
pub fn yield_now() {
    if on_model_thread() {
        hint::hint(OperationKind::Yield);
    } else {
        real::yield_now();
    }
}

/// `std::thread::panicking`.
#[inline]
#[must_use]
pub fn panicking() -> bool {
    ownership::visible();
    real::panicking()
}

/// `std::thread::sleep_ms`.
#[track_caller]
#[deprecated(since = "1.6.0", note = "replaced by `std::thread::sleep`")]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(u64::from(ms)));
}

/// `std::thread::sleep`. On a model thread, its clock goes on and others may run; it does not wake from a sleep of more
/// than a year.
#[track_caller]
pub fn sleep(dur: Duration) {
    if on_model_thread() {
        time::sleep(dur);
    } else {
        real::sleep(dur);
    }
}

/// `std::thread::park`.
#[track_caller]
pub fn park() {
    current().park(None);
}

/// `std::thread::park_timeout_ms`.
#[track_caller]
#[deprecated(since = "1.6.0", note = "replaced by `std::thread::park_timeout`")]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(u64::from(ms)));
}

/// `std::thread::park_timeout`.
#[track_caller]
pub fn park_timeout(dur: Duration) {
    current().park(Some(dur));
}

/// `std::thread::available_parallelism`; 4 on model threads.
///
/// # Errors
/// As in std; none on model threads.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    if on_model_thread() {
        Ok(PARALLELISM)
    } else {
        real::available_parallelism()
    }
}
