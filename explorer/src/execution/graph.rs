//! Dependency by execution graphs, for weak memory.
//!
//! Two executions are equivalent if their execution graphs are the same: each read reads from the same store, the
//! stores of each atomic have the same modification order, and the objects by which threads synchronise are used in the
//! same order. The order of dependency is then smaller than the one that footprints give: of two operations on an
//! atomic, only a read depends on an earlier one, the store from which it reads. What each operation may do is its
//! choice, and all of its alternatives are explored, so that the order in which independent ones run adds nothing, but
//! for two sorts of *races*, whose reversal has alternatives that the execution does not have:
//!
//! * a read, and a later store of the atomic that it could have read from;
//! * a read-modify-write, and another one that could have read from the same store and written after it. One excludes
//!   the other, as with a lock.
//!
//! What was explored sleeps with the stores that it could read from: when the race of a read is reversed, only the new
//! store is left for it.
//!
//! Deviation: operations that are held back by conditions, those whose atomic is accessed in other ways, and all once
//! time has passed for a thread, depend on each other as their footprints say. They may be explored more than
//! once in the same graph. That is right as long as whatever can tell in which order two operations ran makes the later
//! one such an operation: it conflicts with all others of its atomic.
//!
//! The classes are those of Kokologiannakis, Marmanis, Gladstein and Vafeiadis, *Truly Stateless, Optimal Dynamic
//! Partial Order Reduction* (POPL 2022), and the reversals those of Source-DPOR. That no graph is explored twice, and
//! none is missed, is compared with an enumeration of all of them (`testsuite/tests/engine/rc11.rs`).

use super::order::AccessAt;
use super::trace::{EventIndex, Trace};
use super::{Races, Removed, VectorClock};
use crate::system::{Footprint, GraphEvent, Guard, Label, ThreadId};

/// What the trace of a search records, besides what all do.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Follows {
    /// What threads have waited for.
    pub waits: bool,
    /// The execution graph.
    pub graph: UseOfGraph,
}

/// What a search does with the execution graph.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum UseOfGraph {
    /// Nothing.
    #[default]
    None,
    /// It has it beside the footprints, by which steps are dependent.
    Beside,
    /// Steps are dependent by it.
    Dependency,
}

impl Follows {
    /// Nothing.
    pub const NOTHING: Follows = Follows {
        waits: false,
        graph: UseOfGraph::None,
    };

    /// Whether steps are dependent by the execution graph.
    pub fn depends_by_graph(self) -> bool {
        self.graph == UseOfGraph::Dependency
    }

    /// Makes the footprint of an operation that of its event in the execution graph, if it has one.
    pub fn shape(self, footprint: &mut Footprint, guards: &[Guard], event: &mut Option<GraphEvent>) {
        match (&*event, self.graph) {
            // What has a guard waits for accesses of others, whatever it finds.
            (Some(event), UseOfGraph::Dependency) if guards.is_empty() => footprint.make_update(event.location),
            (Some(_), UseOfGraph::Beside) if guards.is_empty() => {}
            _ => *event = None,
        }
    }
}

impl Trace {
    /// The events in a race with this one, which is the next of `thread`, by the execution graph: latest first. Without
    /// `exclusion`, those of read-modify-writes that exclude each other are left out, which is wrong.
    pub(crate) fn races_of_graph(&self, thread: ThreadId, event: &GraphEvent, exclusion: bool) -> Races {
        let mut races = Races::new();
        let label = event.label;
        if !label.writes() && !event.excluded {
            return races;
        }
        let before = self.known_clock(thread);
        let source = event.source.map(|source| &self.events[source as usize].clock);
        for &AccessAt { event: e, .. } in self.accesses_of(event.location).iter().rev() {
            let earlier = &self.events[e];
            let Some(other) = earlier.step.graph.filter(|other| other.location == event.location) else {
                continue;
            };
            let is_before = |clock: &VectorClock| clock.get(earlier.thread()) >= earlier.index;
            if earlier.thread() == thread || before.is_some_and(is_before) {
                continue;
            }
            let excludes = other.label == Label::Update && event.excluded;
            let could_read = other.label.reads() && label.writes() && !source.is_some_and(is_before);
            if excludes && exclusion || could_read {
                races.push((e, Removed::new()));
            }
        }
        races
    }

    /// Whether an operation that reads from `source` comes after an event of `notdep(e, E)`.
    pub(crate) fn reads_from_notdep(&self, source: Option<u32>, e: EventIndex) -> bool {
        source.is_some_and(|source| {
            let source = source as usize;
            source > e && !self.events[source].ordered_after(&self.events[e])
        })
    }
}
