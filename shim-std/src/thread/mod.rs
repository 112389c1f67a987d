//! `std::thread`.
//!
//! On a model thread, `spawn` and its kin create model threads; elsewhere they create real ones, with the same
//! handles.

mod builder;
mod current;
mod functions;
mod handle;
mod join;
mod lifecycle;
#[doc(hidden)]
pub mod local;
mod scoped;

pub use builder::Builder;
pub use current::current;
#[expect(deprecated, reason = "std's items")]
pub use functions::{
    available_parallelism, panicking, park, park_timeout, park_timeout_ms, sleep, sleep_ms, spawn, yield_now,
};
pub use handle::{Thread, ThreadId};
pub use join::JoinHandle;
pub use local::{AccessError, LocalKey};
pub use scoped::{Scope, ScopedJoinHandle, scope};
pub use std::thread::Result;

pub(crate) use current::{finish_thread, lend_token, set_main_name};
pub(crate) use handle::tokens_are_modelled;
