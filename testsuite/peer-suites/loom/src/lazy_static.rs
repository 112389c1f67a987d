//! `loom::lazy_static!`: values live as long as the first thread of the execution.

use dpor_scheduler::{AccessKind, FailureKind, Operation, OperationKind, Word, access_of, fail, location, perform};
use shim_std::sync::Mutex;
use shim_std::sync::OnceLock;
use std::ptr;

/// 1 once the first thread has ended.
static SHUT_DOWN: Word = Word::new(0);
/// The values to drop then, newest first.
static VALUES: Mutex<Vec<&'static dyn Value>> = Mutex::new(Vec::new());

/// A value that the first user makes.
#[doc(hidden)]
#[derive(Debug)]
pub struct Lazy<T>(OnceLock<T>);

trait Value: Sync {
    /// Drops the value.
    ///
    /// # Safety
    /// Nobody uses it from now on.
    unsafe fn drop(&self);
}

impl<T: Send + Sync> Value for Lazy<T> {
    unsafe fn drop(&self) {
        if let Some(value) = self.0.get() {
            // SAFETY: the caller's promise; the value is not handed out again (`get`), and what holds it is a static.
            unsafe { ptr::drop_in_place(ptr::from_ref(value).cast_mut()) };
        }
    }
}

impl<T: Send + Sync> Lazy<T> {
    /// No value yet.
    #[expect(clippy::new_without_default, reason = "for the macro only")]
    pub const fn new() -> Lazy<T> {
        Lazy(OnceLock::new())
    }

    /// The value.
    #[track_caller]
    pub fn get(&'static self, init: fn() -> T) -> &'static T {
        let accesses = [access_of(location(&SHUT_DOWN), AccessKind::Read)];
        let operation = Operation::always(OperationKind::OnceQuery, location(&SHUT_DOWN), &accesses);
        let late = perform(&operation, |_, touch| {
            touch.read(location(&SHUT_DOWN));
            SHUT_DOWN.get() == 1
        });
        if late {
            fail(
                FailureKind::Panic,
                "a lazy static is used after the first thread has ended".to_owned(),
            );
        }
        self.0.get_or_init(|| {
            let value = init();
            VALUES.lock().unwrap_or_else(|error| error.into_inner()).push(self);
            value
        })
    }
}

/// Drops all values, as the end of the first thread does.
pub(crate) fn shut_down() {
    let accesses = [access_of(location(&SHUT_DOWN), AccessKind::Write)];
    perform(
        &Operation::always(OperationKind::Exit, location(&SHUT_DOWN), &accesses),
        |_, touch| {
            SHUT_DOWN.set(1);
            touch.write(location(&SHUT_DOWN));
        },
    );
    let values = std::mem::take(&mut *VALUES.lock().unwrap_or_else(|error| error.into_inner()));
    for value in values.into_iter().rev() {
        // SAFETY: whoever asks for it from now on fails.
        unsafe { value.drop() };
    }
}

/// `loom::lazy_static!`.
#[macro_export]
macro_rules! lazy_static {
    ($($(#[$attribute:meta])* $vis:vis static ref $name:ident: $type:ty = $init:expr;)*) => {$(
        #[allow(non_camel_case_types, dead_code, missing_docs)]
        $(#[$attribute])*
        $vis struct $name {
            __private: (),
        }
        $(#[$attribute])*
        $vis static $name: $name = $name { __private: () };
        impl ::core::ops::Deref for $name {
            type Target = $type;

            fn deref(&self) -> &$type {
                static LAZY: $crate::lazy_static::Lazy<$type> = $crate::lazy_static::Lazy::new();
                LAZY.get(|| $init)
            }
        }
    )*};
}
