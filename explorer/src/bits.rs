//! Sets of small numbers: threads, alternatives of an operation, events of an unfolding.

use crate::codec::{Codec, put_all};
use std::fmt;

/// A set of small numbers (threads, or alternatives of a thread's operation), as a growable bit set.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct BitSet {
    /// The numbers below 64.
    first: u64,
    /// All other numbers, if there are any. Most sets have none, and are copied and compared at once.
    rest: Option<Box<Words>>,
}

/// Words of 64 bits, of which the last one is not 0, so that equal sets look alike.
type Words = Vec<u64>;

impl Codec for BitSet {
    fn encode(&self, out: &mut Vec<u8>) {
        self.first.encode(out);
        put_all(self.rest().iter(), out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (first, rest): (u64, Words) = Codec::decode(from)?;
        let mut set = BitSet {
            first,
            rest: Some(Box::new(rest)),
        };
        set.trim();
        Some(set)
    }
}

impl BitSet {
    /// The empty set.
    #[inline]
    pub const fn new() -> Self {
        BitSet { first: 0, rest: None }
    }

    /// The set that holds only `element`.
    #[inline]
    pub fn of(element: u32) -> Self {
        let mut set = Self::new();
        set.insert(element);
        set
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.first).chain(self.rest().iter().copied())
    }

    #[inline]
    fn rest(&self) -> &[u64] {
        self.rest.as_ref().map_or(&[], |rest| rest.as_slice())
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
        let rest = self.rest.get_or_insert_default();
        if rest.len() <= index {
            rest.resize(index + 1, 0);
        }
        &mut rest[index]
    }

    /// Removes `element`; says whether it was there.
    pub fn remove(&mut self, element: u32) -> bool {
        let (index, bit) = (element as usize / 64, 1u64 << (element % 64));
        let word = match index {
            0 => &mut self.first,
            _ => match self.rest.as_mut().and_then(|rest| rest.get_mut(index - 1)) {
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
        let Some(rest) = &mut self.rest else {
            return;
        };
        while rest.last() == Some(&0) {
            rest.pop();
        }
        if rest.is_empty() {
            self.rest = None;
        }
    }

    /// Says whether `element` is in the set.
    #[inline]
    pub fn contains(&self, element: u32) -> bool {
        let word = match element as usize / 64 {
            0 => self.first,
            later => self.rest().get(later - 1).copied().unwrap_or(0),
        };
        word & (1u64 << (element % 64)) != 0
    }

    /// Says whether nothing is in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.rest.is_none()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// Removes every element.
    pub fn clear(&mut self) {
        self.first = 0;
        self.rest = None;
    }

    /// Adds the elements of another set.
    pub fn extend_from(&mut self, other: &BitSet) {
        self.first |= other.first;
        let Some(theirs) = &other.rest else {
            return;
        };
        let rest = self.rest.get_or_insert_default();
        if rest.len() < theirs.len() {
            rest.resize(theirs.len(), 0);
        }
        for (mine, theirs) in rest.iter_mut().zip(&**theirs) {
            *mine |= theirs;
        }
    }

    /// Removes all but the elements of another set.
    pub(crate) fn retain_in(&mut self, other: &BitSet) {
        self.first &= other.first;
        if let Some(rest) = &mut self.rest {
            rest.truncate(other.rest().len());
            for (mine, theirs) in rest.iter_mut().zip(other.rest()) {
                *mine &= theirs;
            }
        }
        self.trim();
    }

    /// Says whether the two sets have an element in common.
    pub(crate) fn intersects(&self, other: &BitSet) -> bool {
        let in_rest = || self.rest().iter().zip(other.rest()).any(|(a, b)| a & b != 0);
        self.first & other.first != 0 || in_rest()
    }

    /// Says whether all elements are in the other set.
    pub fn is_subset(&self, other: &BitSet) -> bool {
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
            rest: self.rest().iter(),
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
