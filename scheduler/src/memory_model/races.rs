//! Data races: two threads access the same byte, one of them writes, at most one of the accesses is atomic, and neither
//! happens before the other. A program with one has undefined behaviour, so the execution ends there.
//!
//! Each plain access is looked at when it is made ([`shadow`](super::shadow)), and none is a scheduling point: whether
//! two accesses are in a race depends on what happens before what, which all executions with the same order of
//! dependent steps have in common. So each of these needs to be run once only, and the first race that any of them
//! comes to is noticed there. Up to that, a plain read has one write that it can read, which is what memory holds.
//!
//! Freed memory is not given out again within an execution, and each byte is looked at when it is accessed first. So an
//! access to freed memory, or beyond the end of a block, is noticed as well.
//!
//! What was accessed before a state, and by whom it is known, decides which later access is in a race. So it is part of
//! the state, where states are compared: of each granule that several threads use, the accesses that some thread does
//! not know of, and who does. It is not known from the start which granules are used by several threads. When one is
//! found, exploration starts again after the execution that has shown it. What the first thread does before it has
//! created another one is known to all, and does not count. All this is left out where weak memory is still to come,
//! which finds all races ([`DataRaces::leaves_out_knowledge`]).
//!
//! Invariant: clock numbers are no part of the state. Two executions with equal states differ in them.

mod destructors;
mod facts;
mod knowledge;

use super::atomics::{self, InBlock};
use super::blocks::{Block, Blocks, SavedBlocks};
use super::exposure;
#[cfg(feature = "faults")]
use super::happens_before::RaceFault;
use super::happens_before::{AtomicAccess, HappensBefore};
use super::holders::Holders;
use super::rc11::{LearntOrderings, Rc11, Request, SavedRc11};
use super::shadow::{Accessor, Conflict, Epoch, Extent, GRANULE, Kind, Point, Shadow, granules};
use crate::image::hash::hash_of;
use crate::image::part::{self, Owner, Part, Visitor};
use crate::image::region;
use destructors::Destructor;
use dpor_explorer::{AccessKind, Asked, BitSet, Location, ThreadId};
use facts::Candidates;
use knowledge::Met;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::{io, ops::Range};

/// An access to memory by which the execution ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BadAccess {
    pub thread: ThreadId,
    pub address: usize,
    pub size: usize,
    pub kind: Kind,
    /// The block of the heap in which it is.
    pub block: Option<usize>,
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
    /// It is on the stack of another thread, where that has returned from the function.
    Returned,
}

impl Fault {
    /// Whether nothing orders the access after another one, or after the allocation of its memory.
    pub fn is_race(self) -> bool {
        matches!(self, Fault::Race(_) | Fault::Unpublished { .. })
    }
}

/// The accesses of the current execution.
#[derive(Default)]
pub(crate) struct DataRaces {
    /// `None` if nobody looks for races.
    shadow: Option<Shadow>,
    /// Whether there is a shadow. Model threads ask for it: what tells the option's variants apart is the capacity of
    /// one of its collections, which depends on what was explored before and would stay in a register
    /// (`api::of_model`).
    is_on: bool,
    /// That of the next executions, in the one that asks for it.
    next_shadow: Option<Shadow>,
    /// Whether of plain accesses only those to cells are told (`api::cells`).
    of_cells: bool,
    /// Whether accesses of threads to their own stacks are left out, unless these are exposed ([`exposure`]).
    leaves_out_private: bool,
    /// The threads whose stacks are exposed.
    exposed: BitSet,
    /// Those whose stacks are to be exposed, for which exploration has to start again.
    to_expose: BitSet,
    order: HappensBefore,
    /// What operations on atomics may find.
    rc11: Rc11,
    blocks: Blocks,
    /// The threads that may still move, in ascending order.
    live: Vec<u16>,
    /// What was known in states.
    met: Met,
    /// Who knows of what, in the state that was looked at last.
    holders: Holders,
    /// Where to look for what is known in the present one.
    candidates: RefCell<Candidates>,
    /// The granules that several threads use, as was known when exploration started.
    shared: BTreeSet<usize>,
    /// Those that were found since.
    news: BTreeSet<usize>,
    /// Number of executions since exploration started.
    executions: u64,
    /// The number of executions after which it starts again, if there are news.
    until: u64,
    /// Whether what threads know of each other's accesses is left out of states, because weak memory follows.
    leaves_out_knowledge: bool,
    /// The destructors that the running thread is in, and another thread could have run.
    destructors: Vec<Destructor>,
}

