//! What threads know of each other's accesses, as a part of the state.
//!
//! What was accessed before a state, and by whom it is known, decides which later access is in a race. So a state has
//! *facts*: the accesses, to granules that several threads use, that some live thread does not know of. Whoever can
//! pass something on is a *holder*: of each live thread what it knows, what an acquire fence would add, what a relaxed
//! store publishes, and what it is lent, and each location at which something is published. Who waits for others to end
//! counts as knowing what it will know after that at least. States have no facts where weak memory is still to come
//! ([`DataRaces::leaves_out_knowledge`]).
//!
//! Equal memory goes on in the same way, whoever knows what: only weak memory has operations that find something else.
//! A holder learns what another one knows, and nothing is forgotten. So of two states with equal memory, the one in
//! which every holder knows as much of each fact, or less, *covers* the other one: each access that is in a race after
//! that one is in a race after this one, with the same earlier access. What can differ is whether an access is on
//! record at all: one that all live threads know of is in no race with what they, and those that they create, do later.
//!
//! Invariant: clock numbers are no part of the state. Two executions with equal states differ in them.

use super::DataRaces;
use crate::image::hash::hash_of;
use crate::image::region;
use crate::memory_model::blocks::Blocks;
use crate::memory_model::clocks::entry;
#[cfg(feature = "faults")]
use crate::memory_model::happens_before::RaceFault;
use crate::memory_model::happens_before::View;
use crate::memory_model::rc11::Holder;
use crate::memory_model::shadow::{Accesses, Epoch, Extent, GRANULE, Shadow};
use dpor_explorer::keys::KeyMap;
use smallvec::SmallVec;

/// What facts are in a state that is shown.
const UNKNOWN: &str = "accesses that not all threads know of";

/// An access that some live thread does not know of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fact {
    granule: usize,
    /// 0 is the allocation of memory that was not accessed.
    kind: u8,
    /// What else it was about, if it was atomic.
    extent: Extent,
    epoch: Epoch,
    /// The bytes of the granule.
    mask: u8,
}

impl Fact {
    /// All but its epoch, in two words.
    fn name(&self) -> [u64; 2] {
        // The granule tells the other half of where the extent starts.
        let start = u64::from(self.extent.start as u16);
        [
            (self.granule as u64) << 16 | u64::from(self.mask) << 8 | u64::from(self.kind),
            u64::from(self.epoch.thread) << 48 | start << 32 | u64::from(self.extent.size),
        ]
    }
}

type Facts = SmallVec<[Fact; 32]>;

/// Where facts can be: all that were found at the last look at the state are of these granules, or of others of which
/// something has changed, or of memory whose allocation is not known to all.
///
/// Threads learn and do not forget: what was known to all is known to all later.
#[derive(Default)]
pub(super) struct Candidates {
    /// The granules with facts, by their positions among those that are followed; ascending.
    granules: Vec<u32>,
    /// What was [known to all](DataRaces::known_to_all).
    known: SmallVec<[u32; 16]>,
    /// Number of changes in shadow memory.
    changes: usize,
    /// [`Shadow::followed_times`].
    followed_times: u64,
}

impl Candidates {
    /// Begins with no access.
    pub fn reset(&mut self) {
        self.granules.clear();
        self.known.clear();
        self.changes = 0;
    }

    /// Becomes a copy, and keeps the storage.
    pub fn copy_from(&mut self, other: &Candidates) {
        let Candidates {
            granules,
            known,
            changes,
            followed_times,
        } = other;
        self.granules.clone_from(granules);
        self.known.clone_from(known);
        (self.changes, self.followed_times) = (*changes, *followed_times);
    }

    /// Becomes the granules that may have facts where this is known to all.
    fn update(&mut self, known: &[u32], shadow: &Shadow, blocks: &Blocks) {
        // What one thread does when it is alone is known to all, but not once it has created another one.
        let is_less = self.known.iter().zip(known).any(|(before, now)| before > now);
        if is_less || self.known.len() > known.len() || self.followed_times != shadow.followed_times() {
            self.reset();
        }
        self.granules.extend(shadow.followed_since(self.changes));
        self.granules
            .extend(blocks.unknown(known).flat_map(|memory| shadow.followed_in(memory)));
        self.granules.sort_unstable();
        self.granules.dedup();
        self.known.clear();
        self.known.extend_from_slice(known);
        (self.changes, self.followed_times) = (shadow.changes(), shadow.followed_times());
    }
}

