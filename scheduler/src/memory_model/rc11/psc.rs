//! Whether a new event closes a cycle in RC11's `psc`.

use super::sequential::{Event, Log};
use dpor_explorer::Location;
use dpor_explorer::keys::KeyMap;
use smallvec::SmallVec;

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
    /// The number of its atomic, and its place in the order of [`key`] there; of no meaning for others.
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
    /// The events of each atomic by [`key`].
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
            if let Some(at) = event.atomic() {
                psc.add_to_atomic(number, event.thread, at);
            }
        }
        let positions = log.positions();
        let key_of = |&event: &u32| key(positions[event as usize], events[event as usize].kind.writes());
        for order in &mut psc.orders {
            order.sort_by_key(key_of);
            (0..)
                .zip(&*order)
                .for_each(|(place, &event)| psc.nodes[event as usize].place = place);
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

    fn event(&self, number: u32) -> &'a Event {
        &self.log.events[number as usize]
    }

    /// The key of an event of an atomic.
    fn key(&self, event: u32) -> u32 {
        let node = self.nodes[event as usize];
        self.keys[node.atomic as usize][node.place as usize]
    }

    /// The key of a new event: between those of the events between which it would be.
    fn key_of_new(&self, event: &Event) -> u32 {
        let source = event.source.map_or(0, |source| self.key(source));
        source + if event.kind.writes() { 3 } else { 2 }
    }

    /// The first place in the order of the atomic whose key is larger.
    fn place_after(&self, atomic: u32, key: u32) -> u32 {
        self.keys[atomic as usize].partition_point(|&other| other <= key) as u32
    }

    /// The first place in a list of a thread's events, or some of them, from which on they come after another event by
    /// happens-before.
    fn first_after(&self, list: &[u32], one: u32) -> usize {
        let event = self.event(one);
        list.partition_point(|&other| other <= one || !self.event(other).comes_after(event))
    }
}

/// Judges events of one thread and of one atomic, or of none, each of which could be the next one.
///
/// Where the message that is taken is an older one, more stores come after the event. So as long as the [`key`] of each
/// event that is asked for is none larger than that of the last, a search goes on from what it has come to.
pub(super) struct Newcomers<'psc, 'log> {
    psc: &'psc Psc<'log>,
    /// From stores that are later in modification order, to the new event.
    after_stores: Option<Search<'psc, 'log>>,
    /// From whatever comes after the event by `eco` as well, to fences before it.
    after_eco: Option<Search<'psc, 'log>>,
}

impl<'psc, 'log> Newcomers<'psc, 'log> {
    pub fn new(psc: &'psc Psc<'log>) -> Self {
        Newcomers {
            psc,
            after_stores: None,
            after_eco: None,
        }
    }

    /// Whether `psc` has no cycle with this event as well. It has none without.
    ///
    /// A new cycle leads through the event. Nothing comes after it by happens-before, so that the cycle goes on with a
    /// store that is later in modification order, or, between two fences, with whatever comes after it by `eco`. It
    /// begins with the event, if that is sequentially consistent, or with a sequentially consistent fence that happens
    /// before it. So it is enough to look whether one of these comes after such a store by the `psc` of the events
    /// before. If a cycle leads through the event twice, there is also one that begins with a fence and leads through
    /// it once.
    pub fn allow(&mut self, event: &Event) -> bool {
        let Newcomers {
            psc,
            after_stores,
            after_eco,
        } = self;
        let key = psc.key_of_new(event);
        if event.is_sequential {
            let search = Search::from(after_stores, psc, event, key);
            if let Some(atomic) = search.atomic {
                search.come_to_writes(atomic, psc.place_after(atomic, key));
            }
            search.exhaust(|_, _| ());
            if search.has_come_to_new(event, key) {
                return false;
            }
        }
        let mut first_fences = psc.fences.iter().filter_map(|fences| fences.first());
        if !first_fences.any(|&fence| event.comes_after(psc.event(fence))) {
            return true;
        }
        let search = Search::from(after_eco, psc, event, key);
        if let Some(atomic) = search.atomic {
            let from = psc.place_after(atomic, key);
            search.come_to_writes(atomic, from);
            search.come_by_eco(atomic, from);
        }
        search.exhaust(|_, _| ());
        !search.has_come_to_fence_before(event)
    }
}

/// A search for what leads to new events of a thread and an atomic.
struct Search<'psc, 'log> {
    psc: &'psc Psc<'log>,
    thread: u16,
    at: Option<Location>,
    /// The number of the atomic, if there are others of it.
    atomic: Option<u32>,
    /// The [`key`] of the last new event that was asked for, and the least one.
    key: u32,
    /// By thread, the first fence that ways have come to in `Place::Start`.
    first_fences: SmallVec<[Option<u32>; 8]>,
    /// Whether `scb` leads from where ways have come to each new event. This and the next two are for searches that
    /// lead to the new event itself.
    leads_to_all: bool,
    /// By thread, the first event of the atomic from which `scb` leads to a new one that it happens before.
    first_same: SmallVec<[Option<u32>; 8]>,
    /// The least key of such events: `mo` and `rb` lead from it to a new store with a larger one.
    least_same: u32,
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

impl<'psc, 'log> Search<'psc, 'log> {
    fn new(psc: &'psc Psc<'log>, (thread, at): (u16, Option<Location>), key: u32) -> Self {
        let mut search = Search {
            psc,
            thread,
            at,
            atomic: at.and_then(|at| psc.atomics.get(&at).copied()),
            key,
            first_fences: SmallVec::new(),
            leads_to_all: false,
            first_same: SmallVec::new(),
            least_same: u32::MAX,
            seen: Vec::new(),
            next: Vec::new(),
            ends: SmallVec::new(),
            befores: SmallVec::new(),
            fars: SmallVec::new(),
            fences: SmallVec::new(),
            overwriting: Vec::new(),
            same: Vec::new(),
        };
        search.start_again();
        search
    }

