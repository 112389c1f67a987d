//! `loom::sync::atomic`.

pub use shim_std::sync::atomic::fence;
pub use std::sync::atomic::Ordering;

use dpor_scheduler::{FailureKind, fail};
use shim_std::sync::atomic as shim;
use std::sync::atomic::AtomicUsize as Real;

/// Number of non-atomic loads in progress.
#[derive(Debug, Default)]
struct Unsync(Real);

impl Unsync {
    /// After a store in the same step.
    fn check(&self) {
        if self.0.load(Ordering::Relaxed) != 0 {
            fail(
                FailureKind::DataRace,
                "an atomic is written while another thread reads it by unsync_load".to_owned(),
            );
        }
    }
}

macro_rules! atomics {
    ($($name:ident($value:ty) { $($modify:ident),* })*) => {$(
        #[doc = concat!("`loom::sync::atomic::", stringify!($name), "`.")]
        #[derive(Debug, Default)]
        pub struct $name {
            atomic: shim::$name,
            unsync: Unsync,
        }

        impl $name {
            /// An atomic with this value.
            #[must_use]
            pub const fn new(value: $value) -> $name {
                $name {
                    atomic: shim::$name::new(value),
                    unsync: Unsync(Real::new(0)),
                }
            }

            /// The value, read by a load that is not atomic.
            ///
            /// # Safety
            /// A store that another thread can make meanwhile is a failure of the execution.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                // Its begin and its end are both in steps that conflict with stores.
                let value = self.atomic.load(Ordering::Relaxed);
                self.unsync.0.fetch_add(1, Ordering::Relaxed);
                self.atomic.load(Ordering::Relaxed);
                self.unsync.0.fetch_sub(1, Ordering::Relaxed);
                value
            }

            /// Like std's.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                self.atomic.load(order)
            }

            /// Like std's.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                self.atomic.store(value, order);
                self.unsync.check();
            }

            /// Like std's.
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                let before = self.atomic.swap(value, order);
                self.unsync.check();
                before
            }

            /// Like std's.
            #[track_caller]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                let failure = match order {
                    Ordering::Release | Ordering::Relaxed => Ordering::Relaxed,
                    Ordering::SeqCst => Ordering::SeqCst,
                    _ => Ordering::Acquire,
                };
                self.compare_exchange(current, new, order, failure).unwrap_or_else(|value| value)
            }

            /// Like std's.
            ///
            /// # Errors
            /// The value, if it is not `current`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let before = self.atomic.compare_exchange(current, new, success, failure)?;
                self.unsync.check();
                Ok(before)
            }

            /// Like std's; never fails without a reason.
            ///
            /// # Errors
            /// The value, if it is not `current`.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Like std's.
            ///
            /// # Errors
            /// The value, if `f` gives none.
            #[track_caller]
            pub fn fetch_update<F>(&self, set: Ordering, fetch: Ordering, mut f: F) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                let mut before = self.load(fetch);
                while let Some(new) = f(before) {
                    match self.compare_exchange(before, new, set, fetch) {
                        Ok(before) => return Ok(before),
                        Err(other) => before = other,
                    }
                }
                Err(before)
            }

            $(
                /// Like std's.
                #[track_caller]
                pub fn $modify(&self, value: $value, order: Ordering) -> $value {
                    let before = self.atomic.$modify(value, order);
                    self.unsync.check();
                    before
                }
            )*
        }
    )*};
    ($($name:ident($value:ty))*) => {
        atomics! {$(
            $name($value) {
                fetch_add, fetch_sub, fetch_and, fetch_nand, fetch_or, fetch_xor, fetch_max, fetch_min
            }
        )*}
    };
}

atomics! { AtomicBool(bool) { fetch_and, fetch_nand, fetch_or, fetch_xor } }

atomics! {
    AtomicU8(u8)
    AtomicU16(u16)
    AtomicU32(u32)
    AtomicU64(u64)
    AtomicUsize(usize)
    AtomicI8(i8)
    AtomicI16(i16)
    AtomicI32(i32)
    AtomicI64(i64)
    AtomicIsize(isize)
}
