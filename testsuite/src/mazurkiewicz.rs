//! Canonical forms of Mazurkiewicz traces, computed from footprints alone.

use dpor_explorer::{Step, Transition};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Names the trace (the class of executions that differ only in the order of independent steps) of an
/// execution: two executions of one class get the same number, others differ but for a collision.
///
/// `path` tells a thread's creation path, so that the result does not depend on thread ids. Each event's
/// name is a hash of its thread, its index, its alternative and the names of all events before it that
/// it depends on; the trace's name is a hash of the set of its events' names.
pub fn canonical_form<'a, 'b>(
    events: impl IntoIterator<Item = (Transition, &'a Step)>,
    path: impl Fn(dpor_explorer::ThreadId) -> &'b [u8],
) -> u64 {
    let mut names: Vec<u64> = Vec::new();
    let mut earlier: Vec<(Transition, &Step)> = Vec::new();
    for (transition, step) in events {
        let thread = transition.thread;
        let index = earlier.iter().filter(|(t, _)| t.thread == thread).count();
        let mut before: Vec<u64> = earlier
            .iter()
            .zip(&names)
            .filter(|((t, s), _)| {
                t.thread == thread || s.spawned.contains(&thread) || s.footprint.conflicts_with(&step.footprint)
            })
            .map(|(_, &name)| name)
            .collect();
        before.sort_unstable();
        let mut hasher = DefaultHasher::new();
        (path(thread), index, transition.alternative, before).hash(&mut hasher);
        names.push(hasher.finish());
        earlier.push((transition, step));
    }
    names.sort_unstable();
    let mut hasher = DefaultHasher::new();
    names.hash(&mut hasher);
    hasher.finish()
}

/// For each event, the set of events that happen before it (bit `i` for the `i`-th), from footprints.
///
/// # Panics
/// If there are more than 128 events.
pub fn happens_before<'a>(events: impl IntoIterator<Item = (Transition, &'a Step)>) -> Vec<u128> {
    let mut earlier: Vec<(Transition, &Step)> = Vec::new();
    let mut sets: Vec<u128> = Vec::new();
    for (transition, step) in events {
        assert!(earlier.len() < 128, "an execution of a toy program is short");
        let mut set = 0;
        for (i, (t, s)) in earlier.iter().enumerate() {
            if t.thread == transition.thread
                || s.spawned.contains(&transition.thread)
                || s.footprint.conflicts_with(&step.footprint)
            {
                set |= sets[i] | 1 << i;
            }
        }
        sets.push(set);
        earlier.push((transition, step));
    }
    sets
}
