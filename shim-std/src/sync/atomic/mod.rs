//! `std::sync::atomic`: every access is a scheduling point, and goes to the real atomic inside.
//!
//! Unless memory is weak, executions are sequentially consistent: orderings are checked as std checks them, noted where
//! they are weaker, and else only matter off model threads. Where it is, an operation says beforehand what it asks of
//! its atomic (`asks`), and the real atomic holds the value that it finds while it takes effect. A fence touches no
//! location, so it is no scheduling point.

mod boolean;
mod integer;
mod pointer;

pub use boolean::AtomicBool;
pub use integer::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
};
pub use pointer::AtomicPtr;
pub use std::sync::atomic::Ordering;

use dpor_scheduler::{
    AccessKind, AtomicAccess, Guard, Location, ModelOption, Operation, OperationKind, Orderings, Touch, access_of,
    atomic_location, atomics, location, note, on_model_thread, options, perform, perform_atomic, value,
};
use std::fmt::Debug;

/// An [`AtomicBool`] that is `false`.
#[deprecated(since = "1.34.0", note = "the `new` function is now preferred")]
#[expect(clippy::declare_interior_mutable_const, reason = "std's item")]
pub const ATOMIC_BOOL_INIT: AtomicBool = AtomicBool::new(false);

/// An [`AtomicIsize`] that is 0.
#[deprecated(since = "1.34.0", note = "the `new` function is now preferred")]
#[expect(clippy::declare_interior_mutable_const, reason = "std's item")]
pub const ATOMIC_ISIZE_INIT: AtomicIsize = AtomicIsize::new(0);

/// An [`AtomicUsize`] that is 0.
#[deprecated(since = "1.34.0", note = "the `new` function is now preferred")]
#[expect(clippy::declare_interior_mutable_const, reason = "std's item")]
pub const ATOMIC_USIZE_INIT: AtomicUsize = AtomicUsize::new(0);

/// `std::sync::atomic::fence`.
///
/// # Panics
/// If `order` is `Relaxed`.
#[inline]
#[track_caller]
pub fn fence(order: Ordering) {
    std::sync::atomic::fence(order);
    dpor_scheduler::order::fence(order);
}

/// `std::sync::atomic::compiler_fence`.
///
/// # Panics
/// If `order` is `Relaxed`.
#[inline]
#[track_caller]
pub fn compiler_fence(order: Ordering) {
    std::sync::atomic::compiler_fence(order);
    dpor_scheduler::order::compiler_fence(order);
}

/// `std::sync::atomic::spin_loop_hint`.
#[inline]
#[track_caller]
#[deprecated(since = "1.51.0", note = "use hint::spin_loop instead")]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}

