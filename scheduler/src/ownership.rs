//! Shared ownership: which thread runs the destructor of an object whose shares several threads drop.
//!
//! Drops of shares commute, so the order in which threads drop theirs is not explored, and one of them is the last in
//! the executions that are. That is all there is to see as long as the destructor only frees memory: whoever runs it,
//! the state is the same once all shares are gone, and nobody could look in between. It is not if the destructor does
//! something that depends on its thread or that others can order: an operation, a question for the thread, the time, or
//! random bytes, a panic.
//!
//! So while a destructor runs that another thread could have run, as shown by this very execution (it has dropped a
//! share, and no spawn and no join orders that before the last drop), the first such thing ends the execution:
//! exploration starts again with drops of this object as scheduling points. It is enough to judge each execution by
//! itself. Of two executions that differ in the order of drops only, both destructors start from the same memory and do
//! the same things up to the first that is visible, where each of them is noticed; and whoever is ordered before the
//! last drop by a spawn or a join is so in all executions that are equivalent to this one.

use crate::operation::{Operation, OperationKind};
use crate::runtime::{Refinements, Runtime, access, arrive, observe_each, of_model, on_model, on_model_thread, stop};
use crate::spin::Registers;
use crate::state;
use dpor_explorer::{Access, Location, Stop, ThreadId};
use smallvec::SmallVec;
use std::panic::Location as Caller;

/// For each thread, by index, the number of its epochs that are known to be over. A thread's own entry is its present
/// epoch.
type Clock = SmallVec<[u32; 8]>;

/// What the current execution has shown about shared objects, and about the order of threads by spawns and joins.
#[derive(Clone, Default, Debug)]
pub(crate) struct Shares {
    /// Live objects that have lost shares, with the threads that dropped them, and the last epochs in which they did.
    /// Sorted.
    dropped: Vec<(Location, ThreadId, u32)>,
    /// The newest entry, if it is still valid.
    latest: Option<(Location, ThreadId)>,
    /// The clock of each thread. Kept while `dropped` has entries: otherwise the order does not matter.
    clocks: Vec<Clock>,
    /// The clocks that threads which wait for these locations inherit. Sorted; kept like `clocks`.
    left: Vec<(Location, Clock)>,
    /// The objects whose destructors the current thread runs, and another thread could.
    destroying: Vec<Location>,
}

fn merge(into: &mut Clock, other: &[u32]) {
    if into.len() < other.len() {
        into.resize(other.len(), 0);
    }
    for (known, &other) in into.iter_mut().zip(other) {
        *known = (*known).max(other);
    }
}

impl Shares {
    /// Forgets the execution.
    pub fn clear(&mut self) {
        self.dropped.clear();
        self.latest = None;
        self.clocks.clear();
        self.left.clear();
        self.destroying.clear();
    }

    /// Says whether the order of threads matters.
    #[inline]
    fn keeps_clocks(&self) -> bool {
        !self.dropped.is_empty()
    }

    fn clock(&mut self, thread: ThreadId) -> &mut Clock {
        if self.clocks.len() <= thread.index() {
            self.clocks.resize_with(thread.index() + 1, Clock::new);
        }
        let clock = &mut self.clocks[thread.index()];
        if clock.len() <= thread.index() {
            clock.resize(thread.index() + 1, 0);
        }
        clock
    }

    /// Ends an epoch of the thread: returns the clock of what comes after everything that it has done so far.
    fn end_epoch(&mut self, thread: ThreadId) -> Clock {
        self.latest = None;
        let clock = self.clock(thread);
        clock[thread.index()] += 1;
        clock.clone()
    }

    /// Notes that a thread has created another one.
    pub fn spawned(&mut self, parent: ThreadId, child: ThreadId) {
        if !self.keeps_clocks() {
            return;
        }
        let after = self.end_epoch(parent);
        merge(self.clock(child), &after);
    }

    fn left(&self, at: Location) -> Result<usize, usize> {
        self.left.binary_search_by_key(&at, |&(location, _)| location)
    }

    fn leave(&mut self, thread: ThreadId, at: Location) {
        let after = self.end_epoch(thread);
        match self.left(at) {
            Ok(known) => merge(&mut self.left[known].1, &after),
            Err(new) => self.left.insert(new, (at, after)),
        }
    }

    fn wait(&mut self, thread: ThreadId, at: Location) {
        if let Ok(known) = self.left(at) {
            let after = self.left[known].1.clone();
            merge(self.clock(thread), &after);
        }
    }

