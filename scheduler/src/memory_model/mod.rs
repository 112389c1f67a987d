//! What the explored program's memory promises to its threads.
//!
//! Without weak memory, the model is sequential consistency: the program's memory is real memory, each step runs alone,
//! and a load returns what the latest step has stored. So there is nothing to decide at a load, and no state beside the
//! memory itself. With it, the memory holds what was stored last, and the stores before that may still be read.
//!
//! | module | what |
//! |---|---|
//! | `atomics` | which atomics overlap, so that they are one location |
//! | `orderings` | the orderings that the program requests, for reports of what was not explored |
//! | `stronger` | stronger orderings in their place, to find out what a failure is about |
//! | `clocks` | vector clocks |
//! | `happens_before` | the order that the program may rely on |
//! | `holders` | who knows of what, for comparing states |
//! | `shadow` | what is known of the accesses to each piece of memory |
//! | `exposure` | which stacks several threads use |
//! | `blocks` | the blocks of the heap |
//! | `rc11` | weak memory: what else an operation on an atomic may find |
//! | `races` | data races, and accesses outside of live blocks; the owner of all that belongs to an execution |

pub(crate) mod atomics;
pub(crate) mod blocks;
pub(crate) mod clocks;
pub(crate) mod exposure;
pub mod happens_before;
pub(crate) mod holders;
pub mod orderings;
pub(crate) mod races;
pub(crate) mod rc11;
pub(crate) mod shadow;
pub(crate) mod stronger;
