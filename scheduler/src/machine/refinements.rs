//! What exploration has learnt that it needs; it survives restarts.

use crate::detect::unshared::Unshared;
use crate::memory_model::atomics::{self, Atomics, InBlock};
use crate::memory_model::rc11::LearntOrderings;
use crate::operation::part_of;
// The standard maps keep their seeds in a thread-local, which is the explored program's.
use dpor_explorer::keys::{KeyMap, KeySet};
use dpor_explorer::{Asked, Location};
use std::num::NonZeroU32;

/// What makes exploration start again when it grows.
///
/// Invariant: it only grows, but for the locations of one thread, which are chosen at a start, and become fewer then.
#[derive(Clone, Default, Debug)]
pub(crate) struct Refinements {
    /// Locations whose release is observed, so that it is a scheduling point.
    pub observed: KeySet<Location>,
    /// The same locations, and those that stand for what was learnt of orderings, in the order in which they were
    /// learnt.
    pub observed_in_order: Vec<Location>,
    /// The kinds of locations all of which count as observed: objects, and parts of objects by number.
    observed_kinds: KeySet<u64>,
    pub loops: Loops,
    /// Whether states of threads are compared.
    pub hashing: bool,
    /// Whether atomics overlap in some words; these count as observed.
    pub overlaps: bool,
    /// The atomics used so far, in any execution.
    pub atomics: Atomics,
    /// The orderings that are requested, under weak memory.
    pub orderings: LearntOrderings,
    /// Those that do not count yet.
    pub put_off: PutOff,
    /// How many values of an atomic there are to choose from.
    pub values: Values,
    /// The locations where operations are no scheduling points.
    pub unshared: Unshared,
}

dpor_explorer::codec!(struct Refinements {
    observed,
    observed_in_order,
    observed_kinds,
    loops,
    hashing,
    overlaps,
    atomics,
    orderings,
    put_off,
    values,
    unshared
});

/// The places of the program to which a thread came back without having changed anything, in the order in which they
/// were noticed.
///
/// Where loops are watched in place ([`Session::learn_loops_in_place`](super::session::Session)), a step that is run
/// again goes by what was known when it ran first: whether a thread is held back after it depends on that.
#[derive(Clone, Default, Debug)]
pub(crate) struct Loops {
    /// Each place with its number.
    places: KeyMap<u64, u32>,
    /// Number of the first ones that count in steps, if not all do.
    limit: Option<u32>,
    /// Number of those that count in the present step.
    counting: u32,
}

dpor_explorer::codec!(struct Loops { places } skip { limit, counting });

impl Loops {
    /// Number of places.
    #[inline]
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// Lets only so many of the first places count in the next steps; all, if there are no more.
    pub fn recollect(&mut self, count: u32) {
        self.limit = (count < self.len()).then_some(count);
    }

    /// A step begins. What is noticed in it does not count in it.
    #[inline]
    pub fn begin_step(&mut self) {
        self.counting = self.limit.unwrap_or(self.len());
    }

    /// Whether the place counts in the present step.
    #[inline]
    pub fn contains(&self, place: u64) -> bool {
        self.places.get(&place).is_some_and(|&number| number < self.counting)
    }

    /// Notes a place.
    pub fn notice(&mut self, place: u64) {
        let number = self.len();
        self.places.entry(place).or_insert(number);
    }
}

/// Weak memory, if exploration turns to it only after the sequentially consistent executions.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PutOff {
    /// Whether it is put off now: orderings are noted, and offer no choice.
    pub now: bool,
    /// The orderings that were noted meanwhile.
    orderings: LearntOrderings,
    /// Whether it is put off no longer than this, whatever is still unexplored.
    pub is_due: bool,
    /// What has been explored of the sequentially consistent executions, of which none has failed.
    pub explored: Sequential,
}

dpor_explorer::codec!(struct PutOff { now, orderings, is_due, explored });

/// What was explored of the sequentially consistent executions before weak memory. None of them has failed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Sequential {
    /// Not all of them, or that is not known.
    #[default]
    Some,
    /// All of them, but some data races may have been overlooked: states were compared without what threads know of
    /// each other's accesses.
    AllButRaces,
    /// All of them.
    All,
}

