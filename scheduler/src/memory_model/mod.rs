//! What the explored program's memory promises to its threads.
//!
//! The model is sequential consistency: the program's memory is real memory, each step runs alone, and a load returns
//! what the latest step has stored. So there is nothing to decide at a load, and no state beside the memory itself.
//!
//! | module | what |
//! |---|---|
//! | `atomics` | which atomics overlap, so that they are one location |
//! | `orderings` | the orderings that the program requests, for reports of what was not explored |
//! | `clocks` | the order that spawns and joins make |
//!
//! Deliberately absent: a choice of memory models, and happens-before by atomics and locks.

pub(crate) mod atomics;
pub(crate) mod clocks;
pub mod orderings;