/// Runs an operation on an atomic. On a model thread, `apply` records its access.
#[inline(always)]
#[track_caller]
fn operate<A, R>(kind: OperationKind, atomic: &A, declared: AccessKind, apply: impl FnOnce(Touch<'_>) -> R) -> R {
    perform_atomic(kind, location(atomic), size_of::<A>(), declared, apply)
}

/// Runs a `compare_exchange_weak`, on a model thread; `apply` is told whether it fails spuriously.
#[inline]
#[track_caller]
fn operate_weakly<A, R>(atomic: &A, apply: impl FnOnce(bool, Touch<'_>) -> R) -> R {
    let kind = OperationKind::CompareExchange;
    if !options().has(ModelOption::SpuriousCas) {
        return operate(kind, atomic, AccessKind::Write, |touch| apply(false, touch));
    }
    let at = location(atomic);
    let accesses = [access_of(atomic_location(at, size_of::<A>()), AccessKind::Write)];
    let alternatives = [Guard::always(), Guard::always()];
    let operation = Operation::guarded(kind, at, &accesses, &alternatives);
    // Under weak memory there are these two for each value that may be found.
    perform(&operation, |alternative, touch| apply(alternative % 2 == 1, touch))
}

/// Under weak memory, says which access the operation that comes next makes.
#[inline(always)]
fn asks<A>(atomic: &A, access: AtomicAccess) {
    if atomics::is_weak() {
        atomics::asks(location(atomic), size_of::<A>(), access);
    }
}

/// Under weak memory, says that a `compare_exchange` comes next.
#[inline(always)]
fn asks_to_exchange<A, V: Copy>(atomic: &A, expected: V, orderings: (Ordering, Ordering), weakly: bool) {
    /// On its own, as what it asks is.
    #[cold]
    #[inline(never)]
    fn ask<V: Copy>(at: Location, expected: V, orderings: (Ordering, Ordering), weakly: bool) {
        let mut bytes = [0; size_of::<u64>()];
        // SAFETY: the value is that of an atomic: no larger, and a boolean, an integer or a pointer, without padding.
        unsafe {
            let value = (&raw const expected).cast::<u8>();
            value.copy_to_nonoverlapping(bytes.as_mut_ptr(), size_of::<V>());
        }
        atomics::asks_to_exchange(at, size_of::<V>(), u64::from_ne_bytes(bytes), orderings, weakly);
    }
    if atomics::is_weak() {
        ask(location(atomic), expected, orderings, weakly);
    }
}

fn did_read<V: Debug>(touch: Touch<'_>, at: Location, order: Ordering, found: V) {
    touch.atomic(
        AccessKind::Read,
        order.into(),
        AtomicAccess::Load(order),
        size_of::<V>(),
    );
    value(at, || format!("{found:?}"));
    note(|| format!("{found:?}"));
}

fn did_write<V: Debug>(touch: Touch<'_>, at: Location, order: Ordering, old: V, new: V) {
    touch.atomic(
        AccessKind::Write,
        order.into(),
        AtomicAccess::Store(order),
        size_of::<V>(),
    );
    changed(at, old, new);
}

fn changed<V: Debug>(at: Location, old: V, new: V) {
    value(at, || format!("{old:?}"));
    value(at, || format!("{new:?}"));
    note(|| format!("{old:?} → {new:?}"));
}

/// Records a read-modify-write; one that does not change the value commutes with every read, like a read.
fn did_modify<V: Debug + PartialEq>(touch: Touch<'_>, at: Location, orderings: Orderings, old: V, new: V) {
    let kind = if old == new {
        AccessKind::Read
    } else {
        AccessKind::Write
    };
    touch.atomic(kind, orderings, AtomicAccess::Modify(orderings.success), size_of::<V>());
    changed(at, old, new);
}

fn did_exchange<V: Debug + PartialEq>(
    touch: Touch<'_>,
    at: Location,
    (success, failure): (Ordering, Ordering),
    result: Result<V, V>,
    new: V,
) {
    let orderings = Orderings {
        success,
        failure: Some(failure),
    };
    match result {
        Ok(old) => did_modify(touch, at, orderings, old, new),
        Err(current) => {
            let access = AtomicAccess::Load(failure);
            touch.atomic(AccessKind::Read, orderings, access, size_of::<V>());
            value(at, || format!("{current:?}"));
            note(|| format!("{current:?}, not exchanged"));
        }
    }
}

/// The failure ordering that std gives to `compare_and_swap`.
fn failure_ordering(order: Ordering) -> Ordering {
    match order {
        Ordering::Release | Ordering::Relaxed => Ordering::Relaxed,
        Ordering::Acquire | Ordering::AcqRel => Ordering::Acquire,
        _ => Ordering::SeqCst,
    }
}

/// The common part of all atomics: constructors, load, store, exchanges, updates, and std's traits.
macro_rules! atomic {
    ([$($T:ident)?] $atomic:ident, $real:ty, $value:ty) => {
        impl$(<$T>)? $atomic$(<$T>)? {
            /// Creates an atomic with this value.
            #[inline]
            #[must_use]
            pub const fn new(value: $value) -> Self {
                Self { inner: <$real>::new(value) }
            }

            /// The value at `ptr`, seen as an atomic.
            ///
            /// # Safety
            /// As for std: `ptr` is aligned, valid for reads and writes for all of `'a`, and not accessed
            /// otherwise in a way that races with atomic accesses.
            #[inline]
            pub const unsafe fn from_ptr<'a>(ptr: *mut $value) -> &'a Self {
                // SAFETY: `Self` is transparent over the real atomic, which has the size of the value and whose
                // alignment, validity and exclusiveness the caller promises.
                unsafe { &*ptr.cast::<Self>() }
            }

            /// Mutable access to the value, without synchronisation.
            #[inline]
            pub fn get_mut(&mut self) -> &mut $value {
                self.inner.get_mut()
            }

            /// The value.
            #[inline]
            pub const fn into_inner(self) -> $value {
                self.inner.into_inner()
            }

            /// A pointer to the value.
            #[inline]
            pub const fn as_ptr(&self) -> *mut $value {
                self.inner.as_ptr()
            }

            fn location(&self) -> ::dpor_scheduler::Location {
                ::dpor_scheduler::location(self)
            }

            /// The present value, off the record: the current step has just accessed it.
            fn peek(&self) -> $value {
                self.inner.load(Ordering::Relaxed)
            }

            /// Loads the value.
            ///
            /// # Panics
            /// If `order` is `Release` or `AcqRel`.
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                asks(self, AtomicAccess::Load(order));
                operate(OperationKind::Load, self, AccessKind::Read, |touch| {
                    let value = self.inner.load(order);
                    if on_model_thread() {
                        did_read(touch, self.location(), order, value);
                    }
                    value
                })
            }

            /// Stores a value.
            ///
            /// # Panics
            /// If `order` is `Acquire` or `AcqRel`.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                asks(self, AtomicAccess::Store(order));
                operate(OperationKind::Store, self, AccessKind::Write, |touch| {
                    if on_model_thread() {
                        let old = self.peek();
                        self.inner.store(value, order);
                        did_write(touch, self.location(), order, old, value);
                    } else {
                        self.inner.store(value, order);
                    }
                });
            }

            /// Stores a value and returns the old one.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                asks(self, AtomicAccess::Modify(order));
                operate(OperationKind::Swap, self, AccessKind::Write, |touch| {
                    let old = self.inner.swap(value, order);
                    if on_model_thread() {
                        did_modify(touch, self.location(), order.into(), old, value);
                    }
                    old
                })
            }

            /// Stores `new` if the value is `current`; returns the old value.
            #[inline]
            #[track_caller]
            #[deprecated(since = "1.50.0", note = "Use `compare_exchange` or `compare_exchange_weak` instead")]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                match self.compare_exchange(current, new, order, failure_ordering(order)) {
                    Ok(old) | Err(old) => old,
                }
            }

            /// Stores `new` if the value is `current`.
            ///
            /// # Errors
            /// The value that was there instead.
            ///
            /// # Panics
            /// If `failure` is `Release` or `AcqRel`.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                asks_to_exchange(self, current, (success, failure), false);
                operate(OperationKind::CompareExchange, self, AccessKind::Write, |touch| {
                    let result = self.inner.compare_exchange(current, new, success, failure);
                    if on_model_thread() {
                        did_exchange(touch, self.location(), (success, failure), result, new);
                    }
                    result
                })
            }

            /// Stores `new` if the value is `current`; may fail spuriously, on model threads only with the option for
            /// it.
            ///
            /// # Errors
            /// The value that was there.
            ///
            /// # Panics
            /// If `failure` is `Release` or `AcqRel`.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if !on_model_thread() {
                    return self.inner.compare_exchange_weak(current, new, success, failure);
                }
                asks_to_exchange(self, current, (success, failure), true);
                operate_weakly(self, |fails, touch| {
                    let result = match fails {
                        true => Err(self.inner.load(failure)),
                        false => self.inner.compare_exchange(current, new, success, failure),
                    };
                    did_exchange(touch, self.location(), (success, failure), result, new);
                    result
                })
            }

            /// Replaces the value by the result of `f`, until no other change comes in between.
            ///
            /// # Errors
            /// The value for which `f` returned `None`.
            #[inline]
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                self.try_update(set_order, fetch_order, f)
            }

            /// Replaces the value by the result of `f`, until no other change comes in between.
            ///
            /// # Errors
            /// The value for which `f` returned `None`.
            #[inline]
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut old = self.load(fetch_order);
                while let Some(new) = f(old) {
                    match self.compare_exchange_weak(old, new, set_order, fetch_order) {
                        done @ Ok(_) => return done,
                        Err(current) => old = current,
                    }
                }
                Err(old)
            }

            /// Replaces the value by the result of `f`, until no other change comes in between; returns the old value.
            #[inline]
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> $value,
            ) -> $value {
                let mut old = self.load(fetch_order);
                loop {
                    match self.compare_exchange_weak(old, f(old), set_order, fetch_order) {
                        Ok(old) => return old,
                        Err(current) => old = current,
                    }
                }
            }
        }

        impl$(<$T>)? From<$value> for $atomic$(<$T>)? {
            #[inline]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl$(<$T>)? fmt::Debug for $atomic$(<$T>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
            }
        }
    };
}
use atomic;

/// The read-modify-write methods named, each with the type of its operand.
macro_rules! modify {
    ($value:ty; $($(#[$doc:meta])* $method:ident($operand:ty);)*) => {$(
        $(#[$doc])*
        ///
        /// Returns the old value.
        #[inline]
        #[track_caller]
        pub fn $method(&self, val: $operand, order: Ordering) -> $value {
            asks(self, AtomicAccess::Modify(order));
            operate(OperationKind::Rmw, self, AccessKind::Write, |touch| {
                let old = self.inner.$method(val, order);
                if on_model_thread() {
                    did_modify(touch, self.location(), order.into(), old, self.peek());
                }
                old
            })
        }
    )*};
}
use modify;
