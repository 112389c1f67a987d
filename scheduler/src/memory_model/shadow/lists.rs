//! The lists of histories of granules for which two words do not suffice.
//!
//! All of them are in one vector of words, so that they take no allocation each, and that going back to an earlier
//! point drops those that were made since at once. A list is never changed, but replaced by a new one at the end.
//!
//! A history is two words: its bytes and flags, and its numbers of reads, stores and loads. The epoch of its write
//! follows if there is one, then an epoch for each read, and an epoch and an extent for each store and each load.

use super::cell::{bytes_of, epoch_of, pack, pack_mask};
use super::history::{Accessor, Atomic, Epoch, Extent, Histories, History, Kind};
use std::ops::Range;

/// In the first word of a history, beside its bytes.
const WRITTEN: u64 = 1;
const FREED: u64 = 1 << 1;
const LAST: u64 = 1 << 2;

/// Number of bits of each number in the second word. There are at most 2^16 threads.
const NUMBER: u32 = 21;

/// The place of a list.
pub(super) type Place = usize;

#[derive(Default)]
pub(super) struct Lists {
    words: Vec<u64>,
}

/// The places of what a history has.
struct Entry {
    mask: u8,
    flags: u64,
    write: Range<usize>,
    reads: Range<usize>,
    stores: Range<usize>,
    loads: Range<usize>,
}

/// What an access makes of a list.
pub(super) enum Outcome {
    /// It stays as it is.
    Same,
    /// It is replaced by the one there.
    Replaced(Place),
    /// It has to be looked at closely: the access is in a race, or not to just the bytes of one history.
    Unclear,
}

const fn numbers(reads: usize, stores: usize, loads: usize) -> u64 {
    (reads as u64) << (2 * NUMBER) | (stores as u64) << NUMBER | loads as u64
}

impl Lists {
    /// Number of words, for [`Lists::truncate`].
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Drops all lists that were made since there were so many words.
    pub fn truncate(&mut self, len: usize) {
        self.words.truncate(len);
    }

    /// Adds a list, which is not empty.
    pub fn add(&mut self, histories: &[History]) -> Place {
        let place = self.words.len();
        for (at, history) in histories.iter().enumerate() {
            let flags = [
                (WRITTEN, history.write.is_some()),
                (FREED, history.freed),
                (LAST, at + 1 == histories.len()),
            ];
            let flags = flags.into_iter().filter(|&(_, is_set)| is_set);
            let first = flags.fold(pack_mask(history.mask), |word, (flag, _)| word | flag);
            let History {
                reads, stores, loads, ..
            } = history;
            self.words
                .extend([first, numbers(reads.len(), stores.len(), loads.len())]);
            let epochs = history.write.iter().chain(reads);
            self.words.extend(epochs.map(|&epoch| pack(epoch, 0)));
            for &(epoch, extent) in stores.iter().chain(loads) {
                self.words.extend([pack(epoch, 0), extent.word()]);
            }
        }
        place
    }

    fn entry(&self, at: usize) -> Entry {
        let (first, counts) = (self.words[at], self.words[at + 1]);
        let number = |which: u32| (counts >> (which * NUMBER)) as usize & ((1 << NUMBER) - 1);
        let after = |range: &Range<usize>, len: usize| range.end..range.end + len;
        let write = at + 2..at + 2 + usize::from(first & WRITTEN != 0);
        let reads = after(&write, number(2));
        let stores = after(&reads, 2 * number(1));
        let loads = after(&stores, 2 * number(0));
        Entry {
            mask: bytes_of(first),
            flags: first,
            write,
            reads,
            stores,
            loads,
        }
    }

    fn epochs(&self, range: Range<usize>) -> impl Iterator<Item = Epoch> {
        self.words[range].iter().map(|&word| epoch_of(word))
    }

    fn atomics(&self, range: Range<usize>) -> impl Iterator<Item = Atomic> {
        let (pairs, _) = self.words[range].as_chunks();
        pairs
            .iter()
            .map(|&[epoch, extent]| (epoch_of(epoch), Extent::of(extent)))
    }

    fn entries(&self, place: Place) -> impl Iterator<Item = Entry> {
        let mut next = Some(place);
        std::iter::from_fn(move || {
            let entry = self.entry(next?);
            next = (entry.flags & LAST == 0).then_some(entry.loads.end);
            Some(entry)
        })
    }

    /// The histories of a list.
    pub fn get(&self, place: Place) -> Histories {
        let history = |entry: Entry| History {
            mask: entry.mask,
            write: self.epochs(entry.write).next(),
            reads: self.epochs(entry.reads).collect(),
            stores: self.atomics(entry.stores).collect(),
            loads: self.atomics(entry.loads).collect(),
            freed: entry.flags & FREED != 0,
        };
        self.entries(place).map(history).collect()
    }

