//! The accesses that some live thread does not know of, as facts of a state ([`knowledge`](super::knowledge)).
//!
//! Memory that is initialised or copied at once has many granules of which the same is known. So a fact is about
//! granules that come one after the other. Where one fact ends and the next begins follows from epochs, which are no
//! part of the state: two equal states may have their accesses in other facts. So a state's digest, and what is shown
//! of it, are those of single granules; and of a state in other facts, it is not noticed that it is covered, by which
//! nothing is left out.

use super::DataRaces;
use crate::image::hash::hash_of;
use crate::image::region;
use crate::memory_model::blocks::{Blocks, SavedBlocks};
use crate::memory_model::shadow::{Accesses, Epoch, Extent, GRANULE, Shadow};
use smallvec::SmallVec;

/// An access to each of some granules that follow each other, of which some live thread does not know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Fact {
    /// The first granule.
    granule: usize,
    /// 0 is the allocation of memory that was not accessed.
    kind: u8,
    /// What else it was about, if it was atomic.
    extent: Extent,
    pub epoch: Epoch,
    /// The bytes of each granule.
    mask: u8,
    /// Number of granules: more than one only if it was not atomic.
    granules: u32,
}

pub(super) type Facts = SmallVec<[Fact; 32]>;

impl Fact {
    /// All but its epoch, in two words.
    pub fn name(&self) -> [u64; 2] {
        let other = match self.extent {
            Extent::NONE => u64::from(self.granules),
            // The granule tells the other half of where the extent starts.
            Extent { start, size } => u64::from(start as u16) << 32 | u64::from(size),
        };
        [
            (self.granule as u64) << 16 | u64::from(self.mask) << 8 | u64::from(self.kind),
            u64::from(self.epoch.thread) << 48 | other,
        ]
    }

    /// The names of the facts about its single granules.
    pub fn names(&self) -> impl Iterator<Item = [u64; 2]> {
        (0..self.granules).map(|number| {
            let granule = self.granule + number as usize * GRANULE;
            let single = Fact {
                granule,
                granules: 1,
                ..*self
            };
            single.name()
        })
    }

    /// A hash of those.
    pub fn hash(&self) -> u128 {
        self.names().map(|name| hash_of(&name)).fold(0, u128::wrapping_add)
    }

    /// Whether both facts are of the same access, to these bytes or others, but for the granules.
    fn is_alike(&self, other: &Fact) -> bool {
        (self.kind, self.extent, self.epoch) == (other.kind, other.extent, other.epoch)
    }
}

/// Where facts can be: all that were found at the last look at the state are of these granules, or of others of which
/// something has changed, or of memory that was allocated since.
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
    blocks: SavedBlocks,
    /// [`Shadow::followed_times`].
    followed_times: u64,
}

impl Candidates {
    /// Begins with no access.
    pub fn reset(&mut self) {
        self.granules.clear();
        self.known.clear();
        self.changes = 0;
        self.blocks.clear();
    }

    /// Becomes a copy, and keeps the storage.
    pub fn copy_from(&mut self, other: &Candidates) {
        let Candidates {
            granules,
            known,
            changes,
            blocks,
            followed_times,
        } = other;
        self.granules.clone_from(granules);
        self.known.clone_from(known);
        self.blocks.clone_from(blocks);
        (self.changes, self.followed_times) = (*changes, *followed_times);
    }

    /// Becomes the granules that may have facts where this is known to all.
    fn update(&mut self, known: &[u32], shadow: &Shadow, blocks: &Blocks) {
        // What one thread does when it is alone is known to all, but not once it has created another one.
        let is_less = self.known.iter().zip(known).any(|(before, now)| before > now);
        if is_less || self.known.len() > known.len() || self.followed_times != shadow.followed_times() {
            self.reset();
        }
        let count = self.granules.len();
        self.granules.extend(shadow.followed_since(self.changes));
        let allocated = blocks.unknown(known, &self.blocks);
        self.granules
            .extend(allocated.flat_map(|memory| shadow.followed_in(memory)));
        // Often, what has changed is among them.
        let (before, new) = self.granules.split_at(count);
        if new.iter().all(|granule| before.binary_search(granule).is_ok()) {
            self.granules.truncate(count);
        } else {
            // A stable sort merges what ascends already.
            self.granules.sort();
            self.granules.dedup();
        }
        self.known.clear();
        self.known.extend_from_slice(known);
        blocks.save(&mut self.blocks);
        (self.changes, self.followed_times) = (shadow.changes(), shadow.followed_times());
    }
}

