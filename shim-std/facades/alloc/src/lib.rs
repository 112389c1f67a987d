//! What stands in for `alloc`: all of it, with the shim's `Arc` and what belongs to it.

#![no_std]
#![no_implicit_prelude]

extern crate alloc as real_alloc;
extern crate shim_std;

pub use ::real_alloc::*;

/// As `alloc::sync`.
#[cfg(dpor_facade)]
pub mod sync {
    pub use ::real_alloc::sync::*;
    pub use ::shim_std::sync::{Arc, Weak};
}

/// As `alloc::task`.
#[cfg(dpor_facade)]
pub mod task {
    pub use ::real_alloc::task::*;
    pub use ::shim_std::task::Wake;
}
