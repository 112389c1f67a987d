//! Stateless exploration of concurrent programs.
//!
//! A program is anything that implements [`System`]: it can be run step by step, and again from the
//! start. [`Explorer`] runs it depth first under a [`Strategy`] and ends in a [`Verdict`]. This crate
//! knows no coroutine, no memory and no `std::sync`.
//!
//! | module | what |
//! |---|---|
//! | [`system`] | the contract: the program under exploration, its steps, footprints, guards |
//! | [`execution`] | the current execution: its events, the order of dependency, its races |
//! | `search` | the search: the loop over executions, the cursor, the stack of nodes, the hooks of a policy |
//! | [`strategy`] | the registry of strategies, and their policies |
//! | [`shard`] | the program in parts, for several machines |
//! | [`simplify`] | the simplest schedule that ends in a failure that was found |
//! | [`statistics`] | what is counted |
//! | `vocabulary` | names of strategies, parts, threads and transitions, for those who do not explore, too |
//! | [`codec`](mod@codec) | values as bytes |
//! | [`keys`], [`random`], `bits` | hashing and chance that are the same in every process; sets of small numbers |
//!
//! Invariant: no module imports one that is further down in `system`, `execution`, `search`, `strategy`, `shard`.

#![forbid(unsafe_code)]

mod bits;
pub mod execution;
pub mod keys;
pub mod random;
mod search;
pub mod shard;
pub mod simplify;
mod small;
pub mod statistics;
pub mod strategy;
pub mod system;
mod vocabulary;

pub use bits::{BitSet, Elements};
pub use execution::{Event, EventIndex, Trace, VectorClock};
pub use random::SplitMix64;
#[cfg(feature = "faults")]
pub use search::Fault;
pub use search::{CannotResume, End, Explorer, Limits, Observer, Report, Snapshot, Turns, Verdict};
#[cfg(feature = "faults")]
pub use shard::ShardFault;
pub use shard::{Part, Shard, Sharded};
pub use statistics::Statistics;
pub use strategy::{Check, Context, Dpor, Order, Strategy};
pub use system::{
    Access, AccessKind, Asked, Awaits, Checkpoint, Condition, Effect, Failure, Fingerprint, Footprint, GraphEvent,
    Guard, Knowledge, Label, Layer, Location, Outlook, Pending, Rewindable, Status, Step, Stop, System, ThreadId,
    Transition, Values, Variable,
};
pub use vocabulary::codec;
