//! The textbook programs of shared-memory concurrency, right and wrong, as ordinary tests.
//!
//! Each module holds one classic. Its tests are called `right_…` when they pass in every interleaving and
//! `wrong_…` when some interleaving breaks them. The wrong ones are flaky, or hang, under plain
//! `cargo test`: run `cargo test right_`. What each test must come to stands in `expected.toml`.
//!
//! All programs are meant under sequential consistency. What has to be visible between two steps of a thread is
//! an atomic, since plain memory accesses of one thread are never interleaved with those of another.

pub mod abba;
pub mod bounded_buffer;
pub mod counts;
pub mod data_races;
pub mod dekker;
pub mod double_checked;
pub mod lost_update;
pub mod michael_scott;
pub mod missed_notification;
pub mod peterson;
pub mod philosophers;
pub mod spsc_ring;
pub mod ticket_lock;
pub mod treiber;

#[cfg(test)]
mod threads;
