//! What the explored program's memory promises to its threads.
//!
//! The model is sequential consistency: the program's memory is real memory, each step runs alone, and a load returns
//! what the latest step has stored. So there is nothing to decide at a load, and no state beside the memory itself.
//!
//! | module | what |
//! |---|---|
//! | `atomics` | which atomics overlap, so that they are one location |
//! | `orderings` | the orderings that the program requests, for reports of what was not explored |
//! | `clocks` | vector clocks |
//! | `happens_before` | the order that the program may rely on |
//! | `shadow` | what is known of the accesses to each piece of memory |
//! | `blocks` | the blocks of the heap |
//! | `races` | data races, and accesses outside of live blocks |
//!
//! Deliberately absent: a choice of memory models.

pub(crate) mod atomics;
pub(crate) mod blocks;
pub(crate) mod clocks;
pub mod happens_before;
pub mod orderings;
pub(crate) mod races;
pub(crate) mod shadow;
