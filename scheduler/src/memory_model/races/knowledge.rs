//! What threads know, as a part of the state.
//!
//! What was accessed before a state, and by whom it is known, decides which later access is in a race. So a state has
//! *facts*: the accesses, to granules that several threads use, that some live thread does not know of. Under weak
//! memory, it also decides what operations on atomics may find: a thread that knows that a message, or a later one, was
//! taken may not take an earlier one. So for each message but the first that some thread may take, that is a fact, too.
//! And of the operations on record it decides which new ones are ordered after them, so that some are excluded: these
//! are the [ways of `psc`](Ways), by entrance. Of all of this, a state shows which [holders](Holders) know of it. Who
//! waits for others to end counts as knowing what it will know after that at least. States of sequential consistency
//! have no facts where weak memory is still to come ([`DataRaces::leaves_out_knowledge`]).
//!
//! Two states that are otherwise equal go on in the same way, but for what is decided by knowledge: a holder learns
//! what another one knows, and nothing is forgotten. So of two of them, the one *covers* the other one in which every
//! holder knows as much of each fact, or less, and the ways of `psc` lead to no other new operations
//! ([`KnownExits::lead_no_further`]). Each step that is possible after the covered state is possible after the covering
//! one, and leads to a state that covers that after the other one; and each access that is in a race after the covered
//! state is in a race after the other one, with the same earlier access. What can differ is whether an access is on
//! record at all: one that all live threads know of is in no race with what they, and those that they create, do later.
//! Likewise, there may be earlier messages that all threads of the covered state know to be over.
//!
//! Invariant: clock numbers are no part of the state. Two executions with equal states differ in them.

use super::DataRaces;
use super::facts::Facts;
use crate::image::hash::hash_of;
use crate::memory_model::clocks::entry;
#[cfg(feature = "faults")]
use crate::memory_model::happens_before::RaceFault;
use crate::memory_model::holders::{HolderSet, HolderSets, Holders, Interned, MOST_NUMBERS, Scratch, UNNUMBERED};
use crate::memory_model::rc11::{KnownExits, Ways};
use crate::memory_model::shadow::Epoch;
use dpor_explorer::Location;
use smallvec::SmallVec;

/// Facts in a state that is shown, with those who know of them.
const UNKNOWN: &str = "accesses that not all threads know of";
const TAKEN_FROM: &str = "who knows which values of atomics are over";
const SEQUENTIAL: &str = "order of sequentially consistent accesses";

/// Instead of the kind of an access: that this message of an atomic, or a later one, was taken.
const TAKEN: u64 = 0xff;

/// The name of the fact that a message or a later one was taken.
fn name_of_taken(at: Location, message: usize) -> [u64; 2] {
    [(message as u64) << 8 | TAKEN, at.0]
}

/// The facts of an epoch, or another fact, with those who know of it.
#[derive(Clone, Copy)]
struct KnownFacts {
    holders: HolderSet,
    /// The sum of the facts' hashes.
    facts: u128,
}

/// A hash of facts and of those who know of them. Which facts are of one epoch makes no difference.
fn digest(known: &mut [KnownFacts]) -> u128 {
    known.sort_unstable_by_key(|known| known.holders.hash);
    let same = known.chunk_by(|one, other| one.holders.hash == other.holders.hash);
    let hashes = same.map(|known| {
        let facts = known.iter().fold(0u128, |sum, known| sum.wrapping_add(known.facts));
        hash_of(halves([facts, known[0].holders.hash]).as_flattened())
    });
    hashes.fold(0, u128::wrapping_add)
}

fn halves<const N: usize>(hashes: [u128; N]) -> [[u64; 2]; N] {
    hashes.map(|hash| [hash as u64, (hash >> 64) as u64])
}

/// Number of fixed holders that each thread is.
const OF_THREAD: usize = 4;

/// Where in addresses, which have 47 bits, what was lent before, and messages that are alone, are told from locations
/// where something is published.
const ELSE: u64 = 1 << 47;

