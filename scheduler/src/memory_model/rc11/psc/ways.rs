//! The ways of RC11's `psc` through a record: all that the record decides about new events.
//!
//! A cycle that a new event closes comes to the record from a new event, and leaves it to a new one. It comes in by the
//! order of an atomic only, because no new event happens before one on record: `mo` and `rb` lead to the stores that
//! are later than the message which the new event takes, and `eco` to those who have taken such a message as well. So
//! it comes in at an *entrance*: a message that is not the last of its history, by one or the other. From there it
//! leaves by an *exit*:
//!
//! | the ways have come to | which leads to these new events |
//! |---|---|
//! | a sequentially consistent fence | those of whoever knows of it |
//! | any event, at the end of `scb` or `eco` | sequentially consistent fences of whoever knows of it |
//! | an access, where `scb` begins | of whoever knows of it, those to the same atomic: `hb=loc` |
//! | an access, where `scb` begins | those that are later in the order of the atomic: `mo`, `rb`, `eco` |
//! | an event, where `scb` begins | all of its thread: `sb` |
//!
//! and by `sb≠loc;hb;sb≠loc` from an event where `scb` begins. Of each thread, the *elsewhere* of an event is the first
//! later one that is not of its atomic, and the way leads on from that to the events of whoever knows of it, but for
//! the first ones of each thread, up to their elsewhere. Either may be a new event: then it counts of which atomic the
//! last event of the thread is.
//!
//! Whoever knows of an event is a *holder*: a thread, a message, or another place where knowledge is published. A new
//! event knows what its thread and the messages that it takes know. So two records that have the same exits for each
//! entrance, with the same holders who know of any event of a kind, allow the same new events, and have the same exits
//! after these. What else is on record makes no difference, and is no part of the state. And if one record has fewer
//! exits, or fewer holders who know of them, it allows all new events that the other one allows: a cycle through a new
//! event would go from entrances to exits as there. After that event, which adds the same to both, it is as before.
//!
//! Where there can be no sequentially consistent fence, ways come in at a store only if that is sequentially consistent
//! ([`Log::lets_in`]), nothing comes in by `eco`, and the first two exits are none.
//!
//! Of what all live threads know of, it does not count who else does, nor where it is in the order of its atomic: new
//! accesses to that are later, and come after it by `hb=loc` or by program order.

use super::search::Search;
use super::sets::{Set, members, members_of_difference};
use super::{Log, Place, Psc};
use crate::memory_model::clocks::entry;
use crate::memory_model::holders::{HolderSet, HolderSets};
use crate::memory_model::shadow::Epoch;
use dpor_explorer::Location;
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::rc::Rc;

/// Instead of the rank of an event or the key of an access: there is none.
const NONE: u32 = u32::MAX;

/// The exits of a thread's events: of each kind the least rank.
#[derive(Clone, Copy, PartialEq)]
struct OfThread {
    fence: u32,
    end: u32,
    elsewhere: u32,
    /// Whether ways have come to an event where `scb` begins, so that all later ones of the thread come after it.
    goes_on: bool,
    /// Whether to one that is followed by events of its own atomic only.
    will_be_elsewhere: bool,
    /// Whether the first two parts of `sb≠loc;hb;sb≠loc` lead to one that is followed by events of its own atomic
    /// only.
    will_be_far: bool,
}

impl OfThread {
    /// The least ranks, by kind.
    const RANKS: [fn(&OfThread) -> u32; KINDS] = [|of| of.fence, |of| of.end, |of| of.elsewhere];
}

/// The stores of an atomic's messages, in modification order: `None` for one that is not on record.
type Stores = SmallVec<[Option<u32>; 4]>;

/// Where ways leave the record.
struct Exits {
    threads: SmallVec<[OfThread; 8]>,
    /// By list of an atomic's events of one thread, the first where `scb` begins.
    same: SmallVec<[u32; 32]>,
    /// By atomic, the least key of an access where `scb` begins, and of one after a fence, of those that are not known
    /// to all live threads.
    keys: SmallVec<[[u32; 2]; 16]>,
}