dpor_explorer::codec!(enum Sequential { 0 => Some, 1 => AllButRaces, 2 => All });

/// The number of values of an atomic from which operations choose under weak memory, where that is bounded.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Values {
    /// The number of last ones; `None` for all.
    pub most: Option<NonZeroU32>,
    /// The largest number with which the exploration has come to its end, and nothing has failed, if there was more to
    /// choose from.
    pub explored: Option<NonZeroU32>,
    /// Whether exploration goes by the order in which operations run, which decides what values are too old, and not by
    /// execution graphs.
    pub go_by_order: bool,
}

dpor_explorer::codec!(struct Values { most, explored, go_by_order });

impl Values {
    /// The number with which exploration begins: more than most programs have, and so few that a loop that stores comes
    /// back to a state soon.
    pub const FIRST: NonZeroU32 = NonZeroU32::new(8).unwrap();
    /// The number with which it ends: what needs more has no end.
    const LAST: NonZeroU32 = NonZeroU32::new(1024).unwrap();

    /// Says whether exploration starts again, by order instead of by graphs: operations would have chosen from more, as
    /// `has_more` says. A failure is one all the same.
    pub fn turn_to_order(&mut self, asked: Asked, has_more: bool) -> bool {
        let may_turn = matches!(asked, Asked::Between | Asked::AtTheEnd { complete: true });
        may_turn && has_more && self.most.is_some() && !std::mem::replace(&mut self.go_by_order, true)
    }

    /// Says whether exploration starts again with twice as many: if all has been explored, none has failed, and
    /// operations would have chosen from more, as `has_more` says.
    pub fn become_more(&mut self, asked: Asked, has_more: bool) -> bool {
        const TWICE: NonZeroU32 = NonZeroU32::new(2).unwrap();
        let (Asked::AtTheEnd { complete: true }, Some(most), true) = (asked, self.most, has_more) else {
            return false;
        };
        self.explored = Some(most);
        if most >= Self::LAST {
            return false;
        }
        self.most = Some(most.saturating_mul(TWICE));
        true
    }
}

impl PutOff {
    /// Whether there is something that is put off.
    pub fn is_needed(&self) -> bool {
        self.now && self.orderings.weak
    }
}

impl Refinements {
    /// Whether the atomic overlaps another one, so that their word is one location
    /// ([`location_of`](crate::api::atomics::location_of), which asks in another way on the program's own stack).
    pub fn is_part_of_word(&self, address: Location) -> bool {
        self.overlaps && self.is_observed(atomics::whole(address))
    }

    /// Makes releases of the location scheduling points. Says whether that is new.
    pub fn observe(&mut self, object: Location) -> bool {
        /// Number of observed locations of a kind after which all of them count as observed: their addresses may depend
        /// on the interleaving.
        const MANY: usize = 64;
        /// The same of words with atomics that overlap: memory is used for other things when it has been freed, which
        /// shows in one word after the other.
        const MANY_WORDS: usize = 4;
        if LearntOrderings::is_place(object) {
            let is_news = self.orderings.learn(object);
            self.observed_in_order.extend(is_news.then_some(object));
            return is_news;
        }
        if self.is_observed(object) {
            return false;
        }
        self.observed.insert(object);
        self.overlaps |= atomics::is_word(object);
        self.observed_in_order.push(object);
        let kind = part_of(object);
        let many = if atomics::is_word(object) { MANY_WORDS } else { MANY };
        if self.observed.iter().filter(|&&other| part_of(other) == kind).count() > many {
            self.observed_kinds.insert(kind);
        }
        true
    }

    /// Whether releases of the location are scheduling points.
    #[inline]
    pub fn is_observed(&self, object: Location) -> bool {
        self.observed.contains(&object)
            || !self.observed_kinds.is_empty() && self.observed_kinds.contains(&part_of(object))
    }

    /// Notes what is known after an operation besides what was known before. Says whether that is news.
    pub fn note_orderings(&mut self, after: impl FnOnce(LearntOrderings) -> LearntOrderings) -> bool {
        if self.put_off.now {
            self.put_off.orderings = after(self.put_off.orderings);
            return false;
        }
        let noted = after(self.orderings);
        let is_news = noted != self.orderings;
        self.learn(noted);
        is_news
    }

