//! Whether a new event closes a cycle in RC11's `psc`.

mod search;
mod sets;
pub(super) mod ways;

use super::sequential::{Event, Log};
use dpor_explorer::Location;
use dpor_explorer::keys::KeyMap;
pub(super) use search::Newcomers;
use sets::{Set, Sets, first_of, first_of_both, has, members, remove};
use smallvec::SmallVec;
use std::ops::Range;

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

impl Place {
    /// All of them, in their order.
    const ALL: [Place; 4] = [Place::Start, Place::Before, Place::End, Place::AfterEco];
}

/// Number of places.
const PLACES: usize = Place::ALL.len();

/// Where an event is among others.
#[derive(Clone, Copy, Default, Debug)]
struct Node {
    thread: u16,
    epoch: u32,
    at: Option<Location>,
    /// Whether it counts what was read or written of its atomic.
    is_access: bool,
    is_sequential_fence: bool,
    /// The number of events of its thread that come before it.
    rank: u32,
    /// The rank of the first later event of its thread that is not of the same atomic, or the number of all of them.
    elsewhere: u32,
    /// The number of its atomic, that of the list of its thread's events of the atomic, its place in the
    /// [orders](Orders), and the first place of a larger key there; of no meaning for others.
    atomic: u32,
    list: u32,
    place: u32,
    next: u32,
    /// The number of sequentially consistent events before it.
    sequential: u32,
}

/// RC11's `psc` of a record, to judge new events. It is made once for all that ask until the record
/// [changes](Log::psc): each thread whose choices are looked for, and the state that is shown.
///
/// For each event, the set of those to which a part of an edge leads is found once. What comes after it by
/// happens-before or by program order are, of each thread, all events from some place on. What comes after it by what
/// was read or written of its atomic are the events from some place on in an order of these. Of these sets are made
/// those that whole ways lead to.
///
/// Invariant: `psc` has no cycle. An operation is put on record only if [`Newcomers`] allow it, or it takes the last
/// message.
#[derive(Debug)]
pub(super) struct Psc {
    nodes: Vec<Node>,
    /// Whether a new event can be a sequentially consistent fence.
    expects_fences: bool,
    /// The events of each thread.
    threads: SmallVec<[Vec<u32>; 8]>,
    /// The atomics' numbers.
    atomics: KeyMap<Location, u32>,
    orders: Orders,
    /// The events of each atomic by thread, each thread that has some with the number of the list.
    parts: Vec<SmallVec<[(u16, u32); 4]>>,
    /// Number of these lists.
    lists: u32,
    /// By event and thread, the rank of the thread's first event that the event happens before, or the number of all.
    after: Vec<u32>,
    of_threads: Sets,
    of_atomics: Sets,
    /// [`SEQUENTIAL`] and [`FENCES`].
    sets: Sets,
    /// By event, those that it happens before.
    happens_before: Sets,
    /// By event, those to which `scb` leads.
    scb: Sets,
    /// By event, those to which `scb`, and `eco`, lead from it or a later one of its thread. Nothing, if there are no
    /// fences.
    scb_from: Sets,
    eco_from: Sets,
    /// By sequentially consistent event, what ways from it come to.
    ways: Reached,
}

/// Sets of a record: its sequentially consistent events, and the fences among them.
const SEQUENTIAL: usize = 0;
const FENCES: usize = 1;

/// The events that ways come to in each [`Place`], by where the ways begin: sets in the order of places.
#[derive(Clone, Debug)]
struct Reached(Sets);

impl Reached {
    /// Ways that begin in this number of places of a record with this number of events. They have come nowhere.
    fn new(number: usize, events: usize) -> Reached {
        Reached(Sets::new(PLACES * number, events))
    }

    /// What the ways that begin in the place with this number come to.
    fn at(&self, of: usize, place: Place) -> &[u64] {
        self.0.row(PLACES * of + place as usize)
    }

    fn add(&mut self, of: usize, place: Place, events: impl Iterator<Item = u64>) {
        self.0.add(PLACES * of + place as usize, events);
    }
}

/// The events of atomics, each atomic's by [`key`], one atomic after the other.
#[derive(Debug)]
struct Orders {
    events: Vec<u32>,
    keys: Vec<u32>,
    /// By atomic, the place of its first event, and at last the number of all.
    starts: Vec<u32>,
    /// By place, the writes to the atomic from there on, and all its events from there on. There is one place more for
    /// each atomic, at its end.
    writes: Sets,
    all: Sets,
}

