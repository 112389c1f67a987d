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
use crate::image::hash::hash_of;
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

    pub fn writes(self) -> bool {
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
    pub fn is_sequential_fence(&self) -> bool {
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
    pub fn comes_after(&self, earlier: &Event) -> bool {
        self.thread == earlier.thread || entry(&self.clock, earlier.thread.into()) >= earlier.epoch
    }
}

/// The operations so far, in the order in which they were made.
#[derive(Clone, Default, Debug)]
pub(super) struct Log {
    pub events: Vec<Event>,
    /// The stores to each atomic, in modification order. Whatever was stored before comes before them.
    pub orders: BTreeMap<Location, Vec<u32>>,
    kept: Kept,
    seen: Seen,
}

/// The events that [`Log::keep_after`] has judged.
#[derive(Clone, Default, Debug)]
struct Kept {
    /// The number of events that have been judged: the first ones, and each of them is kept.
    count: usize,
    /// The entries.
    entries: BitSet,
    /// The first event of each thread.
    firsts: SmallVec<[Option<u32>; 8]>,
}

impl Kept {
    fn note_first(&mut self, number: u32, thread: u16) {
        let thread = usize::from(thread);
        self.firsts.resize(self.firsts.len().max(thread + 1), None);
        self.firsts[thread].get_or_insert(number);
    }
}

/// How events look in a state, where the order in which threads have moved does not show. What is added changes
/// nothing about the events before.
///
/// Invariant: it tells of the first events, as they are.
#[derive(Clone, Default, Debug)]
struct Seen {
    /// By event, its thread, and how many of that thread's events come before it.
    names: Vec<u64>,
    /// By event, a digest of all that decides which later events are allowed.
    digests: Vec<u128>,
    /// The events of each thread.
    threads: Vec<Vec<u32>>,
}

impl Seen {
    fn clear(&mut self) {
        self.names.clear();
        self.digests.clear();
        self.threads.iter_mut().for_each(Vec::clear);
    }
}

impl Log {
    /// Maximum number of events.
    const MOST: usize = 4096;

    pub fn clear(&mut self) {
        self.events.clear();
        self.orders.clear();
        self.kept = Kept::default();
        self.seen.clear();
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
        self.seen.clear();
        self.kept = Kept::default();
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
    pub fn keep_after(&mut self, entries: BitSet) -> Option<Vec<Option<u32>>> {
        if self.keeps_all(&entries) {
            self.kept.entries = entries;
            return None;
        }
        let kept = self.after(&entries);
        let mut count = 0..;
        let number = |event| kept.contains(event).then(|| count.next()).flatten();
        let numbers: Vec<Option<u32>> = (0..self.events.len() as u32).map(number).collect();
        self.kept = Kept {
            count: numbers.iter().flatten().count(),
            entries: entries.iter().filter_map(|entry| numbers[entry as usize]).collect(),
            firsts: SmallVec::new(),
        };
        for (event, number) in self.events.iter().zip(&numbers) {
            if let &Some(number) = number {
                self.kept.note_first(number, event.thread);
            }
        }
        if self.kept.count == numbers.len() {
            return None;
        }
        self.seen.clear();
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

    /// Says whether all events are known to be kept: those before were, there are all their entries, and each new event
    /// is one or comes after one that is kept by happens-before.
    fn keeps_all(&mut self, entries: &BitSet) -> bool {
        if !self.kept.entries.is_subset(entries) {
            return false;
        }
        for number in self.kept.count..self.events.len() {
            let event = &self.events[number];
            let mut firsts = self.kept.firsts.iter().flatten();
            let comes_after = |&first: &u32| event.comes_after(&self.events[first as usize]);
            if !entries.contains(number as u32) && !firsts.any(comes_after) {
                return false;
            }
            self.kept.note_first(number as u32, event.thread);
            self.kept.count = number + 1;
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

    /// Notes how events look that were added.
    pub fn bring_up_to_date(&mut self) {
        let Log { events, seen, .. } = self;
        for (number, event) in events.iter().enumerate().skip(seen.names.len()) {
            let thread = usize::from(event.thread);
            if seen.threads.len() <= thread {
                seen.threads.resize_with(thread + 1, Vec::new);
            }
            let name = u64::from(event.thread) << 32 | seen.threads[thread].len() as u64;
            let mut words: SmallVec<[u64; 16]> = SmallVec::from_slice(&[
                name,
                event.at.map_or(0, |at| at.0),
                event.kind as u64 | u64::from(event.is_sequential) << 8 | u64::from(event.publishes) << 9,
                event.source.map_or(u64::MAX, |source| seen.names[source as usize]),
            ]);
            // What comes before it, of each other thread.
            let known = seen.threads.iter().enumerate().filter(|&(of, _)| of != thread);
            let known = known.map(|(of, own)| (of, known_of(own, events, entry(&event.clock, of)) as u64));
            words.extend(
                known
                    .filter(|&(_, known)| known > 0)
                    .map(|(of, known)| (of as u64) << 32 | known),
            );
            seen.names.push(name);
            seen.digests.push(hash_of(&words));
            seen.threads[thread].push(number as u32);
        }
    }

    /// The name of an event, which does not depend on the order in which threads have moved: its thread, and how many
    /// of its events come before.
    pub fn name(&self, event: u32) -> u64 {
        self.seen.names[event as usize]
    }

    /// Shows a digest of each event, by thread.
    pub fn digests(&self) -> impl Iterator<Item = u128> + '_ {
        let events = self.seen.threads.iter().flatten();
        events.map(|&event| self.seen.digests[event as usize])
    }

    /// Of which events a clock knows: each thread that has made some of these, with their number.
    pub fn known<'a>(&'a self, clock: &'a [u32]) -> impl Iterator<Item = u64> + 'a {
        let threads = self.seen.threads.iter().enumerate();
        let known = threads.map(|(thread, own)| (thread, known_of(own, &self.events, entry(clock, thread))));
        known
            .filter(|&(_, known)| known > 0)
            .map(|(thread, known)| (thread as u64) << 32 | known as u64)
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

/// Number of a thread's events, by their numbers, of which one knows that knows this epoch of the thread.
fn known_of(own: &[u32], events: &[Event], epoch: u32) -> usize {
    own.partition_point(|&event| events[event as usize].epoch <= epoch)
}

#[cfg(test)]
mod tests {
    use super::super::psc::Psc;
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
            let numbers = self.short.keep_after(entries.clone());
            let number = |entry: u32| numbers.as_ref().map_or(Some(entry), |numbers| numbers[entry as usize]);
            let entries = entries.iter().filter_map(number).collect();
            assert_eq!(self.short.after(&entries).len(), self.short.events.len());
            if let Some(numbers) = numbers {
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
    fn what_was_on_record_before_does_not_show() {
        let event = |thread: u16| Event {
            thread,
            epoch: 1,
            clock: Clock::from_elem(1, 3),
            at: Some(Location(8)),
            kind: EventKind::Store,
            is_sequential: true,
            publishes: false,
            source: None,
        };
        let seen = |log: &Log| {
            (
                log.digests().collect::<Vec<_>>(),
                log.known(&[1, 1, 1]).collect::<Vec<_>>(),
            )
        };
        let mut log = Log::default();
        log.add(event(2));
        log.bring_up_to_date();
        assert_eq!(seen(&log).1, [2 << 32 | 1]);
        log.clear();
        let mut fresh = Log::default();
        for log in [&mut log, &mut fresh] {
            log.add(event(0));
            log.bring_up_to_date();
        }
        assert_eq!(seen(&log), seen(&fresh));
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
