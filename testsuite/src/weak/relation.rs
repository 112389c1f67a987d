//! Relations between few events, as bit matrices.

/// Maximum number of events.
pub(super) const MOST_EVENTS: usize = 32;

/// A set of events.
pub(super) type Set = u32;

/// A relation between events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Relation {
    size: usize,
    rows: [Set; MOST_EVENTS],
}

/// The members of a set.
fn members(set: Set) -> impl Iterator<Item = usize> {
    let mut rest = set;
    std::iter::from_fn(move || {
        let member = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (member < MOST_EVENTS).then_some(member)
    })
}

impl Relation {
    /// The empty relation between so many events.
    ///
    /// # Panics
    /// If there are more than [`MOST_EVENTS`].
    pub(super) fn empty(size: usize) -> Relation {
        assert!(size <= MOST_EVENTS, "a program has few events");
        Relation {
            size,
            rows: [0; MOST_EVENTS],
        }
    }

    /// The pairs of which this holds.
    pub(super) fn of(size: usize, holds: impl Fn(usize, usize) -> bool) -> Relation {
        let mut relation = Relation::empty(size);
        for from in 0..size {
            for to in 0..size {
                if holds(from, to) {
                    relation.add(from, to);
                }
            }
        }
        relation
    }

    /// `[set]`: each of its events, with itself.
    pub(super) fn identity(size: usize, set: Set) -> Relation {
        Relation::of(size, |from, to| from == to && set >> from & 1 == 1)
    }

    pub(super) fn add(&mut self, from: usize, to: usize) {
        self.rows[from] |= 1 << to;
    }

    pub(super) fn has(&self, from: usize, to: usize) -> bool {
        self.rows[from] >> to & 1 == 1
    }

    fn zip(&self, other: &Relation, combine: impl Fn(Set, Set) -> Set) -> Relation {
        let mut result = *self;
        for (row, &other) in result.rows.iter_mut().zip(&other.rows) {
            *row = combine(*row, other);
        }
        result
    }

    /// `self ∪ other`.
    pub(super) fn or(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a | b)
    }

    /// `self ∩ other`.
    pub(super) fn and(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a & b)
    }

    /// `self \ other`.
    pub(super) fn without(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a & !b)
    }

    /// `self ; other`.
    pub(super) fn then(&self, other: &Relation) -> Relation {
        let mut result = Relation::empty(self.size);
        for from in 0..self.size {
            result.rows[from] = members(self.rows[from]).fold(0, |row, via| row | other.rows[via]);
        }
        result
    }

    /// The inverse relation.
    pub(super) fn inverse(&self) -> Relation {
        Relation::of(self.size, |from, to| self.has(to, from))
    }

    /// `self ∪ id`.
    pub(super) fn or_same(&self) -> Relation {
        self.or(&Relation::identity(self.size, Set::MAX))
    }

    /// The transitive closure.
    pub(super) fn closure(&self) -> Relation {
        let mut result = *self;
        for via in 0..self.size {
            for from in 0..self.size {
                if result.has(from, via) {
                    result.rows[from] |= result.rows[via];
                }
            }
        }
        result
    }

    /// Whether no event is related to itself.
    pub(super) fn irreflexive(&self) -> bool {
        (0..self.size).all(|event| !self.has(event, event))
    }

    /// Whether there is no cycle.
    pub(super) fn acyclic(&self) -> bool {
        self.closure().irreflexive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(relation: &Relation) -> Vec<(usize, usize)> {
        let all = (0..relation.size).flat_map(|from| (0..relation.size).map(move |to| (from, to)));
        all.filter(|&(from, to)| relation.has(from, to)).collect()
    }

    #[test]
    fn algebra_is_that_of_relations() {
        let next = Relation::of(4, |from, to| to == from + 1);
        assert_eq!(pairs(&next.then(&next)), [(0, 2), (1, 3)]);
        assert_eq!(pairs(&next.closure()), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(pairs(&next.inverse()), [(1, 0), (2, 1), (3, 2)]);
        assert_eq!(pairs(&Relation::identity(4, 0b1010)), [(1, 1), (3, 3)]);
        assert_eq!(pairs(&next.closure().without(&next)), [(0, 2), (0, 3), (1, 3)]);
        assert_eq!(next.closure().and(&next), next);
        assert!(next.acyclic() && !next.or(&next.inverse()).acyclic());
        assert!(next.or(&next.inverse()).irreflexive() && !next.or_same().irreflexive());
    }

    #[test]
    fn the_last_of_the_most_events_counts() {
        let mut cycle = Relation::of(MOST_EVENTS, |from, to| to == from + 1);
        assert!(cycle.acyclic());
        cycle.add(MOST_EVENTS - 1, 0);
        assert!(!cycle.acyclic());
    }
}