/// Number of facts up to which their epochs are looked up one by one.
const FEW: usize = 256;

/// The facts of an epoch.
struct OfEpoch {
    epoch: Epoch,
    /// The number of those who know them, and a hash of them.
    holders: u32,
    of_holders: u128,
    /// The sum of the facts' hashes.
    facts: u128,
}

/// A hash of facts and of those who know them. Which facts are of one epoch makes no difference.
fn digest(epochs: &mut [OfEpoch]) -> u128 {
    epochs.sort_unstable_by_key(|of| of.of_holders);
    let same = epochs.chunk_by(|one, other| one.of_holders == other.of_holders);
    let hashes = same.map(|epochs| {
        let facts = epochs.iter().fold(0u128, |sum, of| sum.wrapping_add(of.facts));
        let both = [facts, epochs[0].of_holders].map(|hash| [hash as u64, (hash >> 64) as u64]);
        hash_of(both.as_flattened())
    });
    hashes.fold(0, u128::wrapping_add)
}

/// Number of holders that each thread is.
const HOLDERS: usize = 4;
const ALL_HOLDERS: u64 = (1 << HOLDERS) - 1;

/// The bits of what of a thread, which knows what is `foreseen` before it does anything but its pending operation, does
/// not know an epoch.
fn unknown_to(view: &View, foreseen: &[u32], epoch: Epoch) -> u64 {
    let knows = |clock: &[u32]| entry(clock, epoch.thread.into()) >= epoch.number;
    let current = knows(foreseen);
    // What an acquire fence adds, and what is lent, is beside what the thread knows.
    let known = [
        current,
        current || knows(&view.acquired),
        knows(&view.released),
        current || view.lent.last().is_some_and(|lent| knows(lent)),
    ];
    let unknown = known
        .into_iter()
        .enumerate()
        .map(|(bit, known)| u64::from(!known) << bit);
    unknown.sum()
}

/// Maximum number of facts, and of those who may know one, that have a number.
const MOST_NUMBERS: usize = 1 << 22;
/// Instead of a number, where there are too many. A state with this one covers, and is covered by, no other one.
const UNNUMBERED: u32 = u32::MAX;

/// The facts and holders that were met, in all executions. What is known in a state is then a word for each fact, in
/// ascending order: the number of the fact, and that of those who know it.
#[derive(Default)]
pub(super) struct Met {
    /// By name.
    facts: KeyMap<[u64; 2], u32>,
    /// By number, a hash of the name.
    fact_hashes: Vec<u128>,
    holders: KeyMap<Box<[u64]>, u32>,
    /// By number: those that are threads', a bit for each that does not know, and the locations.
    holder_words: Vec<Box<[u64]>>,
    holder_hashes: Vec<u128>,
}

impl Met {
    /// The number of a fact, and a hash of it.
    fn fact(&mut self, name: [u64; 2]) -> (u32, u128) {
        if let Some(&number) = self.facts.get(&name) {
            return (number, self.fact_hashes[number as usize]);
        }
        let hash = hash_of(&name);
        if self.fact_hashes.len() >= MOST_NUMBERS {
            return (UNNUMBERED, hash);
        }
        let number = self.fact_hashes.len() as u32;
        self.fact_hashes.push(hash);
        self.facts.insert(name, number);
        (number, hash)
    }

    /// The number of those who know a fact, and a hash of them.
    fn holders(&mut self, words: &[u64]) -> (u32, u128) {
        if let Some(&number) = self.holders.get(words) {
            return (number, self.holder_hashes[number as usize]);
        }
        let hash = hash_of(words);
        if self.holder_words.len() >= MOST_NUMBERS {
            return (UNNUMBERED, hash);
        }
        let number = self.holder_words.len() as u32;
        self.holder_hashes.push(hash);
        self.holder_words.push(words.into());
        self.holders.insert(words.into(), number);
        (number, hash)
    }

