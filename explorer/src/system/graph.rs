//! Events of execution graphs: what a step did to an atomic of which it has chosen what it found.

use super::Location;

/// What a step did to an atomic where it chooses what it finds, under weak memory: an event of the execution graph
/// (Kokologiannakis, Marmanis, Gladstein and Vafeiadis, *Truly Stateless, Optimal Dynamic Partial Order Reduction*,
/// POPL 2022, section 2.1).
///
/// The alternatives of the operation are all that the memory model allows after the steps before: for a read, each
/// store from which it may read; for a write, each place in modification order. So two operations on one atomic are
/// independent unless one reads from the other: in which order they run shows only in what a read that comes before a
/// write cannot read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphEvent {
    /// The atomic, as in the step's footprint.
    pub location: Location,
    /// What was done.
    pub label: Label,
    /// The index in the execution of the step that has stored what was read; `None` if it is older than all steps, or
    /// everything that can still run comes after it, or nothing was read, or if the operation is pending.
    pub source: Option<u32>,
    /// How many later stores of the atomic there are than the one that it reads from, or that it comes right after; 0 if
    /// the operation is pending.
    pub older: u32,
    /// Whether there is a store which it could read from, and would write after, if no read-modify-write had read from
    /// it.
    pub excluded: bool,
}

crate::codec!(struct GraphEvent { location, label, source, older, excluded });

/// What an event of an execution graph does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// It reads.
    Read,
    /// It writes, whatever it finds.
    Write,
    /// It is a read-modify-write: nothing comes between it and the store from which it reads.
    Update,
}

crate::codec!(enum Label { 0 => Read, 1 => Write, 2 => Update });

impl Label {
    /// Whether it reads.
    pub fn reads(self) -> bool {
        self != Label::Write
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        self != Label::Read
    }
}
