//! The 128-bit hash of memory, from which the fingerprint of a state is made.
//!
//! Equal bytes at equal addresses give equal hashes. The bytes include padding and what else was never written, so two
//! states that no program can tell apart may differ (that costs time); two states that a program can tell apart agree
//! only by a collision of 128 bits.

use std::ops::Range;
use xxhash_rust::xxh3::Xxh3;

/// Hashes numbers and ranges of memory, one after the other.
pub(crate) struct StateHasher(Xxh3);

impl StateHasher {
    /// A hasher that has seen nothing.
    pub(crate) fn new() -> StateHasher {
        StateHasher(Xxh3::new())
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, number: u64) {
        self.0.update(&number.to_ne_bytes());
    }

    /// Adds a range of addresses and the bytes there.
    ///
    /// # Safety
    ///
    /// The bytes can be read, and nobody writes them meanwhile.
    pub(crate) unsafe fn range(&mut self, range: Range<usize>) {
        // Both ends go in, so that bytes cannot move from one range to the next unseen.
        self.number(range.start as u64);
        self.number(range.end as u64);
        // SAFETY: the caller's promise.
        self.0
            .update(unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) });
    }

    /// Adds bytes whose address is of no meaning, such as the saved thread-locals of a suspended thread.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    /// The hash of all that was added.
    pub(crate) fn finish(&self) -> u128 {
        self.0.digest128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(ranges: &[&[u8]]) -> u128 {
        let ranges = ranges
            .iter()
            .map(|bytes| bytes.as_ptr() as usize..bytes.as_ptr() as usize + bytes.len());
        let mut hasher = StateHasher::new();
        // SAFETY: the slices are borrowed.
        ranges.for_each(|range| unsafe { hasher.range(range) });
        hasher.finish()
    }

    #[test]
    fn every_byte_and_every_border_counts() {
        let mut bytes = vec![0u8; 1000];
        let before = hash(&[&bytes]);
        assert_eq!(before, hash(&[&bytes]));
        assert_ne!(before, hash(&[&bytes[..500], &bytes[500..]]));
        assert_ne!(
            hash(&[&bytes[..500], &bytes[500..]]),
            hash(&[&bytes[..501], &bytes[501..]])
        );
        for i in [0, 1, 499, 999] {
            bytes[i] = 1;
            assert_ne!(before, hash(&[&bytes]));
            bytes[i] = 0;
        }
        assert_eq!(before, hash(&[&bytes]));
    }
}
