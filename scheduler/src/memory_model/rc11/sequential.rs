//! The order of sequentially consistent operations: RC11's `psc` has no cycle.
//!
//! It is no order of execution. There are consistent executions with weak operations beside sequentially consistent
//! ones in which the latter take effect in no order that agrees with program order and reads-from. So no view of "all
//! that is sequentially consistent" is kept, but a record of operations, and a choice is judged by the graph with it.
//!
//! The events are the operations on atomics, fences, and other operations that order threads. Plain accesses are none:
//! between two operations on one atomic, a plain access counts in RC11 as an event of another location, by which more
//! is ordered. What is allowed without them is what is allowed where a compiler has moved or removed them.

use super::Clock;
use super::by_location::ByLocation;
use super::psc::Psc;
use crate::memory_model::clocks::entry;
use crate::memory_model::happens_before::AtomicAccess;
use dpor_explorer::keys::KeyMap;
use dpor_explorer::{BitSet, Location};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventKind {
    Load,
    Store,
    Modify,
    Fence,
    /// Of a lock, a thread, or anything else that orders its thread.
    Other,
    /// An access of which it counts only where it was: it [stands between](shorten) others of its thread.
    Past,
}

impl EventKind {
    pub fn of(access: AtomicAccess) -> EventKind {
        match access {
            AtomicAccess::Load(_) => EventKind::Load,
            AtomicAccess::Store(_) => EventKind::Store,
            AtomicAccess::Modify(_) => EventKind::Modify,
        }
    }

    pub fn writes(self) -> bool {
        matches!(self, EventKind::Store | EventKind::Modify)
    }
}

#[derive(PartialEq, Eq, Debug)]
pub(super) struct Event {
    pub thread: u16,
    /// The epoch of the thread: who knows of it knows of the event.
    pub epoch: u32,
    /// What the thread knew, with what it has learnt by the event.
    pub clock: Clock,
    /// The atomic.
    pub at: Option<Location>,
    pub kind: EventKind,
    pub is_sequential: bool,
    /// Whether it is a fence by which later stores publish what its thread knew.
    pub publishes: bool,
    /// The store whose message it has taken: a load has read it, a store comes right after it. `None` if that is not on
    /// record.
    pub source: Option<u32>,
}

/// By a whole slice, as this is done for each saved state.
impl Clone for Event {
    fn clone(&self) -> Self {
        Event {
            clock: Clock::from_slice(&self.clock),
            ..*self
        }
    }
}

impl Event {
    /// An access by a thread, in this epoch, that knows this with what it has learnt by it.
    pub fn of(
        (thread, epoch, clock): (usize, u32, Clock),
        at: Location,
        access: AtomicAccess,
        source: Option<u32>,
    ) -> Event {
        Event {
            thread: thread as u16,
            epoch,
            clock,
            at: Some(at),
            kind: EventKind::of(access),
            is_sequential: access.ordering() == Ordering::SeqCst,
            publishes: false,
            source,
        }
    }
}

impl Event {
    pub fn is_sequential_fence(&self) -> bool {
        self.kind == EventKind::Fence && self.is_sequential
    }

    /// Whether the thread knew the same of the others as at another event of its own.
    fn knows_as_much_as(&self, other: &Event) -> bool {
        let threads = 0..self.clock.len().max(other.clock.len());
        let mut others = threads.filter(|&thread| thread != usize::from(self.thread));
        others.all(|thread| entry(&self.clock, thread) == entry(&other.clock, thread))
    }

    /// Whether it is the same as another event of its thread, but for when it was made.
    fn is_like(&self, other: &Event) -> bool {
        let what = |event: &Event| (event.kind, event.at, event.is_sequential, event.publishes, event.source);
        what(self) == what(other)
    }

    /// The atomic, if it counts what was read or written there.
    pub fn atomic(&self) -> Option<Location> {
        self.at.filter(|_| self.kind != EventKind::Past)
    }

    /// Whether an earlier event happens before it.
    pub fn comes_after(&self, earlier: &Event) -> bool {
        self.knows_of(earlier.thread, earlier.epoch)
    }

