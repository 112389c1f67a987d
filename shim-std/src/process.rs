//! The functions of `std::process` that end the process. On a model thread they end the execution, as a failure.

use dpor_scheduler::{FailureKind, fail, on_model_thread};

/// `std::process::exit`.
pub fn exit(code: i32) -> ! {
    if on_model_thread() {
        fail(
            FailureKind::Exit,
            format!("the program called std::process::exit({code})"),
        );
    }
    std::process::exit(code)
}

/// `std::process::abort`.
#[cold]
pub fn abort() -> ! {
    if on_model_thread() {
        fail(
            FailureKind::Abort,
            "the program called std::process::abort()".to_string(),
        );
    }
    std::process::abort()
}

/// Ends the process where std would, with std's message.
#[cold]
pub(crate) fn fatal(message: &str) -> ! {
    if on_model_thread() {
        fail(FailureKind::Abort, format!("fatal runtime error: {message}, aborting"));
    }
    std::eprintln!("fatal runtime error: {message}, aborting");
    std::process::abort()
}
