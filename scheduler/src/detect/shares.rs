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

use crate::image::part::{self, Extent, Owner, Part, Visitor};
use crate::memory_model::clocks::{self, Clock};
use dpor_explorer::{Location, ThreadId};

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

impl Shares {
    /// Says whether the order of threads matters.
    #[inline]
    pub fn keeps_clocks(&self) -> bool {
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
        clocks::join(self.clock(child), &after);
    }

    fn left(&self, at: Location) -> Result<usize, usize> {
        self.left.binary_search_by_key(&at, |&(location, _)| location)
    }

    pub fn leave(&mut self, thread: ThreadId, at: Location) {
        let after = self.end_epoch(thread);
        match self.left(at) {
            Ok(known) => clocks::join(&mut self.left[known].1, &after),
            Err(new) => self.left.insert(new, (at, after)),
        }
    }

    pub fn wait(&mut self, thread: ThreadId, at: Location) {
        if let Ok(known) = self.left(at) {
            let after = self.left[known].1.clone();
            clocks::join(self.clock(thread), &after);
        }
    }

    pub fn drop_share(&mut self, thread: ThreadId, object: Location) {
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
    pub fn drop_last(&mut self, thread: ThreadId, object: Location) -> bool {
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

    /// The objects whose destructors the current thread runs, and another thread could.
    pub fn destroying(&self) -> &[Location] {
        &self.destroying
    }

    /// Notes that the current thread begins a destructor that another thread could run.
    pub fn begin_in_doubt(&mut self, object: Location) {
        self.destroying.push(object);
    }

    /// Notes that the destructor that was begun last has ended.
    pub fn end_in_doubt(&mut self) {
        self.destroying.pop();
    }

    /// The newest drop of a share, as long as nothing has happened that orders threads.
    #[inline]
    pub fn latest(&self) -> Option<(Location, ThreadId)> {
        self.latest
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
            part::list("threads that come after it", threads, &mut add);
            part::list("left after it", locations, &mut add);
        }
    }
}

impl Part for Shares {
    type Saved = Shares;

    unsafe fn reset(&mut self) {
        let Shares {
            dropped,
            latest,
            clocks,
            left,
            destroying,
        } = self;
        dropped.clear();
        *latest = None;
        clocks.clear();
        left.clear();
        destroying.clear();
    }

    fn visit(&self, _: Extent, visitor: &mut impl Visitor) {
        self.numbers(|name, number| visitor.number(Owner::Program, name, number));
    }

    unsafe fn save(&self, saved: &mut Shares, _: &mut Vec<u8>) {
        saved.clone_from(self);
    }

    unsafe fn load(&mut self, saved: &Shares, _: &mut &[u8]) {
        self.clone_from(saved);
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
