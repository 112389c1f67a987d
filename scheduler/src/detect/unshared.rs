//! Locations that only one thread uses.
//!
//! What a thread does to such a location is independent of all that other threads do, and none of them can disable it.
//! So an operation on it needs no scheduling point: it moves left to the thread's step before, to which it then belongs,
//! and each execution is still equivalent to one that is explored. (A step like this is *safe* in Holzmann and Peled,
//! *An Improvement in Formal Verification*, FORTE 1994; there it is found in the text of the program.)
//!
//! Which locations these are is known only when everything has been explored. So it is taken from the executions so
//! far, and as soon as another thread comes to one, exploration starts again without it.
//!
//! Invariant: from one start of exploration to the next, whether an operation is a scheduling point does not change.

use dpor_explorer::keys::KeyMap;
use dpor_explorer::{Access, Location, ThreadId};

/// Minimum part of all accesses that would be no scheduling points any more, as a divisor: fewer are not worth a start.
const WORTH: u64 = 16;
/// Maximum number of locations that are known.
const KNOWN: usize = 1 << 14;
/// Number of times that exploration starts again because another thread comes, after which all locations count as
/// shared: it might go on like that.
const PATIENCE: u32 = 16;

/// How a location was used, in all executions so far.
#[derive(Clone, Copy, Debug)]
struct Use {
    /// The thread that uses it; `None` if there are several.
    by: Option<ThreadId>,
    /// Number of accesses.
    accesses: u64,
}

dpor_explorer::codec!(struct Use { by, accesses });

/// The locations that only one thread uses.
#[derive(Clone, Default, Debug)]
pub(crate) struct Unshared {
    /// Number of executions after which they are chosen; `None` if nobody wants that.
    after: Option<u64>,
    uses: KeyMap<Location, Use>,
    /// The locations where operations are no scheduling points, with their threads.
    chosen: KeyMap<Location, ThreadId>,
    /// Number of executions so far.
    executions: u64,
    /// Whether locations were chosen, or there were too few.
    is_decided: bool,
    /// Number of times that another thread came.
    mistakes: u32,
    /// Whether nobody notices that another thread comes: a fault, for tests of tests.
    #[cfg(feature = "faults")]
    pub is_faulty: bool,
}

#[cfg(not(feature = "faults"))]
dpor_explorer::codec!(struct Unshared { after, uses, chosen, executions, is_decided, mistakes });
#[cfg(feature = "faults")]
dpor_explorer::codec!(struct Unshared { after, uses, chosen, executions, is_decided, mistakes } skip { is_faulty });

impl Unshared {
    /// Has operations on the locations be no scheduling points, from the start after so many executions on.
    pub fn look_for(&mut self, after: u64) {
        self.after = Some(after);
    }

    /// Has all operations be scheduling points, from now on.
    pub fn forget(&mut self) {
        self.chosen.clear();
        self.after = None;
    }

    /// Whether operations on some locations are no scheduling points.
    #[inline]
    pub fn is_any_chosen(&self) -> bool {
        !self.chosen.is_empty()
    }

    /// Whether an operation with these accesses is no scheduling point of the thread.
    pub fn are_of(&self, thread: ThreadId, accesses: &[Access]) -> bool {
        let is_own = |access: &Access| self.chosen.get(&access.location) == Some(&thread);
        !accesses.is_empty() && accesses.iter().all(is_own)
    }

