//! Maps and sets keyed by addresses and counters: one multiplication per key, and the same order in every process.

use crate::random::SplitMix64;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A hasher without per-process seeds.
#[derive(Clone, Copy, Default, Debug)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for &word in words {
            self.write_u64(u64::from_le_bytes(word));
        }
        for &byte in rest {
            self.write_u64(u64::from(byte));
        }
    }

    // One multiplication each, and not one for each byte.
    fn write_u8(&mut self, key: u8) {
        self.write_u64(key.into());
    }

    fn write_u16(&mut self, key: u16) {
        self.write_u64(key.into());
    }

    fn write_u32(&mut self, key: u32) {
        self.write_u64(key.into());
    }

    fn write_u64(&mut self, key: u64) {
        let mixed = (self.0 ^ key).wrapping_mul(SplitMix64::GAMMA);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// A map keyed by addresses or counters.
pub type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// A set of addresses or counters.
pub type KeySet<K> = HashSet<K, BuildHasherDefault<KeyHasher>>;
