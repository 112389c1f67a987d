//! Threads of the explored program: their identities, their statuses, and sets of them.

pub use crate::vocabulary::ThreadId;
use std::fmt;

/// A set of small numbers (threads, or alternatives of a thread's operation), as a growable bit set.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct BitSet {
    /// The numbers below 64.
    first: u64,
    /// All other numbers, in words of 64 bits. The last word is not 0, so that equal sets look alike.
    rest: Vec<u64>,
}

crate::codec!(struct BitSet { first, rest });

impl BitSet {
    /// The empty set.
    #[inline]
    pub const fn new() -> Self {
        BitSet {
            first: 0,
            rest: Vec::new(),
        }
    }

    /// The set that holds only `element`.
    #[inline]
    pub fn of(element: u32) -> Self {
        let mut set = Self::new();
        set.insert(element);
        set
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }

    /// Adds `element`; says whether it was missing.
    #[inline]
    pub fn insert(&mut self, element: u32) -> bool {
        let (index, bit) = (element as usize / 64, 1u64 << (element % 64));
        let word = match index {
            0 => &mut self.first,
            _ => self.later_word(index - 1),
        };
        let missing = *word & bit == 0;
        *word |= bit;
        missing
    }

    fn later_word(&mut self, index: usize) -> &mut u64 {
        if self.rest.len() <= index {
            self.rest.resize(index + 1, 0);
        }
        &mut self.rest[index]
    }

    /// Removes `element`; says whether it was there.
    pub fn remove(&mut self, element: u32) -> bool {
        let (index, bit) = (element as usize / 64, 1u64 << (element % 64));
        let word = match index {
            0 => &mut self.first,
            _ => match self.rest.get_mut(index - 1) {
                Some(word) => word,
                None => return false,
            },
        };
        let there = *word & bit != 0;
        *word &= !bit;
        self.trim();
        there
    }

    fn trim(&mut self) {
        while self.rest.last() == Some(&0) {
            self.rest.pop();
        }
    }

    /// Says whether `element` is in the set.
    #[inline]
    pub fn contains(&self, element: u32) -> bool {
        let word = match element as usize / 64 {
            0 => self.first,
            later => self.rest.get(later - 1).copied().unwrap_or(0),
        };
        word & (1u64 << (element % 64)) != 0
    }

    /// Says whether nothing is in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.rest.is_empty()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// Removes every element.
    pub fn clear(&mut self) {
        self.first = 0;
        self.rest.clear();
    }

    /// Adds the elements of another set.
    pub(crate) fn extend_from(&mut self, other: &BitSet) {
        self.first |= other.first;
        if self.rest.len() < other.rest.len() {
            self.rest.resize(other.rest.len(), 0);
        }
        for (mine, theirs) in self.rest.iter_mut().zip(&other.rest) {
            *mine |= theirs;
        }
    }

    /// Removes all but the elements of another set.
    pub(crate) fn retain_in(&mut self, other: &BitSet) {
        self.first &= other.first;
        self.rest.truncate(other.rest.len());
        for (mine, theirs) in self.rest.iter_mut().zip(&other.rest) {
            *mine &= theirs;
        }
        self.trim();
    }

    /// Says whether the two sets have an element in common.
    pub(crate) fn intersects(&self, other: &BitSet) -> bool {
        self.words().zip(other.words()).any(|(a, b)| a & b != 0)
    }

    /// Says whether all elements are in the other set.
    pub(crate) fn is_subset(&self, other: &BitSet) -> bool {
        let theirs = other.words().chain(std::iter::repeat(0));
        self.words().zip(theirs).all(|(mine, theirs)| mine & !theirs == 0)
    }

    /// The elements that the other set does not have, in ascending order.
    pub(crate) fn difference<'a>(&'a self, other: &'a BitSet) -> impl Iterator<Item = u32> + 'a {
        self.iter().filter(|&element| !other.contains(element))
    }

    /// The elements in ascending order.
    #[inline]
    pub fn iter(&self) -> Elements<'_> {
        Elements {
            word: self.first,
            offset: 0,
            rest: self.rest.iter(),
        }
    }
}

/// The elements of a [`BitSet`], in ascending order.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    /// The rest of the present word, whose lowest bit stands for `offset`.
    word: u64,
    offset: u32,
    rest: std::slice::Iter<'a, u64>,
}

impl Iterator for Elements<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.word == 0 {
            self.word = *self.rest.next()?;
            self.offset += u64::BITS;
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some(self.offset + bit)
    }
}

impl FromIterator<u32> for BitSet {
    fn from_iter<I: IntoIterator<Item = u32>>(elements: I) -> Self {
        let mut set = Self::new();
        for element in elements {
            set.insert(element);
        }
        set
    }
}

impl fmt::Debug for BitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What a thread can do in the current state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Status {
    /// It can take a step. The set holds the enabled alternatives of its pending operation and is
    /// not empty; most operations have the one alternative 0.
    Enabled(BitSet),
    /// Its pending operation has no enabled alternative.
    Blocked,
    /// It has ended, by returning or by a panic.
    Finished,
}

impl Status {
    /// The enabled alternatives, if there are any.
    #[inline]
    pub fn alternatives(&self) -> Option<&BitSet> {
        match self {
            Status::Enabled(alternatives) => Some(alternatives),
            _ => None,
        }
    }
}
