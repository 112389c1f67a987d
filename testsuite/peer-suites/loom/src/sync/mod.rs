//! `loom::sync`.

pub mod atomic;

pub(crate) mod arc;
mod notify;

pub use arc::Arc;
pub use notify::Notify;
pub use shim_std::sync::{
    Condvar, LockResult, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockResult, mpsc,
};
