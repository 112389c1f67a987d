//! Vector clocks (Mattern 1989; Fidge 1988): an order of the events of an execution, for constant-time queries.

use crate::system::ThreadId;

/// Number of threads whose components are stored inline, and copied and compared all at once.
const LANES: usize = 8;

/// Number of each thread's events at or before a point in the order.
#[derive(Default, PartialEq, Eq, Hash, Debug)]
pub struct VectorClock {
    first: [u32; LANES],
    /// The components of the ninth thread and later ones. The last one is not 0, so that equal clocks look alike.
    rest: Vec<u32>,
}

crate::codec!(struct VectorClock { first, rest });

impl Clone for VectorClock {
    #[inline]
    fn clone(&self) -> Self {
        VectorClock {
            first: self.first,
            rest: self.rest.clone(),
        }
    }

    #[inline]
    fn clone_from(&mut self, other: &VectorClock) {
        self.first = other.first;
        if !(self.rest.is_empty() && other.rest.is_empty()) {
            self.rest.clone_from(&other.rest);
        }
    }
}

impl VectorClock {
    /// The clock of a point that nothing comes before.
    pub const fn new() -> Self {
        VectorClock {
            first: [0; LANES],
            rest: Vec::new(),
        }
    }

    /// The number of the thread's events that come before or at this point.
    #[inline]
    pub fn get(&self, thread: ThreadId) -> u32 {
        let index = thread.index();
        match self.first.get(index) {
            Some(&count) => count,
            None => self.rest.get(index - LANES).copied().unwrap_or(0),
        }
    }

    /// Sets the thread's component.
    #[inline]
    pub fn set(&mut self, thread: ThreadId, count: u32) {
        let index = thread.index();
        match self.first.get_mut(index) {
            Some(first) => *first = count,
            None => self.set_later(index - LANES, count),
        }
    }

    fn set_later(&mut self, index: usize, count: u32) {
        if self.rest.len() <= index {
            self.rest.resize(index + 1, 0);
        }
        self.rest[index] = count;
        self.trim();
    }

    fn trim(&mut self) {
        while self.rest.last() == Some(&0) {
            self.rest.pop();
        }
    }

    /// Takes the componentwise maximum.
    #[inline]
    pub fn join(&mut self, other: &VectorClock) {
        for (mine, &theirs) in self.first.iter_mut().zip(&other.first) {
            *mine = (*mine).max(theirs);
        }
        if other.rest.is_empty() {
            return;
        }
        if self.rest.len() < other.rest.len() {
            self.rest.resize(other.rest.len(), 0);
        }
        for (mine, &theirs) in self.rest.iter_mut().zip(&other.rest) {
            *mine = (*mine).max(theirs);
        }
    }

    /// Takes the componentwise minimum.
    #[inline]
    pub fn meet(&mut self, other: &VectorClock) {
        for (mine, &theirs) in self.first.iter_mut().zip(&other.first) {
            *mine = (*mine).min(theirs);
        }
        self.rest.truncate(other.rest.len());
        for (mine, &theirs) in self.rest.iter_mut().zip(&other.rest) {
            *mine = (*mine).min(theirs);
        }
        self.trim();
    }

    /// Becomes the clock of a point that nothing comes before.
    #[inline]
    pub fn clear(&mut self) {
        self.first = [0; LANES];
        self.rest.clear();
    }
}
