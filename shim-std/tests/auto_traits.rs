//! Every type has the same auto traits as std's, whatever it holds.

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

/// Which of these traits a type has.
macro_rules! traits {
    ($t:ty) => {
        [
            has!($t: Send),
            has!($t: Sync),
            has!($t: Unpin),
            has!($t: UnwindSafe),
            has!($t: RefUnwindSafe),
            has!($t: Copy),
            has!($t: Clone),
        ]
    };
}

macro_rules! has {
    ($t:ty: $trait:ident) => {{
        #[allow(dead_code)]
        trait Without {
            const HAS: bool = false;
        }
        impl<T> Without for T {}
        struct Probe<T>(PhantomData<T>);
        #[allow(dead_code)]
        impl<T: $trait> Probe<T> {
            const HAS: bool = true;
        }
        <Probe<$t>>::HAS
    }};
}

macro_rules! same {
    ($($path:ident)::+ of $argument:ty) => {
        assert_eq!(
            traits!(shim_std::$($path)::+<$argument>),
            traits!(std::$($path)::+<$argument>),
            "{} of {}: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Copy, Clone",
            stringify!($($path)::+), stringify!($argument),
        );
    };
    ($($path:ident)::+) => {
        assert_eq!(
            traits!(shim_std::$($path)::+),
            traits!(std::$($path)::+),
            "{}: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Copy, Clone",
            stringify!($($path)::+),
        );
    };
    ($($path:ident)::+; all) => {
        same!($($path)::+ of u8);
        same!($($path)::+ of String);
        same!($($path)::+ of Cell<u8>);
        same!($($path)::+ of UnsafeCell<u8>);
        same!($($path)::+ of Rc<u8>);
        same!($($path)::+ of *const u8);
        same!($($path)::+ of &'static mut u8);
        same!($($path)::+ of &'static Cell<u8>);
        same!($($path)::+ of std::sync::MutexGuard<'static, u8>);
        same!($($path)::+ of std::marker::PhantomPinned);
    };
}

#[test]
fn generic() {
    same!(sync::Mutex; all);
    same!(sync::MutexGuard; all);
    same!(sync::RwLock; all);
    same!(sync::RwLockReadGuard; all);
    same!(sync::RwLockWriteGuard; all);
    same!(sync::OnceLock; all);
    same!(sync::LazyLock; all);
    same!(sync::atomic::AtomicPtr; all);
    same!(sync::mpsc::Sender; all);
    same!(sync::mpsc::SyncSender; all);
    same!(sync::mpsc::Receiver; all);
    same!(sync::mpsc::Iter; all);
    same!(sync::mpsc::TryIter; all);
    same!(sync::mpsc::IntoIter; all);
    same!(thread::JoinHandle; all);
    same!(thread::ScopedJoinHandle; all);
    same!(thread::LocalKey; all);
}

#[test]
fn plain() {
    same!(sync::atomic::AtomicBool);
    same!(sync::atomic::AtomicU8);
    same!(sync::atomic::AtomicI64);
    same!(sync::atomic::AtomicUsize);
    same!(sync::Condvar);
    same!(sync::WaitTimeoutResult);
    same!(sync::Barrier);
    same!(sync::BarrierWaitResult);
    same!(sync::Once);
    same!(sync::OnceState);
    same!(thread::Thread);
    same!(thread::ThreadId);
    same!(thread::Builder);
    same!(thread::Scope);
    same!(thread::AccessError);
    same!(time::Instant);
    same!(time::SystemTime);
}

/// Read guards are covariant, as in std.
#[expect(dead_code, reason = "it compiles")]
fn covariant<'a>(
    guard: shim_std::sync::RwLockReadGuard<'a, &'static str>,
) -> shim_std::sync::RwLockReadGuard<'a, &'a str> {
    guard
}

#[test]
fn niches() {
    assert_eq!(
        size_of::<Option<shim_std::thread::ThreadId>>(),
        size_of::<Option<std::thread::ThreadId>>()
    );
    assert_eq!(
        size_of::<Option<shim_std::thread::Thread>>(),
        size_of::<Option<std::thread::Thread>>()
    );
}