impl Orders {
    /// Of these atomics, keys and events.
    fn new(mut keyed: Vec<(u32, u32, u32)>, atomics: usize, log: &Log) -> Orders {
        keyed.sort_unstable();
        let sets = || Sets::new(keyed.len() + atomics, log.events.len());
        let mut orders = Orders {
            events: Vec::with_capacity(keyed.len()),
            keys: Vec::with_capacity(keyed.len()),
            starts: Vec::with_capacity(atomics + 1),
            writes: sets(),
            all: sets(),
        };
        for (place, &(atomic, key, event)) in (0..).zip(&keyed) {
            if orders.starts.len() == atomic as usize {
                orders.starts.push(place);
            }
            orders.events.push(event);
            orders.keys.push(key);
        }
        orders.starts.push(keyed.len() as u32);
        for (place, &(atomic, _, event)) in keyed.iter().enumerate().rev() {
            let row = place + atomic as usize;
            orders.writes.copy_row(row + 1, row);
            orders.all.copy_row(row + 1, row);
            orders.all.insert(row, event);
            if log.events[event as usize].kind.writes() {
                orders.writes.insert(row, event);
            }
        }
        orders
    }

    /// The places of an atomic's events.
    fn of(&self, atomic: u32) -> Range<usize> {
        self.starts[atomic as usize] as usize..self.starts[atomic as usize + 1] as usize
    }

    /// The first place of an atomic's event whose key is larger, or the end.
    fn after(&self, atomic: u32, key: u32) -> u32 {
        let range = self.of(atomic);
        (range.start + self.keys[range].partition_point(|&other| other <= key)) as u32
    }

    /// The writes to an atomic from a place on.
    fn writes(&self, atomic: u32, place: u32) -> impl Iterator<Item = u64> + '_ {
        self.writes.row((place + atomic) as usize).iter().copied()
    }

    /// All events of an atomic from a place on.
    fn all(&self, atomic: u32, place: u32) -> impl Iterator<Item = u64> + '_ {
        self.all.row((place + atomic) as usize).iter().copied()
    }
}

/// Where the event that has taken, or stored after, the message at this position is in the order of its atomic: `eco`
/// leads from each event to all of larger keys, and to no other.
fn key(position: usize, writes: bool) -> u32 {
    4 * position as u32 + if writes { 0 } else { 2 }
}

impl Node {
    /// An event that has no place yet.
    fn of(event: &Event) -> Node {
        Node {
            thread: event.thread,
            epoch: event.epoch,
            at: event.at,
            is_access: event.atomic().is_some(),
            is_sequential_fence: event.is_sequential_fence(),
            ..Node::default()
        }
    }

    /// Whether it happens before a later event.
    fn comes_before(&self, later: &Event) -> bool {
        later.knows_of(self.thread, self.epoch)
    }
}

impl Psc {
    pub fn new(log: &Log) -> Psc {
        let events = &log.events;
        let count = events.len();
        let sets = |number| Sets::new(number, count);
        let mut psc = Psc {
            nodes: events.iter().map(Node::of).collect(),
            expects_fences: !log.without_fences,
            threads: SmallVec::new(),
            atomics: KeyMap::default(),
            orders: Orders::new(Vec::new(), 0, log),
            parts: Vec::new(),
            lists: 0,
            after: Vec::new(),
            of_threads: sets(0),
            of_atomics: sets(0),
            sets: sets(2),
            happens_before: sets(count),
            scb: sets(count),
            scb_from: sets(0),
            eco_from: sets(0),
            ways: Reached::new(0, count),
        };
        let positions = log.positions();
        let mut keyed = Vec::with_capacity(count);
        let mut sequential = 0;
        for (number, event) in (0..).zip(events) {
            let thread = usize::from(event.thread);
            if psc.threads.len() <= thread {
                psc.threads.resize_with(thread + 1, Vec::new);
                psc.of_threads.grow(thread + 1);
            }
            psc.nodes[number as usize].rank = psc.threads[thread].len() as u32;
            psc.threads[thread].push(number);
            psc.of_threads.insert(thread, number);
            psc.nodes[number as usize].sequential = sequential;
            if event.is_sequential {
                psc.sets.insert(SEQUENTIAL, number);
                sequential += 1;
            }
            if event.is_sequential_fence() {
                psc.sets.insert(FENCES, number);
            }
            if let Some(at) = event.atomic() {
                let atomic = psc.add_to_atomic(number, event.thread, at);
                keyed.push((atomic, key(positions[number as usize], event.kind.writes()), number));
            }
        }
        psc.orders = Orders::new(keyed, psc.parts.len(), log);
        psc.place_in_orders();
        psc.place_in_threads();
        psc.find_what_comes_after(log);
        psc.find_where_scb_leads();
        if psc.has_fences() {
            psc.find_what_fences_come_before();
        }
        psc.find_ways(sequential);
        psc
    }

