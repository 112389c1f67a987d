//! One module for each library.

mod lazy_static;
mod state;
mod thread_local;
