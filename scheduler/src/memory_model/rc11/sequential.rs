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
use crate::memory_model::clocks::entry;
use crate::memory_model::happens_before::AtomicAccess;
use dpor_explorer::keys::KeyMap;
use dpor_explorer::{BitSet, Location};
use smallvec::SmallVec;
use std::collections::BTreeMap;
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
}

impl EventKind {
    pub fn of(access: AtomicAccess) -> EventKind {
        match access {
            AtomicAccess::Load(_) => EventKind::Load,
            AtomicAccess::Store(_) => EventKind::Store,
            AtomicAccess::Modify(_) => EventKind::Modify,
        }
    }

    fn writes(self) -> bool {
        matches!(self, EventKind::Store | EventKind::Modify)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
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
    fn is_sequential_fence(&self) -> bool {
        self.kind == EventKind::Fence && self.is_sequential
    }

    /// Whether it is none by which others may learn of it by now.
    fn only_looks(&self) -> bool {
        matches!(self.kind, EventKind::Load | EventKind::Fence)
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

    /// Whether an earlier event happens before it.
    fn comes_after(&self, earlier: &Event) -> bool {
        self.thread == earlier.thread || entry(&self.clock, earlier.thread.into()) >= earlier.epoch
    }
}

/// The operations so far, in the order in which they were made.
#[derive(Clone, Default, Debug)]
pub(super) struct Log {
    pub events: Vec<Event>,
    /// The stores to each atomic, in modification order. Whatever was stored before comes before them.
    pub orders: BTreeMap<Location, Vec<u32>>,
}

impl Log {
    /// Maximum number of events.
    const MOST: usize = 4096;

    pub fn clear(&mut self) {
        self.events.clear();
        self.orders.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
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
    /// ended the fourth round that is the same. They are in no cycle which is not one without them.
    ///
    /// A round has loads and fences only, and gives the thread nothing new to know. So nobody knows of any of these
    /// events yet, and what stores publish later because of a fence of one round they publish because of that of a
    /// later one. What another thread has done comes before an event of one round as before that of another round, and
    /// so does what comes after it by what was read; and all of them come before what the thread does later. A way
    /// through `psc` that comes to an event of the thread and leaves from a later one asks at most for a fence between
    /// them. If it comes in the first of three rounds, passes the fence in the second, and leaves in the third, it has
    /// all that it could have in more.
    pub fn needless_round(&self) -> SmallVec<[u32; 8]> {
        /// Maximum number of events of a round.
        const MOST: usize = 32;
        let Some(last) = self.events.last() else {
            return SmallVec::new();
        };
        let own = self.events.iter().enumerate().rev();
        let own = own.filter(|(_, event)| event.thread == last.thread);
        let of_loop = own.take_while(|(_, event)| event.only_looks() && event.knows_as_much_as(last));
        let run: SmallVec<[u32; 32]> = of_loop.map(|(number, _)| number as u32).take(4 * MOST).collect();
        let same = |one: u32, other: u32| self.events[one as usize].is_like(&self.events[other as usize]);
        let rounds = (1..=run.len() / 4).find(|&round| (0..3 * round).all(|at| same(run[at], run[at + round])));
        rounds.map(|round| run[2 * round..3 * round].into()).unwrap_or_default()
    }

    /// Removes a load, or a fence. The numbers of events after it are less by one from then on, these `elsewhere` as
    /// well.
    pub fn remove<'a>(&mut self, number: u32, elsewhere: impl Iterator<Item = &'a mut u32>) {
        self.events.remove(number as usize);
        let sources = self.events.iter_mut().filter_map(|event| event.source.as_mut());
        let stores = self.orders.values_mut().flatten();
        let lower = |of: &mut u32| *of -= u32::from(*of > number);
        sources.chain(stores).for_each(lower);
        elsewhere.for_each(lower);
    }

    /// Forgets all events but the `entries`, and those that come after one of them. Returns the numbers that events
    /// have from then on, if that makes a difference.
    ///
    /// The entries are the stores before which a new event can come. A new event comes before nothing else, so that a
    /// cycle through it goes on with an entry. Each event of the cycle comes after that one, and so does each event
    /// between, by which two of them are related: all parts of `psc` lead from an event to one that comes after it by
    /// happens-before, by reads-from, in modification order, or because it overwrites what the first has read. What is
    /// forgotten of the stores to an atomic are the first in modification order. So who has taken one of these, or
    /// comes right after it, is in front of all stores that are left, as with what was there before.
    pub fn keep_after(&mut self, entries: &BitSet) -> Option<Vec<Option<u32>>> {
        let kept = self.after(entries);
        let mut count = 0..;
        let number = |event| kept.contains(event).then(|| count.next()).flatten();
        let numbers: Vec<Option<u32>> = (0..self.events.len() as u32).map(number).collect();
        if numbers.iter().all(Option::is_some) {
            return None;
        }
        let mut keeps = numbers.iter().map(Option::is_some);
        self.events.retain(|_| keeps.next().unwrap_or_default());
        for event in &mut self.events {
            event.source = event.source.and_then(|source| numbers[source as usize]);
        }
        self.orders.retain(|_, order| {
            *order = order.iter().filter_map(|&store| numbers[store as usize]).collect();
            !order.is_empty()
        });
        Some(numbers)
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
                let least = event.at.map(|at| least.entry(at).or_insert([usize::MAX; 2]));
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
        let number = self.events.len() as u32;
        if event.kind.writes()
            && let Some(at) = event.at
        {
            let order = self.orders.entry(at).or_default();
            let source = event.source;
            let before = source.and_then(|source| order.iter().position(|&other| other == source));
            order.insert(before.map_or(0, |before| before + 1), number);
        }
        self.events.push(event);
        number
    }

    /// The last store to the atomic that is on record.
    pub fn last_store(&self, at: Location) -> Option<u32> {
        self.orders.get(&at)?.last().copied()
    }

    /// A name for each event that does not depend on the order in which threads have moved: its thread, and how many of
    /// its events come before.
    pub fn names(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = Vec::new();
        let mut next = |thread: u16| {
            let thread = usize::from(thread);
            if counts.len() <= thread {
                counts.resize(thread + 1, 0);
            }
            counts[thread] += 1;
            counts[thread]
        };
        let name = |event: &Event| u64::from(event.thread) << 32 | next(event.thread);
        self.events.iter().map(name).collect()
    }

    /// The position of each event in the modification order of its atomic: that of the message that it has read or
    /// written. 0 is what was there before.
    fn positions(&self) -> Vec<usize> {
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

/// How far a way has come along an edge of RC11's `psc`:
///
/// ```text
/// scb = sb ∪ sb≠loc;hb;sb≠loc ∪ hb=loc ∪ mo ∪ rb
/// psc = ([Esc] ∪ [Fsc];hb?) ; scb ; ([Esc] ∪ hb?;[Fsc])  ∪  [Fsc] ; (hb ∪ hb;eco;hb) ; [Fsc]
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// At a sequentially consistent event, where the edge begins.
    Start,
    /// After a fence and `hb`.
    Before,
    /// After `scb`.
    End,
    /// After a fence and `hb;eco`.
    AfterEco,
}

/// Where an event is among others.
#[derive(Clone, Copy, Default)]
struct Node {
    /// The number of events of its thread that come before it.
    rank: u32,
    /// The rank of the first later event of its thread that is not of the same atomic, or the number of all of them.
    elsewhere: u32,
    /// The number of its atomic, and its place in the order of `Psc::key` there; of no meaning for others.
    atomic: u32,
    place: u32,
}

/// RC11's `psc` of a record, to judge new events.
///
/// What comes after an event by happens-before or by program order are, of each thread, all events from some place on,
/// and what comes after it by what was read or written of its atomic are the events from some place on in an order of
/// these. So a search keeps the first place of each list that it has come to, and looks at each event a few times only.
pub(super) struct Psc<'a> {
    log: &'a Log,
    nodes: Vec<Node>,
    /// The events of each thread.
    threads: SmallVec<[Vec<u32>; 8]>,
    /// The sequentially consistent fences of each thread.
    fences: SmallVec<[Vec<u32>; 8]>,
    /// The atomics' numbers.
    atomics: KeyMap<Location, u32>,
    /// The events of each atomic by `key`.
    orders: Vec<Vec<u32>>,
    /// The keys in these orders.
    keys: Vec<Vec<u32>>,
    /// The events of each atomic by thread, each thread that has some with the number of the list.
    parts: Vec<SmallVec<[(u16, u32); 4]>>,
    lists: Vec<Vec<u32>>,
}

/// Where the event that has taken, or stored after, the message at this position is in the order of its atomic: `eco`
/// leads from each event to all of larger keys, and to no other.
fn key(position: usize, writes: bool) -> u32 {
    4 * position as u32 + if writes { 0 } else { 2 }
}

impl<'a> Psc<'a> {
    pub fn new(log: &'a Log) -> Psc<'a> {
        let events = &log.events;
        let mut psc = Psc {
            log,
            nodes: vec![Node::default(); events.len()],
            threads: SmallVec::new(),
            fences: SmallVec::new(),
            atomics: KeyMap::default(),
            orders: Vec::new(),
            keys: Vec::new(),
            parts: Vec::new(),
            lists: Vec::new(),
        };
        for (number, event) in (0..).zip(events) {
            let thread = usize::from(event.thread);
            if psc.threads.len() <= thread {
                psc.threads.resize_with(thread + 1, Vec::new);
                psc.fences.resize_with(thread + 1, Vec::new);
            }
            psc.nodes[number as usize].rank = psc.threads[thread].len() as u32;
            psc.threads[thread].push(number);
            if event.is_sequential_fence() {
                psc.fences[thread].push(number);
            }
            if let Some(at) = event.at {
                psc.add_to_atomic(number, event.thread, at);
            }
        }
        let positions = log.positions();
        let key_of = |&event: &u32| key(positions[event as usize], events[event as usize].kind.writes());
        for order in &mut psc.orders {
            order.sort_by_key(key_of);
            (0..).zip(&*order).for_each(|(place, &event)| psc.nodes[event as usize].place = place);
            psc.keys.push(order.iter().map(key_of).collect());
        }
        for thread in &psc.threads {
            let mut elsewhere = thread.len() as u32;
            for pair in thread.windows(2).rev() {
                let [one, next] = [pair[0], pair[1]].map(|event| events[event as usize].at);
                if one.is_none() || one != next {
                    elsewhere = psc.nodes[pair[1] as usize].rank;
                }
                psc.nodes[pair[0] as usize].elsewhere = elsewhere;
            }
            if let Some(&last) = thread.last() {
                psc.nodes[last as usize].elsewhere = thread.len() as u32;
            }
        }
        psc
    }

    fn add_to_atomic(&mut self, event: u32, thread: u16, at: Location) {
        let next = self.orders.len() as u32;
        let atomic = *self.atomics.entry(at).or_insert(next);
        if atomic == next {
            self.orders.push(Vec::new());
            self.parts.push(SmallVec::new());
        }
        self.nodes[event as usize].atomic = atomic;
        self.orders[atomic as usize].push(event);
        let parts = &mut self.parts[atomic as usize];
        let list = match parts.iter().find(|&&(of, _)| of == thread) {
            Some(&(_, list)) => list,
            None => {
                parts.push((thread, self.lists.len() as u32));
                self.lists.push(Vec::new());
                self.lists.len() as u32 - 1
            }
        };
        self.lists[list as usize].push(event);
    }

    /// Whether `psc` has no cycle with this event as well. It has none without.
    ///
    /// A new cycle leads through the event. Nothing comes after it by happens-before, so that the cycle goes on with a
    /// store that is later in modification order, or, between two fences, with whatever comes after it by `eco`. It
    /// begins with the event, if that is sequentially consistent, or with a sequentially consistent fence that happens
    /// before it. So it is enough to look whether one of these comes after such a store by the `psc` of the events
    /// before. If a cycle leads through the event twice, there is also one that begins with a fence and leads through
    /// it once.
    pub fn allows(&self, event: &Event) -> bool {
        let first_fences = self.fences.iter().filter_map(|fences| fences.first());
        let fences = first_fences.into_iter().any(|&fence| event.comes_after(&self.log.events[fence as usize]));
        if !event.is_sequential && !fences {
            return true;
        }
        let mut search = Search::new(self, event);
        search.come_to_overwriting_new();
        if search.finds(event.is_sequential) {
            return false;
        }
        if !fences {
            return true;
        }
        search.come_after_new_by_eco();
        !search.finds(false)
    }

    fn event(&self, number: u32) -> &'a Event {
        &self.log.events[number as usize]
    }

    /// The first place in a list of a thread's events, or some of them, from which on they come after another event by
    /// happens-before.
    fn first_after(&self, list: &[u32], one: u32) -> usize {
        let event = self.event(one);
        list.partition_point(|&other| other <= one || !self.event(other).comes_after(event))
    }
}

/// A search for what leads to a new event.
struct Search<'a> {
    psc: &'a Psc<'a>,
    new: &'a Event,
    /// The number of the new event's atomic, if there are others of it.
    atomic: Option<u32>,
    /// The new event's `key`: between those of the events between which it would be.
    key: u32,
    /// By event, the bits of the places in which a way has come there.
    seen: Vec<u8>,
    next: Vec<(u32, Place)>,
    /// By thread, the first rank from which on ways have come to all events: in `Place::End`, in `Place::Before`, and
    /// after the first part of `sb≠loc;hb;sb≠loc`, and to all fences in `Place::Start`.
    ends: SmallVec<[u32; 8]>,
    befores: SmallVec<[u32; 8]>,
    fars: SmallVec<[u32; 8]>,
    fences: SmallVec<[u32; 8]>,
    /// By atomic, the first place in its order from which on ways have come to all writes in `Place::End`, and to all
    /// events in `Place::AfterEco`.
    overwriting: Vec<[u32; 2]>,
    /// By list of an atomic's events of one thread, the first from which on ways have come to all in `Place::End`.
    same: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(psc: &'a Psc<'a>, new: &'a Event) -> Search<'a> {
        let atomic = new.at.and_then(|at| psc.atomics.get(&at).copied());
        let source = new.source.map_or(0, |source| {
            let node = psc.nodes[source as usize];
            psc.keys[node.atomic as usize][node.place as usize]
        });
        let ranks = || psc.threads.iter().map(|thread| thread.len() as u32).collect();
        Search {
            psc,
            new,
            atomic,
            key: source + if new.kind.writes() { 3 } else { 2 },
            seen: vec![0; psc.nodes.len()],
            next: Vec::new(),
            ends: ranks(),
            befores: ranks(),
            fars: ranks(),
            fences: psc.fences.iter().map(|fences| fences.len() as u32).collect(),
            overwriting: psc.orders.iter().map(|order| [order.len() as u32; 2]).collect(),
            same: psc.lists.iter().map(|list| list.len() as u32).collect(),
        }
    }

    fn come(&mut self, event: u32, place: Place) {
        let bit = 1 << place as u8;
        if self.seen[event as usize] & bit == 0 {
            self.seen[event as usize] |= bit;
            self.next.push((event, place));
        }
    }

    /// Comes to the events of a list from one place on, up to the `known` one, from which on ways have come to all.
    fn come_from(&mut self, list: &[u32], from: u32, known: u32, place: Place) -> u32 {
        if from < known {
            for &event in &list[from as usize..known as usize] {
                self.come(event, place);
            }
        }
        from.min(known)
    }

    /// The first place in the order of the atomic whose key is larger than the new event's.
    fn place_after_new(&self, atomic: u32) -> u32 {
        self.psc.keys[atomic as usize].partition_point(|&key| key <= self.key) as u32
    }

    fn come_to_overwriting_new(&mut self) {
        if let Some(atomic) = self.atomic {
            self.come_to_writes(atomic, self.place_after_new(atomic));
        }
    }

    fn come_after_new_by_eco(&mut self) {
        if let Some(atomic) = self.atomic {
            self.come_by_eco(atomic, self.place_after_new(atomic));
        }
    }

    /// Comes to the writes to the atomic from a place on: `mo` and `rb`.
    fn come_to_writes(&mut self, atomic: u32, from: u32) {
        let order = &self.psc.orders[atomic as usize];
        let known = self.overwriting[atomic as usize][0];
        for place in from..known {
            let event = order[place as usize];
            if self.psc.event(event).kind.writes() {
                self.come(event, Place::End);
            }
        }
        self.overwriting[atomic as usize][0] = from.min(known);
    }

    fn come_by_eco(&mut self, atomic: u32, from: u32) {
        let known = self.overwriting[atomic as usize][1];
        let order = &self.psc.orders[atomic as usize];
        self.overwriting[atomic as usize][1] = self.come_from(order, from, known, Place::AfterEco);
    }

    /// Comes to the end of `scb` at all events of the thread from this rank on.
    fn come_to_end(&mut self, thread: usize, rank: u32) {
        self.ends[thread] = self.come_from(&self.psc.threads[thread], rank, self.ends[thread], Place::End);
    }

    /// Comes to the sequentially consistent fences after an event.
    fn come_to_fences(&mut self, one: u32) {
        for thread in 0..self.fences.len() {
            let fences = &self.psc.fences[thread];
            let from = self.psc.first_after(fences, one) as u32;
            self.fences[thread] = self.come_from(fences, from, self.fences[thread], Place::Start);
        }
    }

    /// Comes to all events after a fence.
    fn come_before(&mut self, fence: u32) {
        for thread in 0..self.befores.len() {
            let events = &self.psc.threads[thread];
            let from = self.psc.first_after(events, fence) as u32;
            self.befores[thread] = self.come_from(events, from, self.befores[thread], Place::Before);
        }
    }

    /// Comes from an event to the end of `hb=loc`.
    fn come_to_same(&mut self, one: u32, atomic: u32) {
        for &(thread, list) in &self.psc.parts[atomic as usize] {
            // Program order leads to those of its own thread.
            if thread != self.psc.event(one).thread {
                let events = &self.psc.lists[list as usize];
                let from = self.psc.first_after(events, one) as u32;
                self.same[list as usize] = self.come_from(events, from, self.same[list as usize], Place::End);
            }
        }
    }

    /// Comes from an event to the end of `sb≠loc;hb;sb≠loc`. Says whether the new event is there.
    ///
    /// Of each thread, only the first event counts to which the first two parts lead: what comes after a later one
    /// comes after it. So it is for the first part alone.
    fn come_far(&mut self, one: u32) -> bool {
        let own = &self.psc.threads[usize::from(self.psc.event(one).thread)];
        let Some(&elsewhere) = own.get(self.psc.nodes[one as usize].elsewhere as usize) else {
            return false;
        };
        let mut is_new = false;
        for thread in 0..self.fars.len() {
            let events = &self.psc.threads[thread];
            let from = self.psc.first_after(events, elsewhere);
            if from as u32 >= self.fars[thread] {
                continue;
            }
            self.fars[thread] = from as u32;
            let node = self.psc.nodes[events[from] as usize];
            self.come_to_end(thread, node.elsewhere);
            if thread == usize::from(self.new.thread) {
                let at = self.psc.event(events[from]).at;
                is_new |= at.is_none() || at != self.new.at || (node.elsewhere as usize) < events.len();
            }
        }
        is_new
    }

    /// Whether `scb` leads from the event to the new one, but for `sb≠loc;hb;sb≠loc`.
    fn leads_to_new(&self, one: u32) -> bool {
        let event = self.psc.event(one);
        let same = event.at.is_some() && event.at == self.new.at;
        let is_overwritten = || {
            let node = self.psc.nodes[one as usize];
            self.new.kind.writes() && self.psc.keys[node.atomic as usize][node.place as usize] < self.key
        };
        event.thread == self.new.thread || same && (self.new.comes_after(event) || is_overwritten())
    }

    /// Says whether a way that has begun leads to a sequentially consistent fence that happens before the new event,
    /// or, if that `counts`, to the new event.
    fn finds(&mut self, counts: bool) -> bool {
        while let Some((one, place)) = self.next.pop() {
            let event = self.psc.event(one);
            let is_fence = place == Place::Start && event.is_sequential_fence();
            if is_fence && self.new.comes_after(event) {
                return true;
            }
            if is_fence || matches!(place, Place::End | Place::AfterEco) {
                self.come_to_fences(one);
            }
            if place == Place::End && event.is_sequential {
                self.come(one, Place::Start);
            }
            if matches!(place, Place::End | Place::AfterEco) {
                continue;
            }
            if counts && self.leads_to_new(one) || self.come_far(one) && counts {
                return true;
            }
            let Node { rank, atomic, place: at, .. } = self.psc.nodes[one as usize];
            self.come_to_end(event.thread.into(), rank + 1);
            if event.at.is_some() {
                let keys = &self.psc.keys[atomic as usize];
                let after = keys[at as usize..].partition_point(|&key| key <= keys[at as usize]) as u32;
                self.come_to_same(one, atomic);
                self.come_to_writes(atomic, at + after);
                if place == Place::Before {
                    self.come_by_eco(atomic, at + after);
                }
            }
            if is_fence {
                self.come_before(one);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_model::clocks::join;
    use dpor_explorer::SplitMix64;

    /// For each event, those that come after it in some relation.
    type Relation = Vec<BitSet>;

    impl Log {
        /// Whether the first happens before the second.
        fn happens_before(&self, first: usize, second: usize) -> bool {
            first < second && self.events[second].comes_after(&self.events[first])
        }

        /// Whether the first comes before the second by what they have read or written of one atomic, by RC11's `eco`.
        /// The position of each event is given.
        fn precedes(&self, position: &[usize], first: usize, second: usize) -> bool {
            let [one, other] = [first, second].map(|event| &self.events[event]);
            let same = one.at.is_some() && one.at == other.at;
            let reads = one.kind.writes() && !other.kind.writes();
            same && (position[first] < position[second] || reads && position[first] == position[second])
        }

        /// Whether `psc` has no cycle with this event as well.
        fn allows(&self, event: &Event) -> bool {
            Psc::new(self).allows(event)
        }

        fn relation(&self, holds: impl Fn(usize, usize) -> bool) -> Relation {
            let count = self.events.len();
            let after = |first: usize| {
                let others = (0..count).filter(|&second| second != first && holds(first, second));
                others.map(|second| second as u32).collect()
            };
            (0..count).map(after).collect()
        }

        /// Whether RC11's `psc`, by its definition, has a cycle:
        ///
        /// ```text
        /// scb = sb ∪ sb≠loc;hb;sb≠loc ∪ hb=loc ∪ mo ∪ rb
        /// psc = ([Esc] ∪ [Fsc];hb?) ; scb ; ([Esc] ∪ hb?;[Fsc])  ∪  [Fsc] ; (hb ∪ hb;eco;hb) ; [Fsc]
        /// ```
        fn has_cycle(&self) -> bool {
            let events = &self.events;
            let hb = self.relation(|one, other| self.happens_before(one, other));
            let sb = |one: usize, other: usize| one < other && events[one].thread == events[other].thread;
            let same = |one: usize, other: usize| events[one].at.is_some() && events[one].at == events[other].at;
            let elsewhere = self.relation(|one, other| sb(one, other) && !same(one, other));
            let position = self.positions();
            // `mo` and `rb`.
            let overwritten = |one: usize, other: usize| {
                same(one, other) && events[other].kind.writes() && position[one] < position[other]
            };
            let eco = self.relation(|one, other| self.precedes(&position, one, other));
            let mut scb = self.relation(|one, other| {
                sb(one, other) || same(one, other) && hb[one].contains(other as u32) || overwritten(one, other)
            });
            for (one, after) in scb.iter_mut().enumerate() {
                let far = follow(&follow(&elsewhere[one], &hb), &elsewhere);
                after.extend_from(&far);
            }
            let is_fence = |event: usize| events[event].kind == EventKind::Fence;
            let sequential: Vec<usize> = (0..events.len()).filter(|&event| events[event].is_sequential).collect();
            let psc: Vec<Vec<usize>> = sequential
                .iter()
                .map(|&one| {
                    let mut ends = scb[one].clone();
                    let mut between = BitSet::new();
                    if is_fence(one) {
                        ends.extend_from(&follow(&hb[one], &scb));
                        between.extend_from(&hb[one]);
                        between.extend_from(&follow(&follow(&hb[one], &eco), &hb));
                    }
                    let reaches = |other: usize| {
                        let (fence, other) = (is_fence(other), other as u32);
                        let comes_after_an_end = || ends.iter().any(|end| hb[end as usize].contains(other));
                        ends.contains(other) || fence && (between.contains(other) || comes_after_an_end())
                    };
                    let reached = sequential.iter().enumerate().filter(|&(_, &other)| reaches(other));
                    reached.map(|(index, _)| index).collect()
                })
                .collect();
            is_cyclic(&psc)
        }
    }

    /// What comes after some event of the set.
    fn follow(set: &BitSet, relation: &Relation) -> BitSet {
        let mut after = BitSet::new();
        set.iter()
            .for_each(|event| after.extend_from(&relation[event as usize]));
        after
    }

    /// Whether the graph has a cycle, by removing what nothing leads to.
    fn is_cyclic(graph: &[Vec<usize>]) -> bool {
        let mut incoming = vec![0; graph.len()];
        graph.iter().flatten().for_each(|&to| incoming[to] += 1);
        let mut free: Vec<usize> = (0..graph.len()).filter(|&node| incoming[node] == 0).collect();
        let mut removed = 0;
        while let Some(node) = free.pop() {
            removed += 1;
            for &to in &graph[node] {
                incoming[to] -= 1;
                if incoming[to] == 0 {
                    free.push(to);
                }
            }
        }
        removed < graph.len()
    }

    /// Whether `psc` has no cycle with this event as well, by the definition.
    fn allows_by_definition(log: &Log, event: &Event) -> bool {
        let mut with = log.clone();
        with.add(event.clone());
        !with.has_cycle()
    }

    /// The entries and all that comes after them, by the definition.
    fn after_by_definition(log: &Log, entries: &BitSet) -> BitSet {
        let position = log.positions();
        let mut kept = entries.clone();
        let mut next: Vec<u32> = kept.iter().collect();
        while let Some(one) = next.pop() {
            for other in (0..log.events.len() as u32).filter(|&other| other != one) {
                let (first, second) = (one as usize, other as usize);
                let comes_after = log.happens_before(first, second) || log.precedes(&position, first, second);
                if comes_after && !kept.contains(other) {
                    kept.insert(other);
                    next.push(other);
                }
            }
        }
        kept
    }

    /// The same events in a log that keeps all of them, and in one without those that are needless.
    struct Both {
        random: SplitMix64,
        whole: Log,
        short: Log,
        clocks: Vec<Clock>,
        /// By thread, what its relaxed stores publish, because of a fence.
        published: Vec<Clock>,
        /// And what it learns by the next fence that acquires.
        found: Vec<Clock>,
        /// The stores: atomic, numbers in the two logs, and what is learnt by acquiring them.
        stores: Vec<(u64, [Option<u32>; 2], Clock)>,
        /// Of each atomic, how many of the first messages cannot be taken any more.
        floors: [usize; 2],
        /// What each thread loads again and again: atomic, index of the store, and whether sequentially consistent.
        loaded: Vec<[(u64, Option<usize>, bool); 3]>,
        removed: usize,
        /// Those of rounds of loops.
        rounds: usize,
        forgotten: usize,
        refused: usize,
    }

    impl Both {
        fn new(seed: u64) -> Both {
            let clock = |thread: usize| (0..3).map(|of| u32::from(of == thread)).collect();
            Both {
                random: SplitMix64::new(seed),
                whole: Log::default(),
                short: Log::default(),
                clocks: (0..3).map(clock).collect(),
                published: vec![Clock::new(); 3],
                found: vec![Clock::new(); 3],
                stores: Vec::new(),
                floors: [0; 2],
                loaded: vec![[(0, None, true); 3]; 3],
                removed: 0,
                rounds: 0,
                forgotten: 0,
                refused: 0,
            }
        }

        /// The position of what a store has written, or of what was there before, in the modification order of an
        /// atomic.
        fn position(&self, at: u64, store: Option<usize>) -> usize {
            let order = self.whole.orders.get(&Location(at));
            let number = store.and_then(|store| self.stores[store].1[0]);
            number.map_or(0, |number| {
                let place = order.and_then(|order| order.iter().position(|&other| other == number));
                place.expect("nothing is forgotten of the whole log") + 1
            })
        }

        /// Forgets what comes after no store before which a new event can come.
        fn forget(&mut self) {
            let at = self.below(2);
            let most = self.whole.orders.get(&Location(at)).map_or(0, Vec::len);
            let floor = &mut self.floors[at as usize];
            *floor = (*floor + usize::from(self.random.below(4) == 0)).min(most);
            let later = (0..self.stores.len()).filter(|&store| {
                let at = self.stores[store].0;
                self.position(at, Some(store)) > self.floors[at as usize]
            });
            let entries = later.filter_map(|store| self.stores[store].1[1]).collect();
            assert_eq!(self.short.after(&entries), after_by_definition(&self.short, &entries));
            let before = self.short.events.len();
            if let Some(numbers) = self.short.keep_after(&entries) {
                let own = self.stores.iter_mut().map(|(_, numbers, _)| &mut numbers[1]);
                own.for_each(|own| *own = own.and_then(|own| numbers[own as usize]));
            }
            self.forgotten += before - self.short.events.len();
        }

        fn below(&mut self, bound: u64) -> u64 {
            self.random.below(bound as usize) as u64
        }

        fn event(&self, thread: usize, at: Option<u64>, kind: EventKind, is_sequential: bool) -> Event {
            Event {
                thread: thread as u16,
                epoch: self.clocks[thread][thread],
                clock: self.clocks[thread].clone(),
                at: at.map(Location),
                kind,
                is_sequential,
                publishes: false,
                source: None,
            }
        }

        /// Adds an event that takes a store's message to both, if there is no cycle by it.
        fn add(&mut self, event: &Event, source: Option<usize>) -> Option<[Option<u32>; 2]> {
            let numbers = source.map(|source| self.stores[source].1);
            let of = |log: usize| Event {
                source: numbers.and_then(|numbers| numbers[log]),
                ..event.clone()
            };
            let mut event = of(1);
            let allows = allows_by_definition(&self.whole, &of(0));
            assert_eq!(self.whole.allows(&of(0)), allows, "{event:?} {:?}", self.whole.events);
            assert_eq!(self.short.allows(&event), allows, "{event:?} {:?}", self.whole.events);
            if !allows {
                self.refused += 1;
                return None;
            }
            let whole = self.whole.add(of(0));
            if let Some(needless) = self.short.needless(&event) {
                self.removed += 1;
                let stores = self.stores.iter_mut().filter_map(|(_, numbers, _)| numbers[1].as_mut());
                self.short.remove(needless, stores.chain(&mut event.source));
            }
            let mut short = self.short.add(event);
            for needless in self.short.needless_round() {
                self.rounds += 1;
                let stores = self.stores.iter_mut().filter_map(|(_, numbers, _)| numbers[1].as_mut());
                self.short.remove(needless, stores.chain([&mut short]));
            }
            Some([Some(whole), Some(short)])
        }

        fn fence(&mut self, thread: usize, order: Ordering) {
            if !matches!(order, Ordering::Release) {
                join(&mut self.clocks[thread], &self.found[thread]);
            }
            let fence = Event {
                publishes: order != Ordering::Acquire,
                ..self.event(thread, None, EventKind::Fence, order == Ordering::SeqCst)
            };
            self.add(&fence, None);
            if fence.publishes {
                self.published[thread] = self.clocks[thread].clone();
                self.clocks[thread][thread] += 1;
            }
        }

        fn load(&mut self, thread: usize, which: usize) {
            let (at, source, is_sequential) = self.loaded[thread][which];
            if self.position(at, source) < self.floors[at as usize] {
                return;
            }
            let mut event = self.event(thread, Some(at), EventKind::Load, is_sequential);
            if let Some(source) = source.filter(|_| is_sequential) {
                join(&mut event.clock, &self.stores[source].2);
            }
            if self.add(&event, source).is_some() {
                self.clocks[thread] = event.clock;
                if let Some(source) = source {
                    join(&mut self.found[thread], &self.stores[source].2);
                }
            }
        }

        /// A loop of some rounds, with fences in most of them, one of which differs now and then.
        fn wait(&mut self, thread: usize) {
            const FENCES: [Ordering; 5] = [
                Ordering::SeqCst,
                Ordering::SeqCst,
                Ordering::AcqRel,
                Ordering::Release,
                Ordering::Acquire,
            ];
            let round: Vec<usize> = (0..1 + self.below(4)).map(|_| self.below(8) as usize).collect();
            for _ in 0..2 + self.below(6) {
                for &what in &round {
                    match what.checked_sub(3) {
                        None => self.load(thread, what),
                        Some(_) if self.below(16) == 0 => self.fence(thread, Ordering::Release),
                        Some(fence) => self.fence(thread, FENCES[fence]),
                    }
                }
            }
        }

        fn step(&mut self) {
            let thread = self.below(3) as usize;
            let is_sequential = self.below(4) > 0;
            match self.below(10) {
                0 => match self.below(2) {
                    0 => self.fence(thread, Ordering::SeqCst),
                    _ => self.wait(thread),
                },
                1 | 2 => {
                    let at = self.below(2);
                    let known = (0..self.stores.len()).filter(|&of| self.stores[of].0 == at);
                    let floor = self.floors[at as usize];
                    let can_be_taken = |&source: &_| self.position(at, source) >= floor;
                    let sources: Vec<_> = known.map(Some).chain([None]).filter(can_be_taken).collect();
                    let source = sources[self.below(sources.len() as u64) as usize];
                    let event = self.event(thread, Some(at), EventKind::Store, is_sequential);
                    let Some(numbers) = self.add(&event, source) else {
                        return;
                    };
                    let releases = is_sequential || self.below(2) == 0;
                    let released = match releases {
                        true => self.clocks[thread].clone(),
                        false => self.published[thread].clone(),
                    };
                    self.stores.push((at, numbers, released));
                    self.clocks[thread][thread] += u32::from(releases);
                }
                // Mostly the same again.
                kind => {
                    if kind < 5 {
                        let store = self.below(1 + self.stores.len() as u64) as usize;
                        let (at, source) = match self.stores.get(store) {
                            Some((at, ..)) => (*at, Some(store)),
                            None => (self.below(2), None),
                        };
                        let which = self.below(3) as usize;
                        self.loaded[thread][which] = (at, source, is_sequential);
                    }
                    let which = self.below(3) as usize;
                    self.load(thread, which);
                }
            }
        }
    }

    #[test]
    fn only_a_load_between_two_of_the_same_is_needless() {
        let load = Event {
            thread: 1,
            epoch: 2,
            clock: Clock::from_slice(&[0, 2]),
            at: Some(Location(8)),
            kind: EventKind::Load,
            is_sequential: true,
            publishes: false,
            source: None,
        };
        let needless = |before: &[Event]| {
            let mut log = Log::default();
            before.iter().for_each(|event| _ = log.add(event.clone()));
            log.needless(&load)
        };
        let other = |change: fn(&mut Event)| {
            let mut event = load.clone();
            change(&mut event);
            event
        };
        assert_eq!(needless(std::slice::from_ref(&load)), None);
        assert_eq!(needless(&[load.clone(), load.clone()]), Some(1));
        let of_others = other(|event| event.thread = 0);
        assert_eq!(needless(&[load.clone(), load.clone(), of_others]), Some(1));
        for change in [
            |event: &mut Event| event.epoch = 1,
            |event: &mut Event| event.clock[0] = 1,
            |event: &mut Event| event.at = Some(Location(16)),
            |event: &mut Event| event.is_sequential = false,
            |event: &mut Event| event.source = Some(0),
            |event: &mut Event| event.kind = EventKind::Store,
        ] {
            let changed = other(change);
            assert_eq!(needless(&[changed.clone(), load.clone()]), None, "{changed:?}");
            assert_eq!(needless(&[load.clone(), changed.clone()]), None, "{changed:?}");
        }
        // What comes before the epoch, and before the thread has learnt something, is not looked at.
        for change in [
            |event: &mut Event| event.epoch = 1,
            |event: &mut Event| event.clock[0] = 1,
        ] {
            assert_eq!(needless(&[load.clone(), other(change), load.clone()]), None);
        }
    }

    #[test]
    fn of_four_rounds_that_are_the_same_one_is_needless() {
        let fence = |epoch: u32, publishes: bool| Event {
            thread: 1,
            epoch,
            clock: Clock::from_slice(&[3, epoch]),
            at: None,
            kind: EventKind::Fence,
            is_sequential: false,
            publishes,
            source: None,
        };
        let load = |epoch: u32| Event {
            at: Some(Location(8)),
            kind: EventKind::Load,
            ..fence(epoch, false)
        };
        let needless = |events: &[Event]| {
            let mut log = Log::default();
            events.iter().for_each(|event| _ = log.add(event.clone()));
            log.needless_round().to_vec()
        };
        let rounds = |count: u32| (0..count).flat_map(|epoch| [fence(epoch, true), load(epoch + 1)]);
        assert_eq!(needless(&rounds(3).collect::<Vec<_>>()), [0; 0]);
        assert_eq!(needless(&rounds(4).collect::<Vec<_>>()), [3, 2]);
        let changed = |at: usize, change: fn(&mut Event)| {
            let mut events: Vec<_> = rounds(4).collect();
            change(&mut events[at]);
            needless(&events)
        };
        // What one fence publishes, others would not; what somebody has learnt, they would not have known.
        for change in [
            |event: &mut Event| event.publishes = !event.publishes,
            |event: &mut Event| event.clock[0] += 1,
            |event: &mut Event| event.source = Some(0),
            |event: &mut Event| event.is_sequential = true,
            |event: &mut Event| event.kind = EventKind::Store,
        ] {
            (0..8).for_each(|at| assert_eq!(changed(at, change), [0; 0], "{at}"));
        }
        // A clock that has an entry more knows no more.
        assert_eq!(changed(2, |event| event.clock.push(0)), [3, 2]);
    }

    #[test]
    fn what_is_needless_or_forgotten_is_in_no_new_cycle_of_its_own() {
        let (mut removed, mut rounds, mut forgotten, mut refused) = (0, 0, 0, 0);
        for seed in 0..20_000 {
            let mut both = Both::new(seed);
            for _ in 0..30 {
                both.step();
                // Little is left to be needless then.
                if seed % 2 == 0 {
                    both.forget();
                }
            }
            removed += both.removed;
            rounds += both.rounds;
            forgotten += both.forgotten;
            refused += both.refused;
        }
        assert!(
            removed > 10_000 && rounds > 10_000 && forgotten > 20_000 && refused > 20_000,
            "{removed} {rounds} {forgotten} {refused}"
        );
    }
}