    /// Says whether the first of these knows of a fact what the other ones know, or less.
    fn know_less(&self, known: u32, present: u32) -> bool {
        let [known, present] = [known, present].map(|number| &*self.holder_words[number as usize]);
        let (Some((&width, known)), Some((_, present))) = (known.split_first(), present.split_first()) else {
            return false;
        };
        let [known, present] = [known, present].map(|words| words.split_at(width as usize));
        let mut unknown = present.0.iter().zip(known.0);
        unknown.all(|(present, known)| present & !known == 0) && is_subset(known.1, present.1)
    }

    /// Says whether a state with `known` knowledge covers one with `present` knowledge and otherwise the same.
    pub fn covers(&self, known: &[u64], present: &[u64]) -> bool {
        let mut known = known.iter().copied().map(parts);
        // Those of facts that come one after the other are often the same.
        let mut checked = None;
        present.iter().copied().map(parts).all(|(fact, holders)| {
            let Some((_, of_known)) = known
                .find(|&(other, _)| other >= fact)
                .filter(|&(other, _)| other == fact)
            else {
                return false;
            };
            if [fact, of_known, holders].contains(&UNNUMBERED) {
                return false;
            }
            let pair = (of_known, holders);
            let is_less = of_known == holders || checked == Some(pair) || self.know_less(of_known, holders);
            checked = Some(pair);
            is_less
        })
    }
}