/// Gathers the facts of granules, which ascend.
struct Gathering<'a> {
    races: &'a DataRaces,
    /// [`DataRaces::known_to_all`].
    known: &'a [u32],
    facts: Facts,
    /// The last granule with facts, with its accesses.
    last: Option<(usize, Accesses<'a>)>,
    /// Its facts, by their positions.
    of_last: SmallVec<[usize; 8]>,
}

impl<'a> Gathering<'a> {
    fn new(races: &'a DataRaces, known: &'a [u32]) -> Self {
        Gathering {
            races,
            known,
            facts: Facts::new(),
            last: None,
            of_last: SmallVec::new(),
        }
    }

    /// Adds the facts of a granule, and says whether it has any.
    fn add(&mut self, granule: usize, accesses: Accesses<'a>) -> bool {
        let before = self.last.as_ref().filter(|(last, _)| last + GRANULE == granule);
        if before.is_some_and(|(_, before)| accesses.are_like(before)) {
            for &fact in &self.of_last {
                self.facts[fact].granules += 1;
            }
            self.last = Some((granule, accesses));
            return true;
        }
        if before.is_none() {
            self.of_last.clear();
        }
        let own = self.races.facts_of(granule, &accesses, self.known);
        let mut of_this = SmallVec::new();
        for fact in &own {
            let same = self.of_last.iter().copied().find(|&last| {
                let last = &self.facts[last];
                last.is_alike(fact) && last.mask == fact.mask
            });
            match same {
                Some(same) => self.facts[same].granules += 1,
                None => self.facts.push(*fact),
            }
            of_this.push(same.unwrap_or(self.facts.len() - 1));
        }
        self.of_last = of_this;
        self.last = (!own.is_empty()).then_some((granule, accesses));
        !own.is_empty()
    }
}

impl DataRaces {
    /// The accesses that some live thread does not know of, by place. `known` is [`DataRaces::known_to_all`].
    pub(super) fn facts(&self, known: &[u32]) -> Facts {
        let Some(shadow) = &self.shadow else {
            return Facts::new();
        };
        let mut candidates = self.candidates.borrow_mut();
        candidates.update(known, shadow, &self.blocks);
        let mut gathering = Gathering::new(self, known);
        candidates.granules.retain(|&position| {
            let (granule, accesses) = shadow.followed(position);
            gathering.add(granule, accesses)
        });
        debug_assert!(
            // At each eighth change, as it takes long.
            !shadow.changes().is_multiple_of(8) || gathering.facts == self.facts_of_all(shadow, known),
            "a granule with facts is no candidate"
        );
        gathering.facts
    }

    /// The facts of all granules that are followed.
    fn facts_of_all(&self, shadow: &Shadow, known: &[u32]) -> Facts {
        let mut facts = Gathering::new(self, known);
        for position in shadow.followed_in(0..usize::MAX) {
            let (granule, accesses) = shadow.followed(position);
            facts.add(granule, accesses);
        }
        facts.facts
    }

