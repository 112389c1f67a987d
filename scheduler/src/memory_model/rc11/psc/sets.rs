//! Sets of a record's events, by their numbers.
//!
//! All sets of a sort are in one vector. A [`BitSet`](dpor_explorer::BitSet) for each would be two allocations where a
//! record has more than 64 events, for each of some hundred sets in each state.

use smallvec::SmallVec;

/// A set by itself.
pub(super) type Set = SmallVec<[u64; 4]>;

/// Sets, each of which is a row of words with a bit for each event.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    /// Number of words of a row.
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    /// This number of sets, all of them empty, for a record with this number of events.
    pub fn new(number: usize, events: usize) -> Sets {
        let words = events.div_ceil(64).max(1);
        Sets {
            words,
            bits: vec![0; number * words],
        }
    }

    /// Adds empty sets, up to this number.
    pub fn grow(&mut self, number: usize) {
        self.bits.resize(number * self.words, 0);
    }

    /// All become empty.
    pub fn clear(&mut self) {
        self.bits.fill(0);
    }

    /// Becomes a copy of as many other sets.
    pub fn copy_from(&mut self, others: &Sets) {
        self.bits.copy_from_slice(&others.bits);
    }

    pub fn row(&self, set: usize) -> &[u64] {
        &self.bits[set * self.words..][..self.words]
    }

    pub fn row_mut(&mut self, set: usize) -> &mut [u64] {
        &mut self.bits[set * self.words..][..self.words]
    }

    pub fn insert(&mut self, set: usize, event: u32) {
        self.row_mut(set)[event as usize / 64] |= 1 << (event % 64);
    }

    /// A set becomes another one.
    pub fn copy_row(&mut self, from: usize, to: usize) {
        let start = from * self.words;
        self.bits.copy_within(start..start + self.words, to * self.words);
    }

    /// Adds the words of another set.
    pub fn add(&mut self, set: usize, other: impl Iterator<Item = u64>) {
        self.row_mut(set)
            .iter_mut()
            .zip(other)
            .for_each(|(bits, other)| *bits |= other);
    }

    /// Adds to each of this number of sets, from `to` on, the events of the one in the same place from `from` on.
    pub fn add_rows(&mut self, from: usize, to: usize, number: usize) {
        let [from, to, number] = [from, to, number].map(|row| row * self.words);
        let (low, high) = self.bits.split_at_mut(from.max(to));
        let (from, to) = match from < to {
            true => (&low[from..], high),
            false => (&*high, &mut low[to..]),
        };
        add(to, &from[..number]);
    }

    /// Adds to each of this number of first sets the events of the one in the same place of others, from `from` on.
    pub fn add_rows_of(&mut self, others: &Sets, from: usize, number: usize) {
        add(&mut self.bits, &others.bits[from * self.words..][..number * self.words]);
    }

    /// Adds the events of another set from this one on.
    pub fn add_from(&mut self, set: usize, other: &[u64], first: u32) {
        let (word, bit) = (first as usize / 64, first % 64);
        let mut pairs = self.row_mut(set)[word..].iter_mut().zip(&other[word..]);
        if let Some((bits, &other)) = pairs.next() {
            *bits |= other & (u64::MAX << bit);
        }
        pairs.for_each(|(bits, &other)| *bits |= other);
    }
}

fn add(into: &mut [u64], other: &[u64]) {
    into.iter_mut().zip(other).for_each(|(bits, other)| *bits |= other);
}

/// Whether a set has an event.
pub(super) fn has(set: &[u64], event: u32) -> bool {
    set[event as usize / 64] >> (event % 64) & 1 == 1
}

/// Removes the events of another set.
pub(super) fn remove(set: &mut [u64], other: &[u64]) {
    set.iter_mut().zip(other).for_each(|(bits, other)| *bits &= !other);
}

/// Whether two sets have an event in common.
pub(super) fn meet(one: &[u64], other: &[u64]) -> bool {
    one.iter().zip(other).any(|(one, other)| one & other != 0)
}

