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
//! entrance, with the same holders for each event that is one, allow the same new events, and have the same exits after
//! these. What else is on record makes no difference, and is no part of the state.
//!
//! Of what all live threads know of, it does not count who else does, nor where it is in the order of its atomic: new
//! accesses to that are later, and come after it by `hb=loc` or by program order.

use super::search::Search;
use super::sets::members_of_difference;
use super::{Log, Place, Psc};
use crate::image::hash::hash_of;
use crate::memory_model::clocks::entry;
use dpor_explorer::Location;
use smallvec::SmallVec;
use std::rc::Rc;

/// Instead of the rank of an event or the key of an access: there is none.
const NONE: u32 = u32::MAX;

/// Whoever can pass on what is known of events.
#[derive(Clone, Copy)]
pub(crate) enum Holder {
    /// A live thread: what it knows, which are its own events as well.
    Thread(u16),
    /// What a thread learns by a fence, publishes because of one, or is lent.
    View(u16, u64),
    /// A message of the atomic at a location, by its number.
    Message(Location, u64),
    /// What is published at a location.
    Place(Location),
}

impl Holder {
    fn name(self) -> [u64; 3] {
        match self {
            Holder::Thread(thread) => [0, thread.into(), 0],
            Holder::View(thread, which) => [1, thread.into(), which],
            Holder::Message(location, number) => [2, location.0, number],
            Holder::Place(location) => [3, location.0, 0],
        }
    }
}

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

/// Where ways leave the record.
#[derive(Clone, PartialEq)]
struct Exits {
    threads: SmallVec<[OfThread; 8]>,
    /// By list of an atomic's events of one thread, the first where `scb` begins.
    same: SmallVec<[u32; 16]>,
    /// By atomic, the least key of an access where `scb` begins, and of one after a fence, of those that are not known
    /// to all live threads.
    keys: SmallVec<[[u32; 2]; 8]>,
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

