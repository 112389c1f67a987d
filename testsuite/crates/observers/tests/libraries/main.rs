//! One module for each library.

mod log;
mod signal_hook_registry;
mod tracing;
