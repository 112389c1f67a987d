//! `std::sync::LazyLock`.

use super::once::{Exclusive, Once};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

enum Data<T, F> {
    Unevaluated(F),
    Value(T),
    /// While the function runs, and after it has panicked.
    Gone,
}

/// `std::sync::LazyLock`.
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    data: UnsafeCell<Data<T, F>>,
}

// SAFETY: the function is called by whom `once` lets in (so it is sent there), and the value it gives is then
// only shared.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

#[cold]
#[inline(never)]
fn panic_poisoned() -> ! {
    panic!("LazyLock instance has previously been poisoned")
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// Creates a value that `f` computes when it is first needed.
    #[inline]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock {
            once: Once::new(),
            data: UnsafeCell::new(Data::Unevaluated(f)),
        }
    }

    /// The value, which is computed now if it was not before.
    ///
    /// # Panics
    /// If the computation panics or has panicked.
    #[inline]
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        this.once.call_once_force(|state| {
            if state.is_poisoned() {
                panic_poisoned();
            }
            // SAFETY: `once` lets one thread run at a time and nobody look before it has completed.
            let Data::Unevaluated(f) = mem::replace(unsafe { &mut *this.data.get() }, Data::Gone) else {
                unreachable!("the first run finds the function")
            };
            let value = f();
            // SAFETY: as above.
            unsafe { *this.data.get() = Data::Value(value) };
        });
        // SAFETY: `once` is completed, so the data is written no more.
        match unsafe { &*this.data.get() } {
            Data::Value(value) => value,
            _ => unreachable!("a completed run leaves a value"),
        }
    }

    /// Mutable access to the value, which is computed now if it was not before.
    ///
    /// # Panics
    /// If the computation panics or has panicked.
    #[inline]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        if let Exclusive::Poisoned = this.once.exclusive() {
            panic_poisoned();
        }
        let data = this.data.get_mut();
        match mem::replace(data, Data::Gone) {
            Data::Unevaluated(f) => {
                this.once.set_exclusive(Exclusive::Poisoned);
                *data = Data::Value(f());
                this.once.set_exclusive(Exclusive::Complete);
            }
            evaluated => *data = evaluated,
        }
        match data {
            Data::Value(value) => value,
            _ => unreachable!("poisoning was ruled out"),
        }
    }
}

impl<T, F> LazyLock<T, F> {
    /// Mutable access to the value, if it has been computed.
    #[inline]
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        match this.data.get_mut() {
            Data::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The value, if it has been computed.
    #[inline]
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        if !this.once.is_completed() {
            return None;
        }
        // SAFETY: `once` is completed, so the data is written no more.
        match unsafe { &*this.data.get() } {
            Data::Value(value) => Some(value),
            _ => None,
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_tuple("LazyLock");
        match LazyLock::get(self) {
            Some(value) => out.field(value),
            None => out.field(&format_args!("<uninit>")),
        };
        out.finish()
    }
}