    /// Whether an earlier event of this epoch of a thread happens before it.
    pub fn knows_of(&self, thread: u16, epoch: u32) -> bool {
        self.thread == thread || entry(&self.clock, thread.into()) >= epoch
    }
}

/// The operations so far, in the order in which they were made.
#[derive(Default, Debug)]
pub(super) struct Log {
    pub events: Vec<Event>,
    /// The stores to each atomic, in modification order. Whatever was stored before comes before them.
    pub orders: ByLocation<Vec<u32>>,
    /// Whether there is no sequentially consistent fence, now or later. Then `psc` relates nothing but sequentially
    /// consistent accesses. It is the same throughout an execution.
    pub without_fences: bool,
    /// The events after which [`Log::keep_after`] kept the others when it was last called.
    entries: BitSet,
    kept: Kept,
    /// The order of the events, if it was asked for since they last changed.
    psc: RefCell<Option<Rc<Psc>>>,
}

/// The first events, of which it is known that [`Log::keep_after`] has kept them.
#[derive(Default, Debug)]
struct Kept {
    number: usize,
    /// By thread, the first one.
    firsts: SmallVec<[Option<u32>; 8]>,
}

impl Kept {
    /// Becomes a copy, and keeps the storage.
    fn copy_from(&mut self, other: &Self) {
        let Kept { number, firsts } = other;
        self.number = *number;
        self.firsts.clone_from(firsts);
    }

    /// The next event is kept, which is this thread's.
    fn add(&mut self, thread: u16) {
        let thread = usize::from(thread);
        self.firsts.resize(self.firsts.len().max(thread + 1), None);
        self.firsts[thread].get_or_insert(self.number as u32);
        self.number += 1;
    }

    /// The next event is kept, and not because of an earlier one, nor are others because of it.
    fn add_alone(&mut self) {
        self.number += 1;
    }

    /// Forgets all events but the first ones.
    fn truncate(&mut self, len: usize) {
        self.number = self.number.min(len);
        for first in &mut self.firsts {
            first.take_if(|first| *first as usize >= len);
        }
    }
}

impl Log {
    /// Becomes a copy, and keeps the storage.
    pub fn copy_from(&mut self, other: &Self) {
        let Log {
            events,
            orders,
            without_fences,
            entries,
            kept,
            psc: _,
        } = other;
        self.without_fences = *without_fences;
        self.events.clone_from(events);
        self.orders.clone_from(orders);
        self.entries.clone_from(entries);
        self.kept.copy_from(kept);
        // There are many saved states, and the order of a long record is large.
        self.forget_order();
    }

    /// The order of the events.
    pub fn psc(&self) -> Rc<Psc> {
        let mut psc = self.psc.borrow_mut();
        Rc::clone(psc.get_or_insert_with(|| Rc::new(Psc::new(self))))
    }

    /// Forgets the order of the events, which change.
    fn forget_order(&mut self) {
        *self.psc.get_mut() = None;
    }

    /// Maximum number of events.
    const MOST: usize = 4096;
    /// Number of new events up to which a record is not settled.
    const FEW: usize = 8;

