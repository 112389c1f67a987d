//! Runs one concurrent program step by step, in this process.
//!
//! The program's threads are coroutines on one OS thread. Each stops before every operation that other threads
//! can observe, and hands it over as data ([`Operation`]); a [`Program`] runs whichever thread it is told to, to
//! its next such point, and says what the step touched. It implements [`dpor_explorer::System`] and knows no
//! strategy.
//!
//! The explored program reaches the scheduler through the functions of this crate, called by the facades of std:
//! [`perform`], [`release`], [`observe`], [`access`], [`note`].
//!
//! Everything that the program can change lies in memory of the scheduler's (folder `memory`), at addresses that
//! do not depend on the interleaving. What depends on the platform is in the folders `memory` and `platform`.

mod callers;
mod failure;
pub mod label;
mod learnt;
mod memory;
mod native;
pub mod operation;
pub mod options;
pub mod ordering;
pub mod output;
mod overlap;
pub mod ownership;
pub mod panic;
mod platform;
pub mod program;
mod queue;
mod recall;
pub mod report;
mod runtime;
pub mod spin;
mod state;
pub mod thread;
pub mod time;
mod word;

pub use dpor_explorer::{Access, AccessKind, Awaits, Condition, Guard, Location, ThreadId, Variable};
pub use learnt::Learnt;
pub use memory::glimpse::{Glimpse, glimpse};
pub use operation::{MOST_CHOICES, Operation, OperationKind, access_of, awaiting, location, sub_location};
pub use options::Options;
pub use ordering::{Orderings, WeakOrderings};
pub use overlap::{atomic_location, atomic_point};
pub use program::{Crash, Place, Program, SetupError};
pub use runtime::{
    access, access_awaiting, atomic_access, fail, gives_back, hold, is_observed, note, observe, observe_each,
    on_model_thread, options, outside, perform, perform_from, point, release, stands_for, steps_begun, takes,
    unsupported, value, value_if,
};
pub use state::{Difference, StateImage};
pub use word::Word;

// The unit tests of the memory bring their own.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: memory::arena::DporAllocator = memory::arena::DporAllocator;
