//! `shuttle::sync`.

pub use shim_std::sync::{
    Barrier, BarrierWaitResult, Condvar, LockResult, Mutex, MutexGuard, Once, OnceState, PoisonError, RwLock,
    RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult, mpsc,
};
pub use std::sync::{Arc, Weak};

/// `shuttle::sync::atomic`.
pub mod atomic {
    pub use shim_std::sync::atomic::*;
}
