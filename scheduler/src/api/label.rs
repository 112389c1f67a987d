//! Labels: places that the explored program passes, and the number of executions that pass them.

use super::{note, on_model, on_model_thread};
pub use crate::machine::labels::Label;
use crate::report::Source;
use std::panic::Location as Caller;

/// Records that the explored program has reached a label; does nothing off model threads.
pub fn reach(label: &str) {
    if on_model_thread() {
        on_model(|machine| {
            let number = machine.session.labels.number(label);
            machine.execution.reached.0.insert(number);
        });
        note(|| format!("reached {label:?}"));
    }
}

/// Requires that some execution reaches a label; does nothing off model threads.
#[track_caller]
pub fn require(label: &str) {
    if on_model_thread() {
        let caller = Caller::caller();
        on_model(|machine| {
            let label = machine.session.labels.named(label);
            label.required.get_or_insert_with(|| Source::from(caller));
        });
    }
}
