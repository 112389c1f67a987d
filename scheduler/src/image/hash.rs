//! The 128-bit hash of memory from which the fingerprint of a state is made.
//!
//! Equal bytes at equal addresses give equal hashes. The bytes include padding and what else was never written, so two
//! states that no program can tell apart may differ (that costs time); two states that a program can tell apart agree
//! only by a collision of 128 bits.

use dpor_explorer::SplitMix64;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_128;

/// Minimum size of a range that is hashed in place, and whose hashes count in its place: to look for the hash of less
/// takes as long as making it.
const LARGE: usize = 256;
/// Maximum size of the pieces in which a large range is hashed: of a large heap, a step changes little.
const PIECE: usize = 512;
/// Maximum size of what is compared at once.
const GROUP: usize = 8 * PIECE;
/// The size of a hash.
const HASH: usize = size_of::<u128>();

/// The hash of some numbers.
pub(crate) fn hash_of(numbers: &[u64]) -> u128 {
    // SAFETY: numbers have no padding, and are borrowed.
    xxh3_128(unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) })
}

/// Hashes numbers and ranges of memory, one after the other, and starts again for the next state. Small items are
/// gathered and hashed at once: the hash function takes as long for one word as for many.
#[derive(Default)]
pub(crate) struct StateHasher {
    gathered: Vec<u8>,
    hashed: u64,
    pieces: Pieces,
}

impl StateHasher {
    /// Adds a number.
    #[inline]
    pub(crate) fn number(&mut self, number: u64) {
        self.gathered.extend_from_slice(&number.to_ne_bytes());
    }

    /// Adds numbers.
    #[inline]
    pub(crate) fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        self.gathered
            .extend_from_slice(numbers.map(u64::to_ne_bytes).as_flattened());
    }

    /// Adds a range of addresses and the bytes there.
    ///
    /// # Safety
    ///
    /// The bytes can be read, and nobody writes them meanwhile.
    #[inline]
    pub(crate) unsafe fn range(&mut self, range: Range<usize>) {
        // Both at once, as there are many small ranges.
        self.numbers([range.start as u64, range.len() as u64]);
        // SAFETY: the caller's promise.
        self.add(unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) });
    }

    /// Adds the bytes in a range of addresses that is the same in all states.
    ///
    /// # Safety
    ///
    /// That of [`StateHasher::range`].
    #[inline]
    pub(crate) unsafe fn fixed_range(&mut self, range: Range<usize>) {
        // SAFETY: the caller's promise.
        self.add(unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) });
    }

    /// Adds bytes and their number, so that bytes cannot move from one range to the next unnoticed.
    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.add(bytes);
    }

    #[inline]
    fn add(&mut self, bytes: &[u8]) {
        if bytes.len() < LARGE {
            self.gathered.extend_from_slice(bytes);
        } else {
            self.add_large(bytes);
        }
    }

    fn add_large(&mut self, bytes: &[u8]) {
        self.hashed += bytes.len() as u64;
        for group in bytes.chunks(GROUP) {
            self.pieces.add(group, &mut self.gathered);
        }
    }

    /// The hash of everything added since the last one, and the number of bytes that it covers. That number is the same
    /// whatever is remembered.
    pub(crate) fn finish(&mut self) -> (u128, u64) {
        let hash = xxh3_128(&self.gathered);
        let hashed = self.hashed + self.gathered.len() as u64;
        self.gathered.clear();
        self.hashed = 0;
        (hash, hashed)
    }
}

/// Hashes of pieces of memory, each with the bytes of which it is the hash.
///
/// From one state to the next, most pieces stay as they are, and to compare bytes takes a fraction of the time that it
/// takes to hash them. It takes least for many at once: several pieces are compared together, and one by one only if
/// they differ. Whether a hash is remembered or made anew makes no difference: it is that of the present bytes.
#[derive(Default)]
struct Pieces {
    /// A place for each group of pieces is given by its address. Of several with the same place, the last one is
    /// remembered.
    remembered: Vec<Group>,
}

/// Pieces that follow each other.
#[derive(Clone, Default)]
struct Group {
    bytes: Vec<u8>,
    /// The hash of each piece.
    hashes: Vec<u8>,
}

