//! Failures found by the scheduler, in memory of its own.

use crate::memory::switch::in_checker;
use dpor_explorer::Failure;

/// A failure whose message does not live in the explored program's memory, which goes away with the
/// execution.
pub(crate) fn owned(kind: &'static str, message: &str) -> Failure {
    in_checker(|| Failure {
        kind,
        message: message.to_owned(),
    })
}
