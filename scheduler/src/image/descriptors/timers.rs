//! Timers.

use super::{IN, Kind, Number, Result, Sort, Table, variables};
use libc::c_int;
use std::time::Duration;

/// A timer. Times are since the start of the execution.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Timer {
    /// When it expires next, if it is set.
    pub deadline: Option<Duration>,
    /// The time between two expirations; zero if it expires once.
    pub interval: Duration,
    /// Number of expirations that nobody has read.
    pub(super) expired: u64,
}

impl Timer {
    /// Expires as often as it should have by this time.
    pub(super) fn pass(&mut self, now: Duration) {
        let Some(deadline) = self.deadline.filter(|&deadline| deadline <= now) else {
            return;
        };
        if self.interval.is_zero() {
            (self.deadline, self.expired) = (None, 1);
            return;
        }
        let more = (now - deadline).as_nanos() / self.interval.as_nanos();
        let times = u32::try_from(more).unwrap_or(u32::MAX).saturating_add(1);
        self.expired += u64::from(times);
        self.deadline = Some(deadline.saturating_add(self.interval.saturating_mul(times)));
    }
}

impl Table {
    /// `timerfd_create`.
    pub fn timer(&mut self, thread: usize, flags: c_int) -> Result<Number> {
        if flags & !(libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) != 0 {
            return Err(libc::EINVAL);
        }
        self.open(thread, Sort::Timer, flags, |_| Kind::Timer(Timer::default()))
    }

    /// Sets a timer; returns it as it was.
    pub fn set_timer(&mut self, file: Number, deadline: Option<Duration>, interval: Duration) -> Result<Timer> {
        let Kind::Timer(timer) = &mut self.file_mut(file).kind else {
            return Err(libc::EINVAL);
        };
        let new = Timer {
            deadline,
            interval,
            expired: 0,
        };
        Ok(std::mem::replace(timer, new))
    }

    /// A timer.
    pub fn timer_of(&self, file: Number) -> Result<Timer> {
        match self.file(file).kind {
            Kind::Timer(timer) => Ok(timer),
            _ => Err(libc::EINVAL),
        }
    }

    /// Lets the timer expire, if it should have by this time.
    pub fn pass(&mut self, file: Number, now: Duration) {
        if let Kind::Timer(timer) = &mut self.file_mut(file).kind {
            let before = timer.expired;
            timer.pass(now);
            if timer.expired != before {
                self.tell(file, IN);
            }
        }
    }

    /// When the first of the timers expires that the file is, or watches.
    pub fn next_deadline(&self, file: Number) -> Option<Duration> {
        let watched = self.watched(file);
        let timers = watched
            .iter()
            .chain([&file])
            .filter_map(|&file| self.timer_of(file).ok());
        timers.filter_map(|timer| timer.deadline).min()
    }

    /// A digest of the deadline of a timer; 0 if there is none.
    pub(super) fn deadline(&self, file: Number) -> u64 {
        match self.file(file).kind {
            Kind::Timer(Timer {
                deadline: Some(deadline),
                ..
            }) => variables::mixed(variables::mixed(deadline.as_secs()) ^ u64::from(deadline.subsec_nanos())),
            _ => 0,
        }
    }
}
