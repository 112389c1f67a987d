//! Vector clocks: the happens-before order of an execution, for constant-time queries.

use crate::thread::ThreadId;
use smallvec::SmallVec;

/// For each thread, how many of its events are at or before a point in the happens-before order.
#[derive(Default, PartialEq, Eq, Hash, Debug)]
pub struct VectorClock {
    counts: SmallVec<[u32; 8]>,
}

impl Clone for VectorClock {
    fn clone(&self) -> Self {
        VectorClock {
            // `SmallVec::clone` copies element by element.
            counts: SmallVec::from_slice(&self.counts),
        }
    }

    fn clone_from(&mut self, other: &VectorClock) {
        self.counts.clear();
        self.counts.extend_from_slice(&other.counts);
    }
}

impl VectorClock {
    /// The clock of a point that nothing happens before.
    pub const fn new() -> Self {
        VectorClock {
            counts: SmallVec::new_const(),
        }
    }

    /// The number of the thread's events that happen before or at this point.
    pub fn get(&self, thread: ThreadId) -> u32 {
        self.counts.get(thread.index()).copied().unwrap_or(0)
    }

    /// Sets the thread's component.
    pub fn set(&mut self, thread: ThreadId, count: u32) {
        if self.counts.len() <= thread.index() {
            self.counts.resize(thread.index() + 1, 0);
        }
        self.counts[thread.index()] = count;
    }

    /// Takes the componentwise maximum.
    pub fn join(&mut self, other: &VectorClock) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, &theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = (*mine).max(theirs);
        }
    }

    /// Takes the componentwise minimum.
    pub fn meet(&mut self, other: &VectorClock) {
        self.counts.truncate(other.counts.len());
        for (mine, &theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = (*mine).min(theirs);
        }
    }

    /// Becomes the clock of a point that nothing happens before.
    pub fn clear(&mut self) {
        self.counts.clear();
    }
}
