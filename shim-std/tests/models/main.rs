//! The explicit use: programs in a [`shim_std::Model`].
//!
//! One executable, because each takes the whole explorer.

mod actor;
mod cells;
mod choose;
mod clock;
mod comm;
mod endless;
mod explore;
mod generated;
mod labels;
mod model;
mod outcomes;
mod overlap;
mod park_token;
mod rc11;
mod regressions;
mod saved_states;
mod states;
mod timeouts;
mod touch;
