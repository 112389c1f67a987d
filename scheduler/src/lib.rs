//! Runs one concurrent program step by step, in this process.
//!
//! The program's threads are coroutines on one OS thread. Each stops before every operation that other threads
//! can observe, and hands it over as data ([`Operation`]); a [`Program`] runs whichever thread it is told to, to
//! its next such point, and says what the step touched. It implements [`dpor_explorer::System`] and knows no
//! strategy.
//!
//! The explored program reaches the scheduler through the functions of this crate, called by the facades of std:
//! [`perform`], [`release`], [`observe`], [`note`].
//!
//! Everything that the program can change lies in memory of the scheduler's (folder `memory`), at addresses that
//! do not depend on the interleaving. What depends on the platform is in the folders `memory` and `platform`.

mod api;
mod detect;
mod failure;
mod image;
mod machine;
mod memory_model;
pub mod operation;
mod platform;
pub mod program;
pub mod report;

pub use api::atomics::{self, atomic_location, perform_atomic};
pub use api::touch::{Touch, read_final};
pub use api::word::Word;
pub use api::{cells, hint, label, order, output, ownership, panic, thread, time};
pub use api::{
    fail, gives_back, hold, is_observed, note, observe, observe_each, on_model_thread, operations_begun, options,
    outside, perform, perform_from, release, release_all, specified, specified_without_count, stands_for, takes,
    unsupported, value, value_if,
};
pub use detect::suppressed::SuppressedRaces;
pub use dpor_explorer::{Access, AccessKind, Awaits, Condition, Guard, Location, ThreadId, Variable};
pub use dpor_protocol::{FailureKind, Memory, ModelOption, Options, Timeouts};
pub use failure::failure;
pub use image::glimpse::{Glimpse, glimpse};
pub use machine::learnt::Learnt;
pub use machine::libraries::Library;
pub use machine::refinements::Sequential;
pub use memory_model::happens_before::AtomicAccess;
#[cfg(feature = "faults")]
pub use memory_model::happens_before::RaceFault;
pub use memory_model::orderings as ordering;
pub use memory_model::orderings::{Orderings, WeakOrderings};
pub use operation::{MOST_CHOICES, Operation, OperationKind, access_of, awaiting, location, sub_location};
pub use program::{Crash, Place, Program, SetupError};
pub use report::difference::{Difference, StateImage};
pub use report::survey::{Apart, Place as PlaceApart, Survey};

// The unit tests of the memory bring their own.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: image::arena::DporAllocator = image::arena::DporAllocator;
