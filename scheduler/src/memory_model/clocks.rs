//! Vector clocks of the order that spawns and joins make.

use smallvec::SmallVec;

/// For each thread, by index, the number of its epochs that are known to be over. A thread's own entry is its present
/// epoch.
pub(crate) type Clock = SmallVec<[u32; 8]>;

/// Takes the componentwise maximum.
pub(crate) fn join(into: &mut Clock, other: &[u32]) {
    if into.len() < other.len() {
        into.resize(other.len(), 0);
    }
    for (known, &other) in into.iter_mut().zip(other) {
        *known = (*known).max(other);
    }
}