    /// Shows the accesses of a list: some bytes, the kind of an access to them, what else it was about if it was
    /// atomic, and its epoch. Of freed bytes nothing is shown. Returns the bytes that were accessed.
    pub fn each_access(&self, place: Place, mut add: impl FnMut(u8, Kind, Extent, Epoch)) -> u8 {
        let mut accessed = 0;
        for entry in self.entries(place) {
            let mask = entry.mask;
            accessed |= mask;
            if entry.flags & FREED != 0 {
                continue;
            }
            for (kind, epochs) in [(Kind::Write, entry.write), (Kind::Read, entry.reads)] {
                self.epochs(epochs)
                    .for_each(|epoch| add(mask, kind, Extent::NONE, epoch));
            }
            for (kind, accesses) in [(Kind::Store, entry.stores), (Kind::Load, entry.loads)] {
                self.atomics(accesses)
                    .for_each(|(epoch, extent)| add(mask, kind, extent, epoch));
            }
        }
        accessed
    }

    /// Notes an access to these bytes of a granule.
    pub fn note(&mut self, place: Place, mask: u8, kind: Kind, accessor: &Accessor<'_>) -> Outcome {
        let Some(entry) = self.entries(place).find(|entry| entry.mask & mask != 0) else {
            return Outcome::Unclear;
        };
        if entry.flags & FREED != 0 || entry.mask != mask || kind == Kind::Free {
            return Outcome::Unclear;
        }
        let (writes, is_atomic) = (kind.writes(), kind.is_atomic());
        let own = (accessor.epoch, accessor.extent);
        let is_known = |epoch: Epoch| epoch.is_known(accessor.order, own.0.thread);
        let precedes = |(epoch, extent): Atomic| is_atomic && extent == own.1 || is_known(epoch);
        let has_atomics = !entry.stores.is_empty() || !entry.loads.is_empty();
        let is_fine = self.epochs(entry.write.clone()).all(is_known)
            && (!writes || self.epochs(entry.reads.clone()).all(is_known))
            && self.atomics(entry.stores.clone()).all(precedes)
            && (!writes || self.atomics(entry.loads.clone()).all(precedes));
        if !is_fine || kind == Kind::Write && has_atomics {
            return Outcome::Unclear;
        }
        let is_noted = match kind {
            Kind::Read => is_only_news(self.epochs(entry.reads.clone()), own.0, is_known),
            Kind::Load => is_only_news(self.atomics(entry.loads.clone()), own, |(epoch, _)| is_known(epoch)),
            Kind::Write => self.epochs(entry.write.clone()).eq([own.0]) && entry.reads.is_empty(),
            Kind::Store | Kind::Free => false,
        };
        if is_noted {
            return Outcome::Same;
        }
        let end = self.end(place);
        let new = self.words.len();
        self.words.extend_from_within(place..entry.write.start);
        let counts = self.words.len() - 1;
        if kind == Kind::Write {
            self.words[counts - 1] |= WRITTEN;
            self.words[counts] = numbers(0, 0, 0);
            self.words.push(pack(own.0, 0));
        } else {
            self.words.extend_from_within(entry.write);
            let adds = |part: Kind| (part == kind).then_some(own);
            let reads = self.carry(entry.reads, 1, kind == Kind::Read, adds(Kind::Read), is_known);
            let stores = self.carry(entry.stores, 2, writes, adds(Kind::Store), is_known);
            let loads = self.carry(entry.loads.clone(), 2, is_atomic, adds(Kind::Load), is_known);
            self.words[counts] = numbers(reads, stores, loads);
        }
        self.words.extend_from_within(entry.loads.end..end);
        Outcome::Replaced(new)
    }

    /// The place after a list.
    fn end(&self, place: Place) -> usize {
        self.entries(place).last().map_or(place, |entry| entry.loads.end)
    }

    /// Adds accesses of an earlier list, each of `width` words, to the one that is being made, without the known ones
    /// if `drops_known`; then one more. Returns how many these are.
    fn carry(
        &mut self,
        from: Range<usize>,
        width: usize,
        drops_known: bool,
        one_more: Option<Atomic>,
        is_known: impl Fn(Epoch) -> bool,
    ) -> usize {
        let start = self.words.len();
        for at in from.step_by(width) {
            if !drops_known || !is_known(epoch_of(self.words[at])) {
                self.words.extend_from_within(at..at + width);
            }
        }
        if let Some((epoch, extent)) = one_more {
            let words = [pack(epoch, 0), extent.word()];
            self.words.extend_from_slice(&words[..width]);
        }
        (self.words.len() - start) / width
    }
}

/// Whether `own` is among the accesses, and each other one is not known.
fn is_only_news<A: PartialEq + Copy>(accesses: impl Iterator<Item = A>, own: A, is_known: impl Fn(A) -> bool) -> bool {
    let mut has_own = false;
    for access in accesses {
        match access == own {
            true => has_own = true,
            false if is_known(access) => return false,
            false => {}
        }
    }
    has_own
}
