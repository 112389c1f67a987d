//! Stateless exploration of concurrent programs.
//!
//! A program is anything that implements [`System`]: it can be run step by step, and again from the
//! start. [`Explorer`] runs it depth first under a [`Strategy`] and ends in a [`Verdict`]. This crate
//! knows no coroutine, no memory and no `std::sync`.
//!
//! | module | what |
//! |---|---|
//! | [`system`] | the program under exploration: transitions, steps, failures |
//! | [`thread`], [`footprint`], [`guard`] | what steps and threads are made of |
//! | [`clock`], [`trace`] | the current execution, its happens-before order, its races |
//! | [`driver`], [`strategy`] | the search |
//! | `context`, `learned` | what context-sensitive strategies add to it |
//! | [`shard`] | the program in parts, for several machines |
//! | `unfolding` | the search through configurations of the unfolding |
//! | [`statistics`] | what it counts |
//! | `vocabulary` | names of strategies, parts, threads and transitions, for those who do not explore, too |
//! | [`codec`](mod@codec) | values as bytes |
//! | [`keys`], [`random`] | hashing and chance that are the same in every process |
//! | [`simplify`] | the simplest schedule that ends in a failure that was found |

pub mod clock;
mod context;
pub mod driver;
pub mod footprint;
pub mod guard;
pub mod keys;
mod learned;
pub mod random;
pub mod shard;
pub mod simplify;
mod small;
pub mod statistics;
pub mod strategy;
pub mod system;
pub mod thread;
pub mod trace;
mod unfolding;
mod vocabulary;

pub use clock::VectorClock;
#[cfg(feature = "faults")]
pub use driver::Fault;
pub use driver::{CannotResume, End, Explorer, Limits, Observer, Report, Snapshot, Verdict};
pub use footprint::{Access, AccessKind, Awaits, Footprint, Location};
pub use guard::{Condition, Effect, Guard, Variable};
pub use random::SplitMix64;
#[cfg(feature = "faults")]
pub use shard::ShardFault;
pub use shard::{Part, Shard, Sharded};
pub use statistics::Statistics;
pub use strategy::{Check, Context, Dpor, Order, Strategy};
pub use system::{
    Checkpoint, Failure, Fingerprint, Outlook, Pending, Rewindable, Step, Stop, System, Transition, Values,
};
pub use thread::{BitSet, Elements, Status, ThreadId};
pub use trace::{Event, EventIndex, Trace};
pub use vocabulary::codec;
