//! Who knows of what, for comparing states.
//!
//! Whoever can pass on what happened before is a *holder*: of each live thread what it knows, what an acquire fence
//! would add, what a relaxed store publishes, and what it is lent; each message of an atomic; and each place where
//! something is published. What a holder knows grows, but for who is lent something, and publishes anew. Who learns
//! from another one knows of all that both know of.
//!
//! Clocks are no part of a state, as two executions with equal states differ in them. What is: of each event that
//! counts, the set of those who know of it.

use super::shadow::Epoch;
use crate::image::hash::hash_of;
use dpor_explorer::keys::KeyMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// The holders in a state, and who of them knows of the epochs that count.
///
/// Two states that are otherwise the same have the same *fixed* holders, in the same order: those of threads and
/// messages. Others have names, which are numbers.
#[derive(Default)]
pub(super) struct Holders {
    /// Number of threads, live or not.
    threads: usize,
    /// By holder and thread, the last epoch that is known.
    known: Vec<u32>,
    /// Number of words for the fixed holders, with a bit for each.
    fixed: usize,
    /// Those of the others, whose bits come in the next words; ascending.
    names: Vec<u64>,
    /// The epochs that count; ascending, once they are found.
    epochs: Vec<Epoch>,
    /// By epoch, a bit for each holder that knows of it.
    sets: Vec<u64>,
    /// Of the fixed holders, those by whose knowledge a thread acts.
    acting: Vec<u64>,
    /// Storage.
    counts: Vec<u32>,
}

/// Adding holders: first those that are fixed, then the others in the order of their names. After that, epochs.
impl Holders {
    /// Forgets all of them. There is this number of threads, live or not.
    pub fn start_again(&mut self, threads: usize) {
        self.threads = threads;
        self.known.clear();
        self.fixed = 0;
        self.names.clear();
        self.epochs.clear();
        self.sets.clear();
        self.acting.clear();
    }

    fn count(&self) -> usize {
        self.known.len() / self.threads.max(1)
    }

    /// Adds one of the fixed holders, who knows of what is in any of these clocks.
    pub fn add(&mut self, clocks: &[&[u32]]) {
        let start = self.known.len();
        self.known.resize(start + self.threads, 0);
        for clock in clocks {
            let known = self.known[start..].iter_mut().zip(*clock);
            known.for_each(|(known, &other)| *known = (*known).max(other));
        }
    }

    /// Adds what a live thread knows when it acts, as the next of the fixed holders.
    pub fn add_acting(&mut self, clock: &[u32]) {
        let bit = self.count();
        self.acting.resize(bit / 64 + 1, 0);
        self.acting[bit / 64] |= 1 << (bit % 64);
        self.add(&[clock]);
    }

    /// All fixed holders have been added.
    pub fn end_fixed(&mut self) {
        self.fixed = self.count().div_ceil(64);
        self.known.resize(self.fixed * 64 * self.threads, 0);
    }

    /// Adds another holder.
    pub fn add_named(&mut self, name: u64, clocks: &[&[u32]]) {
        self.names.push(name);
        self.add(clocks);
    }

    /// Adds an epoch that counts.
    pub fn ask(&mut self, epoch: Epoch) {
        self.epochs.push(epoch);
    }