impl Pieces {
    /// Binary logarithm of the number of places.
    const BITS: u32 = 10;

    /// Adds the hash of each piece of a group, which is not empty.
    fn add(&mut self, group: &[u8], hashes: &mut Vec<u8>) {
        if self.remembered.is_empty() {
            self.remembered = vec![Group::default(); 1 << Self::BITS];
        }
        let address = group.as_ptr().addr() as u64;
        let place = address.wrapping_mul(SplitMix64::GAMMA) >> (u64::BITS - Self::BITS);
        let remembered = &mut self.remembered[place as usize];
        if remembered.bytes != group {
            remembered.become_those_of(group);
        }
        hashes.extend_from_slice(&remembered.hashes);
    }
}

impl Group {
    fn become_those_of(&mut self, group: &[u8]) {
        self.hashes.resize(group.len().div_ceil(PIECE) * HASH, 0);
        let mut known = self.bytes.chunks(PIECE);
        for (piece, hash) in group.chunks(PIECE).zip(self.hashes.chunks_exact_mut(HASH)) {
            if known.next() != Some(piece) {
                hash.copy_from_slice(&xxh3_128(piece).to_ne_bytes());
            }
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl StateHasher {
        fn range_of(&mut self, bytes: &[u8]) {
            let start = bytes.as_ptr() as usize;
            // SAFETY: the slice is borrowed.
            unsafe { self.range(start..start + bytes.len()) };
        }
    }

    fn hash(ranges: &[&[u8]]) -> u128 {
        let mut hasher = StateHasher::default();
        ranges.iter().for_each(|bytes| hasher.range_of(bytes));
        hasher.finish().0
    }

    #[test]
    fn every_byte_and_every_border_counts() {
        for size in [20, LARGE - 1, LARGE, 10 * LARGE, PIECE + 1, 10 * PIECE, 3 * GROUP] {
            let mut bytes = vec![0u8; size];
            let (half, before) = (size / 2, hash(&[&bytes]));
            assert_eq!(before, hash(&[&bytes]));
            assert_ne!(before, hash(&[&bytes[..half], &bytes[half..]]));
            assert_ne!(
                hash(&[&bytes[..half], &bytes[half..]]),
                hash(&[&bytes[..half + 1], &bytes[half + 1..]])
            );
            for i in [0, 1, half, size - 1] {
                bytes[i] = 1;
                assert_ne!(before, hash(&[&bytes]));
                bytes[i] = 0;
            }
            assert_eq!(before, hash(&[&bytes]));
        }
    }

    #[test]
    fn what_is_remembered_makes_no_difference() {
        let mut bytes = vec![0u8; 10 * PIECE];
        let mut hasher = StateHasher::default();
        for (at, value) in [(0, 1), (5 * PIECE, 2), (0, 0), (5 * PIECE, 0), (10 * PIECE - 1, 3)] {
            bytes[at] = value;
            let border = at.next_multiple_of(PIECE);
            for part in [
                &bytes[..],
                &bytes[..LARGE],
                &bytes[at..],
                &bytes[..at],
                &bytes[..border],
                &bytes[..],
            ] {
                hasher.range_of(part);
                assert_eq!(hasher.finish().0, hash(&[part]), "{at} {value}");
            }
        }
    }

    #[test]
    fn places_may_be_too_few() {
        let bytes = vec![1u8; GROUP << (Pieces::BITS + 1)];
        let mut hasher = StateHasher::default();
        for _ in 0..2 {
            hasher.range_of(&bytes);
            assert_eq!(hasher.finish().0, hash(&[&bytes]));
        }
    }

    #[test]
    fn the_cost_is_the_bytes_hashed() {
        let mut hasher = StateHasher::default();
        for _ in 0..2 {
            hasher.number(5);
            hasher.bytes(&[0; 10]);
            hasher.bytes(&[0; 10_000]);
            let (_, cost) = hasher.finish();
            assert_eq!(cost, 8 + 18 + 8 + 10_000_usize.div_ceil(PIECE) as u64 * 16 + 10_000);
        }
    }
}
