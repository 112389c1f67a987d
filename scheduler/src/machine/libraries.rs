//! The libraries, or parts of libraries, that are taken as specified: operations of the checker stand for their code.

use dpor_explorer::codec::Codec;

/// A library of which operations of the checker stand for the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    /// parking_lot.
    ParkingLot,
    /// What crossbeam does in a loop while it waits.
    Backoff,
    /// What kanal does in a loop while it waits.
    Kanal,
    /// How long saa looks before a thread blocks.
    Saa,
    /// What users of parking_lot_core do in a loop before a thread parks.
    SpinWait,
    /// How often an idle worker of rayon looks for work before it sleeps.
    Rayon,
    /// How append-only-vec waits for another thread's push.
    AppendOnlyVec,
    /// How often a thread of crossbeam-epoch has pinned.
    Pinnings,
}

impl Library {
    const ALL: [Library; 8] = [
        Library::ParkingLot,
        Library::SpinWait,
        Library::Backoff,
        Library::Kanal,
        Library::Saa,
        Library::Rayon,
        Library::AppendOnlyVec,
        Library::Pinnings,
    ];

    const fn name(self) -> &'static str {
        match self {
            Library::ParkingLot => "parking_lot",
            Library::Backoff => "crossbeam_utils::Backoff",
            Library::Kanal => "kanal's backoff",
            Library::Saa => "saa's spinning",
            Library::SpinWait => "parking_lot_core::SpinWait",
            Library::AppendOnlyVec => "append-only-vec's waiting",
            Library::Rayon => "rayon's idle rounds",
            Library::Pinnings => "crossbeam_epoch's pinnings",
        }
    }
}

/// The libraries of which a program has used such operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Libraries(u8);

impl Libraries {
    #[inline]
    pub fn has(self, library: Library) -> bool {
        self.0 & 1 << library as u8 != 0
    }

    pub fn add(&mut self, library: Library) {
        self.0 |= 1 << library as u8;
    }

    /// The condition on which a verdict rests, if there are any.
    pub fn condition(self) -> Option<String> {
        let used = Library::ALL.into_iter().filter(|&library| self.has(library));
        let names: Vec<_> = used.map(Library::name).collect();
        (!names.is_empty()).then(|| format!("{}: as specified", names.join(", ")))
    }
}

impl Codec for Libraries {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Codec::decode(from).map(Libraries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_that_were_used_are_named() {
        let mut libraries = Libraries::default();
        assert_eq!(libraries.condition(), None);
        libraries.add(Library::ParkingLot);
        assert_eq!(libraries.condition().as_deref(), Some("parking_lot: as specified"));
        libraries.add(Library::Backoff);
        let both = "parking_lot, crossbeam_utils::Backoff: as specified";
        assert_eq!(libraries.condition().as_deref(), Some(both));
        for library in Library::ALL {
            libraries.add(library);
        }
        let all = "parking_lot, parking_lot_core::SpinWait, crossbeam_utils::Backoff, kanal's backoff, saa's spinning, \
                   rayon's idle rounds, append-only-vec's waiting, crossbeam_epoch's pinnings: as specified";
        assert_eq!(libraries.condition().as_deref(), Some(all));
        let mut bytes = Vec::new();
        libraries.encode(&mut bytes);
        assert_eq!(Libraries::decode(&mut &bytes[..]), Some(libraries));
    }
}