    /// Finds out who knows of the epochs that count.
    pub fn find(&mut self) {
        self.epochs.sort_unstable();
        self.epochs.dedup();
        let words = self.words();
        self.sets.clear();
        self.sets.resize(self.epochs.len() * words, 0);
        let mut start = 0;
        for of_thread in self.epochs.chunk_by(|one, other| one.thread == other.thread) {
            let sets = &mut self.sets[start * words..][..of_thread.len() * words];
            start += of_thread.len();
            let (first, last) = (of_thread[0], of_thread[of_thread.len() - 1].number);
            // How many of them are not after an epoch of the thread, from the first one of them on.
            self.counts.clear();
            if last - first.number < MOST_COUNTS {
                let counts = (first.number..=last).scan(0, |count, number| {
                    *count += u32::from(of_thread[*count as usize].number == number);
                    Some(*count)
                });
                self.counts.extend(counts);
            }
            let known = self.known.iter().skip(first.thread.into()).step_by(self.threads.max(1));
            for (holder, &known) in known.enumerate().filter(|&(_, &known)| known >= first.number) {
                let count = match self.counts.get((known.min(last) - first.number) as usize) {
                    Some(&count) => count as usize,
                    None => of_thread.partition_point(|epoch| epoch.number <= known),
                };
                sets[(count - 1) * words + holder / 64] |= 1 << (holder % 64);
            }
            // Who knows of an epoch knows of the earlier ones.
            for later in (1..of_thread.len()).rev() {
                let (earlier, later) = sets.split_at_mut(later * words);
                let earlier = earlier.iter_mut().rev().take(words).rev();
                earlier.zip(later).for_each(|(earlier, later)| *earlier |= *later);
            }
        }
    }
}

/// Maximum number of counts that are written down for a thread.
const MOST_COUNTS: u32 = 1024;

/// Asking, once they are found.
impl Holders {
    /// Number of words of a set.
    pub fn words(&self) -> usize {
        self.fixed + self.names.len().div_ceil(64)
    }

    /// The number of an epoch that counts.
    ///
    /// # Panics
    /// If it was not [asked for](Self::ask): it would pass for one that nobody knows of.
    pub fn position(&self, epoch: Epoch) -> usize {
        let found = self.epochs.binary_search(&epoch);
        found.unwrap_or_else(|_| panic!("nobody has asked for {epoch:?}"))
    }

    /// Number of epochs that count.
    pub fn epochs(&self) -> usize {
        self.epochs.len()
    }

    /// Who knows of the epoch with this number: a bit for each holder.
    pub fn knowing(&self, position: usize) -> &[u64] {
        &self.sets[position * self.words()..][..self.words()]
    }

    /// Adds those who know of an epoch that counts.
    pub fn add_knowing(&self, epoch: Epoch, set: &mut [u64]) {
        let knowing = self.knowing(self.position(epoch));
        set.iter_mut().zip(knowing).for_each(|(bits, knowing)| *bits |= knowing);
    }

    /// Whether all live threads are among them.
    pub fn are_all(&self, set: &[u64]) -> bool {
        let mut acting = self.acting.iter().zip(set);
        acting.all(|(acting, bits)| acting & !bits == 0)
    }

    /// Writes a set as it is in all states with the same fixed holders: the number of words of these, these words, and
    /// names.
    pub fn write(&self, set: &[u64], words: &mut Vec<u64>) {
        words.clear();
        words.push(self.fixed as u64);
        let (fixed, others) = set.split_at(self.fixed);
        words.extend_from_slice(fixed);
        for (&bits, names) in others.iter().zip(self.names.chunks(64)) {
            let mut bits = bits;
            while bits != 0 {
                words.push(names[bits.trailing_zeros() as usize]);
                bits &= bits - 1;
            }
        }
    }

    /// Those of a set. `number` is that of one that is [written](Self::write) so, in these words.
    pub fn of(&self, set: &[u64], scratch: &mut Vec<u64>, number: impl FnOnce(&[u64]) -> HolderSet) -> HolderSet {
        if set.iter().all(|&bits| bits == 0) {
            return HolderSet::NOBODY;
        }
        if self.are_all(set) {
            return HolderSet::ALL;
        }
        self.write(set, scratch);
        number(scratch)
    }

    /// Who knows of any of some epochs. `number` is that of a set that is [written](Self::write) so.
    pub fn of_any(
        &self,
        epochs: &[Epoch],
        Scratch { set, words }: &mut Scratch,
        number: impl FnOnce(&[u64]) -> HolderSet,
    ) -> HolderSet {
        set.clear();
        set.resize(self.words(), 0);
        epochs.iter().for_each(|&epoch| self.add_knowing(epoch, set));
        self.of(set, words, number)
    }
}

