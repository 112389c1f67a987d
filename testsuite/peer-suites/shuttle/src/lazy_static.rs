//! `shuttle::lazy_static!`.

use std::ops::Deref;

/// The trait of the macro's types.
pub trait LazyStatic: Deref {}

/// Makes the value if there is none yet.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    let _: &T::Target = lazy;
}

/// `shuttle::lazy_static!`. A static has its first contents again in the next execution.
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
                static LAZY: $crate::lazy_static::OnceLock<$type> = $crate::lazy_static::OnceLock::new();
                LAZY.get_or_init(|| $init)
            }
        }
        impl $crate::lazy_static::LazyStatic for $name {}
    )*};
}

#[doc(hidden)]
pub use shim_std::sync::OnceLock;
