//! A survey of the states of an exploration: which of their parts keep them apart.
//!
//! Each state is recorded as a row of numbers. A column is a part of the state, such as the stack of a thread or a
//! number that the checker keeps of it; equal numbers in a column are equal contents. So it can be counted how many
//! states there would be without some of the columns, and which states differ in some of them only. What such states
//! differ in is then looked up in the contents, byte for byte.

use super::difference::{Difference, Kind, Section, StateImage};
use crate::image::part::{Memory, Owner, Visitor};
use dpor_explorer::keys::{KeyMap, KeySet};
use std::collections::HashMap;
use std::ops::Range;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Maximum number of states on record; later ones are left out. Each takes some hundred bytes.
const MOST_STATES: usize = 1 << 20;
/// Maximum number of bytes of contents that are kept, so that differences can be looked up.
const MOST_BYTES: usize = 1 << 29;
/// Maximum number of states that are compared with another one byte for byte.
const MOST_PAIRS: usize = 2000;
/// Maximum number of states that differ from a state in the same group only, and of which the nearest is looked for.
const CANDIDATES: usize = 16;
/// Maximum number of places of a report.
const MOST_PLACES: usize = 40;
/// A group counts if, without it, at least this fraction of the states is saved.
const COUNTS: usize = 50;

/// What keeps the states of an exploration apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey {
    /// Number of states on record.
    pub states: u64,
    /// Parts of states without which there would be fewer of them, in the order in which it pays most to leave them
    /// out.
    pub parts: Vec<Apart>,
    /// Number of states that were compared with the nearest of those that differ in one kind of part only.
    pub compared: u64,
    /// Number of states among those that were looked at that differ from each other one in several kinds of parts.
    pub alone: u64,
    /// Where the compared states differ, the most frequent places first.
    pub places: Vec<Place>,
}

/// A part of states that keeps some of them apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Apart {
    /// What it is.
    pub name: &'static str,
    /// Number of states that would be left without it.
    pub without: u64,
    /// Number of states that would be left without it and the parts before it in the list.
    pub without_all: u64,
}

/// A place in which states differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Number of pairs of states that differ there.
    pub pairs: u64,
    /// Number of those that differ nowhere else.
    pub only: u64,
    /// The first difference that was met there.
    pub example: Difference,
}

/// A column: whose part, of which kind, and, of statics, where.
type Key = (Owner, Kind, usize);

#[derive(Default)]
struct Column {
    /// The numbers of the contents, from 1 on.
    numbers: KeyMap<u128, u32>,
    /// The contents, by number, as far as they are kept. Memory has its address before it.
    contents: Vec<Option<Box<[u8]>>>,
}

/// Records states.
#[derive(Default)]
pub(crate) struct Surveyor {
    met: KeySet<u128>,
    keys: KeyMap<Key, usize>,
    columns: Vec<(Key, Column)>,
    /// For each state, the numbers of its contents by column; 0, or none at the end, for a part that it does not have.
    rows: Vec<Box<[u32]>>,
    kept: usize,
}

impl Surveyor {
    /// Records the state with this fingerprint, which `visit` shows, unless it is on record, or too many are.
    pub fn add(&mut self, fingerprint: u128, visit: impl FnOnce(&mut Contents)) {
        if self.rows.len() >= MOST_STATES || !self.met.insert(fingerprint) {
            return;
        }
        let mut contents = Contents::default();
        visit(&mut contents);
        let mut row = vec![0; self.columns.len()];
        for (key, bytes) in contents.0 {
            let next = self.columns.len();
            let at = *self.keys.entry(key).or_insert(next);
            if at == next {
                self.columns.push((key, Column::default()));
                row.push(0);
            }
            let Column { numbers, contents } = &mut self.columns[at].1;
            row[at] = *numbers.entry(xxh3_128(&bytes)).or_insert_with(|| {
                let keep = self.kept + bytes.len() <= MOST_BYTES;
                self.kept += if keep { bytes.len() } else { 0 };
                contents.push(keep.then(|| bytes.into_boxed_slice()));
                contents.len() as u32
            });
        }
        self.rows.push(row.into_boxed_slice());
    }

