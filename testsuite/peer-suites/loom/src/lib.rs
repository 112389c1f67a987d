//! A stand-in for loom 0.7: as much of its interface as its own tests use, explored by cargo-dpor.
//!
//! All atomics are sequentially consistent. [`cell::UnsafeCell`] and [`sync::atomic`]'s `unsync_load` fail where a
//! conflicting access of another thread can come while theirs lasts. What loom takes for a failure beside panics and
//! deadlocks is one here: a panic of any thread, a thread that is blocked for ever though nobody joins it, an
//! [`sync::Arc`] that is never dropped, and a [`lazy_static!`] that is used after the model's first thread has ended.

pub mod cell;
pub mod future;
pub mod lazy_static;
pub mod model;
pub mod sync;
pub mod thread;

mod plain;

pub use model::model;
pub use shim_std::thread_local;

/// For substitutions in the tests: data that they gather over all executions.
pub use support::outside;
