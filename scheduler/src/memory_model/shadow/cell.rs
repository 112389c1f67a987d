//! A cell: what is known of a granule, in two words where they suffice.

use super::history::{Accessor, Epoch, Histories, History, Kind};

/// An epoch and the bytes that it is about, as a word; 0 for none.
#[inline]
pub(super) fn pack(epoch: Epoch, mask: u8) -> u64 {
    u64::from(epoch.number) | u64::from(epoch.thread) << 32 | pack_mask(mask)
}

/// A word that is about some bytes, and no epoch.
#[inline]
pub(super) const fn pack_mask(mask: u8) -> u64 {
    (mask as u64) << 48
}

#[inline]
pub(super) fn unpack(word: u64) -> Option<(Epoch, u8)> {
    (word != 0).then_some((epoch_of(word), bytes_of(word)))
}

/// The epoch in a word that is not 0.
#[inline]
pub(super) const fn epoch_of(word: u64) -> Epoch {
    Epoch {
        thread: (word >> 32) as u16,
        number: word as u32,
    }
}

/// The bytes that a word is about.
#[inline]
pub(super) const fn bytes_of(word: u64) -> u8 {
    (word >> 48) as u8
}

/// In the first word of a cell: the second one is the place of a list of histories.
pub(super) const LISTED: u64 = 1 << 63;

/// In the first word of a cell: the write was the end of the memory's block.
pub(super) const FREED: u64 = 1 << 62;

/// The use of a granule in all executions: one more than the first thread's index, and flags.
pub(super) mod usage {
    pub const FIRST: u32 = (1 << 17) - 1;
    pub const SEVERAL: u32 = 1 << 17;
    pub const WRITTEN: u32 = 1 << 18;
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Cell {
    /// The last write, or flags.
    pub written: u64,
    /// The last read, or the place of a list of histories.
    pub read: u64,
    pub usage: u32,
    /// One more than the position of the granule among those that are followed; 0 if it is none of these.
    pub followed: u32,
}

impl Cell {
    /// Whether the same is known of both granules.
    #[inline]
    pub fn is_like(&self, other: &Cell) -> bool {
        (self.written, self.read, self.usage) == (other.written, other.read, other.usage)
    }

    /// Whether two words say all that is known, and none of the bytes is freed.
    #[inline]
    pub fn is_brief(&self) -> bool {
        self.written & (LISTED | FREED) == 0
    }

    /// The bytes of which something is known, if two words say it.
    #[inline]
    pub fn accessed(&self) -> u8 {
        bytes_of(self.written) | bytes_of(self.read)
    }

    /// Whether a plain access of the thread in its present epoch needs no note: it has done the same last, or reads
    /// what it has written.
    #[inline]
    pub fn has_noted(&self, mask: u8, kind: Kind, own: Epoch) -> bool {
        let own = pack(own, 0);
        let is_own = |word: u64| word & !pack_mask(u8::MAX) == own && bytes_of(word) & mask == mask;
        match kind {
            _ if !self.is_brief() => false,
            Kind::Write => is_own(self.written) && (self.read == 0 || is_own(self.read)),
            Kind::Read => is_own(self.read) || is_own(self.written),
            _ => false,
        }
    }

