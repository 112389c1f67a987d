//! `std::sync::Arc` and `std::sync::Weak`, for the facades.
//!
//! The counts are atomics of core, used as std uses them; what is added is that, on a model thread, operations whose
//! result depends on other threads are scheduling points (see [`Counts`]). Clones and drops of shares are not, as long
//! as nobody asks:
//!
//! * **Clones** commute with everything but `strong_count`.
//! * **Drops** commute with each other but for the destructor, which the last one runs. That matters only if the
//!   destructor does something that other threads can order or that depends on its thread; then, and if another thread
//!   could have been the last, drops of the object become scheduling points (see [`ownership`]). A drop moves to the
//!   left over everything else that other threads do, like the release of a lock: so it belongs to the step that it
//!   follows, and so does a destructor up to its first operation.
//!
//! One thing that std's shows is not shown: `make_mut` gives up its only share for a moment, in which an `upgrade`
//! fails, before it sees that no weak pointer is left. Here both are one step.

mod convert;
mod counts;
mod traits;
mod weak;

pub use weak::Weak;

use crate::share::run_destructor;
use counts::{Counts, Uniqueness};
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::clone::CloneToUninit;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::pin::Pin;
use std::ptr::{self, NonNull};

/// The object to which shares point.
#[repr(C)]
struct Inner<T: ?Sized> {
    counts: Counts,
    data: T,
}

/// `std::sync::Arc`.
pub struct Arc<T: ?Sized> {
    inner: NonNull<Inner<T>>,
    owns: PhantomData<Inner<T>>,
}

/// The layout of an [`Inner`] whose value has this layout.
fn layout_around(value: Layout) -> Layout {
    match Layout::new::<Counts>().extend(value) {
        Ok((layout, _)) => layout.pad_to_align(),
        Err(_) => panic!("capacity overflow"),
    }
}

/// The offset of a value with this alignment in its [`Inner`].
fn offset_of_data(align: usize) -> usize {
    size_of::<Counts>().next_multiple_of(align)
}

/// Memory of an [`Inner`] without its value. Freed when dropped.
struct Draft {
    memory: NonNull<u8>,
    layout: Layout,
    /// The place of the value.
    data: NonNull<u8>,
}

impl Draft {
    /// For a value with this layout, with one share.
    fn new(value: Layout, zeroed: bool) -> Draft {
        let layout = layout_around(value);
        // SAFETY: the layout has the counts, so its size is not zero.
        let memory = unsafe { if zeroed { alloc_zeroed(layout) } else { alloc(layout) } };
        let Some(memory) = NonNull::new(memory) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the memory is large enough for the counts and, at its offset, for the value.
        unsafe {
            memory.cast().write(Counts::new(1));
            Draft {
                memory,
                layout,
                data: memory.add(offset_of_data(value.align())),
            }
        }
    }

    /// For a slice of this length.
    fn slice<T>(length: usize, zeroed: bool) -> Draft {
        match Layout::array::<T>(length) {
            Ok(layout) => Draft::new(layout, zeroed),
            Err(_) => panic!("capacity overflow"),
        }
    }

    /// # Safety
    /// The value is there, and has the layout that was asked for.
    unsafe fn finish<T>(self) -> Arc<T> {
        Arc::of(ManuallyDrop::new(self).memory.cast())
    }

    /// # Safety
    /// As [`Draft::finish`].
    unsafe fn finish_slice<T>(self, length: usize) -> Arc<[T]> {
        let memory = ManuallyDrop::new(self).memory;
        let inner = ptr::slice_from_raw_parts_mut(memory.as_ptr().cast::<T>(), length) as *mut Inner<[T]>;
        // SAFETY: it is the memory's address.
        Arc::of(unsafe { NonNull::new_unchecked(inner) })
    }