/// Names, with their hashes.
#[derive(Default)]
struct Names(Interned<[u64; 2], u128>);

impl Names {
    /// The number of a name, and the hash of it.
    fn number(&mut self, name: [u64; 2], hash: impl Fn() -> u128) -> (u32, u128) {
        let number = self.0.number(name, MOST_NUMBERS, &hash);
        (number, self.0.get(number).copied().unwrap_or_else(hash))
    }

    /// The word for a fact with those who know of it, and the hash of its name.
    fn fact(&mut self, name: [u64; 2], hash: impl Fn() -> u128, holders: HolderSet) -> (u64, u128) {
        let (number, hash) = self.number(name, hash);
        let of = if number == UNNUMBERED {
            UNNUMBERED
        } else {
            holders.number
        };
        (word(number, of), hash)
    }
}

/// The ways of `psc` that were met.
#[derive(Default)]
struct MetWays {
    entrances: Names,
    /// The exits by their hashes.
    exits: Interned<u128, KnownExits>,
    /// Of an entrance, those without and by `eco`, if they differ.
    pairs: Interned<[u32; 2], [u32; 2]>,
}

/// Instead of the number of exits, and the hash: none counts.
const NO_EXITS: (u32, u128) = (UNNUMBERED - 1, 0);

impl MetWays {
    /// By this, the numbers of pairs differ from those of exits.
    const PAIR: u32 = 1 << 31;

    /// The number of exits, and a hash of them.
    fn exits(&mut self, exits: &KnownExits) -> (u32, u128) {
        let hash = hash_of(exits.words());
        (self.exits.number(hash, MOST_EXITS, || exits.without_words()), hash)
    }

    /// The word for an entrance with these exits, without and by `eco`, and a hash of both; `None` if none counts.
    fn entrance(&mut self, name: [u64; 2], exits: [(u32, u128); 2]) -> Option<(u64, u128)> {
        if exits == [NO_EXITS; 2] {
            return None;
        }
        let (number, of_name) = self.entrances.number(name, || hash_of(&name));
        let hash = hash_of(halves([of_name, exits[0].1, exits[1].1]).as_flattened());
        let exits = exits.map(|(number, _)| number);
        let of_both = match exits {
            _ if number == UNNUMBERED || exits.contains(&UNNUMBERED) => UNNUMBERED,
            [one, other] if one == other => one,
            // A pair without a number stays so: that has all bits.
            _ => self.pairs.number(exits, MOST_NUMBERS, || exits) | MetWays::PAIR,
        };
        Some((word(number, of_both), hash))
    }

    /// The exits of an entrance, without and by `eco`; `None` if they have no number.
    fn pair(&self, number: u32) -> Option<[u32; 2]> {
        match number {
            UNNUMBERED => None,
            _ if number == NO_EXITS.0 || number & MetWays::PAIR == 0 => Some([number; 2]),
            _ => self.pairs.get(number & !MetWays::PAIR).copied(),
        }
    }

    /// Says whether the ways from the first of these entrances [lead no further](KnownExits::lead_no_further) than
    /// those from the other one.
    fn lead_no_further(&self, sets: &HolderSets, known: u32, present: u32) -> bool {
        let (Some(known), Some(present)) = (self.pair(known), self.pair(present)) else {
            return false;
        };
        let mut pairs = known.into_iter().zip(present);
        pairs.all(|(known, present)| {
            let exits = [known, present].map(|number| self.exits.get(number));
            match exits {
                _ if known == present || known == NO_EXITS.0 => true,
                [Some(known), Some(present)] => known.lead_no_further(present, sets, |live| live as usize * OF_THREAD),
                _ => false,
            }
        })
    }
}

/// Items of one kind in states: for each its number, and that of those who know of it, or of its exits. Many states
/// have the same ones, which have a number.
#[derive(Default)]
struct Parts {
    /// By hash, a word for each item, in ascending order.
    words: Interned<u128, Box<[u64]>>,
    /// Number of all words.
    size: usize,
}

