//! Shadow memory: what is known of the accesses to each eight bytes of the program's memory, a *granule*.
//!
//! A granule has a cell, at a place that its address tells: a table with an entry for each MiB of the address space
//! leads to the cells of that MiB, which are made when the first of them is used. Most cells say it in two words, an
//! epoch of the last write and one of the last read, each with the bytes of the granule that it is about. What does not
//! fit there (bytes with different histories, reads by several threads, atomics) is a list of histories, whose place
//! the cell has instead.
//!
//! A search goes back to earlier states, so each change is on record, and can be undone. Lists of histories are not
//! changed but replaced; going back drops those that were made since.
//!
//! What a cell also has, and no going back undoes, is whether several threads have used the granule, in any executions.
//!
//! Invariant: a byte is in the mask of at most one history of its granule.
//!
//! Invariant: a point in the record of changes is returned to only if all changes up to it are still on record.

mod cell;
mod history;
mod lists;

use cell::{Cell, LISTED, briefly, pack, unpack, usage};
pub(crate) use history::{Accessor, Conflict, Epoch, Extent, Kind};
use history::{Histories, History};
use lists::{Lists, Outcome};
use std::io;
use std::ops::Range;
use std::ptr;

/// Number of bytes of a granule.
pub(crate) const GRANULE: usize = 8;
/// Binary logarithm of the number of bytes whose cells are made together.
const CHUNK_BITS: u32 = 20;
const CELLS: usize = (1 << CHUNK_BITS) / GRANULE;
/// Binary logarithm of the size of the address space.
const ADDRESS_BITS: u32 = 47;

/// The granules in a range of addresses, each by its first address in the range, and the bytes of it that are there.
pub(crate) fn granules(range: Range<usize>) -> impl Iterator<Item = (usize, u8)> {
    let Range { start: mut at, end } = range;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let (from, next) = (at, ((at / GRANULE + 1) * GRANULE).min(end));
            at = next;
            (from, (((1u16 << (next - from)) - 1) << (from % GRANULE)) as u8)
        })
    })
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

/// The accesses to a granule.
pub(crate) struct Accesses<'a> {
    shadow: &'a Shadow,
    cell: Cell,
}

impl Accesses<'_> {
    /// Whether the same two words say all that is known of both granules, and are about all of their bytes.
    #[inline]
    pub fn are_like(&self, other: &Accesses<'_>) -> bool {
        let words = |cell: &Cell| (cell.written, cell.read);
        self.cell.is_brief() && self.cell.accessed() == u8::MAX && words(&self.cell) == words(&other.cell)
    }

    /// Shows them: some bytes of the granule, the kind of an access to them, what else it was about if it was atomic,
    /// and its epoch. Of freed bytes nothing is shown. Returns the bytes that were accessed.
    #[inline]
    pub fn each(&self, mut add: impl FnMut(u8, Kind, Extent, Epoch)) -> u8 {
        let Accesses { shadow, cell } = self;
        if cell.written & LISTED != 0 {
            return shadow.lists.each_access(cell.read as usize, add);
        }
        if cell.is_brief() {
            for (kind, word) in [(Kind::Write, cell.written), (Kind::Read, cell.read)] {
                if let Some((epoch, mask)) = unpack(word) {
                    add(mask, kind, Extent::NONE, epoch);
                }
            }
        }
        cell.accessed()
    }
}