    fn learn(&mut self, orderings: LearntOrderings) {
        for location in orderings.as_locations() {
            self.observe(location);
        }
    }

    /// Says whether exploration starts again because it turns to weak memory, which was put off. `overlooks_races` says
    /// whether data races may have been overlooked until now.
    pub fn turns_to_weak(&mut self, asked: Asked, overlooks_races: bool) -> bool {
        let PutOff { now, is_due, .. } = self.put_off;
        let turns = match asked {
            Asked::AtTheEnd { .. } => now && self.put_off.orderings.weak,
            Asked::Between => now && is_due,
            Asked::Ahead | Asked::BeforeFailure => false,
        };
        if turns {
            self.put_off.now = false;
            self.put_off.explored = match asked {
                Asked::AtTheEnd { complete: true } if overlooks_races => Sequential::AllButRaces,
                Asked::AtTheEnd { complete: true } => Sequential::All,
                _ => Sequential::Some,
            };
            self.learn(self.put_off.orderings);
        }
        // Orderings that are met later are learnt then.
        turns && self.orderings.weak
    }

    /// Notes the use of an atomic. Says whether it is now known to overlap another one, and was not before.
    pub fn note_atomic(&mut self, address: Location, size: usize, block: InBlock) -> bool {
        self.atomics.note(address, size, block) && self.observe(atomics::whole(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn what_was_explored_before_weak_memory_is_said() {
        let explored = |asked, overlooks_races| {
            let mut refinements = Refinements::default();
            refinements.put_off.now = true;
            refinements.put_off.is_due = asked == Asked::Between;
            assert!(!refinements.note_orderings(|known| known.with(Ordering::Relaxed, Ordering::Relaxed)));
            assert!(refinements.put_off.is_needed() && refinements.turns_to_weak(asked, overlooks_races));
            assert!(!refinements.put_off.is_needed());
            refinements.put_off.explored
        };
        let at_the_end = |complete| Asked::AtTheEnd { complete };
        assert_eq!(explored(at_the_end(true), false), Sequential::All);
        assert_eq!(explored(at_the_end(true), true), Sequential::AllButRaces);
        assert_eq!(explored(at_the_end(false), false), Sequential::Some);
        assert_eq!(explored(Asked::Between, false), Sequential::Some);
    }

    #[test]
    fn values_become_more_until_there_are_no_more() {
        let mut values = Values::default();
        let at_the_end = |complete| Asked::AtTheEnd { complete };
        assert!(!values.become_more(at_the_end(true), true), "all are explored at once");
        values.most = Some(Values::FIRST);
        let mut asks = |asked, has_more| {
            let again = values.become_more(asked, has_more);
            (
                again,
                values.most.map(NonZeroU32::get),
                values.explored.map(NonZeroU32::get),
            )
        };
        assert_eq!(asks(Asked::Between, true), (false, Some(8), None));
        assert_eq!(asks(Asked::BeforeFailure, true), (false, Some(8), None));
        assert_eq!(asks(at_the_end(false), true), (false, Some(8), None));
        assert_eq!(asks(at_the_end(true), true), (true, Some(16), Some(8)));
        assert_eq!(asks(at_the_end(true), false), (false, Some(16), Some(8)));
        assert!((0..6).all(|_| asks(at_the_end(true), true).0));
        assert_eq!(asks(at_the_end(true), true), (false, Some(1024), Some(1024)));
    }

    #[test]
    fn order_decides_once_values_are_left_out() {
        let mut values = Values::default();
        assert!(!values.turn_to_order(Asked::Between, true), "none are left out");
        values.most = Some(Values::FIRST);
        assert!(!values.turn_to_order(Asked::Between, false));
        assert!(!values.turn_to_order(Asked::BeforeFailure, true) && !values.go_by_order);
        assert!(values.turn_to_order(Asked::Between, true) && values.go_by_order);
        assert!(!values.turn_to_order(Asked::AtTheEnd { complete: true }, true));
    }
}
