//! Data races: two threads access the same byte, one of them writes, at most one of the accesses is atomic, and neither
//! happens before the other. A program with one has undefined behaviour, so the execution ends there.
//!
//! Each plain access is looked at when it is made ([`shadow`](super::shadow)), and none is a scheduling point: whether
//! two accesses are in a race depends on what happens before what, which all executions with the same order of dependent
//! steps have in common. So each of these needs to be run once only, and the first race that any of them comes to is
//! noticed there. Up to that, a plain read has one write that it can read, which is what memory holds.
//!
//! Freed memory is not given out again within an execution, and each byte is looked at when it is accessed first. So an
//! access to freed memory, or beyond the end of a block, is noticed as well.
//!
//! What was accessed before a state, and by whom it is known, decides which later access is in a race. So it is part of
//! the state, where states are compared: of each granule that several threads use, the accesses that some thread does
//! not know of, and who does. It is not known from the start which granules are used by several threads. When one is
//! found, exploration starts again after the execution that has shown it. What a thread does while it knows all that
//! others have done and none of them lives is known to whomever it creates, and does not count.
//!
//! Invariant: clock numbers are no part of the state. Two executions with equal states differ in them.

use super::blocks::{Block, Blocks, SavedBlocks};
use super::clocks::entry;
use super::happens_before::{AtomicAccess, HappensBefore};
use super::shadow::{Accessor, Conflict, Epoch, GRANULE, Kind, Point, Shadow};
use crate::image::part::{Extent, Owner, Part, Visitor};
use crate::image::region;
use dpor_explorer::{AccessKind, Location, ThreadId};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::{io, ops::Range};

/// An access to memory by which the execution ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BadAccess {
    pub thread: ThreadId,
    pub address: usize,
    pub size: usize,
    pub kind: Kind,
    pub fault: Fault,
}

/// What is wrong with an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// It is in a race with this earlier access.
    Race(Conflict),
    /// It is in a race with the allocation of the block that starts there, by this thread.
    Unpublished { block: usize, by: ThreadId },
    /// The block that starts there was freed.
    Freed { block: usize },
    /// The block that starts there ends before the access does.
    Beyond { block: usize, size: usize },
    /// No block is there.
    NoBlock,
}

/// The accesses of the current execution.
#[derive(Default)]
pub(crate) struct DataRaces {
    /// `None` if nobody looks for races.
    shadow: Option<Shadow>,
    order: HappensBefore,
    blocks: Blocks,
    /// The threads that may still move, in ascending order.
    live: Vec<u16>,
    /// The granules that several threads use, as all executions have shown.
    shared: BTreeSet<usize>,
    /// Whether the execution has shown more of these than exploration knew of.
    pub news: bool,
}

fn index(thread: ThreadId) -> u16 {
    thread.0 as u16
}

impl DataRaces {
    /// Looks for races from the next execution on.
    ///
    /// # Errors
    /// There is no room for shadow memory.
    pub fn switch_on(&mut self) -> io::Result<()> {
        self.shadow = Some(Shadow::new()?);
        Ok(())
    }

