//! Where a failing schedule parts from those that pass.

use crate::report::story::source::short;
use crate::report::story::words::Words;
use dpor_protocol::{ChoiceReport, OperationKind, StepReport};

/// A better choice than a step.
pub fn other_choice(choice: &ChoiceReport, step: &StepReport, steps: &[StepReport], words: &Words<'_>) -> String {
    let who = words.thread(choice.thread);
    let kind = OperationKind::named(&choice.operation);
    let plain = kind.map_or(choice.operation.as_str(), |kind| kind.plain_name());
    let place = choice.location.as_ref().map(|place| format!(" at {}", short(place)));
    let operation = format!("{plain}{}", place.unwrap_or_default());
    let before = steps.iter().find(|other| other.index + 1 == step.index);
    let (what, condition) = if choice.same_thread {
        let other = kind.map_or("the step ends in another way", OperationKind::otherwise);
        ("decisive", format!("{other} here"))
    } else if before.is_some_and(|before| before.thread == choice.thread) {
        ("decisive switch", format!("{who} goes on here ({operation})"))
    } else {
        ("decisive", format!("{who} runs here ({operation})"))
    };
    format!("{what}: if {condition}, the test can pass")
}
