//! `print!` and related macros, and `dbg!`: their output is held back while a test is explored.

use dpor_scheduler::output::{self, Stream};
use std::fmt::Arguments;

#[doc(hidden)]
pub fn out(text: Arguments<'_>) {
    output::print(Stream::Out, text);
}

#[doc(hidden)]
pub fn err(text: Arguments<'_>) {
    output::print(Stream::Err, text);
}

/// `std::print!`.
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => {{
        $crate::print::out($crate::__std::format_args!($($arg)*));
    }};
}

/// `std::println!`.
#[macro_export]
macro_rules! println {
    () => {
        $crate::print!("\n")
    };
    ($($arg:tt)*) => {{
        $crate::print::out($crate::__std::format_args!("{}\n", $crate::__std::format_args!($($arg)*)));
    }};
}

/// `std::eprint!`.
#[macro_export]
macro_rules! eprint {
    ($($arg:tt)*) => {{
        $crate::print::err($crate::__std::format_args!($($arg)*));
    }};
}

/// `std::eprintln!`.
#[macro_export]
macro_rules! eprintln {
    () => {
        $crate::eprint!("\n")
    };
    ($($arg:tt)*) => {{
        $crate::print::err($crate::__std::format_args!("{}\n", $crate::__std::format_args!($($arg)*)));
    }};
}

/// `std::dbg!`.
#[macro_export]
macro_rules! dbg {
    () => {
        $crate::eprintln!("[{}:{}:{}]", $crate::__std::file!(), $crate::__std::line!(), $crate::__std::column!())
    };
    ($val:expr $(,)?) => {
        match $val {
            tmp => {
                $crate::eprintln!(
                    "[{}:{}:{}] {} = {:#?}",
                    $crate::__std::file!(),
                    $crate::__std::line!(),
                    $crate::__std::column!(),
                    $crate::__std::stringify!($val),
                    &&tmp as &dyn $crate::__std::fmt::Debug,
                );
                tmp
            }
        }
    };
    ($($val:expr),+ $(,)?) => {
        ($($crate::dbg!($val)),+,)
    };
}
