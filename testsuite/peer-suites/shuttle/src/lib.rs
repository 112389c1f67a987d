//! A stand-in for shuttle 0.9: as much of its interface as its own tests use, explored by cargo-dpor.
//!
//! What shuttle explores exhaustively is so explored here; for what it samples, an exhaustive exploration with a bound
//! is tried first, and a random walk of as many executions comes after it if that is too little. As in shuttle, a panic
//! of any thread is a failure, and so is a thread that is blocked for ever though nobody joins it.

pub mod current;
pub mod future;
pub mod lazy_static;
pub mod scheduler;
pub mod sync;
pub mod thread;

mod check;

pub use check::{Config, Runner, check, check_dfs, check_dfs_with_spurious_wakeups, check_pct, check_random};
pub use shim_std::thread_local;

/// For substitutions in the tests: data that they gather over all executions.
pub use support::outside;
