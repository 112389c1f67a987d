//! The states that were reached, and what is known of each.

use super::futures::FutureId;
use crate::keys::KeyMap;

/// Maximum number of explored states that are kept, of 32 bytes each. Others are explored again where they are reached
/// again.
const MOST_KEPT: usize = 1 << 25;

/// What is known of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// It is the state of this node on the present way.
    OnTheWay(u32),
    /// It has been left, but a node on the present way can be reached from it, so that what follows it is not all known.
    /// This is its place among those of which that is so.
    InCycle(u32),
    /// All that follows it has been explored.
    Explored(FutureId),
}

/// The states that were reached.
#[derive(Default, Debug)]
pub(super) struct StateTable {
    known: KeyMap<u128, Known>,
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
