//! The replacement of `alloc`: all of it, with the shim's `Arc` and related items.

#![no_std]
#![no_implicit_prelude]

extern crate alloc as real_alloc;
extern crate shim_std;

pub use ::real_alloc::*;

/// Like `alloc::sync`.
#[cfg(dpor_facade)]
pub mod sync {
    pub use ::real_alloc::sync::*;
    pub use ::shim_std::sync::{Arc, Weak};
}

/// Like `alloc::task`.
#[cfg(dpor_facade)]
pub mod task {
    pub use ::real_alloc::task::*;
    pub use ::shim_std::task::Wake;
}
