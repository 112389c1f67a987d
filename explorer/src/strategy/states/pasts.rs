//! What has always happened before an access that can still be made.
//!
//! Sets are kept once, and have numbers, as few of them are different.

use super::futures::pair;
use super::numbered::Numbered;
use crate::bits::BitSet;
use crate::codec::Codec;
use crate::keys::KeyMap;

/// The number of a past.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct PastId(pub u32);

crate::codec!(struct PastId { 0 });

impl PastId {
    /// Nothing is known to come before.
    pub const EMPTY: PastId = PastId(0);
}

/// What comes before an access, however the execution goes.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Past {
    /// Accesses that conflict with others.
    pub accesses: BitSet,
    pub threads: BitSet,
    /// The stores that were read from, by numbers of their places in the orders of their atomics.
    pub stores: BitSet,
}

crate::codec!(struct Past { accesses, threads, stores });

/// Maximum number of pasts. Where there are more, some stay smaller than they could be.
const MOST_PASTS: usize = 1 << 20;

/// All pasts that were met.
#[derive(Default, Debug)]
pub(super) struct Pasts {
    all: Numbered<Past>,
    /// The common parts of pasts, by pairs of their numbers.
    intersections: KeyMap<u64, PastId>,
    /// The unions of pasts, by pairs of their numbers.
    unions: KeyMap<u64, PastId>,
}

impl Pasts {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Past> {
        self.all.iter()
    }

    /// The past with this number, which was given by these pasts.
    pub fn get(&self, id: PastId) -> &Past {
        self.all.get(id.0)
    }

    /// The number of a past; `None` if there are too many.
    pub fn intern(&mut self, past: Past) -> Option<PastId> {
        let known = self.all.number(&past);
        let has_room = self.all.len() < MOST_PASTS;
        known.or_else(|| has_room.then(|| self.all.add(past))).map(PastId)
    }

    /// The past that is common to two, or a part of it if there are too many.
    pub fn in_both(&mut self, a: PastId, b: PastId) -> PastId {
        if a == b {
            return a;
        }
        if a == PastId::EMPTY || b == PastId::EMPTY {
            return PastId::EMPTY;
        }
        let key = pair(a.0.min(b.0), a.0.max(b.0));
        if let Some(&known) = self.intersections.get(&key) {
            return known;
        }
        let mut common = self.get(a).clone();
        common.accesses.retain_in(&self.get(b).accesses);
        common.threads.retain_in(&self.get(b).threads);
        common.stores.retain_in(&self.get(b).stores);
        let common = self.intern(common).unwrap_or(PastId::EMPTY);
        self.intersections.insert(key, common);
        common
    }

    /// The union of two pasts, or the first one if there are too many.
    pub fn in_either(&mut self, past: PastId, other: PastId) -> PastId {
        if other == PastId::EMPTY {
            return past;
        }
        if let Some(&known) = self.unions.get(&pair(past.0, other.0)) {
            return known;
        }
        let mut both = self.get(past).clone();
        both.accesses.extend_from(&self.get(other).accesses);
        both.threads.extend_from(&self.get(other).threads);
        both.stores.extend_from(&self.get(other).stores);
        let both = self.intern(both).unwrap_or(past);
        self.unions.insert(pair(past.0, other.0), both);
        both
    }
}

impl Codec for Pasts {
    fn encode(&self, out: &mut Vec<u8>) {
        self.all.encode(out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let mut pasts = Pasts::default();
        for past in Vec::<Past>::decode(from)? {
            pasts.intern(past)?;
        }
        Some(pasts)
    }
}
