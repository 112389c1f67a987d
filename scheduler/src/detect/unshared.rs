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
//! A mistake is seldom alone: who comes to one part of an object comes to others, and threads that do the same have the
//! same objects in their parts of the heap and of the stacks. So what is [near](Place::is_near) the location counts as
//! shared as well, and in most cases exploration does not start again for each of them.
//!
//! Invariant: from one start of exploration to the next, whether an operation is a scheduling point does not change.

use crate::image::region;
use crate::operation::address_of;
use dpor_explorer::keys::KeyMap;
use dpor_explorer::{Access, Location, ThreadId};

/// Minimum part of all accesses that would be no scheduling points any more, as a divisor: fewer are not worth a start.
const WORTH: u64 = 16;
/// Maximum number of locations that are known.
const KNOWN: usize = 1 << 14;
/// Number of times that exploration starts again because another thread comes, after which all locations count as
/// shared: it might go on like that.
const PATIENCE: usize = 16;

/// Distance in bytes up to which two locations are near each other.
const NEAR: usize = 256;

/// Where a location is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In the heap of some thread, at this offset.
    Heap(usize),
    /// On the stack of some thread, at this offset.
    Stack(usize),
    /// At this address.
    Elsewhere(usize),
}

impl Place {
    fn of(location: Location) -> Place {
        let address = address_of(location);
        let offset = |(start, _): (usize, usize)| address - start;
        match address {
            _ if region::in_arena(address) => Place::Heap(offset(region::arena_slot(region::arena_thread(address)))),
            _ if region::in_stacks(address) => Place::Stack(offset(region::stack_slot(region::stack_thread(address)))),
            _ => Place::Elsewhere(address),
        }
    }

    /// Whether both may be in the same object, or in objects that two threads have at the same place.
    fn is_near(self, other: Place) -> bool {
        match (self, other) {
            (Place::Heap(one), Place::Heap(other))
            | (Place::Stack(one), Place::Stack(other))
            | (Place::Elsewhere(one), Place::Elsewhere(other)) => one.abs_diff(other) <= NEAR,
            _ => false,
        }
    }
}

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
    /// The chosen locations to which another thread came.
    mistakes: Vec<Location>,
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
            let place = Place::of(location);
            self.chosen.retain(|&other, _| !place.is_near(Place::of(other)));
            self.mistakes.push(location);
            if self.mistakes.len() >= PATIENCE {
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
        let mistakes: Vec<Place> = self.mistakes.iter().map(|&location| Place::of(location)).collect();
        let is_mistaken = |location| {
            let place = Place::of(location);
            mistakes.iter().any(|mistake| mistake.is_near(place))
        };
        let own = self.uses.iter().filter(|&(&location, _)| !is_mistaken(location));
        let own = own.filter_map(|(&location, known)| Some((location, known.by?)));
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

    /// Locations none of which is near another one.
    const fn far(number: u64) -> Location {
        Location(number << 10)
    }

    fn accesses<const N: usize>(locations: [u64; N]) -> [Access; N] {
        locations.map(|location| access_of(far(location), AccessKind::Write))
    }

    fn use_all(unshared: &mut Unshared, thread: ThreadId, locations: &[u64]) {
        for &location in locations {
            assert!(!unshared.comes_to(thread, far(location), true));
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
        assert!(!unshared.comes_to(ONE, far(8), false) && !unshared.comes_to(OTHER, far(32), false));
        assert!(unshared.comes_to(OTHER, far(8), false));
        assert!(!unshared.are_of(ONE, &accesses([8])) && !unshared.comes_to(ONE, far(8), false));
        assert!(unshared.choose() && !unshared.are_of(ONE, &accesses([8])) && unshared.are_of(ONE, &accesses([16])));
    }

    #[test]
    fn what_is_near_a_mistake_is_shared_as_well() {
        let at = |slot: fn(usize) -> (usize, usize), thread, offset| Location((slot(thread).0 + offset) as u64);
        let heap = |thread, offset| at(region::arena_slot, thread, offset);
        let stack = |thread, offset| at(region::stack_slot, thread, offset);
        let alike = [heap(0, 4096 + NEAR), heap(7, 4096), heap(2000, 4096)];
        let others = [heap(0, 4097 + NEAR), stack(0, 4096), Location(4096)];
        let mut unshared = Unshared::default();
        unshared.look_for(1);
        for location in alike.iter().chain(&others) {
            assert!(!unshared.comes_to(ONE, *location, true));
        }
        let are_own = |unshared: &Unshared, locations: &[Location]| {
            let accesses = locations.iter().map(|&at| access_of(at, AccessKind::Write));
            accesses
                .map(|access| unshared.are_of(ONE, &[access]))
                .collect::<Vec<_>>()
        };
        assert!(unshared.choose());
        assert_eq!(are_own(&unshared, &alike), [true; 3]);
        assert!(unshared.comes_to(OTHER, heap(7, 4096), true));
        assert_eq!(are_own(&unshared, &alike), [false; 3]);
        assert_eq!(are_own(&unshared, &others), [true; 3]);
        // Also later, and what nobody had used before.
        assert!(!unshared.comes_to(ONE, heap(3, 4000), true) && unshared.choose());
        assert_eq!(
            are_own(&unshared, &[heap(3, 4000), alike[0], others[1]]),
            [false, false, true]
        );
        // On stacks, too.
        assert!(unshared.comes_to(OTHER, stack(0, 4096), true) && unshared.choose());
        assert_eq!(are_own(&unshared, &others), [true, false, true]);
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
        for location in 100..100 + PATIENCE as u64 {
            use_all(&mut unshared, ONE, &[location]);
            assert!(unshared.choose() && unshared.comes_to(OTHER, far(location), false));
        }
        assert!(!unshared.is_any_chosen() && !unshared.choose() && !unshared.ends_execution());
    }
}
