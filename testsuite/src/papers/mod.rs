//! The tables of Albert et al., *Context-Sensitive Dynamic Partial Order Reduction* (CAV 2017), measured again; and, in
//! [`forte19`], one of message-passing programs.
//!
//! In [`transdpor`], those of Tasharofi et al., *TransDPOR* (FMOODS/FORTE 2012).
//!
//! `cargo run --release -p dpor-testsuite --bin tables` prints them all. Each program of CAV 2017 is an ordinary test
//! of the package `papers`, explored by `cargo dpor test`; some are toy programs as well.

pub mod forte19;
mod measure;
mod print;
mod tables;
pub mod transdpor;

pub use measure::{Limit, Measured, explore_rust, explore_system, explore_toy};
pub use print::{Format, MeasuredRow, print};
pub use tables::{Figures, Row, STRATEGIES, Table, tables};
