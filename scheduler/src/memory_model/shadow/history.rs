//! Accesses, and what is kept of those to some bytes of a granule.

use crate::memory_model::happens_before::{AtomicAccess, HappensBefore};
use smallvec::SmallVec;

/// A thread, by its index, and its epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Epoch {
    pub thread: u16,
    pub number: u32,
}

impl Epoch {
    /// Says whether it happens before what the thread does next.
    #[inline]
    pub fn is_known(self, order: &HappensBefore, thread: u16) -> bool {
        self.thread == thread || order.knows(thread.into(), self.thread.into(), self.number)
    }
}

type Epochs = SmallVec<[Epoch; 2]>;

/// The memory that an atomic access is about: the low half of its first address, and its size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Extent {
    pub start: u32,
    pub size: u32,
}

impl Extent {
    /// That of an access which is not atomic.
    pub const NONE: Extent = Extent { start: 0, size: 0 };

    /// It as one word.
    pub fn word(self) -> u64 {
        u64::from(self.start) << 32 | u64::from(self.size)
    }

    /// That with this [word](Extent::word).
    pub fn of(word: u64) -> Extent {
        Extent {
            start: (word >> 32) as u32,
            size: word as u32,
        }
    }
}

/// An atomic access.
pub(super) type Atomic = (Epoch, Extent);

/// What has happened to some bytes of a granule.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct History {
    /// The bytes.
    pub mask: u8,
    /// The last plain write.
    pub write: Option<Epoch>,
    /// The plain reads since, but for those that happen before another one.
    pub reads: Epochs,
    /// The last atomic accesses that wrote, of threads that do not know of later ones.
    pub stores: SmallVec<[Atomic; 2]>,
    /// The atomic accesses that did not.
    pub loads: SmallVec<[Atomic; 2]>,
    /// The write was the end of the memory's block.
    pub freed: bool,
}

/// The lists of a granule's histories.
pub(crate) type Histories = SmallVec<[History; 1]>;

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Read,
    Write,
    /// An atomic access that does not write.
    Load,
    /// An atomic access that writes.
    Store,
    Free,
}

impl From<AtomicAccess> for Kind {
    fn from(access: AtomicAccess) -> Kind {
        match access {
            AtomicAccess::Load(_) => Kind::Load,
            AtomicAccess::Store(_) | AtomicAccess::Modify(_) => Kind::Store,
        }
    }
}

impl Kind {
    /// What a thread does, and what the memory was then: words for reports.
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Read => ("reads", "read"),
            Kind::Write => ("writes", "written"),
            Kind::Load => ("atomically reads", "read atomically"),
            Kind::Store => ("atomically writes", "written atomically"),
            Kind::Free => ("frees", "freed"),
        }
    }

    pub const fn writes(self) -> bool {
        matches!(self, Kind::Write | Kind::Store | Kind::Free)
    }

    pub const fn is_atomic(self) -> bool {
        matches!(self, Kind::Load | Kind::Store)
    }
}

/// An earlier access that conflicts with the present one, and is not ordered before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Conflict {
    /// The address of the first byte of both accesses.
    pub address: usize,
    pub epoch: Epoch,
    pub kind: Kind,
}

impl History {
    /// An earlier access with which one of this kind is in a race. Atomic accesses to the same memory are in none,
    /// unless they are of different sizes.
    pub fn conflict(&self, kind: Kind, accessor: &Accessor<'_>) -> Option<(Epoch, Kind)> {
        let (order, thread) = (accessor.order, accessor.epoch.thread);
        let unknown = |epochs: &[Epoch]| epochs.iter().copied().find(|epoch| !epoch.is_known(order, thread));
        let plain = !kind.is_atomic();
        let unknown_atomic = |accesses: &[Atomic]| {
            let other =
                |&&(epoch, extent): &&Atomic| (plain || extent != accessor.extent) && !epoch.is_known(order, thread);
            accesses.iter().find(other).map(|&(epoch, _)| epoch)
        };
        let last = if self.freed { Kind::Free } else { Kind::Write };
        let write = unknown(self.write.as_slice()).map(|epoch| (epoch, last));
        // Who uses freed memory fails, whether or not it is known to be freed.
        let freed = self.write.filter(|_| self.freed).map(|epoch| (epoch, last));
        let reads = || unknown(&self.reads).filter(|_| kind.writes());
        let stores = || unknown_atomic(&self.stores);
        let loads = || unknown_atomic(&self.loads).filter(|_| kind.writes());
        freed
            .or(write)
            .or_else(|| reads().map(|epoch| (epoch, Kind::Read)))
            .or_else(|| stores().map(|epoch| (epoch, Kind::Store)))
            .or_else(|| loads().map(|epoch| (epoch, Kind::Load)))
    }

    /// Notes an access that is in no race.
    pub fn note(&mut self, kind: Kind, accessor: &Accessor<'_>) {
        let (own, order) = (accessor.epoch, accessor.order);
        let keep_unknown = |accesses: &mut SmallVec<[Atomic; 2]>| {
            accesses.retain(|(epoch, _)| !epoch.is_known(order, own.thread));
        };
        match kind {
            Kind::Write | Kind::Free => {
                *self = History {
                    mask: self.mask,
                    write: Some(own),
                    freed: kind == Kind::Free,
                    ..History::default()
                };
            }
            Kind::Read => {
                self.reads.retain(|epoch| !epoch.is_known(order, own.thread));
                self.reads.push(own);
            }
            Kind::Load => {
                keep_unknown(&mut self.loads);
                self.loads.push((own, accessor.extent));
            }
            Kind::Store => {
                keep_unknown(&mut self.loads);
                keep_unknown(&mut self.stores);
                self.stores.push((own, accessor.extent));
            }
        }
    }

    /// Says whether the same has happened to other bytes.
    pub fn is_like(&self, other: &History) -> bool {
        let History {
            mask: _,
            write,
            reads,
            stores,
            loads,
            freed,
        } = self;
        (write, freed) == (&other.write, &other.freed)
            && (reads, stores, loads) == (&other.reads, &other.stores, &other.loads)
    }
}

/// Who makes an access.
#[derive(Clone, Copy)]
pub(crate) struct Accessor<'a> {
    pub epoch: Epoch,
    pub order: &'a HappensBefore,
    /// All that it is about, if it is atomic.
    pub extent: Extent,
    /// Whether another thread may make an access that is not ordered after this one.
    pub beside_others: bool,
}