    /// # Safety
    /// As [`Draft::finish`]; `like` is a value of the same kind and size.
    unsafe fn finish_like<T: ?Sized>(self, like: *const T) -> Arc<T> {
        let inner = ManuallyDrop::new(self)
            .memory
            .as_ptr()
            .with_metadata_of(like as *const Inner<T>);
        // SAFETY: it is the memory's address.
        Arc::of(unsafe { NonNull::new_unchecked(inner) })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

impl<T: ?Sized> Arc<T> {
    /// The caller's share of this object.
    fn of(inner: NonNull<Inner<T>>) -> Arc<T> {
        Arc {
            inner,
            owns: PhantomData,
        }
    }

    fn counts(this: &Arc<T>) -> &Counts {
        // SAFETY: the object is alive, as long as there is a share.
        unsafe { &this.inner.as_ref().counts }
    }

    /// The object, whose share the caller has to drop.
    fn into_object(this: Arc<T>) -> NonNull<Inner<T>> {
        ManuallyDrop::new(this).inner
    }
}

impl<T> Arc<T> {
    /// A new object with one share.
    #[inline]
    pub fn new(data: T) -> Arc<T> {
        let draft = Draft::new(Layout::new::<T>(), false);
        // SAFETY: the place is for a value of this type. What is padding stays as it is.
        unsafe {
            draft.data.cast().write(data);
            draft.finish()
        }
    }

    /// A new object that has a weak pointer to itself. That can be upgraded once the object is there.
    #[track_caller]
    pub fn new_cyclic<F>(data_fn: F) -> Arc<T>
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        let draft = ManuallyDrop::new(Draft::new(Layout::new::<T>(), false));
        let inner: NonNull<Inner<T>> = draft.memory.cast();
        // SAFETY: the memory is for an object of this type.
        unsafe { (&raw mut (*inner.as_ptr()).counts).write(Counts::new(0)) };
        // The weak pointer that the shares will have. If the function panics, it is dropped.
        let weak = Weak::of(inner);
        let data = data_fn(&weak);
        mem::forget(weak);
        // SAFETY: as long as there is no share, nobody looks at the value.
        unsafe { draft.data.cast().write(data) };
        let this = Arc::of(inner);
        Arc::counts(&this).init();
        this
    }

    /// A new object whose value is not initialised.
    #[inline]
    #[must_use]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        // SAFETY: any bytes will do.
        unsafe { Draft::new(Layout::new::<T>(), false).finish() }
    }

    /// A new object whose value is not initialised but zeroed.
    #[inline]
    #[must_use]
    pub fn new_zeroed() -> Arc<MaybeUninit<T>> {
        // SAFETY: any bytes will do.
        unsafe { Draft::new(Layout::new::<T>(), true).finish() }
    }

    /// A new object that stays where it is.
    #[must_use]
    pub fn pin(data: T) -> Pin<Arc<T>> {
        // SAFETY: what a share points to is not moved until it is dropped.
        unsafe { Pin::new_unchecked(Arc::new(data)) }
    }

    /// The value, moved out of an object whose last share is gone.
    ///
    /// # Safety
    /// The last share was the caller's.
    unsafe fn value_of(inner: NonNull<Inner<T>>) -> T {
        let _memory = Memory(inner);
        // SAFETY: the value is the caller's, and nobody looks at it again.
        unsafe { (&raw const (*inner.as_ptr()).data).read() }
    }

    /// The value, if this is the only share.
    ///
    /// # Errors
    /// The share, if there are others.
    #[inline]
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        if !Arc::counts(&this).take() {
            return Err(this);
        }
        // SAFETY: it was the last share.
        Ok(unsafe { Arc::value_of(Arc::into_object(this)) })
    }

    /// The value, if this is the last share. If several threads drop all shares like this, one of them gets it.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn into_inner(this: Arc<T>) -> Option<T> {
        let this = ManuallyDrop::new(this);
        // SAFETY: if it was the last share, the value is ours.
        Arc::counts(&this)
            .take_or_drop()
            .then(|| unsafe { Arc::value_of(this.inner) })
    }
}