/// What exploration has learnt about the use of memory.
#[derive(Clone, Default, Debug)]
pub(crate) struct LearntRaces {
    /// The granules that several threads use.
    shared: Vec<u64>,
    /// Those that were found since exploration started, for which it has to start again.
    news: Vec<u64>,
    /// Who has used which granule (`Shadow::all_uses`).
    uses: Vec<(u64, u64)>,
    /// The threads whose stacks are exposed.
    exposed: BitSet,
    /// Those whose stacks are to be exposed, for which it has to start again.
    to_expose: BitSet,
    /// Whether what threads know of each other's accesses is left out of states.
    leaves_out_knowledge: bool,
    /// Whether operations would have chosen from more values than they could.
    has_more_values: bool,
}

dpor_explorer::codec!(struct LearntRaces {
    shared,
    news,
    uses,
    exposed,
    to_expose,
    leaves_out_knowledge,
    has_more_values
});

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
        self.is_on = true;
        Ok(())
    }

    /// Looks for races from the next execution on, if nobody does so now. The present one goes on without.
    ///
    /// # Errors
    /// There is no room for shadow memory.
    pub fn switch_on_later(&mut self) -> io::Result<()> {
        if !self.is_on() && self.next_shadow.is_none() {
            self.next_shadow = Some(Shadow::new()?);
        }
        Ok(())
    }

    /// Takes it that of plain accesses only those to cells are told: neither who initialises memory, nor what orders
    /// the last use of a block before its end. What blocks and atomics are used for is not judged then.
    pub fn expect_cells_only(&mut self) {
        self.of_cells = true;
    }

    /// Whether of plain accesses only those to cells are told.
    pub fn are_of_cells(&self) -> bool {
        self.of_cells
    }

    /// Leaves out, from the next execution on, accesses of threads to their own stacks unless these are exposed, or
    /// records all of them.
    pub fn leave_out_private(&mut self, leaves_out: bool) {
        self.leaves_out_private = leaves_out;
        exposure::forget();
        exposure::expose(&self.exposed);
    }

    /// Whether a plain access to the address is left out.
    #[inline]
    fn is_left_out(&self, thread: ThreadId, address: usize) -> bool {
        self.leaves_out_private
            && region::in_stacks(address)
            && region::stack_thread(address) == thread.index()
            && self.destructors.is_empty()
            && !self.exposed.contains(thread.0)
    }

    /// An access to these bytes on the stack of another thread, where that has returned from the function.
    pub fn returned(&mut self, thread: ThreadId, (address, size): (usize, usize), kind: Kind) -> BadAccess {
        self.expose(thread, address);
        BadAccess {
            thread,
            address,
            size,
            kind,
            block: None,
            fault: Fault::Returned,
        }
    }

    /// Notes that a stack is to be exposed, if the address is on that of another thread. Until exploration starts
    /// again, nothing changes: the same steps do the same.
    #[inline]
    fn expose(&mut self, thread: ThreadId, address: usize) {
        #[cfg(feature = "faults")]
        if self.order.fault == Some(RaceFault::KeepPrivate) {
            return;
        }
        if !region::in_stacks(address) {
            return;
        }
        let owner = region::stack_thread(address) as u32;
        if owner != thread.0 && !self.exposed.contains(owner) {
            self.to_expose.insert(owner);
        }
    }

    /// Whether all accesses are to be told depends on whether a destructor is watched.
    fn set_recording(&self) {
        exposure::record_all(!self.leaves_out_private || !self.destructors.is_empty());
    }

    /// Makes the search faulty.
    #[cfg(feature = "faults")]
    pub fn fault(&mut self, fault: RaceFault) {
        self.order.fault = Some(fault);
    }

    /// Whether races are looked for.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// What all executions have shown.
    pub fn learnt(&self) -> LearntRaces {
        LearntRaces {
            shared: self.shared.iter().map(|&granule| granule as u64).collect(),
            uses: self.shadow.as_ref().map(Shadow::all_uses).unwrap_or_default(),
            news: self.news.iter().map(|&granule| granule as u64).collect(),
            exposed: self.exposed.clone(),
            to_expose: self.to_expose.clone(),
            leaves_out_knowledge: self.leaves_out_knowledge,
            has_more_values: self.rc11.has_more(),
        }
    }

    /// Goes on with what the executions of another process have shown.
    pub fn go_on_from(&mut self, learnt: &LearntRaces) {
        self.rc11.go_on(learnt.has_more_values);
        let Some(shadow) = &mut self.shadow else { return };
        shadow.add_uses(&learnt.uses);
        let granules = |all: &[u64]| all.iter().map(|&granule| granule as usize).collect();
        (self.shared, self.news) = (granules(&learnt.shared), granules(&learnt.news));
        self.exposed.extend_from(&learnt.exposed);
        self.to_expose.extend_from(&learnt.to_expose);
        exposure::expose(&learnt.exposed);
        self.leaves_out_knowledge = learnt.leaves_out_knowledge;
        self.follow_shared();
    }

    /// Has the accesses to granules that several threads use be part of the state.
    fn follow_shared(&mut self) {
        if let Some(shadow) = &mut self.shadow {
            shadow.follow(self.shared.iter().copied());
        }
    }

    /// The first thread begins. Under `weak` memory, `learnt` is what is known of the orderings, and `most` the
    /// number of values from which operations choose, if not from all.
    pub fn begins(&mut self, weak: bool, learnt: LearntOrderings, most: Option<NonZeroU32>) {
        self.live.push(0);
        self.rc11.begins(weak, learnt, most);
    }

    /// Whether happens-before is followed.
    #[inline]
    pub fn follows_order(&self) -> bool {
        self.is_on() || self.rc11.is_on
    }

    /// A thread has created another one.
    pub fn spawned(&mut self, parent: ThreadId, child: ThreadId) {
        if self.follows_order() {
            self.passes(parent);
            self.order.spawned(parent.index(), child.index());
            self.passes(child);
            if let Err(at) = self.live.binary_search(&index(child)) {
                self.live.insert(at, index(child));
            }
        }
    }

    /// The thread has ended.
    pub fn ended(&mut self, thread: ThreadId) {
        self.live.retain(|&live| live != index(thread));
        self.order.ended(thread);
    }

    /// The operation of a thread orders it as its access to the location says: what changes a location publishes there,
    /// and what looks at one comes after what was published.
    pub fn order(&mut self, thread: ThreadId, location: Location, kind: AccessKind) {
        if self.follows_order() {
            if kind != AccessKind::Update {
                self.order.acquire(thread.index(), location);
            }
            self.passes(thread);
            if kind != AccessKind::Read {
                self.order.release(thread.index(), location);
            }
        }
    }

    /// The thread comes after all that was published at the location.
    pub fn acquire(&mut self, thread: ThreadId, location: Location) {
        if self.follows_order() {
            self.order.acquire(thread.index(), location);
            self.passes(thread);
        }
    }

    /// The thread publishes what it knows at the location.
    pub fn release(&mut self, thread: ThreadId, location: Location) {
        if self.follows_order() {
            self.passes(thread);
            self.order.release(thread.index(), location);
        }
    }

    /// Notes for the order of sequentially consistent operations that a thread makes one that is none of an atomic's.
    fn passes(&mut self, thread: ThreadId) {
        self.rc11.passes(&mut self.order, thread.index(), None);
    }

    /// Nobody will look at the location any more.
    pub fn settle(&mut self, location: Location) {
        if self.follows_order() {
            self.order.settle(location);
        }
    }

    /// The thread has dropped the last share of the object with this location: what was published there happens before
    /// its destructor.
    pub fn lend(&mut self, thread: ThreadId, location: Location) {
        if self.follows_order() {
            self.order.lend(thread.index(), location);
            self.passes(thread);
        }
    }

    /// The destructor is over, and the object's memory is freed.
    pub fn give_back(&mut self, thread: ThreadId) {
        if self.follows_order() {
            self.order.give_back(thread.index());
        }
    }

    fn blocks_at(&self, address: usize) -> Option<(Block, usize, bool)> {
        region::in_arena(address).then(|| self.blocks.before(address)).flatten()
    }

    /// The block of the heap by which an atomic at this address is known.
    pub fn block_of_atomic(&self, address: usize) -> Option<InBlock> {
        self.blocks_at(address).map(|(block, size, _)| InBlock {
            start: block.start as u64,
            size: size as u64,
        })
    }

    /// Says whether these bytes are in no live block of the heap any more.
    pub fn are_gone(&self, address: usize, size: usize) -> bool {
        self.blocks_at(address)
            .is_some_and(|(block, holds, live)| !live || address + size > block.start + holds)
    }

    /// Whether states are taken for equal in which threads know different things of each other's accesses. Of two of
    /// them, the one that is not explored further may be the one after which there is a race.
    pub fn leaves_out_knowledge(&self) -> bool {
        self.leaves_out_knowledge
    }

    /// Says whether exploration starts again: because something is to be exposed, or because of the granules that
    /// several threads use, if states are `comparing`. Of these it does not do so at the first one that is found, as
    /// there are more to find: it goes on for as long as it took so far.
    ///
    /// If weak memory `follows`, which finds all races, what threads know of each other's accesses is left out of
    /// states once there are many, and exploration starts again for that.
    pub fn starts_again(&mut self, asked: Asked, comparing: bool, follows: bool) -> bool {
        /// Number of executions from which on there are many states, but few to explore again.
        const MANY: u64 = 64;
        let exposes = !self.to_expose.is_empty();
        let matters = comparing && !self.leaves_out_knowledge;
        let news = matters && !self.news.is_empty();
        let again = match asked {
            Asked::Between => {
                self.executions += 1;
                if news && self.until == 0 {
                    self.until = 2 * self.executions;
                }
                let leaves_out = matters && follows && (MANY..2 * MANY).contains(&self.executions);
                self.leaves_out_knowledge |= leaves_out;
                exposes || leaves_out || news && self.executions >= self.until
            }
            // The accesses that were left out before could be what the execution fails by.
            Asked::BeforeFailure => exposes,
            Asked::Ahead | Asked::AtTheEnd { .. } => exposes || news,
        };
        if again {
            self.start_again();
        }
        again
    }

    /// Exploration starts again, for whatever reason.
    pub fn start_again(&mut self) {
        self.shared.append(&mut self.news);
        self.follow_shared();
        let exposed = std::mem::take(&mut self.to_expose);
        exposure::expose(&exposed);
        self.exposed.extend_from(&exposed);
        (self.executions, self.until) = (0, 0);
    }

    /// Exploration starts again, with the values of atomics from which operations chose.
    pub fn start_again_with_values(&mut self) {
        self.rc11.start_again();
    }

    /// [`Rc11::has_more`].
    pub fn have_more_values(&self) -> bool {
        self.rc11.has_more()
    }

    /// Weak memory follows no longer: exploration starts again with it.
    pub fn turn_to_weak_memory(&mut self) {
        self.leaves_out_knowledge = false;
        self.start_again();
    }

    /// The thread makes a fence.
    pub fn fence(&mut self, thread: ThreadId, order: Ordering) {
        if self.follows_order() {
            let (thread, beside_others) = (thread.index(), self.beside_others());
            self.order.fence_acquires(thread, order);
            if beside_others {
                self.rc11.passes(&mut self.order, thread, Some(order));
            }
            self.order.fence_releases(thread, order);
        }
    }

    /// Says whether the thread's access to an atomic changes what happens before what follows, although it may leave
    /// the value as it was.
    pub fn publishes(&mut self, thread: ThreadId, access: AtomicAccess) -> bool {
        self.follows_order() && self.order.publishes(thread.index(), access)
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
        if !self.follows_order() {
            return Ok(());
        }
        let published = atomics::sized(at, size);
        self.order.loaded(thread.index(), published, access);
        if !self.of_cells {
            self.access(thread, at.0 as usize, size, access.into())?;
        }
        self.order.stored(thread.index(), published, access);
        Ok(())
    }

    /// A hash of the values from which operations on atomics choose: of the last ones only, or of all with what is
    /// known of them. 0 if there is no choice. Once it is [foreseen](DataRaces::foresee) what threads that wait will know.
    pub fn values(&mut self, last_only: bool) -> u128 {
        self.settle_atomics();
        if !self.are_choosing() || !self.rc11.has_choices() {
            return 0;
        }
        let mut words = Vec::new();
        if last_only {
            words.extend(self.rc11.last_values());
        } else {
            let known = self.knowledge(&mut Vec::new());
            words.extend([known as u64, (known >> 64) as u64]);
            self.rc11.visit(|_, word| words.push(word));
        }
        hash_of(&words)
    }

    /// Whether operations on atomics choose what they find. Not while there was but one thread.
    pub fn are_choosing(&self) -> bool {
        self.rc11.chooses() && self.beside_others()
    }

    /// The alternatives of a thread's pending operation on an atomic.
    pub fn choices(&self, thread: ThreadId, request: &Request) -> BitSet {
        self.rc11.choices(&self.order, thread.index(), request)
    }

    /// A thread's operation on an atomic goes on by this choice: memory holds what it finds.
    pub fn place(&mut self, request: &Request, chosen: u32) {
        self.settle_atomics();
        self.rc11.place(&mut self.order, request, chosen);
    }

    /// The same for an atomic that only this thread uses, of which it finds the last message.
    pub fn place_last(&mut self, request: &Request) {
        self.rc11.place(&mut self.order, request, 0);
    }

    /// The thread has made this access to the atomic by this choice, in this step; memory holds what it has left there.
    /// From then on it holds the last value.
    ///
    /// # Errors
    /// The access is in a race, or outside of live blocks.
    pub fn choose(
        &mut self,
        thread: ThreadId,
        (request, chosen): (&Request, u32),
        access: AtomicAccess,
        step: u32,
    ) -> Result<(), BadAccess> {
        self.rc11
            .loaded(&mut self.order, thread.index(), request, chosen, access);
        if !self.of_cells {
            self.access(thread, request.address, request.size.into(), access.into())?;
        }
        self.rc11
            .stored(&mut self.order, thread.index(), request, chosen, access, step);
        Ok(())
    }

    /// The step that has stored what is taken by this choice, and the thread of the next later store.
    pub fn source(&self, request: &Request, chosen: u32) -> (Option<u32>, Option<u16>) {
        self.rc11.source(request, chosen)
    }

    /// Whether read-modify-writes of others keep the thread from writing by this operation after a store that it could
    /// take otherwise.
    pub fn is_excluded(&self, thread: ThreadId, request: &Request) -> bool {
        self.rc11.is_excluded(&self.order, thread.index(), request)
    }

    /// The step that has stored what the pending operation would take by this choice, if that is not known to all
    /// threads.
    pub fn store_taken(&self, request: &Request, chosen: u32) -> Option<u32> {
        self.rc11.store_taken(request, chosen)
    }

    /// The thread will release at the location, and who waits there for ends comes after that.
    pub fn will_end_at(&mut self, thread: ThreadId, location: Location) {
        if self.follows_order() {
            self.order.will_end_at(thread, location);
        }
    }

    /// The thread is about to release at the location at which it [ends](Self::will_end_at).
    pub fn leaves(&mut self, thread: ThreadId, location: Location) {
        self.order.leaves(thread, location);
    }

    /// Whether a thread that has waited at the location for others to end knows what was published there.
    pub fn has_waited(&self, thread: ThreadId, location: Location) -> bool {
        self.order.has_waited(thread.index(), location)
    }

    /// Notes which threads wait for others to end, and where the others publish what they know. Comes before a look at
    /// the state, and before [`place`](Self::place).
    pub fn foresee(&mut self, waiting: impl Iterator<Item = (ThreadId, Location)>) {
        if self.follows_order() {
            self.order.foresee(waiting);
        }
    }

    /// Forgets what no live thread can find any more.
    pub fn settle_atomics(&mut self) {
        if self.rc11.chooses() {
            self.rc11.settle(&self.order, &self.live);
        }
    }

    /// Whether an atomic overlaps another one of which older values may be found.
    pub fn overlaps_another(&self, request: &Request) -> bool {
        self.rc11.overlaps_another(request)
    }

    /// Says whether the thread's operation on an atomic that overlaps another one, which has made this access, can be
    /// modelled: accesses of different sizes race if nothing orders them, but where nobody looks for that.
    pub fn passes_overlapping(&mut self, thread: ThreadId, request: &Request, access: AtomicAccess) -> bool {
        let (thread, writes) = (thread.index(), access.writes());
        self.is_on() && !self.of_cells && self.rc11.passes_overlapping(&self.order, thread, request, writes)
    }

    /// Whether more operations are on record than can be judged.
    pub fn are_too_many(&self) -> bool {
        self.rc11.is_too_long()
    }

    /// Whether another thread may do something that is not ordered after what a thread does now.
    pub fn beside_others(&self) -> bool {
        self.order.views.len() > 1
    }

    /// The thread accesses memory of the program.
    ///
    /// # Errors
    /// The access is in a race, or outside of live blocks.
    pub fn access(&mut self, thread: ThreadId, address: usize, size: usize, kind: Kind) -> Result<(), BadAccess> {
        let bad = |block: Option<usize>, fault| BadAccess {
            thread,
            address,
            size,
            kind,
            block,
            fault,
        };
        if self.shadow.is_none() {
            return Ok(());
        }
        let is_plain = matches!(kind, Kind::Read | Kind::Write);
        if is_plain && self.is_left_out(thread, address) {
            return Ok(());
        }
        self.destructor_uses(address);
        self.expose(thread, address);
        let own = self.epoch(thread);
        let accessor = Accessor {
            epoch: own,
            order: &self.order,
            extent: Extent {
                start: address as u32,
                size: size as u32,
            },
            beside_others: self.beside_others(),
        };
        let (mut was_atomic, end) = (false, address + size);
        #[cfg(feature = "faults")]
        let is_plain = is_plain && self.order.fault != Some(RaceFault::ForgetReads);
        // The block, once it is known that all is in it, and allocated before the access.
        let mut block: Option<Block> = None;
        let in_arena = region::in_arena(address);
        let mut at = address;
        while let Some(shadow) = &mut self.shadow {
            if is_plain {
                let expects_fresh =
                    !in_arena || kind.writes() && block.is_some_and(|block| block.allocated.thread == own.thread);
                at = shadow.note_plain(at..end, kind, &accessor, expects_fresh);
            }
            let Some((_, mask)) = granules(at..end).next() else {
                break;
            };
            #[cfg(feature = "faults")]
            let before = shadow.point();
            let noted = shadow.access(at, mask, kind, &accessor).map_err(|conflict| {
                let block = self.blocks_at(conflict.address);
                bad(block.map(|(block, ..)| block.start), self.judge(conflict))
            })?;
            #[cfg(feature = "faults")]
            if self.order.fault == Some(RaceFault::ForgetReads)
                && kind == Kind::Read
                && let Some(shadow) = &mut self.shadow
            {
                shadow.undo(before);
            }
            let mut is_shared = noted.is_shared;
            if noted.fresh != 0 && in_arena {
                let block = match block {
                    Some(block) => block,
                    None => *block.insert(self.block_of(own, address, end).map_err(|fault| bad(None, fault))?),
                };
                let Some(shadow) = &mut self.shadow else { break };
                if block.beside_others {
                    is_shared |= shadow.uses(at, block.allocated.thread, true);
                }
                if !matches!(kind, Kind::Write | Kind::Free) {
                    shadow.were_written(at, noted.fresh, block.allocated);
                }
            }
            if is_shared {
                let granule = at & !(GRANULE - 1);
                if !self.shared.contains(&granule) {
                    self.news.insert(granule);
                }
            }
            was_atomic |= noted.was_atomic;
            at = (at / GRANULE + 1) * GRANULE;
        }
        if was_atomic {
            self.forget(address..end);
        }
        Ok(())
    }

    /// The present epoch of the thread.
    #[inline]
    fn epoch(&mut self, thread: ThreadId) -> Epoch {
        Epoch {
            thread: index(thread),
            number: self.order.epoch(thread.index()),
        }
    }

    /// Like [`DataRaces::access`], for an access that no later one is in a race with.
    ///
    /// # Errors
    /// As there.
    pub fn try_access(&mut self, thread: ThreadId, address: usize, size: usize, kind: Kind) -> Result<(), BadAccess> {
        let before = self.shadow.as_ref().map(Shadow::point);
        let judged = self.access(thread, address, size, kind);
        if let (Some(shadow), Some(before)) = (&mut self.shadow, before) {
            shadow.undo(before);
        }
        judged
    }

    /// What it means that an access conflicts with this earlier one.
    fn judge(&self, conflict: Conflict) -> Fault {
        match (conflict.kind, self.blocks_at(conflict.address)) {
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
        self.rc11.forget(range.clone());
        self.order.forget(range);
    }

    /// The thread has allocated a block.
    pub fn allocate(&mut self, thread: ThreadId, start: usize) {
        if !self.is_on() {
            return;
        }
        let block = Block {
            start,
            allocated: self.epoch(thread),
            beside_others: self.beside_others(),
        };
        self.blocks.add(block);
        if let Some(shadow) = &mut self.shadow {
            shadow.mark();
        }
    }

    /// The thread gives back memory at the end of a block.
    ///
    /// # Errors
    /// It is in use without an order.
    pub fn shrink(&mut self, thread: ThreadId, start: usize, size: usize) -> Result<(), BadAccess> {
        if !self.of_cells {
            self.access(thread, start, size, Kind::Write)?;
        }
        self.forget_accesses(start, size);
        Ok(())
    }

    /// Forgets the accesses to some memory: whatever uses it later comes after them.
    pub fn forget_accesses(&mut self, start: usize, size: usize) {
        let Some(shadow) = &mut self.shadow else { return };
        for (at, mask) in granules(start..start + size) {
            if shadow.was_accessed(at) {
                shadow.forget(at, mask);
            }
        }
    }

    /// The thread frees a block.
    ///
    /// # Errors
    /// The block is in use without an order.
    pub fn free(&mut self, thread: ThreadId, block: usize, size: usize) -> Result<(), BadAccess> {
        if self.of_cells {
            self.forget_accesses(block, size);
            self.forget(block..block + size);
            return Ok(());
        }
        let whole = |bad| BadAccess {
            address: block,
            size,
            ..bad
        };
        let own = self.epoch(thread);
        let beside_others = self.beside_others();
        let is_own = |(block, _, _): (Block, usize, bool)| block.allocated.thread == own.thread;
        let expects_fresh = self.blocks.before(block).is_some_and(is_own);
        let (mut at, end) = (block, block + size);
        while at < end {
            let next = (at + GRANULE).min(end);
            // Whoever accesses what was not accessed before is told by the block that it is freed.
            if at == block || self.shadow.as_ref().is_some_and(|shadow| shadow.was_accessed(at)) {
                self.access(thread, at, next - at, Kind::Free).map_err(whole)?;
            }
            at = next;
            if let Some(shadow) = &mut self.shadow {
                let accessor = Accessor {
                    epoch: own,
                    order: &self.order,
                    extent: Extent::NONE,
                    beside_others,
                };
                at = shadow.note_plain(at..end, Kind::Free, &accessor, expects_fresh);
            }
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
}

/// What is kept in a saved state.
#[derive(Default)]
pub(crate) struct SavedRaces {
    order: HappensBefore,
    rc11: SavedRc11,
    blocks: SavedBlocks,
    live: Vec<u16>,
    destructors: Vec<Destructor>,
    candidates: Candidates,
    point: Point,
}

impl Part for DataRaces {
    type Saved = SavedRaces;

    unsafe fn reset(&mut self) {
        let DataRaces {
            shadow,
            is_on,
            next_shadow,
            order,
            rc11,
            blocks,
            live,
            // They are of all executions.
            of_cells: _,
            leaves_out_private: _,
            exposed: _,
            to_expose: _,
            met: _,
            holders: _,
            candidates,
            shared,
            news: _,
            executions: _,
            until: _,
            leaves_out_knowledge: _,
            destructors,
        } = self;
        if let Some(shadow) = shadow {
            shadow.undo(Point::default());
        }
        if next_shadow.is_some() {
            *shadow = next_shadow.take();
            *is_on = true;
            if let Some(shadow) = shadow {
                shadow.follow(shared.iter().copied());
            }
        }
        order.reset();
        rc11.reset();
        blocks.reset();
        live.clear();
        destructors.clear();
        candidates.get_mut().reset();
        self.set_recording();
    }

    fn visit(&self, extent: part::Extent, visitor: &mut impl Visitor) {
        if !self.follows_order() {
            return;
        }
        #[cfg(feature = "faults")]
        if self.order.fault == Some(RaceFault::IgnoreInStates) {
            return;
        }
        if self.rc11.chooses() {
            self.rc11
                .visit(|name, number| visitor.number(Owner::Program, name, number));
        }
        if extent.knowledge {
            self.visit_knowledge(|name, number| visitor.number(Owner::Program, name, number));
        }
        // Whether a thread's relaxed store publishes something makes it another access (`publishes`).
        let releasing = self.live.iter().copied().filter(|&live| self.has_released(live));
        part::list("release fences", releasing.map(u64::from), &mut |name, number| {
            visitor.number(Owner::Program, name, number);
        });
        visitor.number(Owner::Program, "memory of several threads", self.shared.len() as u64);
    }

    unsafe fn save(&self, saved: &mut SavedRaces, _: &mut Vec<u8>) {
        if !self.follows_order() {
            return;
        }
        saved.order.copy_from(&self.order);
        self.rc11.save(&mut saved.rc11);
        self.blocks.save(&mut saved.blocks);
        saved.live.clone_from(&self.live);
        saved.destructors.clone_from(&self.destructors);
        saved.candidates.copy_from(&self.candidates.borrow());
        saved.point = self.shadow.as_ref().map(Shadow::point).unwrap_or_default();
    }

    unsafe fn load(&mut self, saved: &SavedRaces, _: &mut &[u8]) {
        if !self.follows_order() {
            return;
        }
        self.order.copy_from(&saved.order);
        self.rc11.load(&saved.rc11);
        self.blocks.load(&saved.blocks);
        self.live.clone_from(&saved.live);
        self.destructors.clone_from(&saved.destructors);
        self.candidates.get_mut().copy_from(&saved.candidates);
        self.set_recording();
        if let Some(shadow) = &mut self.shadow {
            shadow.undo(saved.point);
        }
    }
}

#[cfg(test)]
mod tests;
