//! What a thread does while it waits: it gives way, and how long it pauses is no matter.

use core::time::Duration;
use dpor_shim::specified;

/// Gives way as a sleep of this duration does.
#[inline(always)]
#[track_caller]
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// Gives way to other threads.
#[inline(always)]
#[track_caller]
pub fn yield_now_std() {
    std::thread::yield_now();
}

/// Gives way by one pause in the place of a random number of them.
#[inline(always)]
#[track_caller]
pub fn yield_now() {
    specified::pause_of_kanal();
}

/// Number of threads that can run at the same time.
#[inline(always)]
pub fn get_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Waits until the condition holds.
#[inline(always)]
#[track_caller]
pub fn spin_cond<F: Fn() -> bool>(cond: F) {
    while !cond() {
        yield_now();
    }
}
