//! [`UnsafeCell`], whose accesses are looked at: for the explicit use by [`model`](crate::model), in which no compiler
//! tells of any.
//!
//! `cargo dpor test` sees each access of the program to memory, also to `std::cell::UnsafeCell`. Under plain `cargo
//! test` nobody sees them. This type has the interface of loom's, `loom::cell::UnsafeCell`: its contents are used in
//! closures, or by way of guards, so that begin and end of each use are known. It works under `cargo dpor test` as
//! well, and without a model, where it is `std::cell::UnsafeCell`.
//!
//! ```
//! use shim_std::cell::UnsafeCell;
//! use shim_std::sync::Arc;
//! use shim_std::sync::atomic::{AtomicBool, Ordering};
//! use shim_std::thread;
//!
//! struct Message {
//!     ready: AtomicBool,
//!     text: UnsafeCell<u32>,
//! }
//!
//! // SAFETY: the text is written before `ready` is set, and read after that.
//! unsafe impl Sync for Message {}
//!
//! shim_std::model(|| {
//!     let message = Arc::new(Message { ready: AtomicBool::new(false), text: UnsafeCell::new(0) });
//!     let other = Arc::clone(&message);
//!     let writer = thread::spawn(move || {
//!         // SAFETY: nobody reads it yet.
//!         other.text.with_mut(|text| unsafe { *text = 7 });
//!         other.ready.store(true, Ordering::Release);
//!     });
//!     // With `Relaxed` here or there, this is a data race.
//!     if message.ready.load(Ordering::Acquire) {
//!         // SAFETY: nobody writes it any more.
//!         assert_eq!(message.text.with(|text| unsafe { *text }), 7);
//!     }
//!     writer.join().unwrap();
//! });
//! ```
//!
//! # What is looked at
//!
//! An access lasts from the beginning of its closure to the end, or as long as its guard exists. It counts as one to
//! all bytes of the cell when it begins, and as another one when it ends, whatever is done meanwhile. If one of these
//! is in a race with one of another thread's, and one of the two may write, the model fails. What another thread does
//! in between is not noticed if it comes *after* the begin and *before* the end in the order of happens-before: if the
//! closure itself asks for it, and waits. Of cells without bytes, such as `UnsafeCell<()>`, there are no accesses.
//!
//! The first access to a cell that lies in the model's memory (on the stack or the heap of one of its threads, or in a
//! static) makes the exploration start again, with data races looked for. A model in which there is none is explored as
//! if cells did not exist. A cell that is older than the model is not looked at, unless it is in a static.
//!
//! A failure has the kind `data-race`, both accesses with their lines, and a seed. Where a cell is accessed whose block
//! of the heap was freed, the kind is `use-after-free`.
//!
//! # What orders accesses
//!
//! What goes through this crate does, as std documents it of its counterparts: locks, channels, atomics with `Release`
//! and `Acquire`, `spawn` and `join`, and so on. In the explicit use, what only the *real* std orders is not known:
//! accesses of which one happens before the other by an `Arc` alone look like a race. So
//!
//! * the end of a cell's life, dropped or [taken apart](UnsafeCell::into_inner), is no access, and neither is that of
//!   its block;
//! * who has a cell for itself, by `Arc::get_mut` or in a destructor, uses [`UnsafeCell::exclusive`].
//!
//! Under `cargo dpor test` the program's `Arc` is the checker's, and orders.

use dpor_scheduler::cells::{self, CellAccess};
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::Location;

