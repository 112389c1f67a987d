//! The replacement of `core`: all of it, with the shim's atomics, spin hint and attributes.
//!
//! Names that are listed beside a glob take precedence over it. So whatever is not named here is core's
//! own, unstable items included.

#![no_std]
#![no_implicit_prelude]
// Deprecated items are replaced as well.
#![allow(deprecated)]

extern crate core as real_core;
extern crate dpor_shim_macros;
extern crate shim_std;

pub use ::real_core::*;

/// Like `core::hint`.
pub mod hint {
    pub use ::real_core::hint::*;
    pub use ::shim_std::hint::spin_loop;
}

/// Like `core::sync`.
pub mod sync {
    pub use ::real_core::sync::*;

    /// Like `core::sync::atomic`.
    pub mod atomic {
        pub use ::real_core::sync::atomic::*;
        pub use ::shim_std::sync::atomic::{
            ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, AtomicBool, AtomicI8, AtomicI16, AtomicI32,
            AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, compiler_fence,
            fence, spin_loop_hint,
        };
    }
}

macro_rules! preludes {
    ($($(#[$doc:meta])* $edition:ident)*) => {
        $($(#[$doc])*
        pub mod $edition {
            pub use ::dpor_shim_macros::{global_allocator, test};
            pub use ::real_core::prelude::$edition::*;
        })*
    };
}

/// Like `core::prelude`, with the shim's attributes.
pub mod prelude {
    preludes! {
        /// Like `core::prelude::v1`.
        v1
        /// Like `core::prelude::rust_2015`.
        rust_2015
        /// Like `core::prelude::rust_2018`.
        rust_2018
        /// Like `core::prelude::rust_2021`.
        rust_2021
        /// Like `core::prelude::rust_2024`.
        rust_2024
    }
}
