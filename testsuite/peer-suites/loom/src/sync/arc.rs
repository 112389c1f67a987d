//! `loom::sync::Arc`: drops and reads of the count are scheduling points.

use dpor_scheduler::{
    AccessKind, FailureKind, Location, Operation, OperationKind, Word, access_of, fail, location, observe, perform,
    release,
};
use std::fmt;
use std::mem;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Number of values that are alive. A static: each execution begins with none.
static ALIVE: AtomicUsize = AtomicUsize::new(0);

/// Fails if a value is still alive.
pub(crate) fn check_leaks() {
    let alive = ALIVE.load(Relaxed);
    if alive != 0 {
        fail(FailureKind::Leak, format!("{alive} values of Arcs are never dropped"));
    }
}

struct Shared<T> {
    count: Word,
    value: T,
}

/// `loom::sync::Arc`.
pub struct Arc<T>(NonNull<Shared<T>>);

// SAFETY: as for std's.
unsafe impl<T: Send + Sync> Send for Arc<T> {}
// SAFETY: as for std's.
unsafe impl<T: Send + Sync> Sync for Arc<T> {}

impl<T> Arc<T> {
    /// Shares the value.
    pub fn new(value: T) -> Arc<T> {
        ALIVE.fetch_add(1, Relaxed);
        let count = Word::new(1);
        Arc(NonNull::from(Box::leak(Box::new(Shared { count, value }))))
    }

    /// Gives the value back if nobody else has it.
    ///
    /// # Errors
    /// If somebody has; the same `Arc`.
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        let here = this.location();
        observe(here);
        let accesses = [access_of(here, AccessKind::Read)];
        let only = perform(&Operation::always(OperationKind::Load, here, &accesses), |_, touch| {
            touch.read(here);
            this.shared().count.get() == 1
        });
        if !only {
            return Err(this);
        }
        ALIVE.fetch_sub(1, Relaxed);
        // SAFETY: this is the only reference, and it is given up.
        let shared = unsafe { Box::from_raw(this.0.as_ptr()) };
        mem::forget(this);
        Ok(shared.value)
    }

    fn shared(&self) -> &Shared<T> {
        // SAFETY: it lives as long as its last reference.
        unsafe { self.0.as_ref() }
    }

    fn location(&self) -> Location {
        location(&self.shared().count)
    }
}

impl<T> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        let count = &self.shared().count;
        release(OperationKind::Rmw, self.location(), |touch| {
            count.set(count.get() + 1);
            touch.update(self.location());
        });
        Arc(self.0)
    }
}

impl<T> Drop for Arc<T> {
    fn drop(&mut self) {
        let here = self.location();
        let accesses = [access_of(here, AccessKind::Write)];
        let last = perform(&Operation::always(OperationKind::Rmw, here, &accesses), |_, touch| {
            let count = &self.shared().count;
            count.set(count.get() - 1);
            touch.write(here);
            count.get() == 0
        });
        if last {
            ALIVE.fetch_sub(1, Relaxed);
            // SAFETY: this was the last reference.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.shared().value
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
