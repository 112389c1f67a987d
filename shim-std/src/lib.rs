//! std's synchronisation, threads and time, redefined as operations of the cargo-dpor scheduler.
//!
//! Each module mirrors the module of std of the same name and holds what is redefined there. Inside a model,
//! every operation is handed to the scheduler, which explores all orders that matter. Elsewhere the same types
//! work on real threads, with the same semantics.
//!
//! `cargo dpor test` puts these in the place of std's, in unmodified crates.
//!
//! | std | redefined |
//! |---|---|
//! | [`sync`] | `Mutex`, `RwLock`, `Condvar`, `Barrier`, `Once`, `OnceLock`, `LazyLock` |
//! | [`sync::atomic`] | all atomics, `fence`, `compiler_fence` |
//! | [`sync::mpsc`] | `channel`, `sync_channel` |
//! | [`thread`] | `spawn`, `Builder`, `scope`, `park`, `sleep`, `thread_local!`, … |
//! | [`time`] | `Instant`, `SystemTime` |
//! | [`hint`], [`mod@panic`], [`process`] | `spin_loop`; the panic hook; `exit` and `abort` |
//! | [`task`], [`sync`] | under `cfg(dpor_facade)`: `Arc`, `Weak`, `Wake`, which need unstable features; else std's |
//! | macros | [`print!`], [`println!`], [`eprint!`], [`eprintln!`], [`dbg!`], [`thread_local!`] |
//!
//! Accesses to plain memory are seen by `cargo dpor test`. Without it, data races are looked for in
//! [`cell::UnsafeCell`], which a program uses by this name.
//!
//! Two things that std does not have are asked of the checker: [`choose`] and [`nondet`] give values of which every one
//! is explored, and [`reach!`] and [`must_reach!`] say which places of a test executions must come to.
//!
//! Two modules are for programs that communicate by messages: [`actor`] and [`comm`].
//!
//! A crate can depend on this one and be tested by `cargo dpor test` as well as by `cargo test`. Under `cargo dpor`
//! (`cfg(dpor)`) this crate is empty but for the names, which are those of the facade of std: the types are the same,
//! and there is one scheduler in the process.

#![cfg_attr(
    dpor_facade,
    feature(
        clone_to_uninit,
        coerce_unsized,
        dispatch_from_dyn,
        dropck_eyepatch,
        layout_for_ptr,
        legacy_receiver_trait,
        pin_coerce_unsized_trait,
        set_ptr_value,
        unsize
    )
)]

#[cfg(not(dpor))]
pub mod actor;
#[cfg(not(dpor))]
pub mod cell;
#[cfg(not(dpor))]
mod choose;
#[cfg(not(dpor))]
pub mod comm;
#[cfg(not(dpor))]
pub mod hint;
#[cfg(not(dpor))]
#[doc(hidden)]
pub mod labels;
#[cfg(not(dpor))]
pub mod panic;
#[cfg(not(dpor))]
#[doc(hidden)]
pub mod print;
#[cfg(not(dpor))]
pub mod process;
#[cfg(not(dpor))]
mod share;
#[cfg(not(dpor))]
mod show;
#[cfg(not(dpor))]
#[doc(hidden)]
pub mod specified;
#[cfg(not(dpor))]
pub mod sync;
#[cfg(not(dpor))]
pub mod task;
#[cfg(not(dpor))]
pub mod thread;
#[cfg(not(dpor))]
pub mod time;

#[cfg(not(dpor))]
/// The real std, for macros.
#[doc(hidden)]
pub use std as __std;

#[cfg(not(dpor))]
mod runner;

#[cfg(not(dpor))]
pub use choose::{Nondet, choose, choose_from, nondet};
#[cfg(not(dpor))]
pub use dpor_explorer::{Check, Context, Statistics, Strategy};
#[cfg(not(dpor))]
pub use dpor_scheduler::{Memory, Timeouts, outside};
#[cfg(not(dpor))]
pub use runner::{Model, Outcome, Reached, WeakOrdering, model};

#[cfg(not(dpor))]
/// Items to which the facades' attributes expand.
#[doc(hidden)]
pub mod __private {
    pub use crate::runner::run_test;
    pub use core::prelude::v1::test;
}

#[cfg(dpor)]
pub use std::__dpor_shim::*;