/// Maximum number of words of the parts of one kind that have a number.
const MOST_WORDS: usize = 1 << 26;

impl Parts {
    /// The number of a part with this hash and these words, which are in any order.
    fn number(&mut self, hash: u128, words: &mut [u64]) -> u32 {
        let has_room = self.size + words.len() <= MOST_WORDS;
        let most = if has_room { MOST_WORDS } else { 0 };
        self.words.number(hash, most, || {
            words.sort_unstable();
            self.size += words.len();
            (&*words).into()
        })
    }

    /// Says whether each item of a part is in another one, where the numbers that it has there and here are `related`.
    fn has_all(&self, other: u32, one: u32, related: impl Fn(u32, u32) -> bool) -> bool {
        let words = [other, one].map(|number| self.words.get(number));
        match words {
            [Some(_), Some(_)] if other == one => true,
            [Some(others), Some(some)] => all_are_in(some, others, related),
            _ => false,
        }
    }
}

/// What was met in states, in all executions. What is known in a state is then three words at most: the numbers of what
/// accesses are in it, which taken messages, and which ways.
#[derive(Default)]
pub(super) struct Met {
    facts: Names,
    holders: HolderSets,
    accesses: Parts,
    taken: Parts,
    ways: MetWays,
    entrances: Parts,
}

/// What a word of knowledge is about.
const ACCESSES: u32 = 0;
const MESSAGES: u32 = 1;
const WAYS: u32 = 2;

impl Met {
    /// Says whether a state with `known` knowledge covers one with `present` knowledge and otherwise the same.
    pub fn covers(&self, known: &[u64], present: &[u64]) -> bool {
        let part = |words: &[u64], about: u32| {
            let mut words = words.iter().copied().map(parts);
            words.find(|&(kind, _)| kind == about).map(|(_, number)| number)
        };
        let know_less = |known, holders| self.holders.is_subset(known, holders);
        let lead_no_further = |exits, known| self.ways.lead_no_further(&self.holders, known, exits);
        let facts = [(ACCESSES, &self.accesses), (MESSAGES, &self.taken)];
        facts.into_iter().all(
            |(about, facts)| match [known, present].map(|words| part(words, about)) {
                [_, None] => true,
                [None, Some(_)] => false,
                [Some(known), Some(present)] => facts.has_all(known, present, know_less),
            },
        ) && match [known, present].map(|words| part(words, WAYS)) {
            [None, _] => true,
            [Some(_), None] => false,
            [Some(known), Some(present)] => self.entrances.has_all(present, known, lead_no_further),
        }
    }
}

/// The numbers of sets of holders in a state.
struct Numbering<'a, N> {
    holders: &'a Holders,
    /// That of a set which is [written](Holders::write) so.
    number: N,
    /// By number of an epoch.
    of_epochs: SmallVec<[Option<HolderSet>; 64]>,
    scratch: Scratch,
}

impl<'a, N: FnMut(&[u64]) -> HolderSet> Numbering<'a, N> {
    fn new(holders: &'a Holders, number: N) -> Self {
        Numbering {
            holders,
            number,
            of_epochs: SmallVec::from_elem(None, holders.epochs()),
            scratch: Scratch::default(),
        }
    }

    fn of(&mut self, set: &[u64]) -> HolderSet {
        self.holders.of(set, &mut self.scratch.words, &mut self.number)
    }

    /// Who knows of the epoch with this number.
    fn of_epoch(&mut self, position: usize) -> HolderSet {
        if let Some(known) = self.of_epochs[position] {
            return known;
        }
        let set = self.of(self.holders.knowing(position));
        *self.of_epochs[position].insert(set)
    }

    /// Who knows of any of some epochs.
    fn of_any(&mut self, epochs: &[Epoch]) -> HolderSet {
        match *epochs {
            [one] => self.of_epoch(self.holders.position(one)),
            _ => self.holders.of_any(epochs, &mut self.scratch, &mut self.number),
        }
    }
}

