//! Shadow memory: what is known of the accesses to each eight bytes of the program's memory, a *granule*.
//!
//! A granule has a cell, at a place that its address tells: a table with an entry for each MiB of the address space leads
//! to the cells of that MiB, which are made when the first of them is used. Most cells say it in two words, an epoch of
//! the last write and one of the last read, each with the bytes of the granule that it is about. What does not fit
//! there (bytes with different histories, reads by several threads, atomics, freed memory) is a list of histories,
//! whose number the cell has instead.
//!
//! A search goes back to earlier states, so each change is on record, and can be undone. Lists of histories are not
//! changed but replaced; going back drops those that were made since.
//!
//! What a cell also has, and no going back undoes, is whether several threads have used the granule, in any executions.
//!
//! Invariant: a byte is in the mask of at most one history of its granule.
//!
//! Invariant: a point in the record of changes is returned to only if all changes up to it are still on record.

use super::happens_before::{AtomicAccess, HappensBefore};
use smallvec::SmallVec;
use std::io;
use std::ptr;

/// Number of bytes of a granule.
pub(crate) const GRANULE: usize = 8;
/// Binary logarithm of the number of bytes whose cells are made together.
const CHUNK_BITS: u32 = 20;
const CELLS: usize = (1 << CHUNK_BITS) / GRANULE;
/// Binary logarithm of the size of the address space.
const ADDRESS_BITS: u32 = 47;

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

/// An epoch and the bytes that it is about, as a word; 0 for none.
#[inline]
fn pack(epoch: Epoch, mask: u8) -> u64 {
    u64::from(epoch.number) | u64::from(epoch.thread) << 32 | u64::from(mask) << 48
}

fn unpack(word: u64) -> Option<(Epoch, u8)> {
    let epoch = Epoch {
        thread: (word >> 32) as u16,
        number: word as u32,
    };
    (word != 0).then_some((epoch, bytes_of(word)))
}

/// The bytes that a word is about.
#[inline]
const fn bytes_of(word: u64) -> u8 {
    (word >> 48) as u8
}

/// In the first word of a cell: the second one is the number of a list of histories.
const LISTED: u64 = 1 << 63;

/// In the first word of a cell: the write was the end of the memory's block.
const FREED: u64 = 1 << 62;

/// The use of a granule in all executions: one more than the first thread's index, and flags.
mod usage {
    pub const FIRST: u64 = (1 << 17) - 1;
    pub const SEVERAL: u64 = 1 << 17;
    pub const WRITTEN: u64 = 1 << 18;
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Cell {
    written: u64,
    read: u64,
    usage: u64,
}

type Epochs = SmallVec<[Epoch; 2]>;

/// The memory that an atomic access is about: the low half of its first address, and its size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Extent {
    pub start: u32,
    pub size: u32,
}