/// The same, among [others](AllExits).
#[derive(Clone, Copy, PartialEq)]
struct ExitsRef<'a> {
    threads: &'a [OfThread],
    same: &'a [u32],
    keys: &'a [[u32; 2]],
}

/// Exits from several entrances, all of them in three vectors: there are many in each state.
#[derive(Default)]
struct AllExits {
    number: usize,
    threads: Vec<OfThread>,
    same: Vec<u32>,
    keys: Vec<[u32; 2]>,
}

impl AllExits {
    /// Adds exits of the same record, and returns their number.
    fn add(&mut self, exits: &Exits) -> usize {
        self.threads.extend_from_slice(&exits.threads);
        self.same.extend_from_slice(&exits.same);
        self.keys.extend_from_slice(&exits.keys);
        self.number += 1;
        self.number - 1
    }

    fn get(&self, number: usize) -> ExitsRef<'_> {
        fn part<T>(all: &[T], count: usize, number: usize) -> &[T] {
            let width = all.len() / count;
            &all[number * width..][..width]
        }
        ExitsRef {
            threads: part(&self.threads, self.number, number),
            same: part(&self.same, self.number, number),
            keys: part(&self.keys, self.number, number),
        }
    }

    fn iter(&self) -> impl Iterator<Item = ExitsRef<'_>> {
        (0..self.number).map(|number| self.get(number))
    }
}

impl Exits {
    fn none(psc: &Psc) -> Exits {
        let none = OfThread {
            fence: NONE,
            end: NONE,
            elsewhere: NONE,
            goes_on: false,
            will_be_elsewhere: false,
            will_be_far: false,
        };
        Exits {
            threads: SmallVec::from_elem(none, psc.threads.len()),
            same: SmallVec::from_elem(NONE, psc.lists as usize),
            keys: SmallVec::from_elem([NONE; 2], psc.parts.len()),
        }
    }

    fn as_ref(&self) -> ExitsRef<'_> {
        ExitsRef {
            threads: &self.threads,
            same: &self.same,
            keys: &self.keys,
        }
    }

    /// Ways have come to an event, `known` to all live threads or not.
    fn come(&mut self, psc: &Psc, (one, is_known): (u32, bool), place: Place) {
        let node = psc.node(one);
        let of = &mut self.threads[usize::from(node.thread)];
        let is_fence = place == Place::Start && node.is_sequential_fence;
        if is_fence {
            of.fence = of.fence.min(node.rank);
        }
        if psc.expects_fences && (is_fence || matches!(place, Place::End | Place::AfterEco)) {
            of.end = of.end.min(node.rank);
        }
        if matches!(place, Place::End | Place::AfterEco) {
            return;
        }
        of.goes_on = true;
        match (node.elsewhere as usize) < psc.threads[usize::from(node.thread)].len() {
            true => of.elsewhere = of.elsewhere.min(node.elsewhere),
            false => of.will_be_elsewhere = true,
        }
        if !node.is_access {
            return;
        }
        let atomic = node.atomic as usize;
        let same = &mut self.same[node.list as usize];
        *same = (*same).min(node.rank);
        if is_known {
            // Whatever is later in the order of the atomic comes after it by happens-before.
            return;
        }
        let key = psc.key(one);
        let least = &mut self.keys[atomic];
        least[0] = least[0].min(key);
        if place == Place::Before {
            least[1] = least[1].min(key);
        }
    }

    /// The first two parts of `sb≠loc;hb;sb≠loc` lead to these events of each thread.
    fn come_far(&mut self, psc: &Psc, fars: &[u32]) {
        for ((of, events), &far) in self.threads.iter_mut().zip(&psc.threads).zip(fars) {
            if let Some(&first) = events.get(far as usize) {
                match (psc.nodes[first as usize].elsewhere as usize) < events.len() {
                    true => of.goes_on = true,
                    false => of.will_be_far = true,
                }
            }
        }
    }
}

