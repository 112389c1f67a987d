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
//! | [`task`], [`sync`] | for the facades, that is under `cfg(dpor_facade)`: `Arc`, `Weak`, `Wake`, which need unstable features. Otherwise they are std's |
//! | macros | [`print!`], [`println!`], [`eprint!`], [`eprintln!`], [`dbg!`], [`thread_local!`] |

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

mod choose;
pub mod hint;
#[doc(hidden)]
pub mod labels;
pub mod panic;
#[doc(hidden)]
pub mod print;
pub mod process;
pub mod sync;
pub mod task;
pub mod thread;
pub mod time;

/// The real std, for macros.
#[doc(hidden)]
pub use std as __std;

mod runner;

pub use choose::{Nondet, choose, choose_from, nondet};
pub use dpor_explorer::{Check, Context, Statistics, Strategy};
pub use runner::{Model, Outcome, Reached, model};

/// What the attributes of the facades expand to.
#[doc(hidden)]
pub mod __private {
    pub use crate::runner::run_test;
    pub use core::prelude::v1::test;
}