    /// Whether anybody wants to know.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.after.is_some()
    }

    /// The thread comes to the location, or has an operation pending that would. Says whether the location was chosen as
    /// another thread's, so that exploration must start again. If the thread `uses` it, that is noted.
    pub fn comes_to(&mut self, thread: ThreadId, location: Location, uses: bool) -> bool {
        if self.after.is_none() {
            return false;
        }
        if uses {
            self.note(thread, location);
        }
        #[cfg(feature = "faults")]
        if self.is_faulty {
            return false;
        }
        let is_anothers = self.chosen.get(&location).is_some_and(|&owner| owner != thread);
        if is_anothers {
            self.chosen.remove(&location);
            if let Some(known) = self.uses.get_mut(&location) {
                known.by = None;
            }
            self.mistakes += 1;
            if self.mistakes >= PATIENCE {
                self.forget();
            }
        }
        is_anothers
    }

    /// Notes an access of the thread.
    fn note(&mut self, thread: ThreadId, location: Location) {
        if let Some(known) = self.uses.get_mut(&location) {
            known.accesses += 1;
            known.by = known.by.filter(|&by| by == thread);
        } else if self.uses.len() < KNOWN {
            let by = Some(thread);
            self.uses.insert(location, Use { by, accesses: 1 });
        }
    }

    /// An execution has ended. Says whether exploration starts again because of the locations that are now known.
    pub fn ends_execution(&mut self) -> bool {
        self.executions += 1;
        let is_due = self.after.is_some_and(|after| self.executions >= after);
        is_due && !self.is_decided && self.choose()
    }

    /// Chooses the locations that only one thread has used so far, at a start of exploration. Says whether there are
    /// enough.
    pub fn choose(&mut self) -> bool {
        if self.after.is_none() {
            return false;
        }
        self.is_decided = true;
        let all: u64 = self.uses.values().map(|known| known.accesses).sum();
        let own = self
            .uses
            .iter()
            .filter_map(|(&location, known)| Some((location, known.by?)));
        let own: KeyMap<Location, ThreadId> = own.collect();
        let of_own: u64 = own.keys().map(|location| self.uses[location].accesses).sum();
        let is_worth_it = of_own * WORTH >= all && of_own > 0;
        self.chosen = if is_worth_it { own } else { KeyMap::default() };
        is_worth_it
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::access_of;
    use dpor_explorer::AccessKind;

    const ONE: ThreadId = ThreadId(1);
    const OTHER: ThreadId = ThreadId(2);

    fn accesses<const N: usize>(locations: [u64; N]) -> [Access; N] {
        locations.map(|location| access_of(Location(location), AccessKind::Write))
    }

    fn use_all(unshared: &mut Unshared, thread: ThreadId, locations: &[u64]) {
        for &location in locations {
            assert!(!unshared.comes_to(thread, Location(location), true));
        }
    }

    /// Thread 1 has used 8 and 16, thread 2 has used 24, and both have used 32.
    fn known() -> Unshared {
        let mut unshared = Unshared::default();
        unshared.look_for(2);
        use_all(&mut unshared, ONE, &[8, 16, 32]);
        use_all(&mut unshared, OTHER, &[24, 32]);
        unshared
    }

    #[test]
    fn locations_of_one_thread_are_chosen_when_it_is_time() {
        let mut unshared = known();
        assert!(!unshared.ends_execution() && !unshared.is_any_chosen());
        assert!(unshared.ends_execution() && unshared.is_any_chosen());
        assert!(unshared.are_of(ONE, &accesses([8])) && unshared.are_of(ONE, &accesses([8, 16])));
        assert!(!unshared.are_of(OTHER, &accesses([8])) && !unshared.are_of(ONE, &accesses([8, 24])));
        // Used by both, never used, and nothing at all.
        assert!(!unshared.are_of(ONE, &accesses([32])) && !unshared.are_of(ONE, &accesses([40])));
        assert!(!unshared.are_of(ONE, &[]));
        // It is decided once.
        use_all(&mut unshared, ONE, &[40]);
        assert!((0..9).all(|_| !unshared.ends_execution()) && !unshared.are_of(ONE, &accesses([40])));
        assert!(unshared.choose() && unshared.are_of(ONE, &accesses([40])));
    }

    #[test]
    fn locations_to_which_another_thread_comes_are_shared_for_good() {
        let mut unshared = known();
        assert!(unshared.choose());
        assert!(!unshared.comes_to(ONE, Location(8), false) && !unshared.comes_to(OTHER, Location(32), false));
        assert!(unshared.comes_to(OTHER, Location(8), false));
        assert!(!unshared.are_of(ONE, &accesses([8])) && !unshared.comes_to(ONE, Location(8), false));
        assert!(unshared.choose() && !unshared.are_of(ONE, &accesses([8])) && unshared.are_of(ONE, &accesses([16])));
    }

    #[test]
    fn few_accesses_are_not_worth_a_start() {
        let mut unshared = known();
        (0..60).for_each(|_| use_all(&mut unshared, ONE, &[32]));
        assert!(!unshared.choose() && !unshared.is_any_chosen());
        use_all(&mut unshared, ONE, &[8, 16]);
        assert!(unshared.choose());
    }

    #[test]
    fn after_many_mistakes_all_locations_are_shared() {
        let mut unshared = known();
        for location in 100..100 + u64::from(PATIENCE) {
            use_all(&mut unshared, ONE, &[location]);
            assert!(unshared.choose() && unshared.comes_to(OTHER, Location(location), false));
        }
        assert!(!unshared.is_any_chosen() && !unshared.choose() && !unshared.ends_execution());
    }
}
