//! Timeouts that fire last: when time passes for all threads.
//!
//! With `--timeouts last`, a wait with a timeout times out only when nothing else can go on. What that depends on is
//! the state of all threads, so it is a step of its own, in which *time passes*: it is possible where no thread is
//! enabled, it goes on to the earliest deadline, and makes all waits late whose deadlines come then. The alternative of
//! a wait that is its timeout is enabled when the wait is late, and stays so until the thread has gone on.
//!
//! The step is made by the first of the threads that become late, under a number that is none of its operation's
//! alternatives ([`Operation::time_passes`](crate::operation::Operation)); the thread itself does not move. There is
//! never more than one such transition, and where there is, no other one is enabled. `docs/src/soundness.md` has the
//! argument why this is right for partial-order reduction. It rests on the step's footprint:
//!
//! * each step *updates* the location of the time since time has last passed, and the step in which time passes *reads*
//!   it: so it comes after all steps before it, in every order of independent steps;
//! * it *writes* the lateness of each wait that becomes late, which the threads' steps read. All that happens later
//!   is enabled by those, directly or not;
//! * it has the accesses and the guards of the operation that its thread is blocked in, as that would have if the
//!   execution ended here, and besides a guard that never holds: time does not pass earlier.
//!
//! Which deadlines come next is decided by the threads' virtual clocks, which are the same in equivalent executions.
//! Steps take time that the virtual clock does not count, and to ask for the time takes microseconds of it. So
//! deadlines that are less than [`SLACK`] apart are in no order: they pass at once, and the threads go on in any order.

use super::Machine;
use super::threads::{Record, Threads};
use crate::image::region;
use crate::operation::{LONGEST, NEVER, OperationKind, add_values_now, holds_now, sub_location};
use dpor_explorer::{Access, AccessKind, Awaits, Condition, Effect, Footprint, Guard, Location, ThreadId, Variable};
use dpor_protocol::Timeouts;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The difference below which two deadlines are not ordered.
const SLACK: Duration = Duration::from_millis(1);

/// The part of the number of times that time has passed that stands for the time from then on.
const PART: u64 = 0xF71E;

/// The location of the time that begins when time has passed so often.
pub(crate) fn time_after(passed: u32) -> Location {
    sub_location(Location(u64::from(passed)), PART)
}

impl Record {
    /// Sets the deadline of the operation at which the thread arrives, if it is one that passes last. Says whether the
    /// operation has a timeout that might fire at once if the option allowed it.
    pub fn set_deadline(&mut self, timeouts: Timeouts) -> bool {
        self.deadline = None;
        let timeout = self.operation().timeout.filter(|(_, after)| !after.is_zero());
        let Some((alternative, after)) = timeout.filter(|_| timeouts != Timeouts::Fire) else {
            return false;
        };
        if timeouts == Timeouts::Last && alternative != NEVER {
            self.deadline = Some(self.time.saturating_add(after));
        }
        after <= LONGEST
    }

    /// The variable that is 1 when the deadline of the pending wait has passed. It has the number of its location.
    pub fn lateness(&self) -> Variable {
        Variable(std::ptr::from_ref(region::late(self.index)).expose_provenance() as u64)
    }

    /// The location of [`Record::lateness`].
    pub fn lateness_location(&self) -> Location {
        Location(self.lateness().0)
    }

    /// Whether the alternative of the pending operation is a timeout that passes last.
    fn passes_last(&self, alternative: u32) -> bool {
        let timeout = || self.operation().timeout.map(|(timeout, _)| timeout);
        self.deadline.is_some() && timeout() == Some(alternative)
    }

    /// Whether the deadline of the pending wait has passed.
    fn is_late(&self) -> bool {
        region::late(self.index).load(Relaxed) != 0
    }

    /// Whether the alternative of the pending operation is a timeout whose deadline has not passed.
    pub fn is_early(&self, alternative: u32) -> bool {
        self.passes_last(alternative) && !self.is_late()
    }

    /// Whether the thread can let time pass as far as it is concerned, by this alternative.
    pub fn lets_time_pass(&self, alternative: u32) -> bool {
        self.deadline.is_some() && !self.is_late() && alternative == self.operation().time_passes()
    }