    /// The accesses to a granule that some live thread does not know of. `known` is [`DataRaces::known_to_all`].
    fn facts_of(&self, granule: usize, accesses: &Accesses<'_>, known: &[u32]) -> SmallVec<[Fact; 8]> {
        let mut facts: SmallVec<[Fact; 8]> = SmallVec::new();
        let mut add = |mask: u8, kind: u8, extent: Extent, epoch: Epoch| {
            let known = known.get(usize::from(epoch.thread));
            if known.is_none_or(|&known| known < epoch.number) {
                facts.push(Fact {
                    granule,
                    kind,
                    extent,
                    epoch,
                    mask,
                    granules: 1,
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
        facts.sort_unstable();
        // Which bytes one access has used beside others, and which alone, is none either.
        facts.dedup_by(|later, fact| {
            let is_same = later.is_alike(fact);
            if is_same {
                fact.mask |= later.mask;
            }
            is_same
        });
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::part::Part;
    use crate::memory_model::races::LearntOrderings;
    use crate::memory_model::shadow::Kind;
    use dpor_explorer::{Asked, Location, ThreadId};
    use std::ops::Range;

    const PLACE: usize = 0x1000;
    const OTHER: ThreadId = ThreadId(1);

    /// The facts where the other thread has made these accesses, each in an epoch of its own: of each fact the number
    /// of the first granule, how many there are, and the bytes of each.
    fn facts(accesses: &[(Range<usize>, Kind)]) -> Vec<(usize, u32, u8)> {
        let mut races = DataRaces::default();
        races.switch_on().unwrap();
        let mut gathered = Vec::new();
        // What several threads use is followed from the second execution on.
        for _ in 0..2 {
            // SAFETY: there is no program.
            unsafe { races.reset() };
            races.begins(false, LearntOrderings::default(), None);
            races.spawned(ThreadId::MAIN, OTHER);
            assert!(races.access(ThreadId::MAIN, PLACE, 8 * GRANULE, Kind::Write).is_ok());
            races.release(ThreadId::MAIN, Location(1));
            races.acquire(OTHER, Location(1));
            for (bytes, kind) in accesses {
                let bytes = PLACE + bytes.start..PLACE + bytes.end;
                assert!(races.access(OTHER, bytes.start, bytes.len(), *kind).is_ok());
                races.release(OTHER, Location(2));
            }
            let known = races.known_to_all();
            let facts = races.facts(&known);
            let shown = |fact: &Fact| ((fact.granule - PLACE) / GRANULE, fact.granules, fact.mask);
            let own = facts.iter().filter(|fact| fact.epoch.thread == OTHER.0 as u16);
            gathered = own.map(shown).collect();
            races.starts_again(Asked::AtTheEnd { complete: true }, true, false);
        }
        gathered
    }

    #[test]
    fn an_access_to_granules_that_follow_each_other_is_one_fact() {
        use Kind::{Read, Write};
        assert_eq!(facts(&[(0..64, Write)]), [(0, 8, 0xff)]);
        // Others in between, or of another kind, or of another epoch.
        assert_eq!(facts(&[(0..24, Write), (32..64, Write)]), [(0, 3, 0xff), (4, 4, 0xff)]);
        assert_eq!(
            facts(&[(0..64, Write), (24..32, Write)]),
            [(0, 3, 0xff), (3, 1, 0xff), (4, 4, 0xff)]
        );
        assert_eq!(facts(&[(0..16, Write), (16..32, Read)]), [(0, 2, 0xff), (2, 2, 0xff)]);
        // Both are of the same granules, in part.
        assert_eq!(facts(&[(0..32, Write), (16..48, Read)]), [(0, 4, 0xff), (2, 4, 0xff)]);
        // The first and the last granule are used in part.
        assert_eq!(facts(&[(4..36, Write)]), [(0, 1, 0xf0), (1, 3, 0xff), (4, 1, 0x0f)]);
    }

    #[test]
    fn the_hash_of_a_fact_does_not_tell_where_it_ends() {
        let fact = |first: usize, granules: u32| Fact {
            granule: PLACE + first * GRANULE,
            kind: Kind::Write as u8 + 1,
            extent: Extent::NONE,
            epoch: Epoch { thread: 1, number: 7 },
            mask: 0xff,
            granules,
        };
        let sum = |facts: &[Fact]| facts.iter().map(Fact::hash).fold(0, u128::wrapping_add);
        let whole = sum(&[fact(0, 5)]);
        assert_eq!(sum(&[fact(0, 2), fact(2, 3)]), whole);
        assert_eq!(sum(&[fact(0, 1), fact(1, 1), fact(2, 1), fact(3, 2)]), whole);
        assert_ne!(sum(&[fact(0, 4)]), whole);
        assert_ne!(sum(&[fact(0, 2), fact(3, 3)]), whole);
        assert_ne!(fact(0, 5).name(), fact(0, 4).name());
    }
}
