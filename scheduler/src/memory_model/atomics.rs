//! Atomics of different sizes at one place, such as an `AtomicU32` that is the upper half of an `AtomicU64`.
//!
//! An atomic is known by its address, which suffices as long as atomics lie apart. The first time that one is used
//! where another was, of another size or shifted against it, exploration starts again, and those eight bytes are one
//! location from then on; after a few of them, so are any other eight. That the other was used in another execution
//! counts as well: what follows equal states is explored once, whatever came before them. (Accesses of different sizes
//! that race are outside of Rust's rules; what we explore is that each of them happens at once.)
//!
//! On the heap, the same address may be in another block in another execution, as blocks come in another order. In one
//! execution it is not, as a heap gives out no address twice, but that a block may grow where it is. If atomics that
//! overlap are used before and after that, something orders the uses of which one writes, or they are a data race. So
//! an atomic is known by its block as well, and overlaps only those in the same one. That rests on data races being
//! found: otherwise no block is told apart.

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

/// A block of the heap, by its address and its size. The default stands for all other memory, and for the heap where
/// its blocks are not told apart.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct InBlock {
    pub start: u64,
    pub size: u64,
}

dpor_explorer::codec!(struct InBlock { start, size });

/// A word with an atomic in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Word {
    number: u64,
    block: InBlock,
}

dpor_explorer::codec!(struct Word { number, block });

impl Word {
    fn of(address: Location, block: InBlock) -> Word {
        Word {
            number: address.0 / WORD,
            block,
        }
    }
}

/// The atomics that were used so far: for each word with one, and for each byte of it, start and size of its atomic; 0
/// for none.
#[derive(Clone, Default, Debug)]
pub(crate) struct Atomics {
    words: KeyMap<Word, [u8; WORD as usize]>,
}

dpor_explorer::codec!(struct Atomics { words });

impl Atomics {
    /// Whether the atomic has been noted.
    pub fn is_known(&self, address: Location, size: usize, block: InBlock) -> bool {
        let (start, own) = place(address, size);
        let used = self.words.get(&Word::of(address, block));
        used.is_some_and(|bytes| bytes[start] == own)
    }

    /// Notes the use of an atomic. Says whether it overlaps with another.
    pub fn note(&mut self, address: Location, size: usize, block: InBlock) -> bool {
        let (start, own) = place(address, size);
        let bytes = self.words.entry(Word::of(address, block)).or_default();
        let mut overlaps = false;
        for byte in bytes.iter_mut().skip(start).take(size) {
            overlaps |= *byte != 0 && *byte != own;
            *byte = own;
        }
        overlaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomics_overlap_in_the_same_block_only() {
        let block = |start, size| InBlock { start, size };
        let (one, longer) = (block(0x40, 32), block(0x40, 64));
        let at = Location;
        let mut atomics = Atomics::default();
        assert!(!atomics.note(at(0x48), 8, one));
        assert!(atomics.is_known(at(0x48), 8, one) && !atomics.is_known(at(0x48), 8, longer));
        assert!(!atomics.is_known(at(0x48), 4, one) && !atomics.is_known(at(0x48), 8, InBlock::default()));
        // In another execution, something else is there, or nothing that is of the heap.
        assert!(!atomics.note(at(0x4c), 4, longer));
        assert!(!atomics.note(at(0x48), 1, InBlock::default()));
        assert!(!atomics.note(at(0x50), 4, one), "it is beside the other one");
        for (address, size, block) in [(0x4c, 4, one), (0x4e, 2, longer), (0x48, 8, InBlock::default())] {
            assert!(atomics.note(at(address), size, block), "{address:#x}");
            assert!(!atomics.note(at(address), size, block), "{address:#x}");
        }
    }
}
