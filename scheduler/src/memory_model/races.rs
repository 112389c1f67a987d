//! Data races: two threads access the same byte, one of them writes, at most one of the accesses is atomic, and neither
//! happens before the other. A program with one has undefined behaviour, so the execution ends there.
//!
//! Each plain access is looked at when it is made ([`shadow`](super::shadow)), and none is a scheduling point: whether
//! two accesses are in a race depends on what happens before what, which all executions with the same order of dependent
//! steps have in common. So each of these needs to be run once only, and the first race that any of them comes to is
//! noticed there. Up to that, a plain read has one write that it can read, which is what memory holds.
//!
//! What was accessed before a state, and by whom it is known, decides which later access is in a race. So it is part of
//! the state, where states are compared: of each granule that several threads use, the accesses that some thread does
//! not know of, and who does. It is not known from the start which granules are used by several threads. When one is
//! found, exploration starts again after the execution that has shown it.
//!
//! Invariant: clock numbers are no part of the state. Two executions with equal states differ in them.

use super::happens_before::{AtomicAccess, HappensBefore};
use super::shadow::{Conflict, Epoch, GRANULE, Histories, Kind, Point, Shadow, knowers};
use crate::image::part::{Extent, Owner, Part, Visitor};
use dpor_explorer::{AccessKind, Location, ThreadId};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::{io, ops::Range};

/// A data race, or an access to freed memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    /// The thread of the later access, its first byte and its size.
    pub thread: ThreadId,
    pub address: usize,
    pub size: usize,
    pub kind: Kind,
    /// The earlier access.
    pub earlier: Conflict,
}

/// The accesses of the current execution.
#[derive(Default)]
pub(crate) struct DataRaces {
    /// `None` if nobody looks for races.
    shadow: Option<Shadow>,
    order: HappensBefore,
    /// The threads that may still move, in ascending order.
    live: Vec<u16>,
    /// The granules that several threads use, as all executions have shown.
    shared: BTreeSet<usize>,
    /// Whether the execution has shown more of these than exploration knew of.
    pub news: bool,
    /// The number of the last restart, since which all changes can be undone.
    restarts: u64,
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

    /// The thread makes a fence.
    pub fn fence(&mut self, thread: ThreadId, order: Ordering) {
        if self.is_on() {
            self.order.fence(thread.index(), order);
        }
    }

    /// The thread accesses an atomic of this size.
    ///
    /// # Errors
    /// The access is in a race.
    pub fn atomic(&mut self, thread: ThreadId, at: Location, size: usize, access: AtomicAccess) -> Result<(), Race> {
        if !self.is_on() {
            return Ok(());
        }
        self.order.loaded(thread.index(), at, access);
        self.access(thread, at.0 as usize, size, access.into())?;
        self.order.stored(thread.index(), at, access);
        Ok(())
    }

    /// The thread accesses memory of the program.
    ///
    /// # Errors
    /// The access is in a race.
    pub fn access(&mut self, thread: ThreadId, address: usize, size: usize, kind: Kind) -> Result<(), Race> {
        let Some(shadow) = &mut self.shadow else {
            return Ok(());
        };
        let own = Epoch {
            thread: index(thread),
            number: self.order.epoch(thread.index()),
        };
        let mut was_atomic = false;
        let end = address + size;
        let mut at = address;
        while at < end {
            let next = ((at / GRANULE + 1) * GRANULE).min(end);
            let mask = (((1u16 << (next - at)) - 1) << (at % GRANULE)) as u8;
            let noted = shadow
                .access(at, mask, kind, own, &self.order)
                .map_err(|earlier| Race {
                    thread,
                    address,
                    size,
                    kind,
                    earlier,
                })?;
            if noted.is_shared {
                self.shared.insert(at & !(GRANULE - 1));
                self.news = true;
            }
            was_atomic |= noted.was_atomic;
            at = next;
        }
        if was_atomic {
            self.forget(address..end);
        }
        Ok(())
    }

    /// What was published in this memory is over, as it holds something else from now on.
    fn forget(&mut self, range: Range<usize>) {
        self.order.forget(range.start as u64..range.end as u64);
    }

    /// The thread frees a block.
    ///
    /// # Errors
    /// The block is in use without an order.
    pub fn free(&mut self, thread: ThreadId, block: usize, size: usize) -> Result<(), Race> {
        self.access(thread, block, size, Kind::Free)?;
        if self.is_on() {
            self.forget(block..block + size);
        }
        Ok(())
    }

    /// Whether a saved state can be restored by undoing what has happened since.
    pub fn can_go_back_to(&self, saved: &SavedRaces) -> bool {
        saved.restarts == self.restarts
    }

    /// Adds the accesses to a granule that some live thread does not know of, and who does.
    fn facts(&self, granule: usize, histories: &Histories, add: &mut impl FnMut(u64)) {
        // Sorted, as the order in which independent accesses were made is no part of the state.
        let mut facts: Vec<(u8, u8, Vec<u64>)> = Vec::new();
        for history in histories {
            let last = if history.freed { 4 } else { 0 };
            let lists = [
                (last, history.write.as_slice()),
                (1, &history.reads[..]),
                (2, &history.stores[..]),
                (3, &history.loads[..]),
            ];
            for (kind, epochs) in lists {
                for &epoch in epochs {
                    let mut known = Vec::with_capacity(self.live.len());
                    knowers(epoch, &self.order, &self.live, &mut known);
                    if history.freed || known[..self.live.len()].iter().any(|bits| bits & 1 == 0) {
                        facts.push((history.mask, kind, known));
                    }
                }
            }
        }
        facts.sort_unstable();
        for (mask, kind, known) in facts {
            add(granule as u64);
            add(u64::from(mask) << 8 | u64::from(kind));
            add(known.len() as u64);
            known.into_iter().for_each(&mut *add);
        }
    }
}

/// What is kept in a saved state.
#[derive(Default)]
pub(crate) struct SavedRaces {
    order: HappensBefore,
    live: Vec<u16>,
    point: Point,
    restarts: u64,
}

impl Part for DataRaces {
    type Saved = SavedRaces;

    unsafe fn reset(&mut self) {
        let DataRaces {
            shadow,
            order,
            live,
            // They are of all executions.
            shared: _,
            news: _,
            restarts,
        } = self;
        if let Some(shadow) = shadow {
            shadow.undo(Point::default());
        }
        order.reset();
        live.clear();
        *restarts += 1;
    }

    fn visit(&self, _: Extent, visitor: &mut impl Visitor) {
        let Some(shadow) = &self.shadow else { return };
        for &granule in &self.shared {
            let histories = shadow.histories(granule);
            self.facts(granule, &histories, &mut |number| {
                visitor.number(Owner::Program, "order of accesses", number);
            });
        }
        visitor.number(Owner::Program, "end of accesses", self.shared.len() as u64);
    }

    unsafe fn save(&self, saved: &mut SavedRaces, _: &mut Vec<u8>) {
        saved.order.clone_from(&self.order);
        saved.live.clone_from(&self.live);
        saved.point = self.shadow.as_ref().map(Shadow::point).unwrap_or_default();
        saved.restarts = self.restarts;
    }

    unsafe fn load(&mut self, saved: &SavedRaces, _: &mut &[u8]) {
        self.order.clone_from(&saved.order);
        self.live.clone_from(&saved.live);
        if let Some(shadow) = &mut self.shadow {
            shadow.undo(saved.point);
        }
    }
}