/// The cells of all memory, and the changes that can be undone.
pub(crate) struct Shadow {
    /// For each MiB of the address space its cells, or null.
    table: *mut *mut Cell,
    /// All cells, with the addresses that they are about.
    chunks: Vec<(usize, *mut Cell)>,
    lists: Lists,
    /// The cells that were changed, with what they held before.
    changes: Vec<(*mut Cell, u64, u64)>,
    /// The granules that are followed, in ascending order, with their cells.
    followed: Vec<(usize, *mut Cell)>,
    /// Number of times that they were set.
    followed_times: u64,
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
            lists: Lists::default(),
            followed: Vec::new(),
            followed_times: 0,
            changes: Vec::new(),
            undone: 0,
            left: Vec::new(),
        })
    }

    /// The cell of the granule that holds an address of the process.
    ///
    /// # Panics
    /// If the kernel has no memory left for cells.
    #[inline]
    fn cell(&mut self, address: usize) -> *mut Cell {
        debug_assert!(address >> ADDRESS_BITS == 0);
        // SAFETY: the table has an entry for each MiB below 2^47; its memory is zero, which is null, until written.
        let mut chunk = unsafe { *self.table.add(address >> CHUNK_BITS) };
        if chunk.is_null() {
            chunk = self.new_chunk(address);
        }
        // SAFETY: the chunk has a cell for each granule of the MiB, and zeros are a cell.
        unsafe { chunk.add((address & ((1 << CHUNK_BITS) - 1)) / GRANULE) }
    }

    #[cold]
    fn new_chunk(&mut self, address: usize) -> *mut Cell {
        let chunk = map(CHUNK_SIZE)
            .expect("there is memory for what data races need")
            .cast();
        // SAFETY: as in `cell`.
        unsafe { *self.table.add(address >> CHUNK_BITS) = chunk };
        self.chunks.push((address >> CHUNK_BITS << CHUNK_BITS, chunk));
        chunk
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

    /// Sets which granules are followed, by their addresses, which ascend.
    pub fn follow(&mut self, granules: impl Iterator<Item = usize>) {
        let mut followed = std::mem::take(&mut self.followed);
        for (_, cell) in followed.drain(..) {
            // SAFETY: as in `known_cell`; cells stay where they are.
            unsafe { (*cell).followed = 0 };
        }
        followed.extend(granules.map(|granule| (granule, self.cell(granule))));
        debug_assert!(followed.is_sorted_by_key(|&(granule, _)| granule));
        for (&(_, cell), position) in followed.iter().zip(1..) {
            // SAFETY: as above.
            unsafe { (*cell).followed = position };
        }
        self.followed = followed;
        self.followed_times += 1;
    }

    /// Number of times that it was set which granules are followed: as long as it stays the same, so do positions.
    pub fn followed_times(&self) -> u64 {
        self.followed_times
    }

    /// A followed granule, by its position among them, with its accesses.
    pub fn followed(&self, position: u32) -> (usize, Accesses<'_>) {
        let (granule, cell) = self.followed[position as usize];
        // SAFETY: as in `known_cell`; cells stay where they are.
        let cell = unsafe { *cell };
        (granule, Accesses { shadow: self, cell })
    }

    /// The positions of the followed granules in some memory.
    pub fn followed_in(&self, memory: Range<usize>) -> Range<u32> {
        let position = |address| self.followed.partition_point(|&(granule, _)| granule < address) as u32;
        position(memory.start)..position(memory.end)
    }

    /// The positions of the followed granules of which anything has changed since there were so many changes.
    pub fn followed_since(&self, changes: usize) -> impl Iterator<Item = u32> {
        let changed = self.changes[changes..].iter();
        changed.filter_map(|&(cell, ..)| {
            // SAFETY: as in `known_cell`; cells stay where they are, and a mark has none.
            let cell = unsafe { cell.as_ref() }?;
            cell.followed.checked_sub(1)
        })
    }

    /// Number of changes on record.
    pub fn changes(&self) -> usize {
        self.changes.len()
    }

    fn decode(&self, cell: Cell) -> Histories {
        match cell.written & LISTED {
            0 => cell.histories(),
            _ => self.lists.get(cell.read as usize),
        }
    }

    fn set(&mut self, cell: *mut Cell, histories: &[History]) {
        let (written, read) = briefly(histories).unwrap_or_else(|| (LISTED, self.lists.add(histories) as u64));
        self.write_cell(cell, written, read);
    }

    #[inline]
    fn write_cell(&mut self, cell: *mut Cell, written: u64, read: u64) {
        // SAFETY: as in `known_cell`.
        let cell_now = unsafe { &mut *cell };
        self.changes.push((cell, cell_now.written, cell_now.read));
        (cell_now.written, cell_now.read) = (written, read);
    }

    /// Notes a plain access to the granules from an address on, as long as it is in no race and shows nothing that
    /// [`Shadow::access`] would tell, but for bytes that were not accessed before if `expects_fresh`. Of those that are
    /// freed, only such are noted that were accessed before. Returns the address up to which that is so.
    pub fn note_plain(
        &mut self,
        memory: Range<usize>,
        kind: Kind,
        accessor: &Accessor<'_>,
        expects_fresh: bool,
    ) -> usize {
        // Whole granules with equal cells, as in memory that was initialised at once, come to the same.
        let mut alike: Option<(Cell, Option<(u64, u64)>)> = None;
        for (at, mask) in granules(memory.clone()) {
            let place = self.cell(at);
            // SAFETY: as in `known_cell`.
            let cell = unsafe { *place };
            let after = match alike {
                Some((like, after)) if like.is_like(&cell) && mask == u8::MAX => after,
                _ => {
                    let Some(after) = cell.plainly_after(mask, kind, accessor, expects_fresh) else {
                        return at;
                    };
                    alike = (mask == u8::MAX).then_some((cell, after));
                    after
                }
            };
            if let Some((written, read)) = after {
                self.write_cell(place, written, read);
            }
        }
        memory.end
    }

    /// Notes an access to bytes of one granule.
    ///
    /// # Errors
    /// The earlier access with which it is in a race.
    pub fn access(&mut self, address: usize, mask: u8, kind: Kind, accessor: &Accessor<'_>) -> Result<Noted, Conflict> {
        let place = self.cell(address);
        // SAFETY: as in `known_cell`.
        let cell = unsafe { *place };
        let own = accessor.epoch;
        if cell.has_noted(mask, kind, own) {
            return Ok(Noted::default());
        }
        let (was_atomic, fresh) = match cell.after(mask, kind, accessor) {
            Some((written, read)) => {
                self.write_cell(place, written, read);
                (false, mask & !cell.accessed())
            }
            None if self.note_in_list((place, cell), mask, kind, accessor) => (false, 0),
            None => {
                let after = self.after(cell, address & !(GRANULE - 1), mask, kind, accessor)?;
                if let Some(histories) = after.histories {
                    self.set(place, &histories);
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

    /// Notes an access to bytes of which a list tells, if the list can tell it without being taken apart. Says whether
    /// it does.
    fn note_in_list(
        &mut self,
        (place, cell): (*mut Cell, Cell),
        mask: u8,
        kind: Kind,
        accessor: &Accessor<'_>,
    ) -> bool {
        if cell.written & LISTED == 0 {
            return false;
        }
        match self.lists.note(cell.read as usize, mask, kind, accessor) {
            Outcome::Same => true,
            Outcome::Replaced(list) => {
                self.write_cell(place, LISTED, list as u64);
                true
            }
            Outcome::Unclear => false,
        }
    }

    /// Records that the thread uses the granule at the address. Says whether the granule is thereby found to be used by
    /// several threads, one of which writes.
    pub fn uses(&mut self, address: usize, thread: u16, writes: bool) -> bool {
        let cell = self.cell(address);
        // SAFETY: as in `known_cell`.
        let before = unsafe { (*cell).usage };
        let first = u32::from(thread) + 1;
        let mut now = before | if writes { usage::WRITTEN } else { 0 };
        match before & usage::FIRST {
            0 => now |= first,
            known if known != first => now |= usage::SEVERAL,
            _ => {}
        }
        // SAFETY: as in `known_cell`.
        unsafe { (*cell).usage = now };
        let is_shared = |usage: u32| usage & usage::SEVERAL != 0 && usage & usage::WRITTEN != 0;
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
        self.set(cell, &histories);
    }

    /// Forgets the accesses to bytes of a granule.
    pub fn forget(&mut self, address: usize, bytes: u8) {
        let cell = self.cell(address);
        // SAFETY: as in `known_cell`.
        let mut histories = self.decode(unsafe { *cell });
        histories.iter_mut().for_each(|history| history.mask &= !bytes);
        histories.retain(|history| history.mask != 0);
        self.set(cell, &histories);
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
                    uses.push(((start + at * GRANULE) as u64, usage.into()));
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
            unsafe { (*cell).usage = usage as u32 };
        }
    }

    /// Says whether something is known of accesses to the granule at the address.
    pub fn was_accessed(&self, address: usize) -> bool {
        self.known_cell(address).is_some_and(|cell| !cell.is_unused())
    }

    /// What is known of a granule after an access.
    fn after(
        &self,
        cell: Cell,
        granule: usize,
        mask: u8,
        kind: Kind,
        accessor: &Accessor<'_>,
    ) -> Result<After, Conflict> {
        let mut before = self.decode(cell);
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
mod tests;