/// A message at which ways come in.
struct Entrance {
    at: Location,
    /// Its number in its history.
    message: usize,
    /// The numbers of the exits of those that come in without and by `eco`.
    exits: [usize; 2],
}

/// The ways through a record.
pub(crate) struct Ways {
    /// `None` if nothing is on record.
    psc: Option<Rc<Psc>>,
    entrances: Vec<Entrance>,
    exits: AllExits,
    /// By atomic, the keys of the stores of messages that new events may take, in modification order.
    sources: Vec<SmallVec<[u32; 4]>>,
    /// By thread, the number of its first events that all live threads know of.
    known: SmallVec<[u32; 8]>,
}

impl Ways {
    /// The ways through a record, where each of these atomics has messages of these stores, in modification order. An
    /// atomic that has only one message need not be among them. `known` is the last epoch of each thread of which all
    /// live threads know.
    pub(in super::super) fn new<M>(log: &Log, known: &[u32], histories: impl Iterator<Item = (Location, M)>) -> Ways
    where
        M: Iterator<Item = Option<u32>>,
    {
        let mut ways = Ways {
            psc: None,
            entrances: Vec::new(),
            exits: AllExits::default(),
            sources: Vec::new(),
            known: SmallVec::new(),
        };
        let histories: SmallVec<[(Location, Stores); 8]> =
            histories.map(|(at, events)| (at, events.collect())).collect();
        let lets_in = |events: &[Option<u32>]| events.iter().skip(1).flatten().any(|&store| log.lets_in(store));
        if !histories.iter().any(|(_, events)| lets_in(events)) {
            return ways;
        }
        let psc = log.psc();
        let number = |(thread, events): (usize, &Vec<u32>)| {
            let known = entry(known, thread);
            events.partition_point(|&event| psc.node(event).epoch <= known) as u32
        };
        ways.known = psc.threads.iter().enumerate().map(number).collect();
        ways.sources = vec![SmallVec::new(); psc.parts.len()];
        let mut search = Search::new(&psc, NONE);
        for (at, events) in histories {
            let Some(&atomic) = psc.atomics.get(&at) else { continue };
            let key = |event: &Option<u32>| event.map_or(0, |event| psc.key(event));
            let sources: SmallVec<[u32; 4]> = events.iter().map(key).collect();
            for by_eco in [false, true] {
                if lets_in(&events) && !(by_eco && log.without_fences) {
                    search.start_again();
                    ways.enter(&mut search, (at, atomic), &sources, by_eco);
                }
            }
            ways.sources[atomic as usize] = sources;
        }
        // There is one message: the last one, after all that is on record.
        for (&at, &atomic) in &psc.atomics {
            let sources = &mut ways.sources[atomic as usize];
            if sources.is_empty() {
                sources.push(log.last_store(at).map_or(0, |last| psc.key(last)));
            }
        }
        drop(search);
        ways.psc = Some(psc);
        ways
    }

    /// Adds the entrances at the messages of an atomic, by a search that has come nowhere; then, in another call, what
    /// comes in there `by_eco`. What is later than a message is also later than those before.
    fn enter(&mut self, search: &mut Search<'_>, (at, atomic): (Location, u32), sources: &[u32], by_eco: bool) {
        let psc = search.psc;
        let count = sources.len().saturating_sub(1);
        // Those of the same messages without `eco`, which are mostly the same.
        let others = self.entrances.len() - if by_eco { count } else { 0 };
        let mut exits = Exits::none(psc);
        let mut before = search.reached.clone();
        let mut last = None;
        for (nth, message) in (0..count).rev().enumerate() {
            let from = psc.orders.after(atomic, sources[message] + 2);
            if last != Some(from) {
                last = Some(from);
                search.come_to_writes(atomic, from);
                if by_eco {
                    search.come_by_eco(atomic, from);
                }
                search.go_on();
                for place in Place::ALL {
                    for one in members_of_difference(search.events(place), before.at(0, place)) {
                        let node = psc.node(one);
                        let is_known = node.rank < self.known[usize::from(node.thread)];
                        exits.come(psc, (one, is_known), place);
                    }
                }
                before.0.copy_from(&search.reached.0);
                exits.come_far(psc, &search.fars(&search.begun()));
            }
            let other = self.entrances.get(others + nth).map(|entrance| entrance.exits[0]);
            let mut known = other.into_iter().chain(self.exits.number.checked_sub(1));
            let known = known.find(|&number| self.exits.get(number) == exits.as_ref());
            let number = known.unwrap_or_else(|| self.exits.add(&exits));
            match self.entrances.get_mut(others + nth) {
                Some(entrance) => entrance.exits[1] = number,
                None => self.entrances.push(Entrance {
                    at,
                    message,
                    exits: [number; 2],
                }),
            }
        }
    }

