//! Timers: they expire where a thread waits for them, and by the time that passes for it.

use super::{Orders, Target, at_once, note_changes};
use crate::api::{perform_call, time};
use crate::image::descriptors::{Number, Table, Timer, VariableKind as V, table};
use crate::image::switch::in_checker;
use crate::operation::{Operation, OperationKind as K, access_of};
use crate::platform::interpose::{clock, failed};
use dpor_explorer::{AccessKind, Location};
use libc::{c_int, c_long, itimerspec, timespec};
use std::cell::Cell;
use std::time::Duration;

/// `timerfd_settime`.
pub(super) unsafe fn set(number: Number, flags: c_int, new: usize, old: usize) -> c_long {
    if flags & !(libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET) != 0 {
        return failed(libc::EINVAL);
    }
    // SAFETY: the caller of the system call promises two times.
    let times = unsafe { [clock::duration(new), clock::duration(new + size_of::<timespec>())] };
    let [Ok(interval), Ok(value)] = times else {
        return failed(libc::EINVAL);
    };
    let now = time::passed();
    let deadline = match flags & libc::TFD_TIMER_ABSTIME {
        0 => now.saturating_add(value),
        _ => clock::since_start(value),
    };
    let deadline = (!value.is_zero()).then_some(deadline);
    // SAFETY: the caller of the system call promises room for two times, or none.
    unsafe {
        on_timer(number, now, old, |table, file| {
            table.set_timer(file, deadline, interval)
        })
    }
}

/// `timerfd_gettime`.
pub(super) unsafe fn get(number: Number, shown: usize) -> c_long {
    // SAFETY: the caller of the system call promises room for two times.
    unsafe { on_timer(number, time::passed(), shown, |table, file| table.timer_of(file)) }
}

/// Makes a call on a timer, and writes what the timer was, unless `at` is null.
///
/// # Safety
/// There is room for two times.
unsafe fn on_timer(
    number: Number,
    now: Duration,
    at: usize,
    call: impl Fn(&mut Table, Number) -> Result<Timer, c_int>,
) -> c_long {
    let timer = Cell::new([0; 4]);
    let access = AccessKind::Write;
    let result = at_once(K::ControlDescriptor, number, access, Orders::Nothing, |table, file| {
        table.pass(file, now);
        timer.set(plain(call(table, file)?));
        Ok(0)
    });
    if result == 0 && at != 0 {
        // SAFETY: the caller's promise.
        unsafe { show(timer.get(), now, at) };
    }
    result
}

/// The deadline and the interval of a timer, in seconds and nanoseconds each: an absent value would have whatever was
/// in the checker's registers. A timer that is not set has the deadline 0.
fn plain(timer: Timer) -> [u64; 4] {
    let deadline = timer.deadline.unwrap_or_default();
    let of = |time: Duration| [time.as_secs(), u64::from(time.subsec_nanos())];
    let ([a, b], [c, d]) = (of(deadline), of(timer.interval));
    [a, b, c, d]
}

/// Writes the time between expirations, and the time until the next.
///
/// # Safety
/// There is room for two times.
unsafe fn show([seconds, nanoseconds, more @ ..]: [u64; 4], now: Duration, at: usize) {
    let spec = |time: Duration| timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: i64::from(time.subsec_nanos()),
    };
    let left = Duration::new(seconds, nanoseconds as u32).saturating_sub(now);
    let interval = Duration::new(more[0], more[1] as u32);
    let shown = itimerspec {
        it_interval: spec(interval),
        it_value: spec(left),
    };
    // SAFETY: the caller's promise.
    unsafe { (at as *mut itimerspec).write_unaligned(shown) };
}

/// When the next of some timers expires, as was found in a step.
#[derive(Clone, Copy)]
pub(super) struct Next {
    pub expires: Option<Duration>,
    /// The value of [`V::Timeouts`] to which that belongs.
    pub set: i64,
    /// The value of [`V::Watched`] at the time.
    pub watched: i64,
}

/// Looks when the next of the timers expires that the target is, or watches at these locations, in a step of its own.
pub(super) fn next(target: Target, watched: &[Location]) -> Next {
    let mut accesses = [access_of(target.home, AccessKind::Read); super::MOST];
    for (access, &location) in accesses[1..].iter_mut().zip(watched) {
        access.location = location;
    }
    let accesses = &accesses[..1 + watched.len()];
    let operation = Operation::always(K::ControlDescriptor, target.home, accesses);
    let [seconds, nanoseconds, set, watched] = perform_call(&operation, |_, touch| {
        touch.relaxed().all();
        in_checker(|| {
            let next = table().next_deadline(target.file);
            [
                next.map_or(u64::MAX, |next| next.as_secs()),
                next.map_or(0, |next| u64::from(next.subsec_nanos())),
                target.value(V::Timeouts) as u64,
                target.value(V::Watched) as u64,
            ]
        })
    });
    Next {
        expires: (seconds != u64::MAX).then(|| Duration::new(seconds, nanoseconds as u32)),
        set: set as i64,
        watched: watched as i64,
    }
}

/// Lets timers expire in the current step: by the time of the current thread, which goes on to this one first.
pub(super) fn pass(timers: &[Number], at: Option<Duration>) {
    at.into_iter().for_each(time::advance_to);
    let now = time::passed();
    in_checker(|| {
        table().change(|table| timers.iter().for_each(|&timer| table.pass(timer, now)));
    });
    note_changes();
}
