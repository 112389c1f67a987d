//! The oracle of weak memory: every execution of a small program that RC11 allows, by brute force.
//!
//! A [`Program`] is data, and a Rust program in print. [`enumerate`] draws every execution graph (events, what each
//! reads from, the modification order of each atomic) and keeps those that satisfy the axioms. There are no views, no
//! clocks and no interleavings in it, and no code of the explorer or the scheduler. [`interleave`] knows interleavings
//! only, and no axioms: it runs the program on one memory. And [`explore()`] runs it on the facades of std, under a
//! strategy.

mod axioms;
mod c;
mod enumerate;
mod explore;
pub mod families;
mod generate;
mod graph;
mod interleave;
pub mod litmus;
pub mod miri;
mod print;
mod program;
mod relation;

pub use axioms::{Axioms, Psc, ReleaseSequence};
pub use c::render_c;
pub use enumerate::{Executions, enumerate};
pub use explore::{
    Explored, Wait, explore, explore_narrowly, explore_parts, explore_turns, explore_waiting, explore_with,
};
pub use generate::{generate, generate_long_histories};
pub use graph::{Event, Graph, Name, Outcome, Reads};
pub use interleave::interleave;
pub use print::render;
pub use program::{Instruction, Program};
use std::collections::BTreeSet;

/// Every outcome of the program that RC11 allows.
pub fn outcomes(program: &Program) -> BTreeSet<Outcome> {
    enumerate(program, Axioms::RC11).outcomes()
}

/// Number of execution graphs of the program that RC11 allows.
pub fn graphs(program: &Program) -> usize {
    enumerate(program, Axioms::RC11).graphs.len()
}