/// Maximum number of exits that have a number.
const MOST_EXITS: usize = 1 << 20;

fn word(number: u32, of: u32) -> u64 {
    u64::from(number) << 32 | u64::from(of)
}

fn parts(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// Says whether all of some items are among others, where the numbers that they have there and here are `related`. Both
/// are in ascending order.
fn all_are_in(some: &[u64], others: &[u64], related: impl Fn(u32, u32) -> bool) -> bool {
    let mut others = others.iter().copied().map(parts);
    // Those that come one after the other are often the same.
    let mut checked = None;
    some.iter().copied().map(parts).all(|(item, of)| {
        let same = others
            .find(|&(other, _)| other >= item)
            .filter(|&(other, _)| other == item);
        same.is_some_and(|(_, of_other)| {
            let pair = Some((of_other, of));
            let holds = checked == pair || related(of_other, of);
            checked = pair;
            holds
        })
    })
}

/// A holder with a name, and clocks of what it knows.
type NamedHolder<'a> = (u64, [&'a [u32]; 2]);

/// What is known in a state.
struct Known {
    facts: Facts,
    ways: Option<Ways>,
}

impl DataRaces {
    /// Whether what threads know of each other's accesses is told by [`DataRaces::knowledge`].
    fn tells_knowledge(&self) -> bool {
        #[cfg(feature = "faults")]
        if self.order.fault == Some(RaceFault::IgnoreInStates) {
            return false;
        }
        self.rc11.chooses() || self.is_on() && !self.leaves_out_knowledge
    }

    /// Finds out what is known, and by whom; `None` if all is known to all.
    fn known(&self, holders: &mut Holders) -> Option<Known> {
        if !self.tells_knowledge() {
            return None;
        }
        let known_to_all = self.known_to_all();
        let facts = self.facts(&known_to_all);
        let has_choices = self.rc11.has_choices();
        if facts.is_empty() && !has_choices {
            return None;
        }
        // Where there is no choice, no way is closed.
        let ways = has_choices.then(|| self.rc11.ways(&known_to_all));
        self.add_holders(holders);
        facts.iter().for_each(|fact| holders.ask(fact.epoch));
        for (_, _, takers) in self.rc11.takers() {
            takers.for_each(|epoch| holders.ask(epoch));
        }
        if let Some(ways) = &ways {
            ways.add_epochs(|epoch| holders.ask(epoch));
        }
        holders.find();
        Some(Known { facts, ways })
    }

    fn add_holders(&self, holders: &mut Holders) {
        holders.start_again(self.order.views.len());
        let mut others: SmallVec<[NamedHolder; 32]> = SmallVec::new();
        for &live in &self.live {
            let view = self.order.views.get(usize::from(live));
            let Some((view, foreseen)) = view.zip(self.order.foreseen(live.into())) else {
                holders.add_acting(&[]);
                (1..OF_THREAD).for_each(|_| holders.add(&[]));
                continue;
            };
            holders.add_acting(foreseen);
            // What an acquire fence adds, and what is lent, is beside what the thread knows.
            holders.add(&[foreseen, &view.acquired]);
            holders.add(&[&view.released]);
            holders.add(&[foreseen, view.lent.last().map_or(&[], |lent| lent)]);
            let before = view.lent.iter().rev().skip(1).rev();
            others.extend((0..).zip(before).map(|(depth, lent)| {
                let name = ELSE | u64::from(live) << 16 | depth;
                (name, [foreseen.as_slice(), lent])
            }));
        }
        for released in self.rc11.released() {
            holders.add(&[released]);
        }
        holders.end_fixed();
        let published = self.order.published.iter();
        others.extend(published.map(|(location, clock)| (location.0, [clock, &[]])));
        others.extend(self.rc11.alone().map(|(location, value, clock)| {
            debug_assert!(
                self.order.published.get(location).is_none(),
                "what an atomic publishes is in two places"
            );
            // Whether somebody can find it follows from its value, and from what memory holds.
            let name = hash_of(&[ELSE ^ location.0, value]) as u64;
            (name, [clock.as_slice(), &[]])
        }));
        others.sort_unstable_by_key(|&(name, _)| name);
        others
            .iter()
            .for_each(|(name, clocks)| holders.add_named(*name, clocks));
    }