    /// Adds the epochs of which it counts who knows of them.
    pub fn add_epochs(&self, add: impl FnMut(Epoch)) {
        let Some(psc) = &self.psc else { return };
        let mut events = Set::from_elem(0, psc.nodes.len().div_ceil(64));
        let mut needs = |thread: usize, rank: u32| {
            if rank != NONE && rank >= self.known[thread] {
                let event = psc.threads[thread][rank as usize] as usize;
                events[event / 64] |= 1 << (event % 64);
            }
        };
        for exits in self.exits.iter() {
            for (thread, of) in exits.threads.iter().enumerate() {
                for rank in [of.fence, of.end, of.elsewhere] {
                    needs(thread, rank);
                }
            }
            for &(thread, list) in psc.parts.iter().flatten() {
                needs(thread.into(), exits.same[list as usize]);
            }
        }
        let epoch = |event| {
            let node = psc.node(event);
            Epoch {
                thread: node.thread,
                number: node.epoch,
            }
        };
        members(events.iter().copied()).map(epoch).for_each(add);
    }

    /// The messages at which ways come in: each with a name, which it has in all states with the same messages, and the
    /// numbers of the exits of the ways that come in there, without and by `eco`.
    pub fn entrances(&self) -> impl Iterator<Item = ([u64; 2], [usize; 2])> + '_ {
        self.entrances.iter().map(|entrance| {
            let name = [entrance.at.0, entrance.message as u64];
            (name, entrance.exits)
        })
    }

    /// Looks at the exits, one after the other, with those who know of them: `None` if nothing of them counts. `who`
    /// says who knows of any of some epochs.
    pub fn each_exits(
        &self,
        live: &[u16],
        mut who: impl FnMut(&[Epoch]) -> HolderSet,
        mut look: impl FnMut(Option<&KnownExits>),
    ) {
        let Some(psc) = &self.psc else { return };
        let mut atomics: Vec<(Location, u32)> = psc.atomics.iter().map(|(&at, &atomic)| (at, atomic)).collect();
        atomics.sort_unstable_by_key(|&(at, _)| at);
        let mut known = KnownExits::default();
        // Exits that come one after the other differ in little: what was found for those before, by kind and by atomic.
        let mut found = (
            [HolderSet::NOBODY; KINDS],
            vec![(HolderSet::NOBODY, [u32::MAX; 3]); atomics.len()],
        );
        let mut before: Option<ExitsRef<'_>> = None;
        let mut who_knows = |events: &mut dyn Iterator<Item = (usize, u32)>| self.who_knows(psc, events, &mut who);
        for exits in self.exits.iter() {
            known.clear();
            for (kind, rank) in OfThread::RANKS.into_iter().enumerate() {
                let ranks = || exits.threads.iter().map(rank);
                if !before.is_some_and(|before| before.threads.iter().map(rank).eq(ranks())) {
                    found.0[kind] = who_knows(&mut ranks().enumerate());
                }
            }
            known.add_events(found.0);
            for (number, &thread) in (0..).zip(live) {
                let thread = usize::from(thread);
                if let Some(of) = exits.threads.get(thread) {
                    let last = psc.threads[thread].last();
                    known.add_thread(OfLiveThread {
                        number,
                        goes_on: of.goes_on,
                        // Who knows of a later event of the thread knows of the earlier one.
                        will_be_elsewhere: of.will_be_elsewhere && of.elsewhere == NONE,
                        will_be_far: of.will_be_far && !of.goes_on,
                        last: last.and_then(|&last| psc.node(last).at),
                    });
                }
            }
            for (&(at, atomic), found) in atomics.iter().zip(&mut found.1) {
                let parts = &psc.parts[atomic as usize];
                let is_as_before = before.is_some_and(|before| {
                    let mut lists = parts.iter().map(|&(_, list)| list as usize);
                    before.keys[atomic as usize] == exits.keys[atomic as usize]
                        && lists.all(|list| before.same[list] == exits.same[list])
                });
                if !is_as_before {
                    let ranks = parts
                        .iter()
                        .map(|&(thread, list)| (thread.into(), exits.same[list as usize]));
                    found.0 = who_knows(&mut { ranks });
                    found.1 = match found.0 {
                        // All new events come after it.
                        HolderSet::ALL => [u32::MAX; 3],
                        _ => self.earlier(atomic, exits),
                    };
                }
                known.add_atomic(at, found.0, found.1);
            }
            look(known.count().then_some(&known));
            before = Some(exits);
        }
    }

    /// Who knows of any of some events, each of which is that of a thread with a rank.
    fn who_knows(
        &self,
        psc: &Psc,
        events: &mut dyn Iterator<Item = (usize, u32)>,
        who: &mut impl FnMut(&[Epoch]) -> HolderSet,
    ) -> HolderSet {
        let mut epochs: SmallVec<[Epoch; 4]> = SmallVec::new();
        for (thread, rank) in events.filter(|&(_, rank)| rank != NONE) {
            if rank < self.known[thread] {
                return HolderSet::ALL;
            }
            epochs.push(Epoch {
                thread: thread as u16,
                number: psc.node(psc.threads[thread][rank as usize]).epoch,
            });
        }
        match epochs.is_empty() {
            true => HolderSet::NOBODY,
            false => who(&epochs),
        }
    }

    /// [`ToAtomic::earlier`].
    fn earlier(&self, atomic: u32, exits: ExitsRef<'_>) -> [u32; 3] {
        let [least, least_before] = exits.keys[atomic as usize];
        let sources = &self.sources[atomic as usize];
        let earlier = |key: u32, more: u32| match key {
            NONE => u32::MAX,
            key => sources.iter().filter(|&&source| source + more <= key).count() as u32,
        };
        [earlier(least, 3), earlier(least_before, 3), earlier(least_before, 2)]
    }
}