    /// Adds an event to those of its atomic, and says which this is.
    fn add_to_atomic(&mut self, event: u32, thread: u16, at: Location) -> u32 {
        let next = self.parts.len() as u32;
        let atomic = *self.atomics.entry(at).or_insert(next);
        if atomic == next {
            self.parts.push(SmallVec::new());
            self.of_atomics.grow(self.parts.len());
        }
        self.nodes[event as usize].atomic = atomic;
        self.of_atomics.insert(atomic as usize, event);
        let parts = &mut self.parts[atomic as usize];
        let known = parts.iter().find(|&&(of, _)| of == thread);
        let list = known.map(|&(_, list)| list).unwrap_or_else(|| {
            parts.push((thread, self.lists));
            self.lists += 1;
            self.lists - 1
        });
        self.nodes[event as usize].list = list;
        atomic
    }

    fn place_in_orders(&mut self) {
        let Orders { events, keys, .. } = &self.orders;
        for atomic in 0..self.parts.len() as u32 {
            let places = self.orders.of(atomic);
            let mut next = places.end as u32;
            for place in places.clone().rev() {
                if place + 1 < places.end && keys[place] < keys[place + 1] {
                    next = place as u32 + 1;
                }
                let node = &mut self.nodes[events[place] as usize];
                (node.place, node.next) = (place as u32, next);
            }
        }
    }

    fn place_in_threads(&mut self) {
        for thread in &self.threads {
            let mut elsewhere = thread.len() as u32;
            for pair in thread.windows(2).rev() {
                let [one, next] = [pair[0], pair[1]].map(|event| self.nodes[event as usize].at);
                if one.is_none() || one != next {
                    elsewhere = self.nodes[pair[1] as usize].rank;
                }
                self.nodes[pair[0] as usize].elsewhere = elsewhere;
            }
            if let Some(&last) = thread.last() {
                self.nodes[last as usize].elsewhere = thread.len() as u32;
            }
        }
    }

    /// What an event happens before is, of each thread, what is there from some event on, and no earlier one than for
    /// the events before it in its thread.
    fn find_what_comes_after(&mut self, log: &Log) {
        let count = self.threads.len();
        self.after = vec![0; self.nodes.len() * count];
        for events in &self.threads {
            for (thread, others) in self.threads.iter().enumerate() {
                let mut rank = 0;
                for &one in events {
                    let node = self.node(one);
                    let comes_before = |&&other: &&u32| other <= one || !node.comes_before(&log.events[other as usize]);
                    rank += others[rank..].iter().take_while(comes_before).count();
                    self.after[one as usize * count + thread] = rank as u32;
                    if let Some(&first) = others.get(rank) {
                        let of_thread = self.of_threads.row(thread);
                        self.happens_before.add_from(one as usize, of_thread, first);
                    }
                }
            }
        }
    }

    fn find_where_scb_leads(&mut self) {
        for one in 0..self.nodes.len() {
            let node = self.nodes[one];
            let own = usize::from(node.thread);
            let scb = &mut self.scb;
            // `sb`
            if let Some(&next) = self.threads[own].get(node.rank as usize + 1) {
                scb.add_from(one, self.of_threads.row(own), next);
            }
            // `sb≠loc;hb;sb≠loc`
            if let Some(&elsewhere) = self.threads[own].get(node.elsewhere as usize) {
                for (thread, events) in self.threads.iter().enumerate() {
                    let rank = self.after[elsewhere as usize * self.threads.len() + thread];
                    let far = events.get(rank as usize).map(|&far| self.nodes[far as usize].elsewhere);
                    if let Some(&first) = far.and_then(|far| events.get(far as usize)) {
                        scb.add_from(one, self.of_threads.row(thread), first);
                    }
                }
            }
            if node.is_access {
                // `hb=loc`
                let of_atomic = self.of_atomics.row(node.atomic as usize);
                let later = self.happens_before.row(one).iter().zip(of_atomic);
                scb.add(one, later.map(|(later, of_atomic)| later & of_atomic));
                // `mo` and `rb`
                scb.add(one, self.orders.writes(node.atomic, node.next));
            }
        }
    }

    /// Whether there are sequentially consistent fences.
    fn has_fences(&self) -> bool {
        self.sets.row(FENCES).iter().any(|&fences| fences != 0)
    }

    /// Whether a sequentially consistent fence happens before a new event.
    fn has_fence_before(&self, new: &Event) -> bool {
        let mut fences = members(self.sets.row(FENCES).iter().copied());
        fences.any(|fence| self.node(fence).comes_before(new))
    }

