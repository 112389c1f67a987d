//! What a thread does while it waits: it gives way, and how long it pauses is no matter.

use core::time::Duration;
use dpor_shim::specified;

/// Gives way as a sleep of this duration does.
#[inline(always)]
#[track_caller]
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// Gives way by one pause.
#[allow(dead_code)]
#[inline(always)]
#[track_caller]
pub fn spin_hint() {
    std::hint::spin_loop();
}

/// Gives way to other threads.
#[allow(dead_code)]
#[inline(always)]
#[track_caller]
pub fn yield_now_std() {
    std::thread::yield_now();
}

/// Gives way by one pause in the place of some.
#[allow(dead_code)]
#[inline(always)]
#[track_caller]
pub fn spin_wait(_count: usize) {
    specified::pauses_of_kanal();
    std::hint::spin_loop();
}

/// Gives way by one pause in the place of a random number of them.
#[allow(dead_code)]
#[inline(always)]
#[track_caller]
pub fn yield_now() {
    specified::pauses_of_kanal();
    std::thread::yield_now();
}

/// A number near another one: this one.
#[allow(dead_code)]
#[inline(always)]
pub fn randomize(number: usize) -> usize {
    number
}

/// Number of threads that can run at the same time.
#[allow(dead_code)]
#[inline(always)]
pub fn get_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Waits until the condition holds.
#[allow(dead_code)]
#[inline(always)]
#[track_caller]
pub fn spin_cond<F: Fn() -> bool>(cond: F) {
    while !cond() {
        specified::pauses_of_kanal();
        std::thread::yield_now();
    }
}