    pub fn clear(&mut self) {
        self.events.clear();
        self.orders.clear();
        self.entries.clear();
        self.kept.truncate(0);
        self.forget_order();
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether so much was added since the record was last [settled](Log::settle) that it pays to do so.
    pub fn has_grown(&self) -> bool {
        self.events.len() > self.kept.number + Log::FEW
    }

    /// Whether `psc` may order a new event: it is sequentially consistent, or such a fence happens before it.
    pub fn may_order(&self, event: &Event) -> bool {
        event.is_sequential || self.has_fence_before(event)
    }

    /// Whether a sequentially consistent fence happens before the new event.
    pub fn has_fence_before(&self, event: &Event) -> bool {
        let mut fences = self.events.iter().filter(|event| event.is_sequential_fence());
        !self.without_fences && fences.any(|fence| event.comes_after(fence))
    }

    pub fn is_too_long(&self) -> bool {
        self.events.len() > Log::MOST
    }

    /// The event, of those that the thread has made in its present epoch, that is in no cycle which is not one without
    /// it, once there is this new one: it lies between two that are the same. Reading the same message again and
    /// again, as a thread does that waits, must not make new states.
    ///
    /// While the thread knows nothing new, and nobody knows of its epoch, what comes before one of the three by another
    /// thread's doing comes before the first, and what comes after one comes after the last. A fence by which `psc`
    /// goes from one operation of the thread to another is none of these: it is sequentially consistent.
    pub fn needless(&self, event: &Event) -> Option<u32> {
        let is_fence = event.kind == EventKind::Fence && !event.is_sequential;
        if event.kind != EventKind::Load && !is_fence {
            return None;
        }
        let own = self.events.iter().enumerate().rev();
        let of_epoch = own
            .filter(|(_, other)| other.thread == event.thread)
            .take_while(|(_, other)| other.epoch == event.epoch && other.knows_as_much_as(event));
        let mut same = of_epoch.filter(|(_, other)| other.is_like(event));
        let (last, _) = same.next()?;
        same.next().map(|_| last as u32)
    }

    /// The events, last ones first, of a round of a loop that waits, if the thread that has made the last event has
    /// ended the fourth round that is the same: those of the third. They are in no cycle which is not one without them.
    ///
    /// A round stores nothing, and gives the thread nothing new to know. So what another thread has done comes before an
    /// event of one round as before that of another round, and so does what comes after it by what was read. By locks,
    /// others may have learnt of some rounds: who knows of an event knows of the same one of earlier rounds. What stores
    /// publish later because of a fence of one round they publish because of that of a later one. And all of them come
    /// before what the thread does later. A way through `psc` that comes to an event of the thread and leaves from a
    /// later one asks at most for a fence, or an event of another atomic, between them. So it may as well come in the
    /// first round. If it leaves by what another thread knows, it passes what it asks for in the second round at the
    /// latest: who knows of anything in a later round knows of all of the first two. If it leaves by what the thread does
    /// later, or by what an event was read from, it leaves as well from the last round, for which there are the fences of
    /// the second.
    pub fn needless_round(&self) -> SmallVec<[u32; 8]> {
        /// Maximum number of events of a round.
        const MOST: usize = 32;
        let Some(last) = self.events.last() else {
            return SmallVec::new();
        };
        let own = self.events.iter().enumerate().rev();
        let own = own.filter(|(_, event)| event.thread == last.thread);
        let of_loop = own.take_while(|(_, event)| !event.kind.writes() && event.knows_as_much_as(last));
        let run: SmallVec<[u32; 32]> = of_loop.map(|(number, _)| number as u32).take(4 * MOST).collect();
        let same = |one: u32, other: u32| self.events[one as usize].is_like(&self.events[other as usize]);
        let rounds = (1..=run.len() / 4).find(|&round| (0..3 * round).all(|at| same(run[at], run[at + round])));
        rounds.map(|round| run[round..2 * round].into()).unwrap_or_default()
    }

    /// Removes an event that is no store. The numbers of events after it are less by one from then on, these `elsewhere`
    /// as well.
    pub fn remove<'a>(&mut self, number: u32, elsewhere: impl Iterator<Item = &'a mut u32>) {
        self.forget_order();
        self.events.remove(number as usize);
        let sources = self.events.iter_mut().filter_map(|event| event.source.as_mut());
        let stores = self.orders.values_mut().flatten();
        let lower = |of: &mut u32| *of -= u32::from(*of > number);
        sources.chain(stores).for_each(lower);
        elsewhere.for_each(lower);
        // Entries are stores, and stay. So do the events before, even if it was one because of which they were kept:
        // they are kept because of the later ones like it.
        let renumbered = self.entries.iter().map(|entry| entry - u32::from(entry > number));
        self.entries = renumbered.collect();
        self.kept.truncate(number as usize);
    }

