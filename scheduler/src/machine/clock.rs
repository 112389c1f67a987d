//! The virtual clock of the explored program.
//!
//! Each thread has a time of its own, which starts where its creator was and passes only by sleeping, by timeouts and
//! by asking again and again. It takes over the time of what it touches, like a Lamport clock: so no thread sees an
//! `Instant` from its future, and equivalent executions have equal times.
//!
//! The first questions of a thread take no time. Runtimes ask for the time in passing, and what they do then should not
//! depend on how often. Only a loop that asks until a deadline comes needs time to pass. Once somebody has asked, the
//! number of each thread's questions is part of the state, since it decides when its questions begin to take time.

use super::threads::Record;
use crate::image::part::{Extent, Owner, Part, Visitor};
use dpor_explorer::keys::KeyMap;
use dpor_explorer::{AccessKind, Location};
use std::time::Duration;

/// Number of a thread's questions for the time that take none.
const FREE: u32 = 32;
/// The cost of the first question that takes time.
const TICK: Duration = Duration::from_micros(1);
/// Number of a thread's questions after which the cost doubles, so that a loop that waits for a deadline reaches it.
const DOUBLE_AFTER: u32 = 16;

/// The times of locations. Threads' own times are in their records.
#[derive(Default)]
pub(crate) struct VirtualClock {
    /// Whether time has passed, or somebody has asked for it.
    pub started: bool,
    /// Whether time has passed for some thread. Until then, all times are zero.
    pub has_passed: bool,
    /// Number of times that all threads have waited for time to pass, where timeouts fire last.
    pub passed: u32,
    times: KeyMap<Location, Times>,
}

/// The times that a location has from those who have touched it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    /// That of the last write.
    written: Duration,
    /// The latest one of the updates since, which do not take it over from each other: they commute.
    updated: Duration,
}

impl VirtualClock {
    /// The thread asks for the time, which takes some after the first questions.
    pub fn ask(&mut self, record: &mut Record) -> Duration {
        self.started = true;
        if let Some(costly) = record.clock_reads.checked_sub(FREE) {
            let tick = TICK.saturating_mul(1 << (costly / DOUBLE_AFTER).min(31));
            self.pass(record, tick);
        }
        record.clock_reads += 1;
        record.time
    }

    /// Time passes for a thread.
    pub fn pass(&mut self, record: &mut Record, duration: Duration) {
        self.pass_until(record, record.time.saturating_add(duration));
    }

    /// Time passes for a thread until then, unless it is later already.
    pub fn pass_until(&mut self, record: &mut Record, time: Duration) {
        record.time = record.time.max(time);
        self.started = true;
        self.has_passed |= !record.time.is_zero();
    }

    /// Carries time along happens-before.
    pub fn synchronise(&mut self, record: &mut Record, location: Location, kind: AccessKind) {
        let times = self.times.entry(location).or_default();
        record.time = record.time.max(times.written);
        if kind != AccessKind::Update {
            record.time = record.time.max(times.updated);
        }
        match kind {
            AccessKind::Read => {}
            AccessKind::Update => times.updated = times.updated.max(record.time),
            AccessKind::Write => {
                *times = Times {
                    written: record.time,
                    updated: Duration::ZERO,
                }
            }
        }
    }
}

/// The duration in nanoseconds, for the state.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Part for VirtualClock {
    type Saved = (bool, bool, u32, KeyMap<Location, Times>);

    unsafe fn reset(&mut self) {
        (self.started, self.has_passed, self.passed) = (false, false, 0);
        self.times.clear();
    }

    fn visit(&self, extent: Extent, visitor: &mut impl Visitor) {
        let owner = Owner::Program;
        visitor.number(owner, "clock started", u64::from(extent.time.is_some()));
        let Some(least) = extent.time else {
            return;
        };
        // It is in the names of locations.
        visitor.number(owner, "times that all have waited", u64::from(self.passed));
        // Nobody takes over a time that all threads have reached, nor that of updates which the write before exceeds.
        let times = self.times.iter().map(|(location, times)| {
            let unless = |time: Duration, known| if time > known { nanoseconds(time) } else { 0 };
            let written = unless(times.written, least);
            (location.0, written, unless(times.updated, times.written.max(least)))
        });
        let mut times: Vec<_> = times
            .filter(|&(_, written, updated)| written > 0 || updated > 0)
            .collect();
        times.sort_unstable();
        visitor.number(owner, "locations with a time", times.len() as u64);
        for (location, written, updated) in times {
            visitor.number(owner, "location", location);
            visitor.number(owner, "time of the location", written);
            visitor.number(owner, "time of the updates of the location", updated);
        }
    }

    unsafe fn save(&self, (started, has_passed, passed, times): &mut Self::Saved, _: &mut Vec<u8>) {
        (*started, *has_passed, *passed) = (self.started, self.has_passed, self.passed);
        times.clone_from(&self.times);
    }

    unsafe fn load(&mut self, (started, has_passed, passed, times): &Self::Saved, _: &mut &[u8]) {
        (self.started, self.has_passed, self.passed) = (*started, *has_passed, *passed);
        self.times.clone_from(times);
    }
}