    /// Sets `words` to what is known of each other's accesses, and returns a hash of the same that does not depend on
    /// earlier executions. No words, and 0, if all is known to all.
    pub fn knowledge(&mut self, words: &mut Vec<u64>) -> u128 {
        words.clear();
        let (mut met, mut holders) = (std::mem::take(&mut self.met), std::mem::take(&mut self.holders));
        let known = self.known(&mut holders);
        let hash = known.map_or(0, |known| self.tell(&known, &holders, &mut met, words));
        (self.met, self.holders) = (met, holders);
        hash
    }

    /// [`DataRaces::knowledge`], of what is known to not all.
    fn tell(&self, known: &Known, holders: &Holders, met: &mut Met, words: &mut Vec<u64>) -> u128 {
        let Known { facts, ways } = known;
        let mut sets = Numbering::new(holders, |set| met.holders.number(set));
        let mut items: SmallVec<[u64; 128]> = SmallVec::new();
        let mut hash = 0u128;
        let mut add = |about: u32, of_part: u128, part: &mut Parts, items: &mut SmallVec<[u64; 128]>| {
            if !items.is_empty() {
                words.push(word(about, part.number(of_part, items)));
                items.clear();
            }
            hash = hash.wrapping_add(of_part);
        };
        // By epoch.
        let mut known: SmallVec<[u128; 64]> = SmallVec::from_elem(0, holders.epochs());
        for fact in facts {
            let position = holders.position(fact.epoch);
            let (word, hash) = met.facts.fact(fact.name(), || fact.hash(), sets.of_epoch(position));
            items.push(word);
            // In whatever order: the numbers are those of this process.
            known[position] = known[position].wrapping_add(hash);
        }
        let known = (0..).zip(known).filter(|&(_, facts)| facts != 0);
        let mut known: SmallVec<[KnownFacts; 64]> = known
            .map(|(position, facts)| KnownFacts {
                holders: sets.of_epoch(position),
                facts,
            })
            .collect();
        add(ACCESSES, digest(&mut known), &mut met.accesses, &mut items);
        known.clear();
        self.each_taken(holders, |name, set| {
            let holders = sets.of(set);
            let (word, facts) = met.facts.fact(name, || hash_of(&name), holders);
            items.push(word);
            known.push(KnownFacts { holders, facts });
        });
        add(MESSAGES, digest(&mut known), &mut met.taken, &mut items);
        if let Some(ways) = ways {
            let mut exits: SmallVec<[(u32, u128); 32]> = SmallVec::new();
            ways.each_exits(
                &self.live,
                |epochs| sets.of_any(epochs),
                |known| exits.push(known.map_or(NO_EXITS, |known| met.ways.exits(known))),
            );
            let mut of_ways = 0u128;
            for (name, of) in ways.entrances() {
                if let Some((word, both)) = met.ways.entrance(name, of.map(|of| exits[of])) {
                    items.push(word);
                    of_ways = of_ways.wrapping_add(both);
                }
            }
            add(WAYS, of_ways, &mut met.entrances, &mut items);
        }
        hash
    }

    /// Looks at each message but the first that an operation may take: the name of the fact that it or a later one was
    /// taken, and who knows of that.
    fn each_taken(&self, holders: &Holders, mut look: impl FnMut([u64; 2], &[u64])) {
        let mut set: SmallVec<[u64; 8]> = SmallVec::from_elem(0, holders.words());
        let mut of = None;
        for (at, message, takers) in self.rc11.takers() {
            if of != Some(at) {
                of = Some(at);
                set.fill(0);
            }
            takers.for_each(|epoch| holders.add_knowing(epoch, &mut set));
            look(name_of_taken(at, message), &set);
        }
    }

