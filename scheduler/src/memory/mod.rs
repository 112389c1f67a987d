//! The whole state of the explored program, in memory whose addresses do not depend on the interleaving.
//!
//! | part | file | between executions |
//! |---|---|---|
//! | address plan | `region` | reserved once a process |
//! | stacks of model threads | `stacks` | kept; only the live part belongs to a state |
//! | heap of model threads | `arena` | used bytes set to zero |
//! | statics of the executable | `statics` | restored from an image |
//! | thread-locals of the executable | `tls` | restored from an image, swapped at each switch |
//!
//! The checker's own work for a running model thread is done on a stack of its own (`switch`).
//!
//! The model runs on one thread of the operating system. Everything here that is not atomic relies on that.
//! The checker's own statics live in the link section `.dpor.data`, which `statics` leaves alone.

pub(crate) mod arena;
pub(crate) mod executable;
pub(crate) mod glimpse;
pub(crate) mod hash;
pub(crate) mod region;
pub(crate) mod stacks;
pub(crate) mod statics;
pub(crate) mod switch;
pub(crate) mod tls;

#[cfg(test)]
pub(crate) mod testing;