    /// What keeps the recorded states apart.
    pub fn survey(&self) -> Survey {
        let groups = self.groups();
        let digests = Digests::of(&self.rows, &groups);
        let like = digests.alike();
        let (mut places, mut symbols) = (Places::default(), None);
        let (mut compared, mut alone) = (0, 0);
        for row in (0..self.rows.len()).step_by(self.rows.len().div_ceil(MOST_PAIRS).max(1)) {
            let others = like.iter().enumerate();
            let others = others.filter_map(|(group, like)| like.get(&digests.without(row, &[group])));
            let others: KeySet<usize> = others.flatten().copied().filter(|&other| other != row).collect();
            if others.is_empty() {
                alone += 1;
                continue;
            }
            let distances = others
                .into_iter()
                .filter_map(|other| Some((self.distance(row, other)?, other)));
            if let Some((_, other)) = distances.min() {
                compared += 1;
                let (one, other) = (self.image(row, other), self.image(other, row));
                places.add(one.diff_by(&other, &mut symbols));
            }
        }
        Survey {
            states: self.rows.len() as u64,
            parts: digests.apart(&groups),
            compared,
            alone,
            places: places.most_frequent(),
        }
    }

    /// The columns, by what they are together.
    fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (column, ((_, kind, _), contents)) in self.columns.iter().enumerate() {
            let is_same = contents.contents.len() == 1 && self.rows.iter().all(|row| row.get(column) == Some(&1));
            if is_same {
                continue;
            }
            let name = group(*kind);
            match groups.iter_mut().find(|(of, _)| *of == name) {
                Some((_, columns)) => columns.push(column),
                None => groups.push((name, vec![column])),
            }
        }
        groups
    }

    fn content(&self, row: usize, column: usize) -> Content<'_> {
        match self.rows[row].get(column) {
            None | Some(0) => Content::Absent,
            Some(number) => match &self.columns[column].1.contents[*number as usize - 1] {
                Some(bytes) => Content::Kept(bytes),
                None => Content::Lost,
            },
        }
    }

    /// The columns in which two states differ.
    fn differing(&self, one: usize, other: usize) -> impl Iterator<Item = usize> + '_ {
        let number = move |row: usize, column| self.rows[row].get(column).copied().unwrap_or(0);
        (0..self.columns.len()).filter(move |&column| number(one, column) != number(other, column))
    }

    /// Number of bytes in which two states differ. `None` if some are not kept.
    fn distance(&self, one: usize, other: usize) -> Option<usize> {
        self.differing(one, other)
            .map(|column| {
                let bytes = |row| match self.content(row, column) {
                    Content::Absent => Some(&[][..]),
                    Content::Kept(bytes) => Some(bytes),
                    Content::Lost => None,
                };
                let (one, other) = (bytes(one)?, bytes(other)?);
                let differ = one.iter().zip(other).filter(|(one, other)| one != other).count();
                Some(differ + one.len().abs_diff(other.len()))
            })
            .sum()
    }

    /// What differs of a state from the other one.
    fn image(&self, row: usize, other: usize) -> StateImage {
        let sections = self.differing(row, other).flat_map(|column| {
            let (owner, kind, _) = self.columns[column].0;
            // Where the registers are tells frames apart.
            let registers = match kind {
                Kind::Memory(Memory::Stack) => self.keys.get(&(owner, Kind::Number(REGISTERS), 0)).copied(),
                _ => None,
            };
            let of = move |column: usize| {
                let (owner, kind, _) = self.columns[column].0;
                match self.content(row, column) {
                    Content::Kept(bytes) => Some(section(owner, kind, bytes)),
                    Content::Absent | Content::Lost => None,
                }
            };
            let same = registers.filter(|&registers| self.rows[row].get(registers) == self.rows[other].get(registers));
            [of(column), same.and_then(of)].into_iter().flatten()
        });
        StateImage::of_sections(sections.collect())
    }
}