    /// Ways have come to an event, `known` to all live threads or not.
    fn come(&mut self, psc: &Psc, (one, is_known): (u32, bool), place: Place) {
        let node = psc.node(one);
        let of = &mut self.threads[usize::from(node.thread)];
        let is_fence = place == Place::Start && node.is_sequential_fence;
        if is_fence {
            of.fence = of.fence.min(node.rank);
        }
        if is_fence || matches!(place, Place::End | Place::AfterEco) {
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

/// Where ways come in.
struct Entrance {
    at: Location,
    /// The number of the message in its history.
    message: usize,
    by_eco: bool,
    /// The number of its exits.
    exits: usize,
}

/// An atomic in the order of locations.
struct OfAtomic {
    at: Location,
    /// Its number.
    atomic: u32,
    /// The lists of its events, by thread.
    lists: SmallVec<[(u16, u32); 4]>,
}

/// The ways through a record.
pub(crate) struct Ways {
    /// `None` if nothing is on record.
    psc: Option<Rc<Psc>>,
    entrances: Vec<Entrance>,
    exits: Vec<Exits>,
    /// By atomic, the keys of the stores of messages that new events may take, in modification order.
    sources: Vec<SmallVec<[u32; 4]>>,
    /// By thread, the number of its first events that all live threads know of.
    known: SmallVec<[u32; 8]>,
}

/// Who knows of the events of each thread: by the number of events known, the sum of the hashes of the holders.
pub(crate) struct Holders(SmallVec<[Vec<u128>; 8]>);

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
            exits: Vec::new(),
            sources: Vec::new(),
            known: SmallVec::new(),
        };
        if log.is_empty() {
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
            let sources: SmallVec<[u32; 4]> = events.map(|event| event.map_or(0, |event| psc.key(event))).collect();
            for by_eco in [false, true] {
                search.start_again();
                ways.enter(&mut search, (at, atomic), &sources, by_eco);
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

    /// Adds the entrances at the messages of an atomic, by a search that has come nowhere. What is later than a message
    /// is also later than those before.
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
            let other = self.entrances.get(others + nth).map(|entrance| entrance.exits);
            let mut known = other.into_iter().chain(self.exits.len().checked_sub(1));
            let number = known.find(|&number| self.exits[number] == exits).unwrap_or_else(|| {
                self.exits.push(exits.clone());
                self.exits.len() - 1
            });
            self.entrances.push(Entrance {
                at,
                message,
                by_eco,
                exits: number,
            });
        }
    }

    /// The first epoch of each thread of which it counts who knows of it; the largest number for a thread without.
    pub fn first_epochs(&self) -> SmallVec<[u32; 16]> {
        let Some(psc) = &self.psc else {
            return SmallVec::new();
        };
        let mut ranks: SmallVec<[u32; 16]> = SmallVec::from_elem(NONE, psc.threads.len());
        for exits in &self.exits {
            for (rank, of) in ranks.iter_mut().zip(&exits.threads) {
                *rank = (*rank).min(of.fence).min(of.end).min(of.elsewhere);
            }
            for &(thread, list) in psc.parts.iter().flatten() {
                let rank = &mut ranks[usize::from(thread)];
                *rank = (*rank).min(exits.same[list as usize]);
            }
        }
        let first =
            |(events, &rank): (&Vec<u32>, &u32)| events.get(rank as usize).map_or(NONE, |&of| psc.node(of).epoch);
        psc.threads.iter().zip(&ranks).map(first).collect()
    }

    /// Nobody, as long as none is [noted](Ways::note).
    pub fn holders(&self) -> Holders {
        let threads = self.psc.iter().flat_map(|psc| &psc.threads);
        Holders(threads.map(|events| vec![0; events.len() + 1]).collect())
    }

    /// Notes what a holder knows.
    pub fn note(&self, holders: &mut Holders, holder: Holder, clock: &[u32]) {
        let Some(psc) = &self.psc else { return };
        let mut hash = None;
        for (thread, (events, known)) in psc.threads.iter().zip(&mut holders.0).enumerate() {
            let count = match holder {
                Holder::Thread(own) if usize::from(own) == thread => events.len(),
                _ => {
                    let known = entry(clock, thread);
                    events.partition_point(|&event| psc.node(event).epoch <= known)
                }
            };
            if count > 0 {
                let hash = *hash.get_or_insert_with(|| hash_of(&holder.name()));
                known[count] = known[count].wrapping_add(hash);
            }
        }
    }

    /// Shows the ways, by who knows of the events where they leave. All holders are noted.
    pub fn show(&self, mut holders: Holders, live: &[u16], mut show: impl FnMut(u64)) {
        let Some(psc) = &self.psc else {
            return [u64::MAX; 2].into_iter().for_each(show);
        };
        // Who knows of an event knows of all before it.
        for known in &mut holders.0 {
            for count in (1..known.len()).rev() {
                known[count - 1] = known[count - 1].wrapping_add(known[count]);
            }
        }
        let mut atomics: Vec<OfAtomic> = psc
            .atomics
            .iter()
            .map(|(&at, &atomic)| {
                let mut lists = psc.parts[atomic as usize].clone();
                lists.sort_unstable();
                OfAtomic { at, atomic, lists }
            })
            .collect();
        atomics.sort_unstable_by_key(|of| of.at);
        let mut runs: SmallVec<[bool; 8]> = SmallVec::from_elem(false, psc.threads.len());
        let digests: Vec<Option<u128>> = self
            .exits
            .iter()
            .map(|exits| self.digest((exits, &holders), live, &atomics, &mut runs))
            .collect();
        for entrance in &self.entrances {
            if let Some(digest) = digests[entrance.exits] {
                let message = (entrance.message as u64) << 1 | u64::from(entrance.by_eco);
                [entrance.at.0, message, digest as u64, (digest >> 64) as u64]
                    .into_iter()
                    .for_each(&mut show);
            }
        }
        show(u64::MAX);
        // For those that go on where they are of another atomic than the last event.
        for (thread, _) in (0..).zip(&runs).filter(|&(_, &counts)| counts) {
            let last = psc.threads[thread].last().and_then(|&last| psc.node(last).at);
            show(thread as u64);
            show(last.map_or(u64::MAX, |at| at.0));
        }
        show(u64::MAX);
    }

    /// A digest of exits; `None` if none counts. Notes for which threads it counts of which atomic the last event is.
    fn digest(
        &self,
        (exits, holders): (&Exits, &Holders),
        live: &[u16],
        atomics: &[OfAtomic],
        runs: &mut [bool],
    ) -> Option<u128> {
        let mut words: SmallVec<[u64; 128]> = SmallVec::new();
        let ranks: [fn(&OfThread) -> u32; 3] = [|of| of.fence, |of| of.end, |of| of.elsewhere];
        for (kind, rank) in (0..).zip(ranks) {
            let ranks = exits.threads.iter().map(rank);
            self.add_holders(&mut words, [kind, 0], (0..).zip(ranks), holders);
        }
        for (thread, of) in exits.threads.iter().enumerate() {
            if live.contains(&(thread as u16)) {
                // Who knows of a later event of the thread knows of the earlier one.
                let will_be_elsewhere = of.will_be_elsewhere && of.elsewhere == NONE;
                let will_be_far = of.will_be_far && !of.goes_on;
                runs[thread] |= will_be_elsewhere || will_be_far;
                let flags = u64::from(of.goes_on) | u64::from(will_be_elsewhere) << 1 | u64::from(will_be_far) << 2;
                if flags != 0 {
                    words.extend_from_slice(&[3, thread as u64, flags]);
                }
            }
        }
        for OfAtomic { at, atomic, lists } in atomics {
            let ranks = lists.iter().map(|&(thread, list)| (thread, exits.same[list as usize]));
            self.add_holders(&mut words, [4, at.0], ranks, holders);
            let [least, least_before] = exits.keys[*atomic as usize];
            if least == NONE {
                continue;
            }
            // How many of the messages a new event may take so that it is not later than the access: a store, and a
            // load.
            let sources = &self.sources[*atomic as usize];
            let earlier = |key: u32, more: u32| sources.iter().filter(|&&source| source + more <= key).count() as u64;
            let counts = match least_before {
                NONE => [earlier(least, 3), u64::MAX, u64::MAX],
                before => [earlier(least, 3), earlier(before, 3), earlier(before, 2)],
            };
            words.extend_from_slice(&[5, at.0]);
            words.extend_from_slice(&counts);
        }
        (!words.is_empty()).then(|| hash_of(&words))
    }

    /// Adds who knows of any of some events, each of which is that of a thread with a rank. What nobody knows of does
    /// not count, and what all live threads know of is all that counts.
    fn add_holders(
        &self,
        words: &mut SmallVec<[u64; 128]>,
        what: [u64; 2],
        events: impl Iterator<Item = (u16, u32)> + Clone,
        holders: &Holders,
    ) {
        let events = events.filter(|&(_, rank)| rank != NONE);
        if events
            .clone()
            .any(|(thread, rank)| rank < self.known[usize::from(thread)])
        {
            words.extend_from_slice(&[what[0], what[1], u64::MAX]);
            return;
        }
        for (thread, rank) in events {
            let hash = holders.0[usize::from(thread)][rank as usize + 1];
            if hash != 0 {
                words.extend_from_slice(&[what[0], what[1], thread.into(), hash as u64, (hash >> 64) as u64]);
            }
        }
    }
}
