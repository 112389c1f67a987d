//! Failures found by the scheduler, kept outside the explored program's memory.

use crate::image::switch::in_checker;
use dpor_explorer::Failure;

/// A failure whose message does not live in the explored program's memory, which the execution takes with it.
pub(crate) fn owned(kind: &'static str, message: &str) -> Failure {
    in_checker(|| Failure {
        kind,
        message: message.to_owned(),
    })
}