    /// Shows what is known of each other's accesses.
    pub(super) fn visit_knowledge(&self, mut add: impl FnMut(&'static str, u64)) {
        let mut holders = Holders::default();
        let Some(Known { facts, ways }) = self.known(&mut holders) else {
            return;
        };
        let mut show = |what: &'static str, mut items: Vec<([u64; 2], Vec<u64>)>| {
            // In which order accesses were made is no part of the state, but for what is known of them.
            items.sort_unstable();
            for (name, of) in items {
                let numbers = name.into_iter().chain([of.len() as u64]).chain(of);
                numbers.for_each(|number| add(what, number));
            }
        };
        let written = |set: &[u64]| {
            let mut words = Vec::new();
            holders.write(set, &mut words);
            words
        };
        let known = facts.iter().flat_map(|fact| {
            let knowing = holders.knowing(holders.position(fact.epoch));
            fact.names().map(|name| (name, written(knowing)))
        });
        show(UNKNOWN, known.collect());
        let mut taken = Vec::new();
        self.each_taken(&holders, |name, set| taken.push((name, written(set))));
        show(TAKEN_FROM, taken);
        let Some(ways) = &ways else { return };
        let mut sets = Numbering::new(&holders, |set| HolderSet {
            number: UNNUMBERED,
            hash: hash_of(set),
        });
        let mut exits = Vec::new();
        ways.each_exits(
            &self.live,
            |epochs| sets.of_any(epochs),
            |known| exits.push(known.map_or(Vec::new(), |known| known.words().to_vec())),
        );
        let entrances = ways.entrances().filter_map(|(name, of)| {
            let [without, by_eco] = of.map(|of| &*exits[of]);
            let count = !without.is_empty() || !by_eco.is_empty();
            count.then(|| (name, [without, &[u64::MAX], by_eco].concat()))
        });
        show(SEQUENTIAL, entrances.collect());
    }

    /// [`System::covers`](dpor_explorer::System::covers).
    pub fn covers(&self, known: &[u64], present: &[u64]) -> bool {
        self.met.covers(known, present)
    }

    /// Whether the thread's relaxed stores publish something.
    pub(super) fn has_released(&self, thread: u16) -> bool {
        let view = self.order.views.get(usize::from(thread));
        view.is_some_and(|view| !view.released.is_empty())
    }

