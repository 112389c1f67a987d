//! Orderings of atomic operations. Executions are sequentially consistent whatever the program asks for; where it asks
//! for less is noted, so that reports can say what has not been explored. Not part of the program's state.

use dpor_explorer::Location;
use dpor_explorer::codec::Codec;
use dpor_explorer::keys::{KeyMap, KeySet};
use dpor_protocol::MemoryOrdering;
use std::fmt;
use std::sync::atomic::Ordering;

/// The orderings that an atomic operation requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Orderings {
    /// The ordering if it succeeds, or cannot fail.
    pub success: Ordering,
    /// The ordering if it fails.
    pub failure: Option<Ordering>,
}

impl Codec for Orderings {
    fn encode(&self, out: &mut Vec<u8>) {
        MemoryOrdering::from(self.success).encode(out);
        self.failure.map(MemoryOrdering::from).encode(out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (success, failure): (MemoryOrdering, Option<MemoryOrdering>) = Codec::decode(from)?;
        Some(Orderings {
            success: success.into(),
            failure: failure.map(Ordering::from),
        })
    }
}

impl Orderings {
    /// Says whether they allow executions that are not sequentially consistent.
    pub(crate) fn are_weak(self) -> bool {
        self.success != Ordering::SeqCst || self.failure.is_some_and(|failure| failure != Ordering::SeqCst)
    }
}

impl From<Ordering> for Orderings {
    fn from(success: Ordering) -> Self {
        Orderings { success, failure: None }
    }
}

impl fmt::Display for Orderings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.success)?;
        self.failure.map_or(Ok(()), |failure| write!(f, ", {failure:?}"))
    }
}

/// The atomic operations of all executions so far that request less than sequential consistency.
#[derive(Clone, Default, Debug)]
pub struct WeakOrderings {
    /// The orderings, by place and kind of operation.
    sites: KeyMap<u64, Orderings>,
    locations: KeySet<Location>,
}

dpor_explorer::codec!(struct WeakOrderings { sites, locations });

impl WeakOrderings {
    /// Notes an operation that requests weak orderings.
    pub(crate) fn note(&mut self, signature: u64, location: Location, orderings: Orderings) {
        self.sites.insert(site(signature), orderings);
        self.locations.insert(location);
    }

    /// Number of places in the program with such operations.
    pub fn sites(&self) -> usize {
        self.sites.len()
    }

    /// The place and the orderings of the operation with which a step of this signature began, if it is such an
    /// operation.
    pub fn of(&self, signature: u64) -> Option<(u64, Orderings)> {
        let site = site(signature);
        Some((site, *self.sites.get(&site)?))
    }

    /// Says whether such an operation was made on the location.
    pub fn touched(&self, location: Location) -> bool {
        self.locations.contains(&location)
    }
}

/// The place and kind of operation in a signature, without its bits of the object.
fn site(signature: u64) -> u64 {
    signature & ((1 << 56) - 1)
}
