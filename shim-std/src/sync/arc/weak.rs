//! `std::sync::Weak`.

use super::counts::Counts;
use super::{Arc, Inner, offset_of_data};
use std::alloc::{Layout, dealloc};
use std::fmt;
use std::mem::ManuallyDrop;
use std::num::NonZero;
use std::ptr::{self, NonNull};

/// `std::sync::Weak`.
pub struct Weak<T: ?Sized> {
    /// The object, or [`NOWHERE`].
    inner: NonNull<Inner<T>>,
}

/// The address of a weak pointer that was created without an object. No object is there: it would not have its
/// alignment.
const NOWHERE: NonZero<usize> = NonZero::<usize>::MAX;

fn is_nowhere<T: ?Sized>(ptr: *const T) -> bool {
    ptr.cast::<()>().addr() == NOWHERE.get()
}

impl<T: ?Sized> Weak<T> {
    /// The caller's weak pointer to this object.
    pub(super) fn of(inner: NonNull<Inner<T>>) -> Weak<T> {
        Weak { inner }
    }

    /// The counts of the object, if there is one. The value may be gone.
    fn counts(this: &Weak<T>) -> Option<&Counts> {
        let inner = this.inner.as_ptr();
        // SAFETY: the memory is there as long as there is a weak pointer.
        (!is_nowhere(inner)).then(|| unsafe { &(*inner).counts })
    }
}

impl<T> Weak<T> {
    /// A weak pointer to nothing, which is never upgraded.
    #[inline]
    #[must_use]
    pub const fn new() -> Weak<T> {
        Weak {
            inner: NonNull::without_provenance(NOWHERE),
        }
    }
}

impl<T: ?Sized> Weak<T> {
    /// The weak pointer that was turned into this pointer.
    ///
    /// # Safety
    /// The pointer is from [`Weak::into_raw`], and is used like this once.
    #[inline]
    #[must_use]
    pub unsafe fn from_raw(ptr: *const T) -> Weak<T> {
        let inner = if is_nowhere(ptr) {
            ptr as *mut Inner<T>
        } else {
            // SAFETY: the pointer is to the place of the value in an object, so it says what its alignment is, and is
            // at its offset.
            unsafe {
                let offset = offset_of_data(Layout::for_value_raw(ptr).align());
                (ptr as *mut Inner<T>).byte_sub(offset)
            }
        };
        // SAFETY: neither of the two is null.
        Weak::of(unsafe { NonNull::new_unchecked(inner) })
    }

    /// Turns the weak pointer into a pointer to where the value is, or was.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(self) -> *const T {
        ManuallyDrop::new(self).as_ptr()
    }

    /// A pointer to where the value is, or was.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        let inner = self.inner.as_ptr();
        if is_nowhere(inner) {
            inner as *const T
        } else {
            // SAFETY: the memory is there as long as there is a weak pointer.
            unsafe { &raw const (*inner).data }
        }
    }

    /// A share of the object, if there is still one.
    #[must_use = "this returns a new `Arc`, without modifying the original weak pointer"]
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        Weak::counts(self)?.upgrade().then(|| Arc::of(self.inner))
    }

    /// The number of shares.
    #[must_use]
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        Weak::counts(self).map_or(0, Counts::shares)
    }

    /// The number of weak pointers, or 0 if there is no share left.
    #[must_use]
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        Weak::counts(self).map_or(0, Counts::weaks_of_weak)
    }

    /// Whether both point to one object, or both to nothing.
    #[inline]
    #[must_use]
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        ptr::addr_eq(self.inner.as_ptr(), other.inner.as_ptr())
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> Weak<T> {
        if let Some(counts) = Weak::counts(self) {
            counts.clone_weak();
        }
        Weak::of(self.inner)
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Weak<T> {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

// SAFETY: the value is not touched.
unsafe impl<#[may_dangle] T: ?Sized> Drop for Weak<T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Some(_lent) = Weak::counts(self).and_then(Counts::drop_weak) {
            let inner = self.inner.as_ptr();
            // SAFETY: it was the last weak pointer, the shares' included, and the memory was allocated with this
            // layout.
            unsafe { dealloc(inner.cast(), Layout::for_value_raw(inner)) };
        }
    }
}
