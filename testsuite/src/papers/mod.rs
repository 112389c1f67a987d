//! The tables of Albert et al., *Context-Sensitive Dynamic Partial Order Reduction* (CAV 2017), measured again; and, in
//! [`forte19`], one of message-passing programs.
//!
//! `cargo run --release -p dpor-testsuite --bin tables` prints them. Each program of CAV 2017 is an ordinary test of the
//! package `papers`, explored by `cargo dpor test`; some are toy programs as well.

pub mod forte19;
mod measure;
mod print;
mod tables;

pub use measure::{Limit, Measured, explore_rust, explore_toy};
pub use print::{Format, MeasuredRow, print};
pub use tables::{Figures, Row, STRATEGIES, Table, tables};
