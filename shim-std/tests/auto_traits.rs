//! Every type has the same auto traits as std's, whatever it holds.

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

/// The traits among these that a type has.
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
        same!($($path)::+ of std::sync::mpsc::Receiver<u8>);
        same!($($path)::+ of &'static std::sync::mpsc::Receiver<u8>);
        same!($($path)::+ of Box<dyn std::any::Any + Send>);
        same!($($path)::+ of std::sync::Arc<Cell<u8>>);
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
    same!(sync::Arc; all);
    same!(sync::Weak; all);
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

/// Code that compiles with std's types because of their variance, and because they do not look at what they drop,
/// compiles with ours.
macro_rules! variance {
    ($module:ident, $library:ident) => {
        #[expect(dead_code, reason = "it compiles")]
        mod $module {
            use $library::sync::mpsc::{Iter, TryIter};
            use $library::sync::{Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
            use $library::thread::ScopedJoinHandle;

            fn of_types<'a>(guard: RwLockReadGuard<'a, &'static str>) -> RwLockReadGuard<'a, &'a str> {
                guard
            }

            fn of_lifetimes<'a, 'b: 'a>(
                all: (
                    MutexGuard<'b, u8>,
                    RwLockReadGuard<'b, u8>,
                    RwLockWriteGuard<'b, u8>,
                    Iter<'b, u8>,
                    TryIter<'b, u8>,
                    ScopedJoinHandle<'b, u8>,
                ),
            ) -> (
                MutexGuard<'a, u8>,
                RwLockReadGuard<'a, u8>,
                RwLockWriteGuard<'a, u8>,
                Iter<'a, u8>,
                TryIter<'a, u8>,
                ScopedJoinHandle<'a, u8>,
            ) {
                all
            }

            /// The values are dropped before the objects that refer to them.
            fn of_drops() {
                let (cell, value);
                value = String::new();
                cell = OnceLock::from(&value);
                let (mutex, lock, value);
                value = String::new();
                mutex = Mutex::new(&value);
                lock = RwLock::new(&value);
                let _ = (cell.get(), mutex.is_poisoned(), lock.is_poisoned());
            }
        }
    };
}

variance!(variance_of_std, std);
variance!(variance_of_shim, shim_std);

#[test]
fn niches() {
    assert_eq!(size_of::<Option<shim_std::sync::Arc<str>>>(), size_of::<Box<str>>());
    assert_eq!(size_of::<Option<shim_std::sync::Weak<str>>>(), size_of::<Box<str>>());
    assert_eq!(
        size_of::<Option<shim_std::thread::ThreadId>>(),
        size_of::<Option<std::thread::ThreadId>>()
    );
    assert_eq!(
        size_of::<Option<shim_std::thread::Thread>>(),
        size_of::<Option<std::thread::Thread>>()
    );
    // Handles and channels are a pointer, which is never null.
    assert_eq!(size_of::<Option<shim_std::thread::Thread>>(), size_of::<usize>());
    assert_eq!(
        size_of::<Option<shim_std::sync::mpsc::Sender<u8>>>(),
        size_of::<shim_std::sync::mpsc::Sender<u8>>()
    );
}
