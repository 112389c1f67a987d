//! `std::sync`: the synchronisation primitives, with their operations as data for the scheduler.
//!
//! What an operation touches has an address of its own inside the object (its words and flags), and those
//! addresses are its locations.

pub mod atomic;
pub mod mpsc;

#[cfg(dpor_facade)]
mod arc;
mod barrier;
mod condvar;
mod lazy_lock;
mod mutex;
mod once;
mod once_lock;
mod poison;
mod rwlock;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub(crate) use mutex::RawMutex;
pub use mutex::{Mutex, MutexGuard};
#[expect(deprecated, reason = "std's item")]
pub use once::ONCE_INIT;
#[doc(hidden)]
pub use once::Stage;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

#[cfg(dpor_facade)]
pub use arc::{Arc, Weak};
#[cfg(not(dpor_facade))]
pub use std::sync::{Arc, Weak};