    /// Whether races are looked for.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.shadow.is_some()
    }

    /// The granules that several threads use, as far as that is known.
    pub fn shared(&self) -> Vec<u64> {
        self.shared.iter().map(|&granule| granule as u64).collect()
    }

    /// Goes on with what another process has found.
    pub fn go_on_from(&mut self, shared: &[u64]) {
        self.shared.extend(shared.iter().map(|&granule| granule as usize));
    }

    /// The first thread begins.
    pub fn begins(&mut self) {
        self.live.push(0);
    }

    /// A thread has created another one.
    pub fn spawned(&mut self, parent: ThreadId, child: ThreadId) {
        if self.is_on() {
            self.order.spawned(parent.index(), child.index());
            if let Err(at) = self.live.binary_search(&index(child)) {
                self.live.insert(at, index(child));
            }
        }
    }

    /// The thread has ended.
    pub fn ended(&mut self, thread: ThreadId) {
        self.live.retain(|&live| live != index(thread));
    }

    /// The operation of a thread orders it as its access to the location says.
    pub fn order(&mut self, thread: ThreadId, location: Location, kind: AccessKind) {
        if self.is_on() {
            self.order.order(thread.index(), location, kind);
        }
    }

    /// The thread comes after all that was published at the location.
    pub fn acquire(&mut self, thread: ThreadId, location: Location) {
        if self.is_on() {
            self.order.acquire(thread.index(), location);
        }
    }

    /// The thread publishes what it knows at the location.
    pub fn release(&mut self, thread: ThreadId, location: Location) {
        if self.is_on() {
            self.order.release(thread.index(), location);
        }
    }

    /// Nobody will look at the location any more.
    pub fn settle(&mut self, location: Location) {
        if self.is_on() {
            self.order.settle(location);
        }
    }

    /// The thread makes a fence.
    pub fn fence(&mut self, thread: ThreadId, order: Ordering) {
        if self.is_on() {
            self.order.fence(thread.index(), order);
        }
    }

    /// Says whether the thread's access to an atomic changes what happens before what follows, although it may leave
    /// the value as it was.
    pub fn publishes(&mut self, thread: ThreadId, access: AtomicAccess) -> bool {
        self.is_on() && self.order.publishes(thread.index(), access)
    }

    /// The thread accesses an atomic of this size.
    ///
    /// # Errors
    /// The access is in a race, or outside of live blocks.
    pub fn atomic(
        &mut self,
        thread: ThreadId,
        at: Location,
        size: usize,
        access: AtomicAccess,
    ) -> Result<(), BadAccess> {
        if !self.is_on() {
            return Ok(());
        }
        self.order.loaded(thread.index(), at, access);
        self.access(thread, at.0 as usize, size, access.into())?;
        self.order.stored(thread.index(), at, access);
        Ok(())
    }

    /// Whether another thread may do something that is not ordered after what the thread does now.
    fn beside_others(&self, thread: ThreadId) -> bool {
        self.live.len() > 1 || !self.order.knows_all(thread.index())
    }

    /// The thread accesses memory of the program.
    ///
    /// # Errors
    /// The access is in a race, or outside of live blocks.
    pub fn access(&mut self, thread: ThreadId, address: usize, size: usize, kind: Kind) -> Result<(), BadAccess> {
        let bad = |fault| BadAccess {
            thread,
            address,
            size,
            kind,
            fault,
        };
        if self.shadow.is_none() {
            return Ok(());
        }
        let own = Epoch {
            thread: index(thread),
            number: self.order.accesses(thread.index()),
        };
        let mut beside_others = None;
        let mut was_atomic = false;
        let mut block = None;
        let end = address + size;
        let mut at = address;
        while at < end {
            let next = ((at / GRANULE + 1) * GRANULE).min(end);
            let mask = (((1u16 << (next - at)) - 1) << (at % GRANULE)) as u8;
            let beside_others = *beside_others.get_or_insert_with(|| self.beside_others(thread));
            let Some(shadow) = &mut self.shadow else { break };
            let accessor = Accessor {
                epoch: own,
                order: &self.order,
                beside_others,
            };
            let noted = shadow
                .access(at, mask, kind, accessor)
                .map_err(|conflict| bad(self.judge(conflict)))?;
            let mut is_shared = noted.is_shared;
            if noted.fresh != 0 && region::in_arena(at) {
                let block = match block {
                    Some(block) => block,
                    None => *block.insert(self.block_of(own, address, end).map_err(bad)?),
                };
                if block.beside_others {
                    let Some(shadow) = &mut self.shadow else { break };
                    is_shared |= shadow.uses(at, block.allocated.thread, true);
                }
            }
            if is_shared {
                self.news |= self.shared.insert(at & !(GRANULE - 1));
            }
            was_atomic |= noted.was_atomic;
            at = next;
        }
        if was_atomic {
            self.forget(address..end);
        }
        Ok(())
    }

    /// What it means that an access conflicts with this earlier one.
    fn judge(&self, conflict: Conflict) -> Fault {
        match (conflict.kind, self.blocks.before(conflict.address)) {
            (Kind::Free, Some((block, ..))) => Fault::Freed { block: block.start },
            _ => Fault::Race(conflict),
        }
    }

    /// The live block that holds these addresses of the heap, whose allocation the thread knows of.
    fn block_of(&self, own: Epoch, address: usize, end: usize) -> Result<Block, Fault> {
        let Some((block, size, live)) = self.blocks.before(address) else {
            return Err(Fault::NoBlock);
        };
        let start = block.start;
        if end > start + size {
            return Err(Fault::Beyond { block: start, size });
        }
        if !live {
            return Err(Fault::Freed { block: start });
        }
        match block.allocated.is_known(&self.order, own.thread) {
            true => Ok(block),
            false => Err(Fault::Unpublished {
                block: start,
                by: ThreadId(block.allocated.thread.into()),
            }),
        }
    }

    /// What was published in this memory is over, as it holds something else from now on.
    fn forget(&mut self, range: Range<usize>) {
        self.order.forget(range.start as u64..range.end as u64);
    }

    /// The thread has allocated a block.
    pub fn allocate(&mut self, thread: ThreadId, start: usize) {
        let block = Block {
            start,
            allocated: Epoch {
                thread: index(thread),
                number: self.order.accesses(thread.index()),
            },
            beside_others: self.beside_others(thread),
        };
        self.blocks.add(block);
    }

    /// The thread frees a block.
    ///
    /// # Errors
    /// The block is in use without an order.
    pub fn free(&mut self, thread: ThreadId, block: usize, size: usize) -> Result<(), BadAccess> {
        let whole = |bad| BadAccess {
            address: block,
            size,
            ..bad
        };
        // Whoever accesses what was not accessed before is told by the block that it is freed.
        let mut at = block;
        while at < block + size {
            let next = ((at / GRANULE + 1) * GRANULE).min(block + size);
            if at == block || self.shadow.as_ref().is_some_and(|shadow| shadow.was_accessed(at)) {
                self.access(thread, at, next - at, Kind::Free).map_err(whole)?;
            }
            at = next;
        }
        self.forget(block..block + size);
        Ok(())
    }

    /// Whether a saved state can be restored by undoing what has happened since.
    pub fn can_go_back_to(&self, saved: &SavedRaces) -> bool {
        self.shadow
            .as_ref()
            .is_none_or(|shadow| shadow.can_go_back_to(saved.point))
    }

    /// Adds the accesses to a granule that some live thread does not know of. It is one of a `shadow`.
    fn facts(&self, shadow: &Shadow, granule: usize, known: &[u32], facts: &mut Vec<Fact>) {
        let from = facts.len();
        let mut add = |mask: u8, kind: u8, epoch: Epoch| {
            if known
                .get(usize::from(epoch.thread))
                .is_none_or(|&known| known < epoch.number)
            {
                facts.push((granule, mask, kind, epoch));
            }
        };
        let mut accessed = 0;
        for history in shadow.histories(granule) {
            accessed |= history.mask;
            // That it is freed is seen in the heap, and who uses it fails.
            if history.freed {
                continue;
            }
            let lists = [
                history.write.as_slice(),
                &history.reads[..],
                &history.stores[..],
                &history.loads[..],
            ];
            for (kind, epochs) in (1..).zip(lists) {
                epochs.iter().for_each(|&epoch| add(history.mask, kind, epoch));
            }
        }
        // Who uses the other bytes has to know of the allocation.
        if accessed != u8::MAX
            && region::in_arena(granule)
            && let Some((block, size, true)) = self.blocks.before(granule + GRANULE - 1)
            && block.start + size > granule
        {
            add(!accessed, 0, block.allocated);
        }
        // The order in which independent accesses were made is no part of the state.
        facts[from..].sort_unstable();
    }

    /// By thread, the last epoch that all live threads know.
    fn known_to_all(&self) -> SmallVec<[u32; 16]> {
        let of_all = |thread: usize| {
            let others = self.live.iter().map(|&live| usize::from(live));
            let others = others.filter(|&live| live != thread);
            let known = others.map(|other| {
                self.order
                    .views
                    .get(other)
                    .map_or(0, |view| entry(&view.current, thread))
            });
            known.min().unwrap_or(u32::MAX)
        };
        (0..self.order.views.len()).map(of_all).collect()
    }

    /// Shows who knows of the epochs of facts, without their numbers: an epoch is its position among those of its
    /// thread that occur.
    fn visit_knowledge(&self, facts: &[Fact], mut add: impl FnMut(u64)) {
        let mut epochs: SmallVec<[Epoch; 32]> = facts.iter().map(|fact| fact.3).collect();
        epochs.sort_unstable();
        epochs.dedup();
        // The positions in a clock, and whether it knows of any.
        let positions = |clock: &[u32]| {
            let of_threads = epochs.chunk_by(|one, other| one.thread == other.thread);
            let position = |of: &[Epoch]| {
                let known = entry(clock, of[0].thread.into());
                of.partition_point(|epoch| epoch.number <= known) as u64
            };
            of_threads.map(position).collect::<SmallVec<[u64; 16]>>()
        };
        for (granule, mask, kind, epoch) in facts {
            let of_thread = epochs.partition_point(|other| other.thread < epoch.thread);
            let position = epochs[of_thread..].partition_point(|other| other < epoch);
            add(*granule as u64);
            add(u64::from(*mask) << 8 | u64::from(*kind));
            add(u64::from(epoch.thread) << 32 | position as u64);
        }
        for &live in &self.live {
            let Some(view) = self.order.views.get(usize::from(live)) else {
                continue;
            };
            add(live.into());
            for clock in [&view.current, &view.acquired, &view.released] {
                positions(clock).into_iter().for_each(&mut add);
            }
        }
        for (location, clock) in &self.order.published {
            let positions = positions(clock);
            if positions.iter().any(|&position| position != 0) {
                add(location.0);
                positions.into_iter().for_each(&mut add);
            }
        }
    }
}

