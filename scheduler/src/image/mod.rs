//! The memory of the explored program: all of it, at addresses that do not depend on the interleaving.
//!
//! | part | file | between executions |
//! |---|---|---|
//! | address plan | `region` | reserved once a process |
//! | stacks of model threads | `stacks`, `registers` | kept; only the live part belongs to a state |
//! | heap of model threads | `arena` | used bytes set to zero |
//! | statics of the executable | `statics` | restored from an image |
//! | thread-locals of the executable | `tls` | restored from an image, swapped at each switch |
//! | threads in wait queues, open files, the model's own descriptors | `queues`, `files`, `descriptors` | forgotten |
//! | actions on signals | `signals` | set back |
//!
//! `part` says what a part of the state is. The checker's own work for a running model thread is done on a stack of its
//! own (`switch`).
//!
//! The model runs on one thread of the operating system. Everything here that is not atomic relies on that.
//!
//! Invariant: the checker's own statics live in link sections whose names begin with `.dpor`, which `statics` leaves
//! alone.

pub(crate) mod arena;
pub(crate) mod callers;
pub(crate) mod descriptors;
pub(crate) mod executable;
pub(crate) mod files;
pub(crate) mod glimpse;
pub(crate) mod hash;
mod imports;
pub(crate) mod part;
pub(crate) mod queues;
pub(crate) mod region;
pub(crate) mod registers;
pub(crate) mod signals;
pub(crate) mod stacks;
pub(crate) mod statics;
pub(crate) mod switch;
pub(crate) mod tls;
pub(crate) mod variables;

#[cfg(test)]
pub(crate) mod testing;