    /// Forgets all events but the `entries`, and those that come after one of them by which ways come in
    /// ([`Log::lets_in`]). Returns the numbers that events have from then on, if that makes a difference.
    ///
    /// The entries are the stores before which a new event can come. A new event comes before nothing else, so that a
    /// cycle through it goes on with an entry. Each event of the cycle comes after that one, and so does each event
    /// between, by which two of them are related: all parts of `psc` lead from an event to one that comes after it by
    /// happens-before, by reads-from, in modification order, or because it overwrites what the first has read. What is
    /// forgotten of the stores to an atomic are the first in modification order. So who has taken one of these, or
    /// comes right after it, is in front of all stores that are left, as with what was there before.
    fn keep_after(&mut self, entries: BitSet) -> Option<Numbers> {
        let keeps_those = self.entries.is_subset(&entries);
        self.entries = entries;
        if keeps_those && self.are_all_kept() {
            return None;
        }
        self.keep_all_after()
    }

    /// [`Log::keep_after`], and [`Log::shorten`] as long as that makes a difference.
    pub fn settle(&mut self, entries: BitSet) -> Option<Numbers> {
        if self.kept.number == self.events.len() && self.entries == entries {
            // It is as it was left.
            return None;
        }
        let mut numbers = self.keep_after(entries);
        while let Some(shortened) = self.shorten() {
            numbers = Some(shortened.after(numbers));
            // What was kept because of what is none any more.
            match self.keep_all_after() {
                Some(kept) => numbers = Some(kept.after(numbers)),
                None => break,
            }
        }
        for number in self.kept.number..self.events.len() {
            match self.is_kept_alone(number as u32) {
                true => self.kept.add_alone(),
                false => self.kept.add(self.events[number].thread),
            }
        }
        numbers
    }

    /// Whether the event is kept for its place in the order of its atomic. Another one by which ways come in may come
    /// before it as well.
    fn is_kept_alone(&self, number: u32) -> bool {
        self.entries.contains(number) && !self.lets_in(number)
    }

    /// Forgets all but the entries and what comes after those by which ways come in.
    fn keep_all_after(&mut self) -> Option<Numbers> {
        let mut kept = self.after(&self.entries_of_ways());
        kept.extend_from(&self.entries);
        (kept.len() < self.events.len()).then(|| self.rebuild(|number, event| kept.contains(number).then_some(event)))
    }

    /// Whether a way of `psc` can lead from a new event to a store before which it comes, and go on: without
    /// sequentially consistent fences, nothing but an edge between two sequentially consistent accesses leads on. Where
    /// another store is in the order of its atomic counts all the same.
    pub fn lets_in(&self, store: u32) -> bool {
        !self.without_fences || self.events[store as usize].is_sequential
    }

    /// The entries by which ways come in.
    fn entries_of_ways(&self) -> BitSet {
        self.entries.iter().filter(|&entry| self.lets_in(entry)).collect()
    }

    /// Becomes what is left of each event. Returns the numbers that stores have from then on.
    fn rebuild(&mut self, mut left: impl FnMut(u32, Event) -> Option<Event>) -> Numbers {
        self.forget_order();
        let events = std::mem::take(&mut self.events);
        let mut numbers = Numbers(vec![None; events.len()]);
        // The number of the first event that is not what it was.
        let mut changed = None;
        for (number, event) in (0u32..).zip(events) {
            let (kind, at) = (event.kind, event.at);
            let left = left(number, event);
            let is_same = left.as_ref().is_some_and(|left| (left.kind, left.at) == (kind, at));
            if !is_same {
                changed = changed.or(Some(number));
            }
            if left.as_ref().is_some_and(|left| left.kind.writes()) {
                numbers.0[number as usize] = Some(self.events.len() as u32);
            }
            self.events.extend(left);
        }
        for (number, event) in (0u32..).zip(&mut self.events) {
            let source = event.source.and_then(|source| numbers.of(source));
            if event.source.is_some() && source.is_none() {
                changed = changed.map_or(Some(number), |changed| Some(changed.min(number)));
            }
            event.source = source;
        }
        self.kept
            .truncate(changed.map_or(usize::MAX, |changed| changed as usize));
        self.orders.retain(|_, order| {
            *order = order.iter().filter_map(|&store| numbers.of(store)).collect();
            !order.is_empty()
        });
        self.entries = self.entries.iter().filter_map(|entry| numbers.of(entry)).collect();
        numbers
    }

