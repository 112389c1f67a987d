//! `thread_local!` and `LocalKey`.
//!
//! A key has a real thread-local, for real threads, and an address, under which each model thread keeps a value
//! of its own. Values are initialised when first used. Destructors run when the thread ends: the value that
//! was initialised last goes first, and values that destructors initialise go too.

use super::current::with_own;
use dpor_scheduler::on_model_thread;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::error::Error;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::AtomicU8;
use std::thread::LocalKey as RealKey;

/// The object that gives a key its address; not empty and not constant, so that no two are merged.
#[doc(hidden)]
pub struct Identity(#[expect(dead_code, reason = "only the address matters")] AtomicU8);

impl Identity {
    #[doc(hidden)]
    #[must_use]
    pub const fn new() -> Identity {
        Identity(AtomicU8::new(0))
    }
}

/// `std::thread::LocalKey`.
pub struct LocalKey<T: 'static> {
    identity: &'static Identity,
    real: &'static RealKey<T>,
    init: fn() -> T,
}

/// `std::thread::AccessError`.
#[non_exhaustive]
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct AccessError;

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt("already destroyed", f)
    }
}

impl Error for AccessError {}

#[cold]
#[track_caller]
fn panic_access_error(error: AccessError) -> ! {
    panic!("cannot access a Thread Local Storage value during or after destruction: {error:?}")
}

/// A thread's value of one key.
struct Slot<T> {
    value: UnsafeCell<Option<T>>,
    state: Cell<State>,
}

#[derive(Clone, Copy)]
enum State {
    Initial,
    Alive,
    Destroyed,
}

/// A [`Slot`] of some type.
#[derive(Clone, Copy)]
struct AnySlot {
    identity: *const Identity,
    slot: *mut (),
    destroy: unsafe fn(*mut ()),
    free: unsafe fn(*mut ()),
}

/// The thread-locals of one model thread.
#[derive(Default)]
pub(super) struct Locals {
    slots: Vec<AnySlot>,
    /// The slots to be destroyed, in the order of their initialisation.
    destructors: Vec<AnySlot>,
}

impl Drop for Locals {
    fn drop(&mut self) {
        for any in &self.slots {
            // SAFETY: `free` belongs to the slot, whose box this list owns; the thread has ended.
            unsafe { (any.free)(any.slot) };
        }
    }
}

/// Runs the destructors of the present model thread.
pub(super) fn run_destructors() {
    while let Some(any) = with_own(|own| own.locals.destructors.pop()) {
        // SAFETY: `destroy` belongs to the slot, which lives as long as the list of slots.
        if catch_unwind(AssertUnwindSafe(|| unsafe { (any.destroy)(any.slot) })).is_err() {
            crate::process::fatal("thread local panicked on drop");
        }
    }
}

/// # Safety
/// `slot` points to a `Slot<T>` that is alive.
unsafe fn destroy<T>(slot: *mut ()) {
    // SAFETY: promised by the caller.
    let slot = unsafe { &*slot.cast::<Slot<T>>() };
    slot.state.set(State::Destroyed);
    // The value is destroyed in its place, where it was pinned if it asked for that. SAFETY: nobody else has a
    // reference to it: `with` has returned everywhere, and is refused from now on. The option is never
    // looked at again but to be overwritten.
    unsafe {
        if let Some(value) = &mut *slot.value.get() {
            ptr::drop_in_place(value);
        }
        ptr::write(slot.value.get(), None);
    }
}

