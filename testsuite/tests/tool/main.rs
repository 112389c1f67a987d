//! The tool as it is used, the book and its figures, and what the repository says of itself.
//!
//! One executable, because each takes the whole testsuite, and because many of these tests wait for one process: two of
//! them run at a time. Those that give explorations little time have executables of their own (`suites`, `wild`).

mod architecture;
mod book;
mod dependencies;
mod doc_examples;
mod endless;
mod interrupted;
mod joined;
mod orderings;
mod other_detectors;
mod overlap;
mod pages;
mod papers;
mod peer_suites;
mod stand_ins;
mod suppressed;
mod surface;
mod unseen;
mod unsupported;
mod usage;
mod values;
