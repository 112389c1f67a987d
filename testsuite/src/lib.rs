//! The oracle and the programs that the project is tested against.
//!
//! Run with `cargo test --release -p dpor-testsuite`; the oracle on a million programs with
//! `DPOR_ORACLE_PROGRAMS=1000000 cargo test --release -p dpor-testsuite --test engine oracle::`.

pub mod actors;
pub mod book;
pub mod descriptors;
pub mod enumerate;
pub mod erased;
pub mod examples;
pub mod explored;
pub mod generated;
pub mod mazurkiewicz;
pub mod message_passing;
pub mod oracle;
pub mod papers;
pub mod peer_suites;
pub mod preemptions;
pub mod programs;
pub mod project;
pub mod races;
pub mod registry;
pub mod report;
pub mod rust_programs;
pub mod shards;
pub mod surface;
pub mod tool;
pub mod toy;
pub mod weak;
pub mod wild;