    /// The two words after a plain access that is in no race, where two words say what was known, and what is known
    /// then.
    #[inline]
    pub fn after(&self, mask: u8, kind: Kind, accessor: &Accessor<'_>) -> Option<(u64, u64)> {
        let &Cell { written, read, .. } = self;
        if !self.is_brief() {
            return None;
        }
        let &Accessor { epoch: own, order, .. } = accessor;
        // Whether what the word says of the accessed bytes comes before the access, and whether it can say of all
        // others what it does, and of these that the access was made.
        let precedes =
            |word: u64| unpack(word).is_none_or(|(epoch, of)| of & mask == 0 || epoch.is_known(order, own.thread));
        let has_room = |word: u64| unpack(word).is_none_or(|(epoch, of)| of & !mask == 0 || epoch == own);
        let with = |word: u64| pack(own, bytes_of(word) & !mask | mask);
        match kind {
            Kind::Write if precedes(written) && precedes(read) && has_room(written) => {
                let others = bytes_of(read) & !mask;
                let read_before = unpack(read).filter(|_| others != 0);
                let read = read_before.map_or(0, |(epoch, _)| pack(epoch, others));
                Some((with(written), read))
            }
            Kind::Read if precedes(written) && precedes(read) && has_room(read) => Some((written, with(read))),
            Kind::Free if precedes(written) && precedes(read) && self.accessed() & !mask == 0 => {
                Some((FREED | pack(own, mask), 0))
            }
            _ => None,
        }
    }

    /// The two words after a plain access, or `None` for no change; `None` instead of that if it may be in a race, or
    /// shows something of the granule: a new use, or bytes that were not accessed before, unless these are expected.
    #[inline]
    pub fn plainly_after(
        &self,
        mask: u8,
        kind: Kind,
        accessor: &Accessor<'_>,
        expects_fresh: bool,
    ) -> Option<Option<(u64, u64)>> {
        if self.has_noted(mask, kind, accessor.epoch) {
            return Some(None);
        }
        if kind == Kind::Free && self.is_unused() {
            return Some(None);
        }
        let is_fresh = mask & !self.accessed() != 0;
        let shows_use = accessor.beside_others && !self.knows_use(accessor.epoch.thread, kind.writes());
        if shows_use || (is_fresh && !expects_fresh) {
            return None;
        }
        self.after(mask, kind, accessor).map(Some)
    }

    /// Whether nothing is known of accesses.
    #[inline]
    pub fn is_unused(&self) -> bool {
        self.written | self.read == 0
    }

    /// Whether the granule is known to be used in this way by the thread, or by several, so that its use shows nothing
    /// new.
    #[inline]
    pub fn knows_use(&self, thread: u16, writes: bool) -> bool {
        let is_known = self.usage & usage::FIRST == u32::from(thread) + 1 || self.usage & usage::SEVERAL != 0;
        is_known && (!writes || self.usage & usage::WRITTEN != 0)
    }

    /// What the two words say.
    pub fn histories(&self) -> Histories {
        let (write, read) = (unpack(self.written), unpack(self.read));
        let written = write.map_or(0, |(_, mask)| mask);
        let was_read = read.map_or(0, |(_, mask)| mask);
        let parts = [written & was_read, written & !was_read, was_read & !written];
        let parts = parts.into_iter().filter(|&mask| mask != 0);
        let history = |mask| History {
            mask,
            write: write.filter(|_| mask & written != 0).map(|(epoch, _)| epoch),
            freed: self.written & FREED != 0,
            reads: read
                .filter(|_| mask & was_read != 0)
                .map(|(epoch, _)| epoch)
                .into_iter()
                .collect(),
            ..History::default()
        };
        parts.map(history).collect()
    }
}

/// The two words for histories, if they can be said so.
pub(super) fn briefly(histories: &[History]) -> Option<(u64, u64)> {
    let mut words: [Option<(Epoch, u8)>; 2] = [None; 2];
    for history in histories {
        if history.freed || !history.stores.is_empty() || !history.loads.is_empty() || history.reads.len() > 1 {
            return None;
        }
        let both = [history.write, history.reads.first().copied()];
        for (word, epoch) in words.iter_mut().zip(both) {
            match (epoch, &word) {
                (None, _) => {}
                (Some(epoch), None) => *word = Some((epoch, history.mask)),
                (Some(epoch), Some((other, mask))) if epoch == *other => *word = Some((epoch, mask | history.mask)),
                _ => return None,
            }
        }
    }
    let [written, read] = words.map(|word| word.map_or(0, |(epoch, mask)| pack(epoch, mask)));
    Some((written, read))
}