/// Columns, with a name for what they are together.
type Group = (&'static str, Vec<usize>);

/// Digests of the recorded states.
struct Digests {
    /// By state, the digest of each group's columns, and that of all. Without a group, it is the digest of all without
    /// the group's.
    rows: Vec<(Box<[u64]>, u64)>,
}

impl Digests {
    fn of(rows: &[Box<[u32]>], groups: &[Group]) -> Digests {
        let of_row = |row: &[u32]| {
            let of_group = |(number, (_, columns)): (usize, &Group)| {
                let mut numbers = vec![number as u8];
                for &column in columns {
                    numbers.extend(row.get(column).copied().unwrap_or(0).to_ne_bytes());
                }
                xxh3_64(&numbers)
            };
            let of_groups: Box<[u64]> = groups.iter().enumerate().map(of_group).collect();
            let all = of_groups.iter().fold(0, |all, digest| all ^ digest);
            (of_groups, all)
        };
        Digests {
            rows: rows.iter().map(|row| of_row(row)).collect(),
        }
    }

    /// The digest of a state without some groups.
    fn without(&self, row: usize, groups: &[usize]) -> u64 {
        let (of_groups, all) = &self.rows[row];
        groups.iter().fold(*all, |all, &group| all ^ of_groups[group])
    }

    /// Number of states that would be left without some groups.
    fn left(&self, without: &[usize]) -> usize {
        let digests = (0..self.rows.len()).map(|row| self.without(row, without));
        digests.collect::<KeySet<u64>>().len()
    }

    /// The groups that keep states apart, each time the one next that keeps most of those apart that are left.
    fn apart(&self, groups: &[Group]) -> Vec<Apart> {
        let (mut apart, mut chosen) = (Vec::new(), Vec::new());
        let mut now = self.left(&[]);
        loop {
            let rest = (0..groups.len()).filter(|group| !chosen.contains(group));
            let best = rest
                .map(|group| (self.left(&[&chosen[..], &[group]].concat()), group))
                .min();
            let counts = |&(left, _): &(usize, usize)| now.saturating_sub(left) * COUNTS > self.rows.len();
            let Some((left, group)) = best.filter(counts) else {
                return apart;
            };
            chosen.push(group);
            now = left;
            apart.push(Apart {
                name: groups[group].0,
                without: self.left(&[group]) as u64,
                without_all: left as u64,
            });
        }
    }

    /// By group, and by the digest without that group, the first states with it.
    fn alike(&self) -> Vec<KeyMap<u64, Vec<usize>>> {
        let groups = self.rows.first().map_or(0, |(of_groups, _)| of_groups.len());
        let of_group = |group: usize| {
            let mut alike = KeyMap::<u64, Vec<usize>>::default();
            for row in 0..self.rows.len() {
                let like = alike.entry(self.without(row, &[group])).or_default();
                if like.len() < CANDIDATES {
                    like.push(row);
                }
            }
            alike
        };
        (0..groups).map(of_group).collect()
    }
}

enum Content<'a> {
    Absent,
    Kept(&'a [u8]),
    /// There was too much to keep.
    Lost,
}

/// The name of the number that tells where the registers of a thread are.
const REGISTERS: &str = "address of the registers";

/// What the parts of a kind are together.
fn group(kind: Kind) -> &'static str {
    match kind {
        Kind::Memory(Memory::Stack) | Kind::Number(REGISTERS) => "stacks and registers",
        Kind::Memory(Memory::Heap) | Kind::Number("newest block") => "heap",
        Kind::Memory(Memory::Statics) => "statics",
        Kind::Bytes("thread-locals") | Kind::Number("root of thread-locals") => "thread-locals",
        Kind::Number(
            "time"
            | "deadline"
            | "deadline has passed"
            | "questions for the time"
            | "clock started"
            | "times that all have waited"
            | "locations with a time"
            | "location"
            | "time of the location"
            | "time of the updates of the location",
        ) => "virtual clock",
        Kind::Number(
            "pending operation"
            | "object of the operation"
            | "address of the operation"
            | "what is asked of an atomic"
            | "choice of a message"
            | "enabled alternatives"
            | "enabled alternative",
        ) => "pending operations",
        Kind::Number(
            "accesses that not all threads know of"
            | "who knows which values of atomics are over"
            | "what atomics hold"
            | "release fences"
            | "memory of several threads",
        ) => "order of accesses",
        Kind::Number(name) | Kind::Bytes(name) => name,
    }
}

fn section(owner: Owner, kind: Kind, content: &[u8]) -> Section {
    let (kind, address, bytes) = match (kind, content.split_first_chunk()) {
        (Kind::Memory(_), Some((address, bytes))) => (kind, usize::from_ne_bytes(*address), bytes),
        // Of many numbers it is of interest which of their bytes differ.
        (Kind::Number(name), _) if content.len() > size_of::<u64>() => (Kind::Bytes(name), 0, content),
        _ => (kind, 0, content),
    };
    Section {
        owner,
        kind,
        address,
        bytes: bytes.to_vec(),
    }
}

/// The contents of a state, by column. What comes several times under one key follows each other.
#[derive(Default)]
pub(crate) struct Contents(Vec<(Key, Vec<u8>)>);

