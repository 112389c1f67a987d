//! What stands in for `alloc`: all of it, as it is.

#![no_std]
#![no_implicit_prelude]

extern crate alloc as real_alloc;
extern crate shim_std as _;

pub use ::real_alloc::*;