    /// The sequentially consistent fences that an event happens before.
    fn fences_after(&self, one: u32) -> impl Iterator<Item = u64> + '_ {
        let later = self.happens_before.row(one as usize).iter();
        later.zip(self.sets.row(FENCES)).map(|(later, fences)| later & fences)
    }

    fn find_what_fences_come_before(&mut self) {
        let count = self.nodes.len();
        [self.scb_from, self.eco_from] = [(); 2].map(|()| Sets::new(count, count));
        for thread in &self.threads {
            for (rank, &event) in thread.iter().enumerate().rev() {
                let one = event as usize;
                self.scb_from.add(one, self.scb.row(one).iter().copied());
                let node = self.nodes[one];
                if node.is_access {
                    self.eco_from.add(one, self.orders.all(node.atomic, node.next));
                }
                if let Some(&next) = thread.get(rank + 1) {
                    self.scb_from.add_rows(next as usize, one, 1);
                    self.eco_from.add_rows(next as usize, one, 1);
                }
            }
        }
    }

    /// Adds to the ways from a sequentially consistent event what their first edges lead to.
    fn follow(&self, one: u32, ways: &mut Reached) {
        let (event, of) = (one as usize, self.ways_from(one));
        ways.add(of, Place::End, self.scb.row(event).iter().copied());
        if has(self.sets.row(FENCES), one) {
            let later = self.happens_before.row(event);
            ways.add(of, Place::Before, later.iter().copied());
            let firsts = &self.after[event * self.threads.len()..];
            for (thread, &first) in self.threads.iter().zip(firsts) {
                if let Some(&first) = thread.get(first as usize) {
                    ways.add(of, Place::End, self.scb_from.row(first as usize).iter().copied());
                    ways.add(of, Place::AfterEco, self.eco_from.row(first as usize).iter().copied());
                }
            }
            ways.add(of, Place::Start, self.fences_after(one));
        }
        self.follow_ends(of, ways);
    }

    /// Adds to what the first edges of the ways from a sequentially consistent event lead to what comes after that. It
    /// is known of all events to which they lead in [`Place::Start`].
    fn complete(&self, one: u32, ways: &mut Reached) {
        let of = self.ways_from(one);
        let mut starts = Set::from_slice(ways.at(of, Place::Start));
        ways.0.row_mut(PLACES * of).fill(0);
        ways.0.insert(PLACES * of, one);
        while let Some(start) = first_of(&starts) {
            let from = self.ways_from(start);
            debug_assert!(!has(ways.at(from, Place::Start), one), "there is a cycle");
            ways.0.add_rows(PLACES * from, PLACES * of, PLACES);
            // Where ways have come now, they have gone on.
            remove(&mut starts, ways.at(of, Place::Start));
        }
    }

    /// The number of the ways from a sequentially consistent event.
    fn ways_from(&self, one: u32) -> usize {
        self.nodes[one as usize].sequential as usize
    }

    /// Adds to ways that have come to events in [`Place::End`] and [`Place::AfterEco`] those to which they come from
    /// there in [`Place::Start`].
    fn follow_ends(&self, of: usize, ways: &mut Reached) {
        let [ends, ecos] = [Place::End, Place::AfterEco].map(|place| Set::from_slice(ways.at(of, place)));
        let sequential = ends.iter().zip(self.sets.row(SEQUENTIAL));
        ways.add(of, Place::Start, sequential.map(|(ends, sequential)| ends & sequential));
        if !self.has_fences() {
            return;
        }
        let ended: Set = ends.iter().zip(&ecos).map(|(ends, ecos)| ends | ecos).collect();
        for thread in 0..self.threads.len() {
            // What comes after a later event of the thread comes after the first one.
            if let Some(first) = first_of_both(&ended, self.of_threads.row(thread)) {
                ways.add(of, Place::Start, self.fences_after(first));
            }
        }
    }

    /// Finds what the ways from each of this number of sequentially consistent events come to, after those to which its
    /// first edges lead.
    fn find_ways(&mut self, number: u32) {
        let count = self.nodes.len();
        let mut ways = Reached::new(number as usize, count);
        let mut left = Set::from_slice(self.sets.row(SEQUENTIAL));
        let mut path = Vec::new();
        // Most edges lead to later events, from which it is known then.
        for root in (0..count as u32).rev() {
            let mut next = Some(root).filter(|&root| has(&left, root));
            loop {
                if let Some(one) = next {
                    left[one as usize / 64] &= !(1 << (one % 64));
                    self.follow(one, &mut ways);
                    path.push(one);
                }
                let Some(&last) = path.last() else { break };
                next = first_of_both(ways.at(self.ways_from(last), Place::Start), &left);
                if next.is_none() {
                    path.pop();
                    self.complete(last, &mut ways);
                }
            }
        }
        self.ways = ways;
    }

    fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    /// The key of an event of an atomic.
    fn key(&self, event: u32) -> u32 {
        self.orders.keys[self.nodes[event as usize].place as usize]
    }

    /// The key of a new event: between those of the events between which it would be.
    fn key_of_new(&self, event: &Event) -> u32 {
        let source = event.source.map_or(0, |source| self.key(source));
        source + if event.kind.writes() { 3 } else { 2 }
    }
}
