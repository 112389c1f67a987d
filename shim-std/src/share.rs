//! Shared ownership of what the items of this crate are made of: `Arc`s whose counts are no operations.
//!
//! What the owner of a [`Shared`] does before dropping it happens before the value is destroyed, as with `Arc`. For a
//! [`Share`] the scheduler sees the value's destructor, too: as with `Arc` under the facades, drops are no scheduling
//! points, unless the destructor does something by which it can be told which thread has dropped the last share (see
//! [`dpor_scheduler::ownership`]).

use dpor_scheduler::order::Lent;
use dpor_scheduler::{AccessKind, Location, OperationKind, access_of, location, order, ownership, sub_location};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

/// A value that may or may not have user code to run when it is destroyed.
pub(crate) trait Shareable {
    /// Whether there may be user code.
    const NEEDS_DROP: bool;
}

/// The part of the value's location that stands for whether it is alive.
const LIFE: u64 = 0xFF00;

fn life<T>(value: &T) -> Location {
    sub_location(location(value), LIFE)
}

/// A share of a value.
pub(crate) struct Shared<T>(ManuallyDrop<Arc<T>>);

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Shared(ManuallyDrop::new(Arc::new(value)))
    }

    /// Whether both are shares of one value.
    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The value, if there is no other share.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        Arc::get_mut(&mut self.0)
    }

    /// Drops the share. The value, if that was the last one, and what to keep until it is destroyed.
    pub(crate) fn into_inner(self) -> Option<(T, Lent)> {
        ManuallyDrop::new(self).take()
    }

    /// Must not be called twice.
    fn take(&mut self) -> Option<(T, Lent)> {
        let life = life(&**self);
        order::release(life);
        // On a model thread, nobody else runs until the share is gone.
        let lent = (Arc::strong_count(&self.0) == 1).then(|| order::last_share(life));
        // SAFETY: the callers do not use `self` again.
        let value = Arc::into_inner(unsafe { ManuallyDrop::take(&mut self.0) })?;
        Some((value, lent.unwrap_or_else(|| order::last_share(life))))
    }

    /// What others have done before they dropped their shares happens before what follows: which of them have is known
    /// by an operation.
    pub(crate) fn order_after_drops(&self) {
        order::acquire(life(&**self));
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(self.0.clone())
    }
}

impl<T: Default> Default for Shared<T> {
    fn default() -> Self {
        Shared::new(T::default())
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// A share of a value whose destructor the scheduler sees.
pub(crate) struct Share<T: Shareable>(ManuallyDrop<Shared<T>>);

impl<T: Shareable> Share<T> {
    pub(crate) fn new(value: T) -> Self {
        Share(ManuallyDrop::new(Shared::new(value)))
    }

    /// Whether both are shares of one value.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.0.same(&other.0)
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

impl<T: Shareable> Share<T> {
    /// Drops the share, in a frame of its own, below `stack`. Must not be called twice.
    #[inline(never)]
    fn leave(&mut self, stack: usize) {
        let life = life(&**self);
        if T::NEEDS_DROP {
            ownership::point_if_observed(OperationKind::ArcDrop, [access_of(life, AccessKind::Write)]);
        }
        // SAFETY: `self` is not used again.
        let last = unsafe { ManuallyDrop::take(&mut self.0) }.into_inner();
        if !T::NEEDS_DROP {
            return;
        }
        match last {
            None => ownership::dropped(life),
            Some((value, _lent)) => run_destructor(life, stack, || drop(value)),
        }
    }
}

impl<T: Shareable> Drop for Share<T> {
    fn drop(&mut self) {
        self.leave(ownership::stack_pointer());
    }
}

/// Runs the destructor of a value whose last share is dropped. What it has on the stack is below the address `stack`.
pub(crate) fn run_destructor(life: Location, stack: usize, destructor: impl FnOnce()) {
    let mut in_doubt = ownership::destroys(life, stack).then(|| InDoubt { panics: true });
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
