//! Clocks and sleeping: virtual time.

use super::{failed, interposed, system_call};
use crate::api::{hint, time};
use crate::image::arena::in_program;
use crate::operation::OperationKind;
use libc::{c_int, c_long, timespec};
use std::time::Duration;

/// The model's clocks at the start of an execution: an hour of uptime, and the first day of 2026.
const UPTIME: Duration = Duration::from_secs(3_600);
const UNIX_TIME: Duration = Duration::from_secs(1_767_225_600);

/// The time since the start of the execution at which a clock shows `shown`. The value tells which of the two clocks it
/// is: they are half a century apart.
pub(super) fn since_start(shown: Duration) -> Duration {
    let start = if shown > UNIX_TIME / 2 { UNIX_TIME } else { UPTIME };
    shown.saturating_sub(start)
}

/// The duration at the address, if it is valid.
///
/// # Safety
///
/// A value can be read there.
pub(super) unsafe fn duration(time: usize) -> Result<Duration, c_int> {
    // SAFETY: the caller's promise.
    let time = unsafe { (time as *const timespec).read() };
    match (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec)) {
        (Ok(seconds), Ok(nanoseconds)) if nanoseconds < 1_000_000_000 => Ok(Duration::new(seconds, nanoseconds)),
        _ => Err(libc::EINVAL),
    }
}

/// The time that a clock shows to a model thread.
///
/// # Safety
///
/// A value can be written to `time`.
pub(super) unsafe fn get(clock: usize, time: usize) -> Option<c_long> {
    if !in_program() {
        return None;
    }
    let start = match clock as c_int {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => UNIX_TIME,
        _ => UPTIME,
    };
    let now = start.saturating_add(time::now());
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    // SAFETY: the caller's promise.
    unsafe {
        (time as *mut timespec).write(timespec {
            tv_sec: seconds,
            tv_nsec: i64::from(now.subsec_nanos()),
        })
    };
    Some(0)
}

/// `clock_gettime(2)`.
///
/// # Safety
///
/// As for the C library's function: a value can be written to `time`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: usize, time: usize) -> c_long {
    // SAFETY: the caller's promise.
    unsafe { get(clock, time).unwrap_or_else(|| system_call(libc::SYS_clock_gettime, [clock, time].into_iter())) }
}

/// Makes a model thread sleep.
fn pass(duration: Duration) {
    time::sleep_from(duration, None);
}

/// The time that is left to a model thread until a deadline, given in time since the start of the execution.
pub(super) fn until(deadline: Duration) -> Duration {
    deadline.saturating_sub(time::passed())
}

/// `nanosleep` on a model thread.
///
/// # Safety
///
/// A value can be read from `request`.
pub(super) unsafe fn nano_sleep(request: usize) -> Option<c_long> {
    // SAFETY: the caller's promise.
    let request = in_program().then(|| unsafe { duration(request) })?;
    Some(match request {
        Ok(duration) => {
            pass(duration);
            0
        }
        Err(error) => failed(error),
    })
}

/// `clock_nanosleep` on a model thread; returns the error.
///
/// # Safety
///
/// A value can be read from `request`.
pub(super) unsafe fn sleep_on(_clock: usize, flags: usize, request: usize) -> Option<c_long> {
    // SAFETY: the caller's promise.
    let request = in_program().then(|| unsafe { duration(request) })?;
    Some(match request {
        Ok(until) if flags as c_int & libc::TIMER_ABSTIME != 0 => {
            pass(since_start(until).saturating_sub(time::passed()));
            0
        }
        Ok(duration) => {
            pass(duration);
            0
        }
        Err(error) => c_long::from(error),
    })
}

/// `sched_yield` on a model thread.
pub(super) fn give_way() -> Option<c_long> {
    in_program().then(|| {
        hint::hint_call(OperationKind::Yield);
        0
    })
}

/// `usleep` and `sleep` on a model thread.
fn sleep_for(duration: Duration) -> Option<c_long> {
    in_program().then(|| {
        pass(duration);
        0
    })
}

interposed! {
    // SAFETY: the caller's promise.
    nanosleep(request, remaining) = SYS_nanosleep => unsafe { nano_sleep(request) };
    sched_yield() = SYS_sched_yield => give_way();
}

interposed! {
    // SAFETY: the caller's promise.
    clock_nanosleep(clock, flags, request, remaining) => unsafe { sleep_on(clock, flags, request) };
    usleep(microseconds) => sleep_for(Duration::from_micros(microseconds as u64 & 0xFFFF_FFFF));
    sleep(seconds) => sleep_for(Duration::from_secs(seconds as u64 & 0xFFFF_FFFF));
}