impl Contents {
    fn of(&mut self, owner: Owner, kind: Kind, address: usize) -> &mut Vec<u8> {
        let key = (owner, kind, address);
        // What comes again has been there a moment ago, as a rule.
        let at = self.0.iter().rposition(|(other, _)| *other == key);
        let at = at.unwrap_or_else(|| {
            self.0.push((key, Vec::new()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

impl Visitor for Contents {
    fn number(&mut self, owner: Owner, name: &'static str, number: u64) {
        self.of(owner, Kind::Number(name), 0).extend(number.to_ne_bytes());
    }

    fn bytes(&mut self, owner: Owner, name: &'static str, bytes: &[u8]) {
        self.of(owner, Kind::Bytes(name), 0).extend(bytes);
    }

    unsafe fn memory(&mut self, owner: Owner, memory: Memory, range: Range<usize>) {
        let place = match memory {
            Memory::Statics => range.start,
            Memory::Stack | Memory::Heap => 0,
        };
        let content = self.of(owner, Kind::Memory(memory), place);
        content.extend(range.start.to_ne_bytes());
        // SAFETY: the caller's promise.
        content.extend(unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) });
    }
}

/// Counts the places in which states differ.
#[derive(Default)]
struct Places {
    met: Vec<Place>,
    /// By owner and offset, the position in `met`.
    positions: HashMap<(String, u64), usize>,
}

impl Places {
    fn add(&mut self, differences: Vec<Difference>) {
        let only = u64::from(differences.len() == 1);
        for difference in differences {
            let key = (difference.owner.clone(), difference.offset);
            let next = self.met.len();
            let at = *self.positions.entry(key).or_insert(next);
            if at == next {
                self.met.push(Place {
                    pairs: 0,
                    only: 0,
                    example: difference,
                });
            }
            self.met[at].pairs += 1;
            self.met[at].only += only;
        }
    }

    fn most_frequent(self) -> Vec<Place> {
        let mut places = self.met;
        places.sort_by_key(|place| std::cmp::Reverse((place.pairs, place.only)));
        places.truncate(MOST_PLACES);
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpor_explorer::ThreadId;

    const ONE: Owner = Owner::Thread(ThreadId(1));

    /// A state with a stack, a number, and a static of these words.
    fn state(stack: &[u64], number: u64, of_static: &[u64]) -> impl FnOnce(&mut Contents) {
        let words = [stack.to_vec(), of_static.to_vec()];
        move |contents| {
            contents.number(ONE, "count", number);
            for (memory, words) in [Memory::Stack, Memory::Statics].into_iter().zip(&words) {
                let start = words.as_ptr().addr();
                // The address is part of a state, and differs each time: it is put back to one of these.
                // SAFETY: the words are borrowed meanwhile.
                unsafe { contents.memory(ONE, memory, start..start + size_of_val(&**words)) };
                let place = [0x1000, 0x2000][usize::from(memory == Memory::Statics)];
                let (key, bytes) = contents.0.last_mut().unwrap();
                bytes[..8].copy_from_slice(&usize::to_ne_bytes(place));
                key.2 = if memory == Memory::Statics { place } else { 0 };
            }
        }
    }

    #[test]
    fn states_are_counted_without_parts() {
        let mut surveyor = Surveyor::default();
        // Any two stacks with any three numbers, and one static for each number.
        for (fingerprint, (stack, number)) in (0..).zip((0..6).map(|state| (state % 2, state / 2))) {
            surveyor.add(fingerprint, state(&[7, stack, 9], number, &[number]));
            // It is on record.
            surveyor.add(fingerprint, |_| unreachable!());
        }
        let survey = surveyor.survey();
        assert_eq!(survey.states, 6);
        let parts = survey
            .parts
            .iter()
            .map(|part| (part.name, part.without, part.without_all));
        assert_eq!(
            parts.collect::<Vec<_>>(),
            // The number and the static tell the same, so that neither alone makes a difference.
            [("stacks and registers", 3, 3)]
        );
        assert_eq!((survey.compared, survey.alone), (6, 0));
        let [place] = &survey.places[..] else {
            panic!("{:?}", survey.places)
        };
        assert_eq!((place.pairs, place.only), (6, 6));
        let Difference {
            address, first, second, ..
        } = &place.example;
        assert_eq!(*address, Some(0x1008));
        assert_eq!(
            [first, second],
            [&0u64.to_ne_bytes().to_vec(), &1u64.to_ne_bytes().to_vec()]
        );
    }

    #[test]
    fn a_part_that_one_state_does_not_have_is_a_difference() {
        let mut surveyor = Surveyor::default();
        surveyor.add(0, state(&[1], 0, &[]));
        surveyor.add(1, |contents| {
            state(&[1], 0, &[])(contents);
            contents.number(ONE, "more", 5);
        });
        let survey = surveyor.survey();
        assert_eq!(survey.parts[0].name, "more");
        assert_eq!(survey.parts[0].without, 1);
        assert_eq!(survey.places.len(), 1);
        assert_eq!(survey.places[0].example.owner, "t1: more");
    }

    #[test]
    fn there_may_be_no_state() {
        let survey = Surveyor::default().survey();
        assert_eq!((survey.states, survey.compared, survey.alone), (0, 0, 0));
    }
}