    /// By thread, the last epoch that all live threads know.
    pub(super) fn known_to_all(&self) -> SmallVec<[u32; 16]> {
        let of_all = |thread: usize| {
            let others = self.live.iter().map(|&live| usize::from(live));
            let others = others.filter(|&live| live != thread);
            let known = others.map(|other| self.order.foreseen(other).map_or(0, |known| entry(known, thread)));
            known.min().unwrap_or(u32::MAX)
        };
        (0..self.order.views.len()).map(of_all).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::part::Part;
    use crate::memory_model::races::LearntOrderings;
    use crate::memory_model::shadow::Kind;
    use dpor_explorer::{Asked, Location, SplitMix64, ThreadId};
    use std::collections::HashMap;

    #[test]
    fn a_digest_tells_who_knows_which_facts() {
        let of = |hash, facts| {
            let holders = HolderSet { number: 0, hash };
            KnownFacts { holders, facts }
        };
        let digest = |mut known: Vec<KnownFacts>| digest(&mut known);
        let two = digest(vec![of(7, 100), of(8, 200)]);
        assert_eq!(digest(vec![]), 0);
        assert_eq!(two, digest(vec![of(8, 200), of(7, 100)]));
        // The epochs of facts that the same ones know do not tell.
        assert_eq!(two, digest(vec![of(7, 40), of(8, 200), of(7, 60)]));
        assert_ne!(two, digest(vec![of(8, 100), of(7, 200)]));
        assert_ne!(two, digest(vec![of(7, 300)]));
        assert_ne!(two, digest(vec![of(7, 100)]));
    }

    #[test]
    fn what_is_told_and_what_is_shown_are_the_same() {
        let mut races = DataRaces::default();
        races.switch_on().unwrap();
        let threads = [ThreadId::MAIN, ThreadId(1), ThreadId(2)];
        let mut numbers = SplitMix64::new(1);
        let (mut shown_by_digest, mut digests) = (HashMap::new(), HashMap::new());
        let (mut met_again, mut most) = (0, 0);
        for _ in 0..400 {
            // SAFETY: there is no program.
            unsafe { races.reset() };
            races.begins(false, LearntOrderings::default(), None);
            threads[1..]
                .iter()
                .for_each(|&thread| races.spawned(ThreadId::MAIN, thread));
            for _ in 0..numbers.below(30) {
                let thread = threads[numbers.below(3)];
                let lock = Location(1 + numbers.below(2) as u64);
                match numbers.below(4) {
                    0 => races.release(thread, lock),
                    1 => races.acquire(thread, lock),
                    // Neither on the heap nor on a stack. What is in a race is not recorded.
                    _ => {
                        let kind = [Kind::Read, Kind::Read, Kind::Write][numbers.below(3)];
                        let granules = 1 + numbers.below(3);
                        _ = races.access(thread, 0x1000 + 8 * numbers.below(4), 8 * granules, kind);
                    }
                }
                let (mut words, mut shown) = (Vec::new(), Vec::new());
                let digest = races.knowledge(&mut words);
                races.visit_knowledge(|name, number| shown.push((name, number)));
                assert!(words.is_empty() == (digest == 0) && words.is_empty() == shown.is_empty());
                most = most.max(shown.len());
                met_again += usize::from(digests.contains_key(&shown));
                assert_eq!(*digests.entry(shown.clone()).or_insert(digest), digest);
                assert_eq!(*shown_by_digest.entry(digest).or_insert_with(|| shown.clone()), shown);
            }
            // What several threads use is followed from now on.
            races.starts_again(Asked::AtTheEnd { complete: true }, true, false);
        }
        assert!(met_again > 500 && most > 50, "{met_again} {most}");
    }

    /// The bits of fixed holders, and names.
    fn knowledge(met: &mut Met, facts: &[(u64, u64, &[u64])]) -> Vec<u64> {
        let fact = |&(fact, known, names): &(u64, u64, &[u64])| {
            let holders = met.holders.number(&[&[1, known], names].concat());
            met.facts.fact([fact, 0], || hash_of(&[fact, 0]), holders).0
        };
        let mut words: Vec<u64> = facts.iter().map(fact).collect();
        match words.is_empty() {
            true => words,
            false => vec![word(ACCESSES, met.accesses.number(hash_of(&words), &mut words))],
        }
    }

    #[test]
    fn states_cover_those_in_which_more_is_known() {
        let mut met = Met::default();
        let mut covers = |known: &[(u64, u64, &[u64])], present: &[(u64, u64, &[u64])]| {
            let (known, present) = (knowledge(&mut met, known), knowledge(&mut met, present));
            met.covers(&known, &present)
        };
        let one = [(7, 0b0110, &[1, 3][..])];
        assert!(covers(&one, &one));
        assert!(covers(&one, &[]) && !covers(&[], &one));
        // Threads that know it, and threads that do not.
        assert!(covers(&one, &[(7, 0b1110, &[1, 3])]));
        assert!(!covers(&one, &[(7, 0b1010, &[1, 3])]));
        // Places where it is published, and where it is not.
        assert!(covers(&one, &[(7, 0b0110, &[1, 2, 3])]));
        assert!(!covers(&one, &[(7, 0b0110, &[1])]));
        assert!(!covers(&one, &[(7, 0b0110, &[1, 4])]));
        // Several facts.
        let two = [(7, 0b0110, &[1, 3][..]), (9, 0b1, &[])];
        assert!(covers(&two, &one) && !covers(&one, &two));
        assert!(covers(&two, &[(9, 0b1, &[5])]));
        assert!(!covers(&two, &[(8, 0b1, &[5])]));
    }
}
