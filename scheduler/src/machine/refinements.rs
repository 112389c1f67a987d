//! What exploration has learnt that it needs; it survives restarts.

use crate::memory_model::atomics::{self, Atomics};
use crate::memory_model::rc11::LearntOrderings;
use crate::operation::part_of;
// The standard maps keep their seeds in a thread-local, which is the explored program's.
use dpor_explorer::Location;
use dpor_explorer::keys::KeySet;
use std::sync::atomic::Ordering;

/// What makes exploration start again when it grows.
///
/// Invariant: it only grows.
#[derive(Clone, Default, Debug)]
pub(crate) struct Refinements {
    /// Locations whose release is observed, so that it is a scheduling point.
    pub observed: KeySet<Location>,
    /// The same locations, and those that stand for what was learnt of orderings, in the order in which they were learnt.
    pub observed_in_order: Vec<Location>,
    /// The kinds of locations all of which count as observed: objects, and parts of objects by number.
    observed_kinds: KeySet<u64>,
    /// Places of the program to which a thread came back without having changed anything.
    pub loops: KeySet<u64>,
    /// Whether states of threads are compared.
    pub hashing: bool,
    /// Whether atomics overlap in some words; these count as observed.
    pub overlaps: bool,
    /// The atomics used so far, in any execution.
    pub atomics: Atomics,
    /// The orderings that are requested, under weak memory.
    pub orderings: LearntOrderings,
}

dpor_explorer::codec!(struct Refinements {
    observed,
    observed_in_order,
    observed_kinds,
    loops,
    hashing,
    overlaps,
    atomics,
    orderings
});

impl Refinements {
    /// Makes releases of the location scheduling points. Says whether that is new.
    pub fn observe(&mut self, object: Location) -> bool {
        /// Number of observed locations of a kind after which all of them count as observed: their addresses may depend
        /// on the interleaving.
        const MANY: usize = 64;
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
        if self.observed.iter().filter(|&&other| part_of(other) == kind).count() > MANY {
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

    /// Notes the orderings of an atomic operation. Says whether that is news.
    pub fn note_orderings(&mut self, success: Ordering, failure: Ordering) -> bool {
        let noted = self.orderings.with(success, failure);
        let is_news = noted != self.orderings;
        for location in noted.as_locations() {
            self.observe(location);
        }
        is_news
    }

    /// Notes the use of an atomic. Says whether it is now known to overlap another one, and was not before.
    pub fn note_atomic(&mut self, address: Location, size: usize) -> bool {
        self.atomics.note(address, size) && self.observe(atomics::whole(address))
    }
}