    fn drop_share(&mut self, thread: ThreadId, object: Location) {
        let epoch = self.clock(thread)[thread.index()];
        let place = self
            .dropped
            .binary_search_by_key(&(object, thread), |&(object, thread, _)| (object, thread));
        match place {
            Ok(known) => self.dropped[known].2 = epoch,
            Err(new) => self.dropped.insert(new, (object, thread, epoch)),
        }
        self.latest = Some((object, thread));
    }

    /// Notes that the thread has dropped the last share. Says whether another thread could have.
    fn drop_last(&mut self, thread: ThreadId, object: Location) -> bool {
        let start = self.dropped.partition_point(|&(other, ..)| other < object);
        let length = self.dropped[start..].partition_point(|&(other, ..)| other == object);
        if length == 0 {
            return false;
        }
        self.latest = None;
        let clocks = &self.clocks;
        let before = |other: ThreadId, epoch: u32| {
            let over = clocks.get(thread.index()).and_then(|clock| clock.get(other.index()));
            over.is_some_and(|&over| epoch < over)
        };
        let in_doubt = self
            .dropped
            .drain(start..start + length)
            .any(|(_, other, epoch)| other != thread && !before(other, epoch));
        if !self.keeps_clocks() {
            self.clocks.clear();
            self.left.clear();
        }
        in_doubt
    }

    /// Says whether the current thread runs a destructor that another thread could.
    #[inline]
    pub fn in_doubt(&self) -> bool {
        !self.destroying.is_empty()
    }

    /// Makes the drops of the objects being destroyed scheduling points. Says whether that is new.
    pub fn refine(&self, refinements: &mut Refinements) -> bool {
        self.destroying
            .iter()
            .fold(false, |new, &object| refinements.observe(object) | new)
    }

