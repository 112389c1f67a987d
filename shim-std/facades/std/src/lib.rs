//! The replacement of `std`: all of it, with the shim's version of every item through which threads can interact.
//!
//! Names that are listed beside a glob take precedence over it. So whatever is not named here is std's
//! own, unstable items included.

#![no_implicit_prelude]
// Deprecated items are replaced as well.
#![allow(deprecated)]

extern crate dpor_shim_macros;
extern crate shim_std;
extern crate std as real_std;

pub use ::real_std::*;
pub use ::shim_std::{dbg, eprint, eprintln, print, println, thread_local};

/// Items that std does not have, and with which a test can ask something of the checker. For code under `#[cfg(dpor)]`.
pub mod dpor {
    pub use ::shim_std::{Nondet, actor, choose, choose_from, comm, must_reach, nondet, reach};
}

/// All of `shim_std`, for a dependency with this name.
#[doc(hidden)]
pub mod __dpor_shim {
    pub use ::shim_std::*;
}

/// Like `std::hint`.
pub mod hint {
    pub use ::real_std::hint::*;
    pub use ::shim_std::hint::spin_loop;
}

/// Like `std::panic`.
pub mod panic {
    pub use ::real_std::panic::*;
    pub use ::shim_std::panic::{set_hook, take_hook};
}

/// Like `std::process`.
pub mod process {
    pub use ::real_std::process::*;
    pub use ::shim_std::process::{abort, exit};
}

/// Like `std::sync`.
pub mod sync {
    pub use ::real_std::sync::*;
    pub use ::shim_std::sync::{
        Barrier, BarrierWaitResult, Condvar, LazyLock, Mutex, MutexGuard, ONCE_INIT, Once, OnceLock, OnceState, RwLock,
        RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult,
    };

    #[cfg(dpor_facade)]
    pub use ::shim_std::sync::{Arc, Weak};

    /// Like `std::sync::atomic`.
    pub mod atomic {
        pub use ::real_std::sync::atomic::*;
        pub use ::shim_std::sync::atomic::{
            ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, AtomicBool, AtomicI8, AtomicI16, AtomicI32,
            AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, compiler_fence,
            fence, spin_loop_hint,
        };
    }

    /// Like `std::sync::mpsc`.
    pub mod mpsc {
        pub use ::real_std::sync::mpsc::*;
        pub use ::shim_std::sync::mpsc::{
            IntoIter, Iter, Receiver, Sender, SyncSender, TryIter, channel, sync_channel,
        };
    }
}

/// Like `std::task`.
#[cfg(dpor_facade)]
pub mod task {
    pub use ::real_std::task::*;
    pub use ::shim_std::task::Wake;
}

/// Like `std::thread`.
pub mod thread {
    pub use ::real_std::thread::*;
    pub use ::shim_std::thread::{
        AccessError, Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId, available_parallelism,
        current, panicking, park, park_timeout, park_timeout_ms, scope, sleep, sleep_ms, spawn, yield_now,
    };
}

macro_rules! preludes {
    ($($(#[$doc:meta])* $edition:ident)*) => {
        $($(#[$doc])*
        pub mod $edition {
            pub use ::dpor_shim_macros::{global_allocator, test};
            pub use ::real_std::prelude::$edition::*;
            pub use ::shim_std::{dbg, eprint, eprintln, print, println, thread_local};
        })*
    };
}

/// Like `std::prelude`, with the shim's attributes and macros.
pub mod prelude {
    preludes! {
        /// Like `std::prelude::v1`.
        v1
        /// Like `std::prelude::rust_2015`.
        rust_2015
        /// Like `std::prelude::rust_2018`.
        rust_2018
        /// Like `std::prelude::rust_2021`.
        rust_2021
        /// Like `std::prelude::rust_2024`.
        rust_2024
    }
}
