//! Atomics of different sizes at one place, such as an `AtomicU32` that is the upper half of an `AtomicU64`.
//!
//! An atomic is known by its address, which suffices as long as atomics lie apart. The first time that one is used
//! where another was, of another size or shifted against it, exploration starts again, and those eight bytes are one
//! location from then on; after a few of them, so are any other eight. That the other was used in another execution
//! counts as well: what follows equal states is explored once, whatever came before them. (Accesses of different sizes
//! that race are outside of Rust's rules; what we explore is that each of them happens at once.)

use crate::operation::{address_of, part_of, sub_location};
use dpor_explorer::Location;
use dpor_explorer::keys::KeyMap;

/// The part that stands for a whole word of eight bytes.
const PART: u64 = 0xF0A8;

/// Size of the largest atomic in bytes. Atomics are aligned, so two overlap only within one such word.
const WORD: u64 = 8;

/// The location of the whole word that the address is in.
pub(crate) fn whole(address: Location) -> Location {
    sub_location(Location(address.0 & !(WORD - 1)), PART)
}

/// Says whether the location stands for a whole word, whose atomics overlap.
pub(crate) fn is_word(location: Location) -> bool {
    location.0 >> 48 == PART + 1
}

/// The part, plus the size, that stands for the atomic of that size where others begin as well.
const SIZED: u64 = 0xF0B0;

/// Where the atomic of this size publishes what its stores do. A load of another size learns nothing from them: to read
/// a part of a store is not to read the atomic that was stored to.
pub(crate) fn sized(address: Location, size: usize) -> Location {
    sub_location(address, SIZED + size as u64)
}

/// The address and the size of the atomic whose stores publish at this location ([`sized`]).
pub(crate) fn extent(published: Location) -> (usize, usize) {
    (address_of(published), (part_of(published) - 1 - SIZED) as usize)
}

fn place(address: Location, size: usize) -> (usize, u8) {
    let start = (address.0 % WORD) as usize;
    (start, (start as u8) << 4 | size as u8)
}

/// The atomics that were used so far: for each word with one, and for each byte of it, start and size of its atomic; 0
/// for none.
#[derive(Clone, Default, Debug)]
pub(crate) struct Atomics {
    words: KeyMap<u64, [u8; WORD as usize]>,
}

dpor_explorer::codec!(struct Atomics { words });

impl Atomics {
    /// Whether the atomic has been noted.
    pub fn is_known(&self, address: Location, size: usize) -> bool {
        let (start, own) = place(address, size);
        let used = self.words.get(&(address.0 / WORD));
        used.is_some_and(|bytes| bytes[start] == own)
    }

    /// Notes the use of an atomic. Says whether it overlaps with another.
    pub fn note(&mut self, address: Location, size: usize) -> bool {
        let (start, own) = place(address, size);
        let bytes = self.words.entry(address.0 / WORD).or_default();
        let mut overlaps = false;
        for byte in bytes.iter_mut().skip(start).take(size) {
            overlaps |= *byte != 0 && *byte != own;
            *byte = own;
        }
        overlaps
    }
}
