//! The 128-bit hash of memory from which the fingerprint of a state is made.
//!
//! Equal bytes at equal addresses give equal hashes. The bytes include padding and what else was never written, so two
//! states that no program can tell apart may differ (that costs time); two states that a program can tell apart agree
//! only by a collision of 128 bits.

use std::ops::Range;
use xxhash_rust::xxh3::xxh3_128;

/// Minimum size of a range that is hashed in place, and whose hash counts in its place.
const LARGE: usize = 1024;

/// Hashes numbers and ranges of memory, one after the other. Small items are gathered and hashed at once: the hash
/// function takes as long for one word as for many.
pub(crate) struct StateHasher {
    gathered: Vec<u8>,
    hashed: u64,
}

impl StateHasher {
    /// Creates an empty hasher, with the memory of an earlier one.
    pub(crate) fn new(mut memory: Vec<u8>) -> StateHasher {
        memory.clear();
        StateHasher {
            gathered: memory,
            hashed: 0,
        }
    }

    /// Adds a number.
    #[inline]
    pub(crate) fn number(&mut self, number: u64) {
        self.gathered.extend_from_slice(&number.to_ne_bytes());
    }

    /// Adds a range of addresses and the bytes there.
    ///
    /// # Safety
    ///
    /// The bytes can be read, and nobody writes them meanwhile.
    #[inline]
    pub(crate) unsafe fn range(&mut self, range: Range<usize>) {
        self.number(range.start as u64);
        // SAFETY: the caller's promise.
        self.bytes(unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) });
    }

    /// Adds bytes and their number, so that bytes cannot move from one range to the next unnoticed.
    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        if bytes.len() < LARGE {
            self.gathered.extend_from_slice(bytes);
        } else {
            self.hashed += bytes.len() as u64;
            self.gathered.extend_from_slice(&xxh3_128(bytes).to_ne_bytes());
        }
    }

    /// The hash of everything added, the number of bytes hashed, and the memory for the next hasher.
    pub(crate) fn finish(self) -> (u128, u64, Vec<u8>) {
        let hash = xxh3_128(&self.gathered);
        (hash, self.hashed + self.gathered.len() as u64, self.gathered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(ranges: &[&[u8]]) -> u128 {
        let ranges = ranges
            .iter()
            .map(|bytes| bytes.as_ptr() as usize..bytes.as_ptr() as usize + bytes.len());
        let mut hasher = StateHasher::new(Vec::new());
        // SAFETY: the slices are borrowed.
        ranges.for_each(|range| unsafe { hasher.range(range) });
        hasher.finish().0
    }

    #[test]
    fn every_byte_and_every_border_counts() {
        for size in [100, LARGE - 1, LARGE, 10 * LARGE] {
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
    fn the_cost_is_the_bytes_hashed() {
        let mut hasher = StateHasher::new(vec![1; 7]);
        hasher.number(5);
        hasher.bytes(&[0; 10]);
        hasher.bytes(&[0; 10_000]);
        let (_, cost, memory) = hasher.finish();
        assert_eq!((cost, memory.len()), (8 + 18 + 8 + 16 + 10_000, 8 + 18 + 8 + 16));
    }
}