    /// The guard of an alternative, with the condition that the deadline has passed if it is a timeout.
    pub fn when_late(&self, guard: Guard, alternative: u32) -> Guard {
        match self.passes_last(alternative) {
            true => guard.and([Condition::Equals(self.lateness(), 1)]),
            false => guard,
        }
    }

    /// The access of a step, pending or about to run, to the lateness of its thread's wait.
    pub fn lateness_access(&self) -> Option<(Location, AccessKind)> {
        let kind = match self.is_late() {
            true => AccessKind::Write,
            false => AccessKind::Read,
        };
        self.deadline.map(|_| (self.lateness_location(), kind))
    }

    /// Ends the lateness of the wait from which the thread goes on; says how that has changed.
    pub fn ends_wait(&self) -> Option<Effect> {
        self.is_late().then(|| self.set_late(0))
    }

    fn set_late(&self, late: i64) -> Effect {
        Effect {
            variable: self.lateness(),
            before: region::late(self.index).swap(late, Relaxed),
            after: late,
        }
    }

    /// The deadline of the pending wait, if it has not passed, and the wait can still time out.
    fn coming_deadline(&self) -> Option<Duration> {
        let deadline = self.deadline.filter(|_| self.alive && !self.is_late())?;
        let operation = self.operation();
        let (timeout, _) = operation.timeout?;
        let guard = operation.alternatives.get(timeout as usize)?;
        holds_now(guard).then_some(deadline)
    }
}

/// The threads whose deadlines come next, in the order of their ids.
pub(crate) fn due(threads: &Threads) -> impl Iterator<Item = ThreadId> + use<'_> {
    let deadlines = || {
        let records = threads.iter();
        records.filter_map(|(id, record)| Some((id, record.coming_deadline()?)))
    };
    let next = deadlines().map(|(_, deadline)| deadline).min();
    let last = next.map_or(Duration::ZERO, |next| next.saturating_add(SLACK));
    deadlines()
        .filter(move |&(_, deadline)| deadline < last)
        .map(|(id, _)| id)
}

/// Adds what each step touches where timeouts fire last; `lateness` is that of its thread's wait before the step.
pub(crate) fn add_accesses(footprint: &mut Footprint, passed: u32, lateness: Option<(Location, AccessKind)>) {
    footprint.add(time_after(passed), AccessKind::Update);
    if let Some((location, kind)) = lateness {
        footprint.add(location, kind);
    }
}

/// Lets time pass, as a step of this thread, up to the next deadlines. Says whose they are.
pub(crate) fn pass(machine: &mut Machine, thread: ThreadId) -> Vec<ThreadId> {
    let Machine { execution, step, .. } = machine;
    let late: Vec<ThreadId> = due(&execution.threads).collect();
    let record = &execution.threads[thread];
    let own = &mut step.record;
    own.signature = record.signature_as(OperationKind::TimePasses);
    if !step.repeating {
        let pending = record.look_ahead();
        own.footprint = pending.footprint;
        own.guards = pending.guards;
        own.guards.push(Guard::always().and([]));
        add_values_now(&own.guards, &mut own.values);
        own.footprint.insert(Access {
            location: time_after(execution.clock.passed),
            kind: AccessKind::Read,
            awaits: Awaits::AllWrites,
        });
        own.footprint
            .add(time_after(execution.clock.passed + 1), AccessKind::Update);
    }
    (execution.clock.started, execution.clock.has_passed) = (true, true);
    execution.clock.passed += 1;
    for &id in &late {
        let record = &execution.threads[id];
        let effect = record.set_late(1);
        let location = record.lateness_location();
        execution.threads.note_change(effect.variable);
        if !step.repeating {
            own.footprint.add(location, AccessKind::Write);
            own.effects.push(effect);
        }
    }
    for (_, record) in execution
        .threads
        .iter_mut()
        .filter(|(_, record)| record.spin.has_anchors())
    {
        Rc::make_mut(&mut record.spin).time_passed();
    }
    late
}