/// # Safety
/// `slot` comes from a `Box<Slot<T>>` and is not used again.
unsafe fn free<T>(slot: *mut ()) {
    // SAFETY: promised by the caller. What is not to be destroyed needs no drop, so this only frees.
    drop(unsafe { Box::from_raw(slot.cast::<Slot<T>>()) });
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(identity: &'static Identity, real: &'static RealKey<T>, init: fn() -> T) -> LocalKey<T> {
        LocalKey { identity, real, init }
    }

    /// The present model thread's slot.
    fn slot(&self) -> *const Slot<T> {
        let find = with_own(|own| {
            own.locals
                .slots
                .iter()
                .find(|any| ptr::eq(any.identity, self.identity))
                .copied()
        });
        match find {
            Some(any) => any.slot.cast(),
            None => {
                let slot = Box::new(Slot {
                    value: UnsafeCell::new(None),
                    state: Cell::new(State::Initial),
                });
                let slot = Box::into_raw(slot);
                let any = AnySlot {
                    identity: self.identity,
                    slot: slot.cast(),
                    destroy: destroy::<T>,
                    free: free::<T>,
                };
                with_own(|own| own.locals.slots.push(any));
                slot
            }
        }
    }

    /// The present model thread's value, initialised from `init` or by the key's own function if necessary; `None` if
    /// it has been destroyed.
    fn value(&self, init: Option<&mut Option<T>>) -> Option<&T> {
        // SAFETY: slots live until the thread has ended, and the closures that get this reference return before.
        let slot = unsafe { &*self.slot() };
        match slot.state.get() {
            State::Alive => {}
            State::Destroyed => return None,
            State::Initial => {
                let value = init.and_then(Option::take).unwrap_or_else(self.init);
                // The function may have initialised the slot itself, recursively; the outer value then replaces
                // the inner one, as in std. SAFETY: no reference to an inner value is left, it was given to
                // closures only that have returned.
                let old = unsafe { (*slot.value.get()).replace(value) };
                if let State::Initial = slot.state.replace(State::Alive)
                    && mem::needs_drop::<T>()
                {
                    let any = AnySlot {
                        identity: self.identity,
                        slot: ptr::from_ref(slot).cast_mut().cast(),
                        destroy: destroy::<T>,
                        free: free::<T>,
                    };
                    with_own(|own| own.locals.destructors.push(any));
                }
                drop(old);
            }
        }
        // SAFETY: a living value is only shared.
        unsafe { (*slot.value.get()).as_ref() }
    }

    /// Runs `f` on the thread's value.
    ///
    /// # Panics
    /// If the value is being destroyed, or has been.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic_access_error(error),
        }
    }

    /// Runs `f` on the thread's value.
    ///
    /// # Errors
    /// If the value is being destroyed, or has been.
    #[inline]
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        if on_model_thread() {
            self.value(None).map(f).ok_or(AccessError)
        } else {
            self.real.try_with(f).map_err(|_| AccessError)
        }
    }

    /// Runs `f` on the model thread's value, and on `init` if that was not used to initialise it.
    #[track_caller]
    fn initialize_with<R>(&'static self, init: T, f: impl FnOnce(Option<T>, &T) -> R) -> R {
        let mut init = Some(init);
        match self.value(Some(&mut init)) {
            Some(value) => f(init, value),
            None => panic_access_error(AccessError),
        }
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value, without initialising it first.
    ///
    /// # Panics
    /// As [`LocalKey::with`].
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if on_model_thread() {
            self.initialize_with(Cell::new(value), |value, cell| {
                if let Some(value) = value {
                    cell.set(value.into_inner());
                }
            });
        } else {
            self.real.set(value);
        }
    }

    /// The value.
    ///
    /// # Panics
    /// As [`LocalKey::with`].
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value, and leaves the default.
    ///
    /// # Panics
    /// As [`LocalKey::with`].
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Sets the value; returns the old one.
    ///
    /// # Panics
    /// As [`LocalKey::with`].
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Runs `f` on the value.
    ///
    /// # Panics
    /// As [`LocalKey::with`], or if the value is mutably borrowed.
    #[track_caller]
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Runs `f` on mutable access to the value.
    ///
    /// # Panics
    /// As [`LocalKey::with`], or if the value is borrowed.
    #[track_caller]
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value, without initialising it first.
    ///
    /// # Panics
    /// As [`LocalKey::with`], or if the value is borrowed.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if on_model_thread() {
            self.initialize_with(RefCell::new(value), |value, cell| {
                if let Some(value) = value {
                    *cell.borrow_mut() = value.into_inner();
                }
            });
        } else {
            self.real.set(value);
        }
    }

    /// Takes the value, and leaves the default.
    ///
    /// # Panics
    /// As [`LocalKey::with`], or if the value is borrowed.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Sets the value; returns the old one.
    ///
    /// # Panics
    /// As [`LocalKey::with`], or if the value is borrowed.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// `std::thread_local!`.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block $(; $($rest:tt)*)?) => {
        $(#[$attr])*
        $vis const $name: $crate::thread::LocalKey<$t> = {
            const __INIT: $t = $init;
            static __IDENTITY: $crate::thread::local::Identity = $crate::thread::local::Identity::new();
            $crate::__std::thread_local! {
                static __REAL: $t = const { __INIT };
            }
            $crate::thread::LocalKey::new(&__IDENTITY, &__REAL, || __INIT)
        };
        $($crate::thread_local!($($rest)*);)?
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attr])*
        $vis const $name: $crate::thread::LocalKey<$t> = {
            fn __init() -> $t {
                $init
            }
            static __IDENTITY: $crate::thread::local::Identity = $crate::thread::local::Identity::new();
            $crate::__std::thread_local! {
                static __REAL: $t = __init();
            }
            $crate::thread::LocalKey::new(&__IDENTITY, &__REAL, __init)
        };
        $($crate::thread_local!($($rest)*);)?
    };
}
