//! Vector clocks.

use smallvec::SmallVec;

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
    for (known, &other) in into.iter_mut().zip(other) {
        *known = (*known).max(other);
    }
}