    /// Finds out of new events whether they are known to be kept, as long as they are: each that is an entry, or comes
    /// by happens-before after one that is kept, and not alone. Says whether all are. Those before are kept if there are
    /// all their entries.
    fn are_all_kept(&mut self) -> bool {
        while let Some(event) = self.events.get(self.kept.number) {
            let number = self.kept.number as u32;
            let mut firsts = self.kept.firsts.iter().flatten();
            let comes_after = |&first: &u32| event.comes_after(&self.events[first as usize]);
            if self.is_kept_alone(number) {
                self.kept.add_alone();
            } else if self.entries.contains(number) || firsts.any(comes_after) {
                self.kept.add(event.thread);
            } else {
                return false;
            }
        }
        true
    }

    /// The entries, and all events that come after one of them.
    fn after(&self, entries: &BitSet) -> BitSet {
        let position = self.positions();
        let mut after = BitSet::new();
        // By thread, the first event that comes after: all that comes after another one of that thread comes after this
        // one.
        let mut firsts: SmallVec<[Option<usize>; 8]> = SmallVec::new();
        // By atomic, the least position of such an event, and of such a store.
        let mut least: KeyMap<Location, [usize; 2]> = KeyMap::default();
        loop {
            let before = after.len();
            for (number, event) in self.events.iter().enumerate() {
                if after.contains(number as u32) {
                    continue;
                }
                let (writes, position) = (event.kind.writes(), position[number]);
                let happens_after = |&first: &usize| first < number && event.comes_after(&self.events[first]);
                let least = event.atomic().map(|at| least.entry(at).or_insert([usize::MAX; 2]));
                let comes_after = entries.contains(number as u32)
                    || (least.as_ref()).is_some_and(|least| position > least[0] || !writes && position >= least[1])
                    || firsts.iter().flatten().any(happens_after);
                if comes_after {
                    after.insert(number as u32);
                    let thread = usize::from(event.thread);
                    firsts.resize(firsts.len().max(thread + 1), None);
                    firsts[thread] = Some(firsts[thread].map_or(number, |first| first.min(number)));
                    if let Some(least) = least {
                        least[0] = least[0].min(position);
                        if writes {
                            least[1] = least[1].min(position);
                        }
                    }
                }
            }
            // What comes after by what was read or written may have been made before.
            if after.len() == before {
                return after;
            }
        }
    }

    /// Adds an event.
    pub fn add(&mut self, event: Event) -> u32 {
        self.forget_order();
        let number = self.events.len() as u32;
        if event.kind.writes()
            && let Some(at) = event.at
        {
            let order = self.orders.entry(at);
            let source = event.source;
            let before = source.and_then(|source| order.iter().position(|&other| other == source));
            order.insert(before.map_or(0, |before| before + 1), number);
        }
        self.events.push(event);
        number
    }

    /// The last store to the atomic that is on record.
    pub fn last_store(&self, at: Location) -> Option<u32> {
        self.orders.get(at)?.last().copied()
    }

    /// The position of each event in the modification order of its atomic: that of the message that it has read or
    /// written. 0 is what was there before.
    pub fn positions(&self) -> Vec<usize> {
        let mut positions = vec![0; self.events.len()];
        for order in self.orders.values() {
            (1..)
                .zip(order)
                .for_each(|(place, &store)| positions[store as usize] = place);
        }
        for (number, event) in self.events.iter().enumerate().filter(|(_, event)| !event.kind.writes()) {
            positions[number] = event.source.map_or(0, |source| positions[source as usize]);
        }
        positions
    }
}

/// The numbers that stores have after others have been forgotten, by the numbers that they had before.
#[derive(Debug)]
pub(super) struct Numbers(Vec<Option<u32>>);

impl Numbers {
    /// The number that the store has now; `None` if it is not on record any more.
    pub fn of(&self, store: u32) -> Option<u32> {
        self.0[store as usize]
    }

    /// These numbers, if the `earlier` ones are those before.
    fn after(self, earlier: Option<Numbers>) -> Numbers {
        let Some(Numbers(mut numbers)) = earlier else {
            return self;
        };
        numbers
            .iter_mut()
            .for_each(|number| *number = number.and_then(|number| self.of(number)));
        Numbers(numbers)
    }
}

mod shorten;

#[cfg(test)]
mod tests;
