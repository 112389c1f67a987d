//! The atomic integers.

use super::{AccessKind, AtomicAccess, OperationKind, Ordering, atomic, did_exchange, did_modify, did_read, did_write};
use super::{asks, asks_to_exchange, failure_ordering, modify, on_model_thread, operate, operate_weakly};
use std::fmt;
use std::sync::atomic as real;

macro_rules! integers {
    ($($atomic:ident($value:ident),)*) => {$(
        #[doc = concat!("`std::sync::atomic::", stringify!($atomic), "`, and laid out like it.")]
        #[derive(Default)]
        #[repr(transparent)]
        pub struct $atomic {
            inner: real::$atomic,
        }

        atomic!([] $atomic, real::$atomic, $value);

        impl $atomic {
            modify! { $value;
                /// Adds, wrapping around.
                fetch_add($value);
                /// Subtracts, wrapping around.
                fetch_sub($value);
                /// Bitwise and.
                fetch_and($value);
                /// Bitwise nand.
                fetch_nand($value);
                /// Bitwise or.
                fetch_or($value);
                /// Bitwise exclusive or.
                fetch_xor($value);
                /// The greater of the two.
                fetch_max($value);
                /// The lesser of the two.
                fetch_min($value);
            }
        }
    )*};
}

integers! {
    AtomicI8(i8),
    AtomicU8(u8),
    AtomicI16(i16),
    AtomicU16(u16),
    AtomicI32(i32),
    AtomicU32(u32),
    AtomicI64(i64),
    AtomicU64(u64),
    AtomicIsize(isize),
    AtomicUsize(usize),
}
