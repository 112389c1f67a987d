//! A second stand-in for loom 0.7, as far as its tests of causality use it: std, under loom's names.
//!
//! A cell is plain memory here, and a model is its closure. So a test is an ordinary one, which `cargo dpor test`
//! explores and in which it looks for data races, by the orderings that the test asks for.

pub use std::thread_local;

/// Runs the closure: once in each execution of the test.
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    f();
}

/// Like loom's: std's `LazyLock`.
#[macro_export]
macro_rules! lazy_static {
    ($(static ref $name:ident: $type:ty = $value:expr;)*) => {$(
        static $name: std::sync::LazyLock<$type> = std::sync::LazyLock::new(|| $value);
    )*};
}

/// `loom::cell`.
pub mod cell {
    /// `loom::cell::UnsafeCell`: std's, which each access goes to.
    #[derive(Debug)]
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    // SAFETY: none. As in loom, who uses a cell sees to it that accesses are ordered, and the tests are about that.
    unsafe impl<T> Sync for UnsafeCell<T> {}

    impl<T> UnsafeCell<T> {
        /// A cell.
        pub const fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        /// Gives a pointer for reading.
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Gives a pointer for writing.
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

/// `loom::thread`.
pub mod thread {
    pub use std::thread::yield_now;

    /// What is given to another thread. loom asks for no `Send`.
    struct Given<T>(T);

    // SAFETY: the tests of loom that are built with this hold nothing that is bound to its thread.
    unsafe impl<T> Send for Given<T> {}

    impl<T> Given<T> {
        fn take(self) -> T {
            self.0
        }
    }

    /// `loom::thread::JoinHandle`.
    #[derive(Debug)]
    pub struct JoinHandle<T>(std::thread::JoinHandle<Given<T>>);

    impl<T> JoinHandle<T> {
        /// Like std's.
        ///
        /// # Errors
        /// The thread has panicked.
        pub fn join(self) -> std::thread::Result<T> {
            self.0.join().map(Given::take)
        }
    }

    /// Like std's.
    pub fn spawn<F, T>(f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        let given = Given(f);
        JoinHandle(std::thread::spawn(move || Given(given.take()())))
    }
}

/// `loom::sync`.
pub mod sync {
    pub use std::sync::{Arc, Mutex};

    use std::sync::{Condvar, PoisonError};

    /// `loom::sync::Notify`: one waits for the other's notification.
    #[derive(Debug, Default)]
    pub struct Notify {
        notified: Mutex<bool>,
        changed: Condvar,
    }

    impl Notify {
        /// Nobody is notified.
        #[must_use]
        pub fn new() -> Notify {
            Notify::default()
        }

        /// Lets the one who waits go on, or the next one.
        pub fn notify(&self) {
            *self.notified.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.changed.notify_one();
        }

        /// Waits for a notification, and uses it up.
        pub fn wait(&self) {
            let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
            while !*notified {
                notified = self.changed.wait(notified).unwrap_or_else(PoisonError::into_inner);
            }
            *notified = false;
        }
    }

    /// `loom::sync::atomic`.
    pub mod atomic {
        pub use std::sync::atomic::{AtomicBool, Ordering, fence};

        use std::ops::Deref;

        /// `loom::sync::atomic::AtomicUsize`: std's, with what only loom has.
        #[derive(Debug, Default)]
        pub struct AtomicUsize(std::sync::atomic::AtomicUsize);

        impl AtomicUsize {
            /// An atomic with this value.
            #[must_use]
            pub const fn new(value: usize) -> AtomicUsize {
                AtomicUsize(std::sync::atomic::AtomicUsize::new(value))
            }

            /// Reads by a load that is not atomic.
            ///
            /// # Safety
            /// Nobody stores meanwhile.
            pub unsafe fn unsync_load(&self) -> usize {
                // SAFETY: the memory is the atomic's own, and the caller sees to the rest.
                unsafe { self.0.as_ptr().read() }
            }
        }

        impl Deref for AtomicUsize {
            type Target = std::sync::atomic::AtomicUsize;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }
    }
}
