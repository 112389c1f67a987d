//! The explorer's vocabulary, for those who tell it what to do and read what it did.
//!
//! `cargo-dpor`, which does not explore, has this folder as a module of its own, so nothing in here uses the rest of
//! the crate.

pub mod codec;
mod dpor;
mod shard;
mod strategy;
mod transition;

pub use dpor::{Dpor, Order};
pub use shard::Shard;
pub use strategy::{Check, Context, Strategy, UnknownStrategy};
pub use transition::{ThreadId, Transition};
