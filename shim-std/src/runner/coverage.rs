//! Labels: their effect on the result of an exploration.

use super::journal::Explored;
use super::sharing::Sharing;
use dpor_explorer::{End, Failure, Observer, Statistics, Trace, Verdict};
use dpor_protocol::FailureKind;
use dpor_scheduler::Program;
use dpor_scheduler::label::Label;
use std::ops::ControlFlow;

/// Records the end of an execution in the program's counts of labels.
pub(crate) fn count(program: &mut Program, end: &End) {
    if matches!(end, End::Complete | End::Failed(_)) {
        program.count_labels();
    }
}

/// Counts labels, and observes how threads interact.
#[derive(Default)]
pub(crate) struct Watching {
    pub sharing: Sharing,
}

impl Observer<Explored> for Watching {
    fn execution(&mut self, system: &mut Explored, end: &End, trace: &Trace, _: &Statistics) -> ControlFlow<()> {
        count(&mut system.program, end);
        self.sharing.look(&system.program, trace);
        ControlFlow::Continue(())
    }
}

/// Labels that were required but not reached.
fn missing(labels: &[Label]) -> impl Iterator<Item = (&Label, dpor_scheduler::report::Source)> {
    let unreached = labels.iter().filter(|label| label.all == 0);
    unreached.filter_map(|label| Some((label, label.required.clone()?)))
}

/// The message about labels that were required but not reached, and the place of the first requirement.
pub(crate) struct Shortfall {
    pub failure: Failure,
    pub required: dpor_scheduler::report::Source,
}

/// The failure because of unreached labels, if the verdict is that nothing is left to explore.
pub(crate) fn shortfall(labels: &[Label], verdict: &Verdict) -> Option<Shortfall> {
    let (_, required) = missing(labels).next().filter(|_| *verdict == Verdict::Complete)?;
    let line = |(label, place): (&Label, dpor_scheduler::report::Source)| {
        format!(
            "no execution reaches the label {:?}, as is required at {place}",
            label.name
        )
    };
    let message = missing(labels).map(line).collect::<Vec<_>>().join("\n");
    let failure = dpor_scheduler::failure(FailureKind::NeverReached, message);
    Some(Shortfall { failure, required })
}

/// The note on unreached labels if something is left to explore.
pub(crate) fn note(labels: &[Label], verdict: &Verdict) -> Option<String> {
    let names: Vec<String> = missing(labels).map(|(label, _)| format!("{:?}", label.name)).collect();
    let some = matches!(verdict, Verdict::Incomplete { .. }) && !names.is_empty();
    some.then(|| format!("required labels that were not reached so far: {}", names.join(", ")))
}

/// The note on labels that a shard has not reached: another shard may.
pub(crate) fn shard_note(labels: &[Label]) -> Option<String> {
    let names: Vec<String> = missing(labels).map(|(label, _)| format!("{:?}", label.name)).collect();
    (!names.is_empty()).then(|| format!("required labels that another shard has to reach: {}", names.join(", ")))
}

/// All notes joined, if there are any.
pub(crate) fn together(notes: Vec<String>) -> Option<String> {
    notes.into_iter().reduce(|first, second| format!("{first}; {second}"))
}

/// Both notes joined, if there are any.
pub(crate) fn both(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}; {second}")),
        (first, second) => first.or(second),
    }
}
