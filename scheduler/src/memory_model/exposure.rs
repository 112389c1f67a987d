//! Which stacks are used by other threads than their own.
//!
//! Most plain accesses are those of threads to their own stacks, and most stacks are used by nobody else. Where no
//! other thread has used one in any execution, nothing can be in a race there, and what its thread does is not
//! recorded. When another thread uses a stack for the first time, exploration starts again with the stack *exposed*:
//! what its own thread does there is recorded, too.
//!
//! This is of explorations only. Whoever runs one schedule records all. So a failure that is found when something is to
//! be exposed is not told, but found again.

use crate::image::region::MAX_THREADS;
use dpor_explorer::BitSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether accesses of threads to their own stacks are recorded, exposed or not. Read by
/// [`judge_from_thread`](crate::api::plain).
#[unsafe(link_section = ".dpor.data")]
pub(crate) static RECORDS_ALL: AtomicBool = AtomicBool::new(true);

/// By the index of a thread, whether its stack is exposed.
#[unsafe(link_section = ".dpor.data")]
pub(crate) static EXPOSED: [AtomicBool; MAX_THREADS] = [const { AtomicBool::new(false) }; MAX_THREADS];

/// Sets whether all accesses of threads to their own stacks are recorded.
pub(super) fn record_all(all: bool) {
    RECORDS_ALL.store(all, Relaxed);
}

/// Exposes the stacks of these threads.
pub(super) fn expose(threads: &BitSet) {
    for thread in threads.iter() {
        EXPOSED[thread as usize].store(true, Relaxed);
    }
}

/// Takes no stack to be exposed.
pub(super) fn forget() {
    EXPOSED.iter().for_each(|exposed| exposed.store(false, Relaxed));
}