    /// The part of the program's state that decides later which destructors are in doubt: which threads come after
    /// which drop. The clocks tell more, such as how many threads someone has created since, which depends on the order
    /// of independent steps.
    pub fn numbers(&self, mut add: impl FnMut(&'static str, u64)) {
        let Shares {
            dropped,
            latest: _,
            clocks,
            left,
            // Empty between steps: a destructor in doubt does not come to a scheduling point.
            destroying: _,
        } = self;
        add("lost shares", dropped.len() as u64);
        for &(object, thread, epoch) in dropped {
            add("lost a share", object.0);
            add("dropped it", u64::from(thread.0));
            let after = |clock: &Clock| clock.get(thread.index()).is_some_and(|&over| epoch < over);
            let others = (0u64..).zip(clocks).filter(|&(other, _)| other != u64::from(thread.0));
            let threads = others.filter(|(_, clock)| after(clock)).map(|(other, _)| other);
            let locations = left.iter().filter(|(_, clock)| after(clock));
            let locations = locations.map(|(location, _)| location.0);
            state::list("threads that come after it", threads, &mut add);
            state::list("left after it", locations, &mut add);
        }
    }
}

/// A scheduling point before something that belongs to the previous step unless some thread
/// [`observe`](crate::observe)s one of these locations. Notes the accesses to observed locations. Does nothing off
/// model threads.
#[track_caller]
#[inline]
pub fn point_if_observed<const N: usize>(kind: OperationKind, accesses: [Access; N]) {
    if on_model_thread() && of_model(|runtime| !runtime.refinements.observed.is_empty()) {
        observed_point(kind, &accesses, Caller::caller());
    }
}

#[inline(never)]
fn observed_point(kind: OperationKind, accesses: &[Access], caller: &'static Caller<'static>) {
    let observed = |access: &Access| on_model(|runtime| runtime.refinements.is_observed(access.location));
    // One that is not observed may be between two that are; nobody minds.
    let Some(first) = accesses.iter().position(observed) else {
        return;
    };
    let last = accesses.iter().rposition(observed).unwrap_or(first);
    let touched = &accesses[first..=last];
    arrive(
        &Operation::always(kind, touched[0].location, touched),
        Some(caller),
        &Registers::save(),
    );
    for touched in touched {
        access(touched.location, touched.kind);
    }
}

/// A scheduling point before an operation that sees what others do to the `observed` locations; does nothing off model
/// threads. As with [`observe_each`], exploration starts again if one of them is new.
#[track_caller]
#[inline]
pub fn observing_point(kind: OperationKind, observed: &[Location], accesses: &[Access]) {
    if on_model_thread() {
        observe_each(observed);
        let operation = Operation::always(kind, observed[0], accesses);
        arrive(&operation, Some(Caller::caller()), &Registers::save());
    }
}

/// Notes that the current thread has dropped a share of an object that was not the last one.
#[inline]
pub fn dropped(object: Location) {
    if on_model_thread() && of_model(|runtime| runtime.shares.latest != Some((object, runtime.current))) {
        on_model(|runtime| {
            if !runtime.refinements.is_observed(object) {
                runtime.shares.drop_share(runtime.current, object);
            }
        });
    }
}

/// Announces the destructor of an object whose last share the current thread has dropped. If this returns true, another
/// thread could have been the last, and the caller must announce its [`end`](destroyed).
#[inline]
#[must_use]
pub fn destroys(object: Location) -> bool {
    on_model_thread()
        && of_model(|runtime| runtime.shares.keeps_clocks())
        && on_model(|runtime| {
            let Runtime {
                shares,
                refinements,
                current,
                ..
            } = runtime;
            let in_doubt = shares.drop_last(*current, object) && !refinements.is_observed(object);
            if in_doubt {
                shares.destroying.push(object);
            }
            in_doubt
        })
}

/// Announces the end of the destructor that was last announced by [`destroys`].
pub fn destroyed() {
    on_model(|runtime| {
        runtime.shares.destroying.pop();
    });
}

/// Announces that what the current thread does now depends on which thread it is, or can be ordered against others.
#[inline]
pub fn visible() {
    if on_model_thread() && of_model(|runtime| runtime.shares.in_doubt()) {
        let new = on_model(|runtime| runtime.shares.refine(&mut runtime.refinements));
        if new {
            stop(Stop::Refine);
        }
    }
}

/// Orders everything that the current thread has done before whatever another thread does after it has
/// [waited](waited_for) for this location.
pub fn leave(at: Location) {
    if on_model_thread() && of_model(|runtime| runtime.shares.keeps_clocks()) {
        on_model(|runtime| runtime.shares.leave(runtime.current, at));
    }
}

/// Orders the current thread after all threads that have [left](leave) something here so far.
pub fn waited_for(at: Location) {
    if on_model_thread() && of_model(|runtime| runtime.shares.keeps_clocks()) {
        on_model(|runtime| runtime.shares.wait(runtime.current, at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: ThreadId = ThreadId::MAIN;
    const A: ThreadId = ThreadId(1);
    const B: ThreadId = ThreadId(2);
    const OBJECT: Location = Location(8);
    const EXIT: Location = Location(16);

    fn two_threads() -> Shares {
        let mut shares = Shares::default();
        shares.spawned(MAIN, A);
        shares.spawned(MAIN, B);
        shares
    }

    #[test]
    fn unordered_drops_are_in_doubt() {
        let mut shares = two_threads();
        shares.drop_share(A, OBJECT);
        assert!(shares.drop_last(B, OBJECT));
        assert!(!shares.drop_last(B, OBJECT), "forgotten with the object");
    }

    #[test]
    fn the_state_knows_who_comes_after_a_drop_and_no_more() {
        let after = |steps: &[fn(&mut Shares)]| {
            let mut shares = two_threads();
            steps.iter().for_each(|step| step(&mut shares));
            let mut numbers = Vec::new();
            shares.numbers(|name, number| numbers.push((name, number)));
            numbers
        };
        let drops: fn(&mut Shares) = |shares| shares.drop_share(A, OBJECT);
        let other_leaves: fn(&mut Shares) = |shares| {
            // As the function of that name.
            if shares.keeps_clocks() {
                shares.leave(B, EXIT);
            }
        };
        let leaves: fn(&mut Shares) = |shares| shares.leave(A, EXIT);
        let waits: fn(&mut Shares) = |shares| shares.wait(B, EXIT);
        assert_eq!(after(&[drops, other_leaves]), after(&[other_leaves, drops]));
        assert_ne!(after(&[drops, leaves]), after(&[drops]));
        assert_ne!(after(&[drops, leaves, waits]), after(&[drops, leaves]));
    }

    #[test]
    fn ones_own_drops_are_not() {
        let mut shares = two_threads();
        shares.drop_share(A, OBJECT);
        assert!(!shares.drop_last(A, OBJECT));
    }

    #[test]
    fn a_drop_before_the_spawn_comes_first_and_one_after_it_does_not() {
        let mut shares = Shares::default();
        shares.drop_share(MAIN, OBJECT);
        shares.spawned(MAIN, A);
        assert!(!shares.drop_last(A, OBJECT));
        shares.drop_share(MAIN, OBJECT);
        assert!(shares.drop_last(A, OBJECT));
    }

    #[test]
    fn a_thread_comes_after_those_it_has_waited_for_and_whom_they_have() {
        let mut shares = two_threads();
        shares.drop_share(A, OBJECT);
        shares.leave(A, EXIT);
        shares.wait(B, EXIT);
        shares.leave(B, OBJECT);
        shares.wait(MAIN, OBJECT);
        assert!(!shares.drop_last(MAIN, OBJECT));
        shares.drop_share(A, OBJECT);
        assert!(shares.drop_last(MAIN, OBJECT), "after it had left");
    }
}
