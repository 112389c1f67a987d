//! Vector clocks.

use dpor_explorer::Location;
use smallvec::SmallVec;
use std::iter::repeat_n;
use std::ops::Range;

/// For each thread, by index, the number of its epochs that are known to be over. A thread's own entry is its present
/// epoch.
pub(crate) type Clock = SmallVec<[u32; 8]>;

/// The entry of the thread with this index.
#[inline]
pub(crate) fn entry(clock: &[u32], thread: usize) -> u32 {
    clock.get(thread).copied().unwrap_or(0)
}

/// Takes the componentwise maximum.
#[inline]
pub(crate) fn join(into: &mut Clock, other: &[u32]) {
    if into.len() < other.len() {
        into.resize(other.len(), 0);
    }
    join_entries(into, other);
}

/// Takes the componentwise maximum, of a clock that is at least as long as the other one.
#[inline]
fn join_entries(into: &mut [u32], other: &[u32]) {
    for (known, &other) in into.iter_mut().zip(other) {
        *known = (*known).max(other);
    }
}

/// What was published, by location: a clock for each. All of them are in one vector, as they are copied often.
#[derive(Default, Debug)]
pub(crate) struct Published {
    /// Ascending.
    locations: Vec<Location>,
    /// The clocks of all locations, in their order.
    clocks: Vec<u32>,
    /// Length of each clock.
    width: usize,
}

impl Published {
    /// Becomes a copy, and keeps the storage.
    pub fn copy_from(&mut self, other: &Self) {
        let Published {
            locations,
            clocks,
            width,
        } = other;
        self.locations.clone_from(locations);
        self.clocks.clone_from(clocks);
        self.width = *width;
    }

    /// Nothing is published any more.
    pub fn clear(&mut self) {
        self.locations.clear();
        self.clocks.clear();
    }

    /// The locations, ascending, with their clocks.
    pub fn iter(&self) -> impl Iterator<Item = (Location, &[u32])> {
        let clocks = self.clocks.chunks_exact(self.width.max(1));
        self.locations.iter().copied().zip(clocks)
    }

    /// The clock of a location; `None` if nothing is published there.
    #[inline]
    pub fn get(&self, location: Location) -> Option<&[u32]> {
        let at = self.locations.binary_search(&location).ok()?;
        Some(&self.clocks[self.range(at)])
    }

    #[inline]
    fn range(&self, at: usize) -> Range<usize> {
        at * self.width..(at + 1) * self.width
    }

    /// Publishes a clock at the location, beside what was published there or instead of it.
    pub fn publish(&mut self, location: Location, clock: &[u32], beside: bool) {
        if self.width < clock.len() {
            self.widen(clock.len());
        }
        let found = self.locations.binary_search(&location);
        let at = found.unwrap_or_else(|at| {
            let start = at * self.width;
            self.locations.insert(at, location);
            self.clocks.splice(start..start, repeat_n(0, self.width));
            at
        });
        let range = self.range(at);
        let known = &mut self.clocks[range];
        if !beside {
            known.fill(0);
        }
        join_entries(known, clock);
    }

    fn widen(&mut self, width: usize) {
        // Threads come one by one.
        let width = width.next_multiple_of(4);
        let mut wider = Vec::with_capacity(self.locations.len() * width);
        for (_, clock) in self.iter() {
            wider.extend_from_slice(clock);
            wider.extend(repeat_n(0, width - clock.len()));
        }
        (self.clocks, self.width) = (wider, width);
    }

    /// Forgets what is published at locations.
    pub fn retain(&mut self, mut keeps: impl FnMut(Location) -> bool) {
        let mut kept = 0;
        for at in 0..self.locations.len() {
            let location = self.locations[at];
            if !keeps(location) {
                continue;
            }
            if kept != at {
                self.locations[kept] = location;
                let range = self.range(at);
                self.clocks.copy_within(range, kept * self.width);
            }
            kept += 1;
        }
        self.locations.truncate(kept);
        self.clocks.truncate(kept * self.width);
    }

    /// Takes what is published at a location.
    pub fn take(&mut self, location: Location) -> Clock {
        let Ok(at) = self.locations.binary_search(&location) else {
            return Clock::new();
        };
        self.locations.remove(at);
        let range = self.range(at);
        self.clocks.drain(range).collect()
    }
}