/// Number of kinds of exits that are events which somebody knows of.
const KINDS: usize = 3;

/// Where ways from an entrance leave the record, with those who know of it. It is the same in all records that lead on
/// to the same new events.
#[derive(Clone, Default, Debug)]
pub(crate) struct KnownExits {
    /// Numbers that are the same for the same exits, in all processes.
    words: Vec<u64>,
    /// Who knows of a sequentially consistent fence, of an end, and of an elsewhere.
    events: [u32; KINDS],
    /// In ascending order.
    threads: Vec<OfLiveThread>,
    /// In the order of locations.
    atomics: Vec<ToAtomic>,
}

/// What is in [`OfThread`] of all events of a live thread.
#[derive(Clone, Copy, Debug)]
struct OfLiveThread {
    /// Its number among the live ones.
    number: u32,
    goes_on: bool,
    will_be_elsewhere: bool,
    will_be_far: bool,
    /// The atomic of its last event on record.
    last: Option<Location>,
}

/// What leads to new events of an atomic.
#[derive(Clone, Copy, Debug)]
struct ToAtomic {
    at: Location,
    /// Who knows of an access to it where `scb` begins.
    same: u32,
    /// Of the messages that a new event may take, how many it can take so that it is not later than such an access, if
    /// it stores; than such an access after a fence, if it stores; and than that, if it loads. The largest number, if
    /// there is none, or if that makes no difference.
    earlier: [u32; 3],
}