fn parts(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// Says whether all of some ascending numbers are among others.
fn is_subset(some: &[u64], others: &[u64]) -> bool {
    let mut others = others.iter();
    some.iter().all(|one| others.find(|&other| other >= one) == Some(one))
}

/// Makes one fact of those that differ only in their bytes: which bytes one access has used beside others, and which
/// alone, is no part of the state.
fn merge(facts: &mut Facts) {
    facts.dedup_by(|later, fact| {
        let same = Fact { mask: 0, ..*later } == Fact { mask: 0, ..*fact };
        if same {
            fact.mask |= later.mask;
        }
        same
    });
}

impl DataRaces {
    /// Whether what threads know of each other's accesses is told by [`DataRaces::knowledge`].
    fn tells_knowledge(&self) -> bool {
        #[cfg(feature = "faults")]
        if self.order.fault == Some(RaceFault::IgnoreInStates) {
            return false;
        }
        self.is_on() && !self.rc11.chooses() && !self.leaves_out_knowledge
    }

    /// Sets `holders` to who knows of an epoch, in words.
    fn set_holders(&self, holders: &mut Vec<u64>, epoch: Epoch) {
        let width = (self.live.len() * HOLDERS).div_ceil(u64::BITS as usize);
        holders.clear();
        holders.push(width as u64);
        holders.resize(1 + width, 0);
        for (at, &live) in self.live.iter().enumerate() {
            let view = self.order.views.get(usize::from(live));
            let view = view.zip(self.order.foreseen(live.into()));
            let unknown = view.map_or(ALL_HOLDERS, |(view, foreseen)| unknown_to(view, foreseen, epoch));
            let bit = at * HOLDERS;
            holders[1 + bit / u64::BITS as usize] |= unknown << (bit % u64::BITS as usize);
        }
        let published = self.order.published.iter();
        let knowing = published.filter(|(_, clock)| entry(clock, epoch.thread.into()) >= epoch.number);
        holders.extend(knowing.map(|(location, _)| location.0));
    }

    /// Sets `words` to what is known of each other's accesses, and returns a hash of the same that does not depend on
    /// earlier executions. No words, and 0, if all is known to all.
    pub fn knowledge(&mut self, words: &mut Vec<u64>) -> u128 {
        self.knowledge_sorted_above(FEW, words)
    }

    /// [`DataRaces::knowledge`]. Up to so many facts are not sorted by epoch, which makes no difference.
    fn knowledge_sorted_above(&mut self, few: usize, words: &mut Vec<u64>) -> u128 {
        words.clear();
        if !self.tells_knowledge() {
            return 0;
        }
        let mut met = std::mem::take(&mut self.met);
        let mut facts = self.facts(&self.known_to_all());
        let sorted = facts.len() > few;
        if sorted {
            facts.sort_unstable_by_key(|fact| fact.epoch);
        }
        let mut epochs: SmallVec<[OfEpoch; 16]> = SmallVec::new();
        let mut holders = Vec::new();
        let mut at = 0;
        for fact in &facts {
            let is_of = |of: &OfEpoch| of.epoch == fact.epoch;
            if !epochs.get(at).is_some_and(is_of) {
                let found = if sorted { None } else { epochs.iter().position(is_of) };
                at = found.unwrap_or(epochs.len());
                if found.is_none() {
                    self.set_holders(&mut holders, fact.epoch);
                    let (holders, of_holders) = met.holders(&holders);
                    epochs.push(OfEpoch {
                        epoch: fact.epoch,
                        holders,
                        of_holders,
                        facts: 0,
                    });
                }
            }
            let of = &mut epochs[at];
            let (number, of_fact) = met.fact(fact.name());
            words.push(u64::from(number) << 32 | u64::from(of.holders));
            // In whatever order: the numbers are those of this process.
            of.facts = of.facts.wrapping_add(of_fact);
        }
        words.sort_unstable();
        self.met = met;
        digest(&mut epochs)
    }

    /// Shows what is known of each other's accesses.
    pub(super) fn visit_knowledge(&self, mut add: impl FnMut(&'static str, u64)) {
        if !self.tells_knowledge() {
            return;
        }
        let holders_of = |epoch| {
            let mut holders = Vec::new();
            self.set_holders(&mut holders, epoch);
            holders
        };
        let facts = self.facts(&self.known_to_all());
        let mut known: Vec<_> = facts.iter().map(|fact| (fact.name(), holders_of(fact.epoch))).collect();
        // In which order accesses were made is no part of the state, but for what is known of them.
        known.sort_unstable();
        for (name, holders) in known {
            let numbers = name.into_iter().chain([holders.len() as u64]).chain(holders);
            numbers.for_each(|number| add(UNKNOWN, number));
        }
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

    /// The accesses that some live thread does not know of, by place. `known` is [`DataRaces::known_to_all`].
    fn facts(&self, known: &[u32]) -> Facts {
        let Some(shadow) = &self.shadow else {
            return Facts::new();
        };
        let mut facts = Facts::new();
        let mut candidates = self.candidates.borrow_mut();
        candidates.update(known, shadow, &self.blocks);
        candidates.granules.retain(|&position| {
            let (granule, accesses) = shadow.followed(position);
            let before = facts.len();
            self.add_facts(granule, &accesses, known, &mut facts);
            facts.len() > before
        });
        debug_assert!(
            // At each eighth change, as it takes long.
            !shadow.changes().is_multiple_of(8) || facts == self.facts_of_all(shadow, known),
            "a granule with facts is no candidate"
        );
        merge(&mut facts);
        facts
    }

    /// The facts of all granules that are followed.
    fn facts_of_all(&self, shadow: &Shadow, known: &[u32]) -> Facts {
        let mut facts = Facts::new();
        for position in shadow.followed_in(0..usize::MAX) {
            let (granule, accesses) = shadow.followed(position);
            self.add_facts(granule, &accesses, known, &mut facts);
        }
        facts
    }

    /// Adds the accesses to a granule that some live thread does not know of. `known` is [`DataRaces::known_to_all`].
    fn add_facts(&self, granule: usize, accesses: &Accesses<'_>, known: &[u32], facts: &mut Facts) {
        let from = facts.len();
        let mut add = |mask: u8, kind: u8, extent: Extent, epoch: Epoch| {
            let known = known.get(usize::from(epoch.thread));
            if known.is_none_or(|&known| known < epoch.number) {
                facts.push(Fact {
                    granule,
                    kind,
                    extent,
                    epoch,
                    mask,
                });
            }
        };
        // That bytes are freed is seen in the heap, and who uses them fails.
        let accessed = accesses.each(|mask, kind, extent, epoch| add(mask, kind as u8 + 1, extent, epoch));
        // Who uses the other bytes has to know of the allocation.
        if accessed != u8::MAX
            && region::in_arena(granule)
            && let Some((block, size, true)) = self.blocks.before(granule + GRANULE - 1)
            && block.start + size > granule
        {
            add(!accessed, 0, Extent::NONE, block.allocated);
        }
        // The order in which independent accesses were made is no part of the state.
        facts[from..].sort_unstable();
    }

    /// By thread, the last epoch that all live threads know.
    fn known_to_all(&self) -> SmallVec<[u32; 16]> {
        let of_all = |thread: usize| {
            let others = self.live.iter().map(|&live| usize::from(live));
            let others = others.filter(|&live| live != thread);
            let known = others.map(|other| self.order.foreseen(other).map_or(0, |known| entry(known, thread)));
            known.min().unwrap_or(u32::MAX)
        };
        (0..self.order.views.len()).map(of_all).collect()
    }

    /// Shows who knows of the epochs of facts and of what atomics hold under weak memory, without their numbers: an
    /// epoch is its position among those of its thread that occur.
    pub(super) fn visit_order(&self, mut add: impl FnMut(&'static str, u64)) {
        const VIEW: &str = "what threads know of each other";
        const PASSED_ON: &str = "what locks and other objects pass on";
        const SEQUENTIAL: &str = "order of sequentially consistent accesses";
        let known_to_all = self.known_to_all();
        let facts = self.facts(&known_to_all);
        add(UNKNOWN, facts.len() as u64);
        if facts.is_empty() && self.rc11.is_settled() {
            return;
        }
        let mut epochs: SmallVec<[Epoch; 32]> = facts.iter().map(|fact| fact.epoch).collect();
        self.rc11
            .add_epochs(|thread, number| epochs.push(Epoch { thread, number }));
        epochs.sort_unstable();
        epochs.dedup();
        let of_threads: SmallVec<[&[Epoch]; 8]> = epochs.chunk_by(|one, other| one.thread == other.thread).collect();
        // The first epoch of each thread that counts.
        let ways = self.rc11.ways(&known_to_all);
        let mut holders = ways.holders();
        let mut firsts = ways.first_epochs();
        for of in &of_threads {
            let thread = usize::from(of[0].thread);
            firsts.resize(firsts.len().max(thread + 1), u32::MAX);
            firsts[thread] = firsts[thread].min(of[0].number);
        }
        let knows = |clock: &[u32]| clock.iter().zip(&firsts).any(|(&known, &first)| known >= first);
        let positions = |clock: &[u32]| {
            let position = |of: &&[Epoch]| {
                let known = entry(clock, of[0].thread.into());
                of.partition_point(|epoch| epoch.number <= known) as u64
            };
            of_threads.iter().map(position).collect::<SmallVec<[u64; 16]>>()
        };
        let position = |epoch: Epoch| {
            let of_thread = of_threads.iter().find(|of| of[0].thread == epoch.thread);
            of_thread.map_or(0, |of| of.partition_point(|other| *other < epoch) as u64)
        };
        for fact in &facts {
            add(UNKNOWN, fact.granule as u64);
            add(UNKNOWN, u64::from(fact.mask) << 8 | u64::from(fact.kind));
            add(UNKNOWN, fact.extent.word());
            add(UNKNOWN, u64::from(fact.epoch.thread) << 32 | position(fact.epoch));
        }
        let of_atomics = |thread, number| position(Epoch { thread, number });
        self.rc11
            .visit((&ways, &mut holders), knows, positions, of_atomics, &mut add);
        for &live in &self.live {
            let view = self.order.views.get(usize::from(live));
            let Some((view, foreseen)) = view.zip(self.order.foreseen(live.into())) else {
                continue;
            };
            add(VIEW, live.into());
            add(VIEW, view.lent.len() as u64);
            ways.note(&mut holders, Holder::Thread(live), foreseen);
            let others = [&view.acquired, &view.released].into_iter().chain(&view.lent);
            for (which, clock) in (0..).zip(others.clone()) {
                ways.note(&mut holders, Holder::View(live, which), clock);
            }
            for clock in [foreseen].into_iter().chain(others) {
                positions(clock).into_iter().for_each(|number| add(VIEW, number));
            }
        }
        for (location, clock) in self.order.published.iter() {
            if knows(clock) {
                add(PASSED_ON, location.0);
                positions(clock).into_iter().for_each(|number| add(PASSED_ON, number));
                ways.note(&mut holders, Holder::Place(location), clock);
            }
        }
        ways.show(holders, &self.live, |number| add(SEQUENTIAL, number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::part::Part;
    use crate::memory_model::races::LearntOrderings;
    use crate::memory_model::shadow::Kind;
    use dpor_explorer::{Asked, Location, SplitMix64, ThreadId};

    #[test]
    fn a_digest_tells_who_knows_which_facts() {
        let of = |thread, number, of_holders, facts| OfEpoch {
            epoch: Epoch { thread, number },
            holders: 0,
            of_holders,
            facts,
        };
        let digest = |mut epochs: Vec<OfEpoch>| digest(&mut epochs);
        let two = digest(vec![of(0, 1, 7, 100), of(1, 1, 8, 200)]);
        assert_eq!(digest(vec![]), 0);
        assert_eq!(two, digest(vec![of(1, 5, 8, 200), of(0, 2, 7, 100)]));
        // The epochs of facts that the same ones know do not tell.
        assert_eq!(two, digest(vec![of(0, 1, 7, 40), of(1, 1, 8, 200), of(0, 2, 7, 60)]));
        assert_ne!(two, digest(vec![of(0, 1, 8, 100), of(1, 1, 7, 200)]));
        assert_ne!(two, digest(vec![of(0, 1, 7, 300)]));
        assert_ne!(two, digest(vec![of(0, 1, 7, 100)]));
    }

    #[test]
    fn what_is_known_is_the_same_however_it_is_looked_up() {
        let mut races = DataRaces::default();
        races.switch_on().unwrap();
        let threads = [ThreadId::MAIN, ThreadId(1), ThreadId(2)];
        let mut numbers = SplitMix64::new(1);
        let mut found = 0;
        for number in 0..200 {
            // SAFETY: there is no program.
            unsafe { races.reset() };
            races.begins(false, LearntOrderings::default());
            threads[1..]
                .iter()
                .for_each(|&thread| races.spawned(ThreadId::MAIN, thread));
            for _ in 0..numbers.below(60) {
                let thread = threads[numbers.below(3)];
                let lock = Location(1 + numbers.below(4) as u64);
                match numbers.below(4) {
                    0 => races.release(thread, lock),
                    1 => races.acquire(thread, lock),
                    // Neither on the heap nor on a stack. What is in a race is not recorded.
                    _ => {
                        let kind = [Kind::Read, Kind::Read, Kind::Write][numbers.below(3)];
                        _ = races.access(thread, 0x1000 + 8 * numbers.below(20), 8, kind);
                    }
                }
            }
            let (mut one, mut other) = (Vec::new(), Vec::new());
            let digest = races.knowledge_sorted_above(0, &mut one);
            assert_eq!(races.knowledge_sorted_above(usize::MAX, &mut other), digest, "{number}");
            assert_eq!(one, other, "{number}");
            assert_eq!(one.is_empty(), digest == 0, "{number}");
            found = found.max(one.len());
            // What several threads use is followed from now on.
            races.starts_again(Asked::AtTheEnd { complete: true }, true, false);
        }
        assert!(found > 20, "there are {found} facts at most");
    }

    /// One word of bits, and locations.
    fn knowledge(met: &mut Met, facts: &[(u64, u64, &[u64])]) -> Vec<u64> {
        let mut words: Vec<u64> = facts
            .iter()
            .map(|&(fact, unknown, locations)| {
                let holders = [&[1, unknown], locations].concat();
                u64::from(met.fact([fact, 0]).0) << 32 | u64::from(met.holders(&holders).0)
            })
            .collect();
        words.sort_unstable();
        words
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
        assert!(covers(&one, &[(7, 0b0100, &[1, 3])]));
        assert!(!covers(&one, &[(7, 0b0101, &[1, 3])]));
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