/// The events that are in both sets, ascending.
pub(super) fn members_of_both(one: &[u64], other: &[u64]) -> impl Iterator<Item = u32> {
    members(one.iter().zip(other).map(|(one, other)| one & other))
}

/// The events that are in the first set only, ascending.
pub(super) fn members_of_difference(one: &[u64], other: &[u64]) -> impl Iterator<Item = u32> {
    members(one.iter().zip(other).map(|(one, other)| one & !other))
}

/// The events of a set, given by its words, ascending.
pub(super) fn members(set: impl Iterator<Item = u64>) -> impl Iterator<Item = u32> {
    (0..).zip(set).flat_map(|(word, mut bits): (u32, u64)| {
        std::iter::from_fn(move || {
            let bit = (bits != 0).then(|| bits.trailing_zeros())?;
            bits &= bits - 1;
            Some(64 * word + bit)
        })
    })
}

/// The first event that is in both sets.
#[inline]
pub(super) fn first_of_both(one: &[u64], other: &[u64]) -> Option<u32> {
    first(one.iter().zip(other).map(|(one, other)| one & other))
}

/// The first event of a set.
#[inline]
pub(super) fn first_of(set: &[u64]) -> Option<u32> {
    first(set.iter().copied())
}

fn first(set: impl Iterator<Item = u64>) -> Option<u32> {
    let (word, bits) = (0..).zip(set).find(|&(_, bits)| bits != 0)?;
    Some(64 * word + bits.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(set: &[u64]) -> Vec<u32> {
        members_of_both(set, set).collect()
    }

    #[test]
    fn sets_have_what_was_added() {
        let mut sets = Sets::new(1, 130);
        sets.grow(3);
        for event in [0, 5, 63, 64, 70, 127, 128, 129] {
            sets.insert(0, event);
        }
        assert_eq!(all(sets.row(0)), [0, 5, 63, 64, 70, 127, 128, 129]);
        let [of_first, _] = [0, 1].map(|set| sets.row(set).to_vec());
        for (first, rest) in [(0, 8), (1, 7), (63, 6), (64, 5), (65, 4), (128, 2), (129, 1)] {
            let mut other = Sets::new(2, 130);
            other.add_from(1, &of_first, first);
            assert_eq!(all(other.row(1)), all(&of_first)[8 - rest..], "from {first}");
            assert!(other.row(0).iter().all(|&bits| bits == 0));
        }
        sets.copy_row(0, 2);
        let mut one = Sets::new(1, 130);
        one.insert(0, 71);
        sets.add(1, one.row(0).iter().copied());
        assert!(!meet(sets.row(1), sets.row(2)) && all(sets.row(1)) == [71]);
        assert!(has(sets.row(1), 71) && !has(sets.row(1), 70) && has(sets.row(2), 127));
        sets.add_rows(1, 2, 1);
        assert!(meet(sets.row(1), sets.row(2)) && all(sets.row(2)).len() == 9);
        sets.add_rows(2, 0, 1);
        assert_eq!(all(sets.row(0)), all(sets.row(2)));
        one.add_rows_of(&sets, 2, 1);
        assert_eq!(all(one.row(0)), all(sets.row(2)));
        let [first, second] = [1, 2].map(|set| sets.row(set));
        assert!(members_of_difference(second, &of_first).eq([71]));
        assert!(members_of_both(first, second).eq([71]) && first_of_both(first, second) == Some(71));
        assert_eq!(first_of_both(first, &of_first), None);
        assert_eq!([first_of(second), first_of(&[0, 0, 2])], [Some(0), Some(129)]);
        let mut rest = second.to_vec();
        remove(&mut rest, &of_first);
        assert_eq!(all(&rest), [71]);
        sets.clear();
        assert!((0..3).all(|set| all(sets.row(set)).is_empty()));
    }
}