/// An atomic access.
type Atomic = (Epoch, Extent);

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
    /// An earlier access with which one of this kind is in a race. Atomic accesses to the same memory are in none, unless
    /// they are of different sizes.
    fn conflict(&self, kind: Kind, accessor: Accessor<'_>) -> Option<(Epoch, Kind)> {
        let (order, thread) = (accessor.order, accessor.epoch.thread);
        let unknown = |epochs: &[Epoch]| epochs.iter().copied().find(|epoch| !epoch.is_known(order, thread));
        let plain = kind != Kind::Load && kind != Kind::Store;
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
    fn note(&mut self, kind: Kind, accessor: Accessor<'_>) {
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

    fn is_like(&self, other: &History) -> bool {
        History {
            mask: other.mask,
            ..self.clone()
        } == *other
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

/// What an access has shown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Noted {
    /// The granule is found to be used by several threads, one of which writes.
    pub is_shared: bool,
    /// The bytes that are written were used by atomic accesses.
    pub was_atomic: bool,
    /// The bytes that were not accessed before.
    pub fresh: u8,
}

/// A granule after an access.
struct After {
    /// `None` if they are what they were.
    histories: Option<Histories>,
    /// Whether the bytes were used by atomic accesses.
    was_atomic: bool,
    /// The bytes that were not accessed before.
    fresh: u8,
}

/// The cells of all memory, and the changes that can be undone.
pub(crate) struct Shadow {
    /// For each MiB of the address space its cells, or null.
    table: *mut *mut Cell,
    /// All cells, with the addresses that they are about.
    chunks: Vec<(usize, *mut Cell)>,
    lists: Vec<Histories>,
    /// The cells that were changed, with what they held before.
    changes: Vec<(*mut Cell, u64, u64)>,
    /// Number of times that changes were undone.
    undone: u64,
    /// The numbers of those times after which fewer changes were left than after any later one, and how many were left.
    /// Both ascend.
    left: Vec<(u64, usize)>,
}

/// A point in the record of changes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Point {
    lists: usize,
    changes: usize,
    /// Number of times that changes were undone before.
    undone: u64,
}

fn map(size: usize) -> io::Result<*mut u8> {
    let (protection, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
    );
    // SAFETY: a new mapping, wherever there is room.
    let got = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping was made just now. Where the kernel does not know the advice, nothing but time is lost.
    unsafe { libc::madvise(got, size, libc::MADV_DONTDUMP) };
    Ok(got.cast())
}

const TABLE_SIZE: usize = size_of::<*mut Cell>() << (ADDRESS_BITS - CHUNK_BITS);
const CHUNK_SIZE: usize = CELLS * size_of::<Cell>();

impl Shadow {
    /// Shadow memory of which nothing is known.
    ///
    /// # Errors
    /// The kernel does not give the addresses.
    pub fn new() -> io::Result<Shadow> {
        Ok(Shadow {
            table: map(TABLE_SIZE)?.cast(),
            chunks: Vec::new(),
            lists: Vec::new(),
            changes: Vec::new(),
            undone: 0,
            left: Vec::new(),
        })
    }

    /// The cell of the granule that holds an address of the process.
    ///
    /// # Panics
    /// If the kernel has no memory left for cells.
    fn cell(&mut self, address: usize) -> *mut Cell {
        debug_assert!(address >> ADDRESS_BITS == 0);
        // SAFETY: the table has an entry for each MiB below 2^47; its memory is zero, which is null, until written.
        let chunk = unsafe { &mut *self.table.add(address >> CHUNK_BITS) };
        if chunk.is_null() {
            *chunk = map(CHUNK_SIZE)
                .expect("there is memory for what data races need")
                .cast();
            self.chunks.push((address >> CHUNK_BITS << CHUNK_BITS, *chunk));
        }
        // SAFETY: the chunk has a cell for each granule of the MiB, and zeros are a cell.
        unsafe { chunk.add((address & ((1 << CHUNK_BITS) - 1)) / GRANULE) }
    }

    /// The cell of the granule that holds an address, unless nothing was ever known of memory near it.
    fn known_cell(&self, address: usize) -> Option<Cell> {
        // SAFETY: as in `cell`; cells are only used here, one at a time.
        unsafe {
            let chunk = *self.table.add(address >> CHUNK_BITS);
            (!chunk.is_null()).then(|| *chunk.add((address & ((1 << CHUNK_BITS) - 1)) / GRANULE))
        }
    }

    /// What is known of the granule that starts at the address.
    #[cfg(test)]
    fn histories(&self, granule: usize) -> Histories {
        self.known_cell(granule)
            .map(|cell| self.decode(cell))
            .unwrap_or_default()
    }

    /// Shows the accesses to the granule that starts at the address: some of its bytes, the kind of an access to them,
    /// what else it was about if it was atomic, and its epoch. Of freed bytes nothing is shown. Returns the bytes that
    /// were accessed.
    pub fn each_access(&self, granule: usize, mut add: impl FnMut(u8, Kind, Extent, Epoch)) -> u8 {
        let Some(cell) = self.known_cell(granule) else {
            return 0;
        };
        let nothing_else = Extent { start: 0, size: 0 };
        if cell.written & LISTED == 0 {
            for (kind, word) in [(Kind::Write, cell.written), (Kind::Read, cell.read)] {
                if cell.written & FREED == 0
                    && let Some((epoch, mask)) = unpack(word)
                {
                    add(mask, kind, nothing_else, epoch);
                }
            }
            return bytes_of(cell.written) | bytes_of(cell.read);
        }
        let mut accessed = 0;
        for history in &self.lists[cell.read as usize] {
            let mask = history.mask;
            accessed |= mask;
            if history.freed {
                continue;
            }
            for (kind, epochs) in [(Kind::Write, history.write.as_slice()), (Kind::Read, &history.reads)] {
                epochs.iter().for_each(|&epoch| add(mask, kind, nothing_else, epoch));
            }
            for (kind, accesses) in [(Kind::Store, &history.stores), (Kind::Load, &history.loads)] {
                accesses
                    .iter()
                    .for_each(|&(epoch, extent)| add(mask, kind, extent, epoch));
            }
        }
        accessed
    }

    fn decode(&self, cell: Cell) -> Histories {
        if cell.written & LISTED != 0 {
            return self.lists[cell.read as usize].clone();
        }
        let (write, read) = (unpack(cell.written), unpack(cell.read));
        let written = write.map_or(0, |(_, mask)| mask);
        let was_read = read.map_or(0, |(_, mask)| mask);
        let parts = [written & was_read, written & !was_read, was_read & !written];
        let parts = parts.into_iter().filter(|&mask| mask != 0);
        let history = |mask| History {
            mask,
            write: write.filter(|_| mask & written != 0).map(|(epoch, _)| epoch),
            freed: cell.written & FREED != 0,
            reads: read
                .filter(|_| mask & was_read != 0)
                .map(|(epoch, _)| epoch)
                .into_iter()
                .collect(),
            ..History::default()
        };
        parts.map(history).collect()
    }

    /// The two words for histories, if they can be said so.
    fn compact(histories: &[History]) -> Option<(u64, u64)> {
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

    fn set(&mut self, cell: *mut Cell, histories: Histories) {
        let (written, read) = Self::compact(&histories).unwrap_or_else(|| {
            self.lists.push(histories);
            (LISTED, self.lists.len() as u64 - 1)
        });
        self.write_cell(cell, written, read);
    }

    #[inline]
    fn write_cell(&mut self, cell: *mut Cell, written: u64, read: u64) {
        // SAFETY: as in `known_cell`.
        let cell_now = unsafe { &mut *cell };
        self.changes.push((cell, cell_now.written, cell_now.read));
        (cell_now.written, cell_now.read) = (written, read);
    }

    /// Notes an access to bytes of one granule.
    ///
    /// # Errors
    /// The earlier access with which it is in a race.
    #[inline]
    pub fn access(&mut self, address: usize, mask: u8, kind: Kind, accessor: Accessor<'_>) -> Result<Noted, Conflict> {
        let cell = self.cell(address);
        let own = accessor.epoch;
        // SAFETY: as in `known_cell`.
        let Cell { written, read, .. } = unsafe { *cell };
        // What the thread has done last, in the same epoch, needs no second note; nor does a read after its own write.
        let is_own = |word: u64| unpack(word).is_some_and(|(epoch, known)| epoch == own && known & mask == mask);
        let noted = match kind {
            _ if written & (LISTED | FREED) != 0 => false,
            Kind::Write => is_own(written) && (read == 0 || is_own(read)),
            Kind::Read => is_own(read) || is_own(written),
            _ => false,
        };
        if noted {
            return Ok(Noted::default());
        }
        let (was_atomic, fresh) = match Self::briefly_after(written, read, mask, kind, accessor) {
            Some((written_after, read_after)) => {
                self.write_cell(cell, written_after, read_after);
                (false, mask & !(bytes_of(written) | bytes_of(read)))
            }
            None => {
                let after = self.after(cell, address & !(GRANULE - 1), mask, kind, accessor)?;
                if let Some(histories) = after.histories {
                    self.set(cell, histories);
                }
                (after.was_atomic, after.fresh)
            }
        };
        Ok(Noted {
            is_shared: accessor.beside_others && self.uses(address, own.thread, kind.writes()),
            was_atomic: was_atomic && matches!(kind, Kind::Write | Kind::Free),
            fresh,
        })
    }

    /// The two words of a cell after a plain access that is in no race, where two words say what was known, and what
    /// is known then.
    #[inline]
    fn briefly_after(
        written: u64,
        read: u64,
        mask: u8,
        kind: Kind,
        Accessor { epoch: own, order, .. }: Accessor<'_>,
    ) -> Option<(u64, u64)> {
        if written & (LISTED | FREED) != 0 {
            return None;
        }
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
            Kind::Free if precedes(written) && precedes(read) && (bytes_of(written) | bytes_of(read)) & !mask == 0 => {
                Some((FREED | pack(own, mask), 0))
            }
            _ => None,
        }
    }

    /// Records that the thread uses the granule at the address. Says whether the granule is thereby found to be used by
    /// several threads, one of which writes.
    pub fn uses(&mut self, address: usize, thread: u16, writes: bool) -> bool {
        let cell = self.cell(address);
        // SAFETY: as in `known_cell`.
        let before = unsafe { (*cell).usage };
        let first = u64::from(thread) + 1;
        let mut now = before | if writes { usage::WRITTEN } else { 0 };
        match before & usage::FIRST {
            0 => now |= first,
            known if known != first => now |= usage::SEVERAL,
            _ => {}
        }
        // SAFETY: as in `known_cell`.
        unsafe { (*cell).usage = now };
        let is_shared = |usage: u64| usage & usage::SEVERAL != 0 && usage & usage::WRITTEN != 0;
        is_shared(now) && !is_shared(before)
    }

    /// Takes bytes of a granule, which were not accessed before the last access, as written before that by the epoch.
    pub fn were_written(&mut self, address: usize, bytes: u8, by: Epoch) {
        let cell = self.cell(address);
        // SAFETY: as in `known_cell`.
        let Cell { written, read, .. } = unsafe { *cell };
        if written == 0 {
            return self.write_cell(cell, pack(by, bytes), read);
        }
        // SAFETY: as in `known_cell`.
        let mut histories = self.decode(unsafe { *cell });
        for history in &mut histories {
            if history.mask & bytes != 0 {
                history.write.get_or_insert(by);
            }
        }
        self.set(cell, histories);
    }

    /// Forgets the accesses to bytes of a granule.
    pub fn forget(&mut self, address: usize, bytes: u8) {
        let cell = self.cell(address);
        // SAFETY: as in `known_cell`.
        let mut histories = self.decode(unsafe { *cell });
        histories.iter_mut().for_each(|history| history.mask &= !bytes);
        histories.retain(|history| history.mask != 0);
        self.set(cell, histories);
    }

    /// Puts something on record that is undone elsewhere, so that no earlier point is the present one.
    pub fn mark(&mut self) {
        self.changes.push((ptr::null_mut(), 0, 0));
    }

    /// The use of all granules, in all executions: a granule and a word for each.
    pub fn all_uses(&self) -> Vec<(u64, u64)> {
        let mut uses = Vec::new();
        for &(start, chunk) in &self.chunks {
            for at in 0..CELLS {
                // SAFETY: as in `known_cell`; a chunk has so many cells.
                let usage = unsafe { (*chunk.add(at)).usage };
                if usage != 0 {
                    uses.push(((start + at * GRANULE) as u64, usage));
                }
            }
        }
        uses
    }

    /// Adds uses of granules by earlier executions.
    pub fn add_uses(&mut self, uses: &[(u64, u64)]) {
        for &(granule, usage) in uses {
            let cell = self.cell(granule as usize);
            // SAFETY: as in `known_cell`.
            unsafe { (*cell).usage = usage };
        }
    }

    /// Says whether something is known of accesses to the granule at the address.
    pub fn was_accessed(&self, address: usize) -> bool {
        self.known_cell(address)
            .is_some_and(|cell| cell.written | cell.read != 0)
    }

    /// What is known of a granule after an access.
    fn after(
        &self,
        cell: *mut Cell,
        granule: usize,
        mask: u8,
        kind: Kind,
        accessor: Accessor<'_>,
    ) -> Result<After, Conflict> {
        // SAFETY: as in `known_cell`.
        let mut before = self.decode(unsafe { *cell });
        let mut after = Histories::new();
        let mut was_atomic = false;
        let mut add = |history: History| match after.iter_mut().find(|other| other.is_like(&history)) {
            Some(other) => other.mask |= history.mask,
            None => after.push(history),
        };
        let mut fresh = mask;
        for history in &before {
            let touched = history.mask & mask;
            fresh &= !touched;
            if touched != history.mask {
                add(History {
                    mask: history.mask & !mask,
                    ..history.clone()
                });
            }
            if touched == 0 {
                continue;
            }
            was_atomic |= !history.stores.is_empty() || !history.loads.is_empty();
            if let Some((epoch, kind)) = history.conflict(kind, accessor) {
                return Err(Conflict {
                    address: granule + touched.trailing_zeros() as usize,
                    epoch,
                    kind,
                });
            }
            let mut history = History {
                mask: touched,
                ..history.clone()
            };
            history.note(kind, accessor);
            add(history);
        }
        if fresh != 0 {
            let mut history = History {
                mask: fresh,
                ..History::default()
            };
            history.note(kind, accessor);
            add(history);
        }
        after.sort_unstable_by_key(|history| history.mask);
        before.sort_unstable_by_key(|history| history.mask);
        Ok(After {
            histories: (after != before).then_some(after),
            was_atomic,
            fresh,
        })
    }

    /// The present point in the record of changes.
    pub fn point(&self) -> Point {
        Point {
            lists: self.lists.len(),
            changes: self.changes.len(),
            undone: self.undone,
        }
    }

    /// Says whether all changes up to the point are still on record.
    pub fn can_go_back_to(&self, to: Point) -> bool {
        let later = self.left.partition_point(|&(time, _)| time <= to.undone);
        // What is left ascends, so the first later time has the least.
        self.left.get(later).is_none_or(|&(_, left)| left >= to.changes) && to.changes <= self.changes.len()
    }

    /// Goes back to a point that [can be gone back to](Self::can_go_back_to).
    pub fn undo(&mut self, to: Point) {
        debug_assert!(self.can_go_back_to(to) && to.lists <= self.lists.len());
        for (cell, written, read) in self.changes.drain(to.changes..).rev() {
            // SAFETY: as in `known_cell`; cells stay where they are, and a mark has none.
            if let Some(cell) = unsafe { cell.as_mut() } {
                (cell.written, cell.read) = (written, read);
            }
        }
        self.lists.truncate(to.lists);
        self.undone += 1;
        let kept = self.left.partition_point(|&(_, left)| left < to.changes);
        self.left.truncate(kept);
        self.left.push((self.undone, to.changes));
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        let chunks = self.chunks.iter().map(|&(_, chunk)| (chunk.cast(), CHUNK_SIZE));
        for (start, size) in chunks.chain([(self.table.cast(), TABLE_SIZE)]) {
            // SAFETY: the mapping is ours, and nobody uses it any more.
            unsafe { libc::munmap(start, size) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: usize = 0x2000_0000_0000;
    const ALL: u8 = u8::MAX;

    /// Shadow memory, and what two threads know: the second one nothing of the first.
    struct World {
        shadow: Shadow,
        order: HappensBefore,
    }

    impl World {
        fn new() -> World {
            let mut order = HappensBefore::default();
            order.epoch(0);
            order.epoch(1);
            let shadow = Shadow::new().expect("there are addresses");
            World { shadow, order }
        }

        fn access(&mut self, thread: u16, mask: u8, kind: Kind) -> Result<Noted, Kind> {
            let accessor = Accessor {
                epoch: Epoch {
                    thread,
                    number: self.order.epoch(thread.into()),
                },
                order: &self.order,
                extent: Extent {
                    start: 0,
                    size: mask.count_ones(),
                },
                beside_others: true,
            };
            let result = self.shadow.access(AT, mask, kind, accessor);
            result.map_err(|conflict| conflict.kind)
        }
    }

    #[test]
    fn accesses_conflict_if_one_of_them_is_plain_and_one_writes() {
        use Kind::{Free, Load, Read, Store, Write};
        let kinds = [Read, Write, Load, Store, Free];
        for first in kinds {
            for second in kinds {
                let mut world = World::new();
                world.access(0, ALL, first).expect("it is the first");
                let both_read = !first.writes() && !second.writes();
                let both_atomic = [first, second].iter().all(|kind| matches!(kind, Load | Store));
                let expected = if both_read || both_atomic { Ok(()) } else { Err(first) };
                let found = world.access(1, ALL, second).map(|_| ());
                assert_eq!(found, expected, "{first:?}, {second:?}");
            }
        }
    }

    #[test]
    fn bytes_are_told_apart() {
        let mut world = World::new();
        for (thread, mask) in [(0, 0x0F), (1, 0xF0), (0, 0x03), (1, 0xC0)] {
            assert!(world.access(thread, mask, Kind::Write).is_ok(), "{mask:#x}");
        }
        assert_eq!(world.access(1, 0x18, Kind::Read), Err(Kind::Write));
        assert_eq!(world.access(1, 0x10, Kind::Read).map(|noted| noted.fresh), Ok(0));
    }

    #[test]
    fn what_is_ordered_does_not_conflict() {
        let mut world = World::new();
        world.access(0, ALL, Kind::Write).expect("it is the first");
        world.order.release(0, dpor_explorer::Location(8));
        world.access(0, ALL, Kind::Read).expect("it is its own");
        world.order.acquire(1, dpor_explorer::Location(8));
        assert!(world.access(1, ALL, Kind::Read).is_ok());
        assert_eq!(world.access(1, ALL, Kind::Write), Err(Kind::Read));
    }

    #[test]
    fn the_use_by_a_second_thread_is_told_once() {
        let mut world = World::new();
        let mut is_shared = |thread, kind| {
            let noted = world.access(thread, ALL, kind);
            noted.map(|noted| noted.is_shared)
        };
        assert_eq!(is_shared(0, Kind::Store), Ok(false));
        assert_eq!(is_shared(1, Kind::Load), Ok(true));
        assert_eq!(is_shared(0, Kind::Store), Ok(false));
    }

    #[test]
    fn changes_are_undone_to_points_that_are_on_record() {
        let mut world = World::new();
        let empty = world.shadow.point();
        world.access(0, 0x0F, Kind::Write).expect("it is the first");
        let written = world.shadow.point();
        world.access(1, 0xF0, Kind::Load).expect("these are others");
        let later = world.shadow.point();
        world.shadow.undo(written);
        assert_eq!(world.shadow.histories(AT).len(), 1);
        assert!(!world.shadow.can_go_back_to(later), "it was undone");
        world.access(1, 0xF0, Kind::Store).expect("these are others");
        assert!(!world.shadow.can_go_back_to(later), "another change is in its place");
        assert!(world.shadow.can_go_back_to(written));
        world.shadow.undo(empty);
        assert!(!world.shadow.was_accessed(AT));
        world.access(1, ALL, Kind::Write).expect("it is the first");
        assert!(!world.shadow.can_go_back_to(written));
        assert!(world.shadow.can_go_back_to(empty));
    }

    #[test]
    fn two_words_say_what_a_list_does() {
        let mut world = World::new();
        world.access(0, 0x3C, Kind::Write).expect("it is the first");
        world.access(0, 0x18, Kind::Read).expect("it is its own");
        let histories = world.shadow.histories(AT);
        assert!(Shadow::compact(&histories).is_some());
        assert_eq!(histories.iter().fold(0, |all, history| all | history.mask), 0x3C);
    }
}
