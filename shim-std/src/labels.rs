//! The functions behind the macros for labels.

/// Records that a label is reached.
pub fn reached(label: &str) {
    dpor_scheduler::label::reach(label);
}

/// Requires that labels are reached.
#[track_caller]
pub fn require(labels: &[&str]) {
    for label in labels {
        dpor_scheduler::label::require(label);
    }
}

/// Marks a place of the test with a label, and counts the executions that reach it.
///
/// `cargo dpor test` prints the counts with the line of the test; of a [`Model`](crate::Model),
/// [`Outcome::reached`](crate::Outcome::reached) has them. Is not a step, and not part of the state. Off model threads
/// it does nothing.
#[macro_export]
macro_rules! reach {
    ($label:expr $(,)?) => {
        $crate::labels::reached($label)
    };
}

/// Requires that each of these labels is [reached](crate::reach!) in at least one execution.
///
/// When the exploration is complete and one was never reached, the test has failed, with the kind `never-reached`. As
/// no schedule brings that about, there is no seed. An exploration that is incomplete does not fail because of it.
/// Belongs at the beginning of the test: what no execution comes to demands nothing. Off model threads it does nothing.
#[macro_export]
macro_rules! must_reach {
    ($($label:expr),+ $(,)?) => {
        $crate::labels::require(&[$($label),+])
    };
}