impl<T: Clone> Arc<T> {
    /// The value if this is the only share, or else a clone of it.
    #[inline]
    #[track_caller]
    pub fn unwrap_or_clone(this: Arc<T>) -> T {
        Arc::try_unwrap(this).unwrap_or_else(|shared| T::clone(&shared))
    }
}

impl<T> Arc<[T]> {
    /// A new slice whose items are not initialised.
    #[inline]
    #[must_use]
    pub fn new_uninit_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        // SAFETY: any bytes will do.
        unsafe { Draft::slice::<T>(len, false).finish_slice(len) }
    }

    /// A new slice whose items are not initialised but zeroed.
    #[inline]
    #[must_use]
    pub fn new_zeroed_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        // SAFETY: any bytes will do.
        unsafe { Draft::slice::<T>(len, true).finish_slice(len) }
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// The object, whose value has been initialised.
    ///
    /// # Safety
    /// It has.
    #[inline]
    #[must_use]
    pub unsafe fn assume_init(self) -> Arc<T> {
        Arc::of(Arc::into_object(self).cast())
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// The slice, whose items have been initialised.
    ///
    /// # Safety
    /// They have.
    #[inline]
    #[must_use]
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        let inner = Arc::into_object(self).as_ptr() as *mut Inner<[T]>;
        // SAFETY: it is the object's address.
        Arc::of(unsafe { NonNull::new_unchecked(inner) })
    }
}

impl<T: ?Sized> Arc<T> {
    /// The share that was turned into this pointer.
    ///
    /// # Safety
    /// The pointer is from [`Arc::into_raw`], possibly cast to a type of the same size and alignment, and is used like
    /// this once.
    #[inline]
    pub unsafe fn from_raw(ptr: *const T) -> Arc<T> {
        // SAFETY: the pointer is to the value of an object, so it says what its alignment is, and is at its offset.
        unsafe {
            let offset = offset_of_data(Layout::for_value_raw(ptr).align());
            Arc::of(NonNull::new_unchecked((ptr as *mut Inner<T>).byte_sub(offset)))
        }
    }

    /// Turns the share into a pointer to the value.
    #[inline]
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(this: Arc<T>) -> *const T {
        Arc::as_ptr(&ManuallyDrop::new(this))
    }

    /// A pointer to the value.
    #[inline]
    #[must_use]
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        // SAFETY: the object is alive.
        unsafe { &raw const (*this.inner.as_ptr()).data }
    }

    /// Adds a share to one that was turned into a pointer.
    ///
    /// # Safety
    /// The pointer is from [`Arc::into_raw`], and there is a share.
    #[inline]
    #[track_caller]
    pub unsafe fn increment_strong_count(ptr: *const T) {
        // SAFETY: the caller's promise.
        let given_away = ManuallyDrop::new(unsafe { Arc::from_raw(ptr) });
        Arc::counts(&given_away).share();
    }

    /// Drops a share that was turned into a pointer.
    ///
    /// # Safety
    /// The pointer is from [`Arc::into_raw`], and the share is the caller's.
    #[inline]
    #[track_caller]
    pub unsafe fn decrement_strong_count(ptr: *const T) {
        // SAFETY: the caller's promise.
        drop(unsafe { Arc::from_raw(ptr) });
    }

    /// A weak pointer to the object.
    #[inline]
    #[must_use = "this returns a new `Weak` pointer, without modifying the original `Arc`"]
    #[track_caller]
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        Arc::counts(this).downgrade();
        Weak::of(this.inner)
    }

    /// The number of weak pointers.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn weak_count(this: &Arc<T>) -> usize {
        Arc::counts(this).weaks()
    }

    /// The number of shares.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn strong_count(this: &Arc<T>) -> usize {
        Arc::counts(this).shares()
    }

    /// Whether both are shares of one object.
    #[inline]
    #[must_use]
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        ptr::addr_eq(this.inner.as_ptr(), other.inner.as_ptr())
    }

    /// The value, if there is no other share, and not even a weak pointer.
    #[inline]
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        if !Arc::counts(this).is_unique() {
            return None;
        }
        // SAFETY: nobody else can reach the value.
        Some(unsafe { &mut this.inner.as_mut().data })
    }
}

