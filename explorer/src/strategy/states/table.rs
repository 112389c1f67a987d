//! The states that were reached, and what is known of each.
//!
//! A state is looked up by its fingerprint. If it was not met, an explored one may *cover* it: one that differs only in
//! what threads know ([`System::knowledge`](crate::system::System::knowledge)), after which all can happen that can
//! happen after this one. Its future is that of the other one, of which each step that follows this one is a part.
//! Which states cover others is not saved: after a resumption, states that were explored before cover only those that
//! are equal.

use super::futures::FutureId;
use crate::keys::KeyMap;
use crate::system::Knowledge;

/// Maximum number of explored states that are kept, of 32 bytes each. Others are explored again where they are reached
/// again.
const MOST_KEPT: usize = 1 << 25;
/// Maximum number of words of all knowledge that is kept. States with more cover only those that are equal to them.
const MOST_WORDS: usize = 1 << 26;
/// Maximum number of states with the same fingerprint but for what is known that are looked at.
const MOST_LIKE: usize = 32;

/// What is known of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// It is the state of this node on the present way.
    OnTheWay(u32),
    /// It has been left, but a node on the present way can be reached from it, so that what follows it is not all
    /// known. This is its place among those of which that is so.
    InCycle(u32),
    /// All that follows it has been explored.
    Explored(FutureId),
}

/// What a state has in common with others that are equal but for what is known in them: their key, and the number of
/// what is known in it.
pub(super) type Likeness = (u128, u32);

/// The states that were reached.
#[derive(Default, Debug)]
pub(super) struct StateTable {
    known: KeyMap<u128, Known>,
    /// Explored states by the key of what they are but for knowledge, with the number of that.
    like: KeyMap<u128, Vec<(u32, FutureId)>>,
    /// What was known in states.
    knowledge: Vec<Box<[u64]>>,
    /// The numbers of that, by its digest.
    numbers: KeyMap<u128, u32>,
    /// Number of words in `knowledge`.
    words: usize,
    /// The states in cycles that are not closed yet, in the order in which they were left.
    open: Vec<u128>,
    /// The keys and futures of states that are not yet in a snapshot, if there are snapshots.
    unsaved: Option<Vec<u128>>,
}

impl StateTable {
    pub fn new(resumable: bool) -> Self {
        StateTable {
            unsaved: resumable.then(Vec::new),
            ..StateTable::default()
        }
    }

    pub fn get(&self, key: u128) -> Option<Known> {
        self.known.get(&key).copied()
    }

    /// The state is that of the node at this place on the present way.
    pub fn enter(&mut self, key: u128, at: usize) {
        self.known.insert(key, Known::OnTheWay(at as u32));
    }

    /// Number of states in cycles that are not closed.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// The state is left, and a node on the present way can be reached from it.
    pub fn leave_in_cycle(&mut self, key: u128) {
        self.known.insert(key, Known::InCycle(self.open.len() as u32));
        self.open.push(key);
    }

    /// The states in cycles that were left since there were `open` of them are explored.
    pub fn close(&mut self, open: usize, future: FutureId) {
        for key in self.open.split_off(open) {
            self.explored(key, future);
        }
    }

    /// All that follows the state has been explored.
    pub fn explored(&mut self, key: u128, future: FutureId) {
        if self.known.len() > MOST_KEPT {
            self.known.remove(&key);
            return;
        }
        self.known.insert(key, Known::Explored(future));
        if let Some(unsaved) = &mut self.unsaved {
            unsaved.extend([key, u128::from(future.0)]);
        }
    }

    /// From now on, an explored state stands for those that it covers. `covers` is
    /// [`System::covers`](crate::system::System::covers).
    pub fn stands_for_others(
        &mut self,
        (rest, number): Likeness,
        future: FutureId,
        covers: impl Fn(&[u64], &[u64]) -> bool,
    ) {
        let like = self.like.entry(rest).or_default();
        let known = &self.knowledge[number as usize];
        like.retain(|&(other, _)| !covers(known, &self.knowledge[other as usize]));
        if like.len() < MOST_LIKE {
            like.push((number, future));
        }
    }

    /// The likeness of a state with this key and knowledge; `None` if nothing of it is known, or if there is no room.
    pub fn likeness(&mut self, rest: u128, knowledge: Knowledge<'_>) -> Option<Likeness> {
        let Knowledge { words, digest } = knowledge;
        if let Some(&number) = self.numbers.get(&digest.0) {
            return Some((rest, number));
        }
        if words.is_empty() || self.words + words.len() > MOST_WORDS {
            return None;
        }
        self.words += words.len();
        let number = self.knowledge.len() as u32;
        self.knowledge.push(words.into());
        self.numbers.insert(digest.0, number);
        Some((rest, number))
    }

    /// The future of an explored state that covers one with this key but for what is known, and these words of
    /// knowledge.
    pub fn covering(&self, rest: u128, words: &[u64], covers: impl Fn(&[u64], &[u64]) -> bool) -> Option<FutureId> {
        let mut like = self.like.get(&rest)?.iter();
        let covering = like.find(|&&(number, _)| covers(&self.knowledge[number as usize], words));
        covering.map(|&(_, future)| future)
    }

    /// Takes what [`StateTable::restore`] needs of the states that were explored since the last call.
    pub fn take_unsaved(&mut self) -> Vec<u128> {
        self.unsaved.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Adds explored states that were taken before.
    pub fn restore(&mut self, saved: &mut dyn Iterator<Item = u128>) {
        while let (Some(key), Some(future)) = (saved.next(), saved.next()) {
            self.known.insert(key, Known::Explored(FutureId(future as u32)));
        }
    }
}