/// Storage.
#[derive(Default)]
pub(super) struct Scratch {
    pub set: Vec<u64>,
    pub words: Vec<u64>,
}

/// A set of holders that was met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HolderSet {
    pub number: u32,
    /// The same in all processes.
    pub hash: u128,
}

impl HolderSet {
    /// It makes no difference who knows of it: no live thread, nor anybody from whom one could learn.
    pub const NOBODY: HolderSet = HolderSet {
        number: u32::MAX - 1,
        hash: 0,
    };
    /// All live threads know of it, so that nobody else counts.
    pub const ALL: HolderSet = HolderSet {
        number: u32::MAX - 2,
        hash: u128::MAX,
    };
}

/// Maximum number of things of one kind that have a number.
pub(super) const MOST_NUMBERS: usize = 1 << 22;
/// Instead of a number, where there are too many. It is in no relation with others, nor with itself.
pub(super) const UNNUMBERED: u32 = u32::MAX;

/// Things that were met, each once, by what tells them apart.
pub(super) struct Interned<K, T> {
    numbers: KeyMap<K, u32>,
    /// By number.
    things: Vec<T>,
}

impl<K, T> Default for Interned<K, T> {
    fn default() -> Self {
        Interned {
            numbers: KeyMap::default(),
            things: Vec::new(),
        }
    }
}

impl<K: Eq + Hash, T> Interned<K, T> {
    /// The number of a thing, which is made if it is new; [`UNNUMBERED`] if there are `most` others already.
    pub fn number(&mut self, key: K, most: usize, make: impl FnOnce() -> T) -> u32 {
        let next = self.things.len();
        match self.numbers.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) if next >= most => UNNUMBERED,
            Entry::Vacant(new) => {
                self.things.push(make());
                *new.insert(next as u32)
            }
        }
    }

    /// The thing with this number; `None` if it is [`UNNUMBERED`], or stands for something else.
    pub fn get(&self, number: u32) -> Option<&T> {
        self.things.get(number as usize)
    }
}

/// The sets of holders that were met, in all executions: their words by their hashes.
#[derive(Default)]
pub(crate) struct HolderSets(Interned<u128, Box<[u64]>>);

impl HolderSets {
    /// The number of a set that is [written](Holders::write) so.
    pub fn number(&mut self, words: &[u64]) -> HolderSet {
        let hash = hash_of(words);
        let number = self.0.number(hash, MOST_NUMBERS, || words.into());
        HolderSet { number, hash }
    }

    /// Says whether all of the first set are in the other one. Of two sets of states that differ in nothing but what is
    /// known in them.
    pub fn is_subset(&self, some: u32, others: u32) -> bool {
        if some == UNNUMBERED || others == UNNUMBERED {
            return false;
        }
        if some == others || some == HolderSet::NOBODY.number || others == HolderSet::ALL.number {
            return true;
        }
        if some == HolderSet::ALL.number || others == HolderSet::NOBODY.number {
            return false;
        }
        let [some, others] = [some, others].map(|number| self.0.get(number).and_then(|words| words.split_first()));
        let (Some((&fixed, some)), Some((&as_many, others))) = (some, others) else {
            return false;
        };
        if fixed != as_many {
            return false;
        }
        let [some, others] = [some, others].map(|words| words.split_at(fixed as usize));
        let mut bits = some.0.iter().zip(others.0);
        bits.all(|(some, others)| some & !others == 0) && is_subset(some.1, others.1)
    }

    /// Whether a set has this fixed holder.
    pub fn has_fixed(&self, set: u32, holder: usize) -> bool {
        set == HolderSet::ALL.number || {
            let words = self.0.get(set);
            let word = words.and_then(|words| words.get(1 + holder / 64));
            word.is_some_and(|word| word >> (holder % 64) & 1 == 1)
        }
    }
}

