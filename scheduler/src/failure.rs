//! Failures found by the scheduler, kept outside the explored program's memory.

use crate::image::switch::in_checker;
use dpor_explorer::Failure;
use dpor_protocol::FailureKind;

/// A failure of this kind.
pub fn failure(kind: FailureKind, message: impl Into<String>) -> Failure {
    Failure {
        kind: kind.name(),
        message: message.into(),
    }
}

/// A failure whose message does not live in the explored program's memory, which the execution takes with it.
pub(crate) fn owned(kind: &'static str, message: &str) -> Failure {
    in_checker(|| Failure {
        kind,
        message: message.to_owned(),
    })
}