    /// Has come nowhere, and keeps the storage.
    fn start_again(&mut self) {
        let psc = self.psc;
        self.next.clear();
        (self.leads_to_all, self.least_same) = (false, u32::MAX);
        for firsts in [&mut self.first_fences, &mut self.first_same] {
            firsts.clear();
            firsts.resize(psc.threads.len(), None);
        }
        self.seen.clear();
        self.seen.resize(psc.nodes.len(), 0);
        let len = |events: &Vec<u32>| events.len() as u32;
        for ranks in [&mut self.ends, &mut self.befores, &mut self.fars] {
            ranks.clear();
            ranks.extend(psc.threads.iter().map(len));
        }
        self.fences.clear();
        self.fences.extend(psc.fences.iter().map(len));
        self.overwriting.clear();
        self.overwriting.extend(psc.orders.iter().map(|order| [len(order); 2]));
        self.same.clear();
        self.same.extend(psc.lists.iter().map(len));
    }

    /// The search as far as it has come, or a new one if that is too far for the event.
    fn from<'s>(known: &'s mut Option<Self>, psc: &'psc Psc<'log>, new: &Event, key: u32) -> &'s mut Self {
        known.take_if(|known| known.key < key);
        let search = known.get_or_insert_with(|| Search::new(psc, (new.thread, new.at), key));
        debug_assert_eq!((search.thread, search.at), (new.thread, new.at));
        search.key = key;
        search
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

    /// Comes from an event to the end of `sb≠loc;hb;sb≠loc`. A new event may be there.
    ///
    /// Of each thread, only the first event counts to which the first two parts lead: what comes after a later one
    /// comes after it. So it is for the first part alone.
    fn come_far(&mut self, one: u32) {
        let own = &self.psc.threads[usize::from(self.psc.event(one).thread)];
        let Some(&elsewhere) = own.get(self.psc.nodes[one as usize].elsewhere as usize) else {
            return;
        };
        for thread in 0..self.fars.len() {
            let events = &self.psc.threads[thread];
            let from = self.psc.first_after(events, elsewhere);
            if from as u32 >= self.fars[thread] {
                continue;
            }
            self.fars[thread] = from as u32;
            let node = self.psc.nodes[events[from] as usize];
            self.come_to_end(thread, node.elsewhere);
            if thread == usize::from(self.thread) {
                let at = self.psc.event(events[from]).at;
                self.leads_to_all |= at.is_none() || at != self.at || (node.elsewhere as usize) < events.len();
            }
        }
    }

    /// Notes where `scb` leads from the event, but for `sb≠loc;hb;sb≠loc`, among new ones.
    fn come_to_new(&mut self, one: u32) {
        let event = self.psc.event(one);
        self.leads_to_all |= event.thread == self.thread;
        if event.atomic().is_some() && event.atomic() == self.at {
            note_first(&mut self.first_same, event.thread, one);
            self.least_same = self.least_same.min(self.psc.key(one));
        }
    }

    /// Whether a way that has begun leads to the new event. What the search has come to is what leads on from it.
    fn has_come_to_new(&self, new: &Event, key: u32) -> bool {
        let is_overwriting = new.kind.writes() && self.least_same < key;
        self.leads_to_all || is_overwriting || self.happens_before(&self.first_same, new)
    }

    /// Whether a way that has begun leads to a sequentially consistent fence that happens before the new event.
    fn has_come_to_fence_before(&self, new: &Event) -> bool {
        self.happens_before(&self.first_fences, new)
    }

    /// Whether one of the events happens before the new one.
    fn happens_before(&self, events: &[Option<u32>], new: &Event) -> bool {
        let mut events = events.iter().flatten();
        events.any(|&event| new.comes_after(self.psc.event(event)))
    }

    /// Follows all ways that have begun. Tells each place at each event to which one comes.
    fn exhaust(&mut self, mut comes: impl FnMut(u32, Place)) {
        while let Some((one, place)) = self.next.pop() {
            comes(one, place);
            let event = self.psc.event(one);
            let is_fence = place == Place::Start && event.is_sequential_fence();
            if is_fence {
                note_first(&mut self.first_fences, event.thread, one);
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
            self.come_far(one);
            self.come_to_new(one);
            let Node {
                rank,
                atomic,
                place: at,
                ..
            } = self.psc.nodes[one as usize];
            self.come_to_end(event.thread.into(), rank + 1);
            if event.atomic().is_some() {
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
    }
}

/// Notes the event of the thread, if none before it is noted.
fn note_first(first: &mut [Option<u32>], thread: u16, event: u32) {
    let first = &mut first[usize::from(thread)];
    *first = Some(first.map_or(event, |known| known.min(event)));
}

pub(super) mod ways;