impl KnownExits {
    fn clear(&mut self) {
        self.words.clear();
        self.threads.clear();
        self.atomics.clear();
    }

    /// Adds who knows of them, to none.
    fn add_events(&mut self, events: [HolderSet; KINDS]) {
        self.events = events.map(|set| set.number);
        for (kind, set) in (0..).zip(events).filter(|(_, set)| *set != HolderSet::NOBODY) {
            self.words.extend([kind, set.hash as u64, (set.hash >> 64) as u64]);
        }
    }

    fn add_thread(&mut self, of: OfLiveThread) {
        let waits = of.will_be_elsewhere || of.will_be_far;
        if of.goes_on || waits {
            let flags = [of.goes_on, of.will_be_elsewhere, of.will_be_far];
            let flags = flags.into_iter().fold(0, |flags, flag| flags << 1 | u64::from(flag));
            // It counts of which atomic the last event is if a later one may be elsewhere.
            let last = of.last.filter(|_| waits).map_or(u64::MAX, |at| at.0);
            self.words.extend([3, u64::from(of.number) << 3 | flags, last]);
            self.threads.push(of);
        }
    }

    fn add_atomic(&mut self, at: Location, same: HolderSet, earlier: [u32; 3]) {
        if same != HolderSet::NOBODY || earlier != [u32::MAX; 3] {
            let [store, store_after_fence, load_after_fence] = earlier.map(u64::from);
            self.words.extend([4, at.0, same.hash as u64, (same.hash >> 64) as u64]);
            self.words.extend([store << 32 | store_after_fence, load_after_fence]);
            self.atomics.push(ToAtomic {
                at,
                same: same.number,
                earlier,
            });
        }
    }

    fn count(&self) -> bool {
        !self.words.is_empty()
    }

    /// Numbers that are the same for the same exits, in all processes.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// What counts for [`KnownExits::lead_no_further`].
    pub fn without_words(&self) -> KnownExits {
        KnownExits {
            words: Vec::new(),
            ..self.clone()
        }
    }

    /// Says whether ways that leave here lead to no new event to which those that leave from the `others` do not lead,
    /// nor will after any operations: of two states that differ in nothing but what is known in them. `acting` is the
    /// number of the fixed holder that the live thread with a number is.
    pub fn lead_no_further(&self, others: &KnownExits, sets: &HolderSets, acting: impl Fn(u32) -> usize) -> bool {
        let mut events = self.events.iter().zip(others.events);
        if !events.all(|(&own, other)| sets.is_subset(own, other)) {
            return false;
        }
        let [_, _, elsewhere] = others.events;
        let mut of_others = others.threads.iter();
        let threads_do = self.threads.iter().all(|of| {
            let Some(other) = find_ascending(&mut of_others, |other| other.number.cmp(&of.number)) else {
                return false;
            };
            let after_same = of.last == other.last;
            (other.goes_on || !of.goes_on)
                // The next event elsewhere is a later one.
                && (!of.will_be_elsewhere
                    || other.will_be_elsewhere && after_same
                    || sets.has_fixed(elsewhere, acting(of.number)))
                && (!of.will_be_far || other.goes_on || other.will_be_far && after_same)
        });
        let mut of_others = others.atomics.iter();
        threads_do
            && self.atomics.iter().all(|to| {
                find_ascending(&mut of_others, |other| other.at.cmp(&to.at)).is_some_and(|other| {
                    let mut earlier = to.earlier.iter().zip(&other.earlier);
                    other.same == HolderSet::ALL.number
                        || sets.is_subset(to.same, other.same) && earlier.all(|(own, other)| own >= other)
                })
            })
    }
}

/// The next of ascending things that is equal to something.
fn find_ascending<'a, T>(all: &mut std::slice::Iter<'a, T>, compare: impl Fn(&T) -> Ordering) -> Option<&'a T> {
    let at = all.as_slice().iter().position(|one| compare(one) != Ordering::Less)?;
    *all = all.as_slice()[at..].iter();
    all.as_slice().first().filter(|one| compare(one) == Ordering::Equal)
}