/// Says whether all of some ascending numbers are among others.
fn is_subset(some: &[u64], others: &[u64]) -> bool {
    let mut others = others.iter();
    some.iter().all(|one| others.find(|&other| other >= one) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpor_explorer::SplitMix64;

    #[test]
    fn who_knows_is_found_as_by_looking_at_each_clock() {
        let mut random = SplitMix64::new(7);
        let mut holders = Holders::default();
        for round in 0..300 {
            let threads = 1 + random.below(4);
            // With few epochs, and with more than are written down.
            let last = [6, 3 * MOST_COUNTS as usize][round % 2];
            let mut clocks: Vec<Vec<u32>> = Vec::new();
            let mut clock = |random: &mut SplitMix64| {
                let clock: Vec<u32> = (0..random.below(threads + 1))
                    .map(|_| random.below(last) as u32)
                    .collect();
                clocks.push(clock.clone());
                clock
            };
            holders.start_again(threads);
            let (fixed, named) = (random.below(70), random.below(70));
            for _ in 0..fixed {
                holders.add(&[&clock(&mut random)]);
            }
            holders.end_fixed();
            let padding = holders.fixed * 64 - fixed;
            for name in 0..named {
                holders.add_named(name as u64, &[&clock(&mut random)]);
            }
            let epoch = |random: &mut SplitMix64| Epoch {
                thread: random.below(threads) as u16,
                number: 1 + random.below(last) as u32,
            };
            let asked: Vec<Epoch> = (0..random.below(20)).map(|_| epoch(&mut random)).collect();
            asked.iter().for_each(|&epoch| holders.ask(epoch));
            holders.find();
            for &epoch in &asked {
                let set = holders.knowing(holders.position(epoch));
                let mut expected = vec![0; holders.words()];
                for (number, clock) in clocks.iter().enumerate() {
                    let bit = if number < fixed { number } else { number + padding };
                    if clock
                        .get(usize::from(epoch.thread))
                        .is_some_and(|&known| known >= epoch.number)
                    {
                        expected[bit / 64] |= 1 << (bit % 64);
                    }
                }
                assert_eq!(set, expected, "{epoch:?} {clocks:?}");
            }
        }
    }

    #[test]
    fn a_set_is_the_same_wherever_the_named_ones_are() {
        let written = |names: &[u64]| {
            let mut holders = Holders::default();
            holders.start_again(1);
            holders.add_acting(&[0]);
            holders.add(&[&[3]]);
            holders.end_fixed();
            for &name in names {
                holders.add_named(name, &[&[u32::from(name % 2 == 1)]]);
            }
            let epoch = Epoch { thread: 0, number: 1 };
            holders.ask(epoch);
            holders.find();
            let mut words = Vec::new();
            holders.write(holders.knowing(0), &mut words);
            words
        };
        // Of those who know nothing of it, it makes no difference whether they are there.
        assert_eq!(written(&[5, 8, 9]), [1, 0b10, 5, 9]);
        assert_eq!(written(&[2, 4, 5, 9]), [1, 0b10, 5, 9]);
    }

    #[test]
    fn sets_that_are_none_or_all_are_told_apart() {
        let mut sets = HolderSets::default();
        let [one, both] = [0b1, 0b11].map(|bits| sets.number(&[1, bits]).number);
        let (nobody, all) = (HolderSet::NOBODY.number, HolderSet::ALL.number);
        for (some, others, expected) in [
            (one, one, true),
            (one, both, true),
            (both, one, false),
            (nobody, one, true),
            (one, nobody, false),
            (both, all, true),
            (all, both, false),
            (all, all, true),
            (nobody, nobody, true),
            (UNNUMBERED, UNNUMBERED, false),
            (nobody, UNNUMBERED, false),
        ] {
            assert_eq!(sets.is_subset(some, others), expected, "{some} {others}");
        }
        assert!(sets.has_fixed(both, 1) && !sets.has_fixed(one, 1));
        assert!(sets.has_fixed(all, 1) && !sets.has_fixed(nobody, 1) && !sets.has_fixed(UNNUMBERED, 1));
    }
}
