//! Shared ownership of the items that this crate offers beyond std; the scheduler sees the value's destructor.
//!
//! As with `Arc` under the facades, drops are no scheduling points, unless the value's destructor does something by
//! which it can be told which thread has dropped the last share (see [`dpor_scheduler::ownership`]).

use dpor_scheduler::{AccessKind, Location, OperationKind, access_of, location, ownership, sub_location};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

/// A value that may or may not have user code to run when it is destroyed.
pub(crate) trait Shareable {
    /// Whether there may be user code.
    const NEEDS_DROP: bool;
}

/// A share of a value.
pub(crate) struct Share<T: Shareable>(ManuallyDrop<Arc<T>>);

/// The part of the value's location that stands for whether it is alive.
const LIFE: u64 = 0xFF00;

fn life<T>(value: &T) -> Location {
    sub_location(location(value), LIFE)
}

impl<T: Shareable> Share<T> {
    pub(crate) fn new(value: T) -> Self {
        Share(ManuallyDrop::new(Arc::new(value)))
    }

    /// Whether both are shares of one value.
    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: Shareable> Clone for Share<T> {
    fn clone(&self) -> Self {
        Share(self.0.clone())
    }
}

impl<T: Shareable> Deref for Share<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Shareable> Drop for Share<T> {
    fn drop(&mut self) {
        let life = life(&**self);
        if T::NEEDS_DROP {
            ownership::point_if_observed(OperationKind::ArcDrop, [access_of(life, AccessKind::Write)]);
        }
        // SAFETY: `self` is not used again.
        let last = Arc::into_inner(unsafe { ManuallyDrop::take(&mut self.0) });
        if !T::NEEDS_DROP {
            return;
        }
        match last {
            None => ownership::dropped(life),
            Some(value) => run_destructor(life, || drop(value)),
        }
    }
}

/// Runs the destructor of a value whose last share is dropped.
pub(crate) fn run_destructor(life: Location, destructor: impl FnOnce()) {
    let mut in_doubt = ownership::destroys(life).then(|| InDoubt { panics: true });
    destructor();
    if let Some(in_doubt) = &mut in_doubt {
        in_doubt.panics = false;
    }
}

/// A destructor that another thread could have run.
struct InDoubt {
    panics: bool,
}

impl Drop for InDoubt {
    fn drop(&mut self) {
        if self.panics {
            // The panic goes through another thread's code in another order of drops.
            ownership::visible();
        }
        ownership::destroyed();
    }
}