/// A granule, some of its bytes, the kind of the access to them, and its epoch.
type Fact = (usize, u8, u8, Epoch);

/// What is kept in a saved state.
#[derive(Default)]
pub(crate) struct SavedRaces {
    order: HappensBefore,
    blocks: SavedBlocks,
    live: Vec<u16>,
    point: Point,
}

impl Part for DataRaces {
    type Saved = SavedRaces;

    unsafe fn reset(&mut self) {
        let DataRaces {
            shadow,
            order,
            blocks,
            live,
            // They are of all executions.
            shared: _,
            news: _,
        } = self;
        if let Some(shadow) = shadow {
            shadow.undo(Point::default());
        }
        order.reset();
        blocks.reset();
        live.clear();
    }

    fn visit(&self, _: Extent, visitor: &mut impl Visitor) {
        let Some(shadow) = &self.shadow else { return };
        let known = self.known_to_all();
        let mut facts = Vec::new();
        for &granule in &self.shared {
            self.facts(shadow, granule, &known, &mut facts);
        }
        visitor.number(Owner::Program, "accesses that are not known", facts.len() as u64);
        if !facts.is_empty() {
            self.visit_knowledge(&facts, |number| {
                visitor.number(Owner::Program, "order of accesses", number);
            });
        }
        visitor.number(Owner::Program, "memory of several threads", self.shared.len() as u64);
    }

    unsafe fn save(&self, saved: &mut SavedRaces, _: &mut Vec<u8>) {
        let Some(shadow) = &self.shadow else { return };
        saved.order.clone_from(&self.order);
        self.blocks.save(&mut saved.blocks);
        saved.live.clone_from(&self.live);
        saved.point = shadow.point();
    }

    unsafe fn load(&mut self, saved: &SavedRaces, _: &mut &[u8]) {
        let Some(shadow) = &mut self.shadow else { return };
        self.order.clone_from(&saved.order);
        self.blocks.load(&saved.blocks);
        self.live.clone_from(&saved.live);
        shadow.undo(saved.point);
    }
}