/// `std::cell::UnsafeCell`, whose accesses are looked at. See [the module](self).
///
/// It has a destructor, so what it holds must outlive it.
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized> {
    data: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// A cell that holds the value.
    #[inline]
    pub const fn new(data: T) -> UnsafeCell<T> {
        UnsafeCell {
            data: std::cell::UnsafeCell::new(data),
        }
    }

    /// The value. This is no access: whoever has the cell has it for itself.
    #[inline]
    pub fn into_inner(self) -> T {
        let cell = ManuallyDrop::new(self);
        cell.life_ends();
        // SAFETY: the cell is ours, and nobody uses it again.
        unsafe { cell.data.get().read() }
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Calls `f` with a pointer for reading. The access lasts until `f` returns, or panics.
    ///
    /// The pointer must not leave the closure: nobody sees what is done with it later.
    ///
    /// # Panics
    /// As `f` does. A data race does not panic: the execution ends there, as a failure, and nothing unwinds.
    #[inline]
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let _access = self.access(CellAccess::Read, Location::caller());
        f(self.data.get())
    }

    /// Calls `f` with a pointer for reading and writing. The access lasts until `f` returns, or panics.
    ///
    /// The pointer must not leave the closure: nobody sees what is done with it later.
    ///
    /// # Panics
    /// As [`UnsafeCell::with`].
    #[inline]
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let _access = self.access(CellAccess::Write, Location::caller());
        f(self.data.get())
    }

    /// A pointer for reading. The access lasts as long as it exists.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr {
            access: self.access(CellAccess::Read, Location::caller()),
        }
    }

    /// A pointer for reading and writing. The access lasts as long as it exists.
    #[inline]
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr {
            access: self.access(CellAccess::Write, Location::caller()),
        }
    }

    /// The contents, for who has the cell for itself: std's `get_mut`, which loom's type does not have.
    ///
    /// This is a write, after all accesses so far. Whatever has given the caller the exclusive borrow has ordered them,
    /// also where that cannot be seen.
    #[inline]
    #[track_caller]
    pub fn exclusive(&mut self) -> &mut T {
        self.life_ends();
        let _access = self.access(CellAccess::Write, Location::caller());
        self.data.get_mut()
    }

    /// An access begins.
    #[inline]
    fn access(&self, kind: CellAccess, place: &'static Location<'static>) -> Access<T> {
        let (cell, size) = (self.data.get(), size_of_val(self));
        cells::begins(cell, size, kind, place);
        Access {
            cell,
            size,
            kind,
            place,
        }
    }

    /// What was done to the cell so far comes before what is done to its memory later.
    #[inline]
    fn life_ends(&self) {
        cells::forget(self.data.get(), size_of_val(self));
    }
}

impl<T: ?Sized> Drop for UnsafeCell<T> {
    #[inline]
    fn drop(&mut self) {
        self.life_ends();
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> UnsafeCell<T> {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(data: T) -> UnsafeCell<T> {
        UnsafeCell::new(data)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

/// An access that lasts.
#[derive(Debug)]
struct Access<T: ?Sized> {
    cell: *mut T,
    size: usize,
    kind: CellAccess,
    place: &'static Location<'static>,
}

impl<T: ?Sized> Drop for Access<T> {
    #[inline]
    fn drop(&mut self) {
        cells::ends(self.cell, self.size, self.kind, self.place);
    }
}

/// A pointer for reading the contents of an [`UnsafeCell`], which is accessed as long as this exists.
///
/// It is a raw pointer all the same: it may outlive the cell, and who uses it then is wrong.
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized> {
    access: Access<T>,
}

impl<T: ?Sized> ConstPtr<T> {
    /// The contents.
    ///
    /// # Safety
    /// As for the dereference of a `*const T`: the cell is there as long as the reference is used, and nobody writes
    /// it. The reference must not outlive this pointer, with which the access ends.
    #[inline]
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller's promise.
        unsafe { &*self.access.cell }
    }

    /// Calls `f` with the raw pointer, which must not leave the closure.
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        f(self.access.cell)
    }
}

/// A pointer for reading and writing the contents of an [`UnsafeCell`], which is accessed as long as this exists.
///
/// It is a raw pointer all the same: it may outlive the cell, and who uses it then is wrong.
#[derive(Debug)]
pub struct MutPtr<T: ?Sized> {
    access: Access<T>,
}

impl<T: ?Sized> MutPtr<T> {
    /// The contents.
    ///
    /// # Safety
    /// As for the dereference of a `*mut T`: the cell is there as long as the reference is used, and nobody else uses
    /// it, not even by another call of this function.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "it stands for a raw pointer, as loom's does")]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.access.cell }
    }

    /// Calls `f` with the raw pointer, which must not leave the closure.
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        f(self.access.cell)
    }
}
