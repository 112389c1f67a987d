//! Threads of the explored program: their identity, their status, and sets of them.

use smallvec::SmallVec;
use std::fmt;

/// A thread of the explored program.
///
/// Ids are dense, start at 0 (the main thread) and are stable across executions: the system interns
/// them by creation path (the parent's id, and that it is the parent's n-th child).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// The thread that the program starts with.
    pub const MAIN: ThreadId = ThreadId(0);

    /// The id as an index into a table of threads.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

/// A set of small numbers, as a growable bit set: threads, or alternatives of a thread's operation.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct BitSet {
    words: SmallVec<[u64; 1]>,
}

impl BitSet {
    /// The empty set.
    #[inline]
    pub fn new() -> Self {
        BitSet { words: SmallVec::new() }
    }

    /// The set that holds only `element`.
    #[inline]
    pub fn of(element: u32) -> Self {
        let mut set = Self::new();
        set.insert(element);
        set
    }

    /// Adds `element`; says whether it was missing.
    #[inline]
    pub fn insert(&mut self, element: u32) -> bool {
        let (word, bit) = (element as usize / 64, 1u64 << (element % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let missing = self.words[word] & bit == 0;
        self.words[word] |= bit;
        missing
    }

    /// Removes `element`; says whether it was there.
    pub fn remove(&mut self, element: u32) -> bool {
        let (word, bit) = (element as usize / 64, 1u64 << (element % 64));
        match self.words.get_mut(word) {
            Some(w) if *w & bit != 0 => {
                *w &= !bit;
                true
            }
            _ => false,
        }
    }

    /// Says whether `element` is in the set.
    #[inline]
    pub fn contains(&self, element: u32) -> bool {
        self.words
            .get(element as usize / 64)
            .is_some_and(|w| w & (1u64 << (element % 64)) != 0)
    }

    /// Says whether nothing is in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Removes every element.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Adds the elements of another set.
    pub(crate) fn extend_from(&mut self, other: &BitSet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine |= theirs;
        }
    }

    /// Removes all but the elements of another set.
    pub(crate) fn retain_in(&mut self, other: &BitSet) {
        self.words.truncate(other.words.len());
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine &= theirs;
        }
    }

    /// Says whether the two sets have an element in common.
    pub(crate) fn intersects(&self, other: &BitSet) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Says whether all elements are in the other set.
    pub(crate) fn is_subset(&self, other: &BitSet) -> bool {
        let theirs = other.words.iter().copied().chain(std::iter::repeat(0));
        self.words.iter().zip(theirs).all(|(mine, theirs)| mine & !theirs == 0)
    }

    /// The elements that the other set does not have, in ascending order.
    pub(crate) fn difference<'a>(&'a self, other: &'a BitSet) -> impl Iterator<Item = u32> + 'a {
        self.iter().filter(|&element| !other.contains(element))
    }

    /// The elements in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    i as u32 * 64 + bit
                })
            })
        })
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
    /// It has a pending operation none of whose alternatives is enabled.
    Blocked,
    /// It has ended, by return or by panic.
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