impl<T: ?Sized + CloneToUninit> Arc<T> {
    /// The value, in an object without other shares: a clone if there are other shares; if there are only weak
    /// pointers, they lose it.
    #[track_caller]
    pub fn make_mut(this: &mut Arc<T>) -> &mut T {
        match Arc::counts(this).make_unique() {
            Uniqueness::Unique => {}
            Uniqueness::Shared => {
                let draft = Draft::new(Layout::for_value(&**this), false);
                // SAFETY: the place is for a value like this.
                *this = unsafe {
                    (**this).clone_to_uninit(draft.data.as_ptr());
                    draft.finish_like(Arc::as_ptr(this))
                };
            }
            Uniqueness::Taken => {
                let _memory = Memory(this.inner);
                let layout = Layout::for_value(&**this);
                let draft = Draft::new(layout, false);
                // SAFETY: the value is ours and moves; the share that is overwritten has been given up.
                unsafe {
                    ptr::copy_nonoverlapping(Arc::as_ptr(this).cast(), draft.data.as_ptr(), layout.size());
                    ptr::write(this, draft.finish_like(Arc::as_ptr(this)));
                }
            }
        }
        // SAFETY: nobody else can reach the value.
        unsafe { &mut this.inner.as_mut().data }
    }
}

impl Arc<dyn Any + Sync + Send> {
    /// The object, if its value has this type.
    ///
    /// # Errors
    /// The object as it was, if it has another.
    #[inline]
    pub fn downcast<T>(self) -> Result<Arc<T>, Self>
    where
        T: Any + Send + Sync,
    {
        if (*self).is::<T>() {
            Ok(Arc::of(Arc::into_object(self).cast()))
        } else {
            Err(self)
        }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        Arc::counts(self).share();
        Arc::of(self.inner)
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the object is alive, as long as there is a share, and its value is shared.
        unsafe { &self.inner.as_ref().data }
    }
}

// SAFETY: of the value, only the destructor is used, as `owns` says.
unsafe impl<#[may_dangle] T: ?Sized> Drop for Arc<T> {
    #[inline]
    #[track_caller]
    fn drop(&mut self) {
        if let Some(_lent) = Arc::counts(self).unshare(mem::needs_drop::<T>()) {
            // SAFETY: it was the last share.
            unsafe { destroy(self.inner, dpor_scheduler::ownership::stack_pointer()) };
        }
    }
}

/// The memory of an object whose last share is gone, with the weak pointer of the shares.
struct Memory<T: ?Sized>(NonNull<Inner<T>>);

impl<T: ?Sized> Drop for Memory<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the memory is there, as long as there is a weak pointer; this is that of the shares.
        unsafe {
            if let Some(_lent) = (*self.0.as_ptr()).counts.drop_weak_of_shares() {
                dealloc(self.0.as_ptr().cast(), Layout::for_value_raw(self.0.as_ptr()));
            }
        }
    }
}

/// Destroys the value, and frees the memory unless there are weak pointers. The caller's frame is above the address
/// `stack`.
///
/// # Safety
/// The last share was the caller's.
#[inline(never)]
unsafe fn destroy<T: ?Sized>(inner: NonNull<Inner<T>>, stack: usize) {
    let _memory = Memory(inner);
    if !mem::needs_drop::<T>() {
        return;
    }
    // SAFETY: the memory is there.
    let life = unsafe { (*inner.as_ptr()).counts.life() };
    // SAFETY: nobody else has the value, and it is not used again.
    run_destructor(life, stack, || unsafe {
        ptr::drop_in_place(&raw mut (*inner.as_ptr()).data)
    });
}
