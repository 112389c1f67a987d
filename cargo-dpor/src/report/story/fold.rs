//! Leaves out the less interesting steps of a schedule.

use crate::report::story::names::plural;
use crate::report::story::source::short;
use crate::report::story::words::Words;
use dpor_protocol::StepReport;
use std::collections::{HashMap, HashSet};

/// Number of consecutive steps of one thread that do not concern others from which they are shown as one line.
const FEW: usize = 3;
/// Length from which only the beginning and end of a run of steps of one thread are shown.
const LONG: usize = 24;
/// Number of steps in each of these.
const ENDS: usize = 8;

/// A step, or several of one thread that are not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    Step(&'a StepReport),
    Folded(&'a [StepReport]),
}

impl Item<'_> {
    /// The thread that makes them.
    pub fn thread(&self) -> u32 {
        match self {
            Item::Step(step) => step.thread,
            Item::Folded(steps) => steps[0].thread,
        }
    }
}

/// The number, the effect and the place of a step.
pub fn row(item: &Item<'_>, words: &Words<'_>) -> [String; 3] {
    match item {
        Item::Step(step) => {
            let place = step.location.as_ref().map(short).unwrap_or_default();
            [(step.index + 1).to_string(), words.effect(step), place]
        }
        Item::Folded(steps) => [
            String::new(),
            format!("… {}", plural(steps.len(), "more step")),
            String::new(),
        ],
    }
}

/// Leaves out long runs of steps that concern only one thread, but not the steps with the numbers in `keep`.
pub fn fold<'a>(steps: &'a [StepReport], keep: &HashSet<u64>) -> Vec<Item<'a>> {
    let mut users: HashMap<&str, HashSet<u32>> = HashMap::new();
    for step in steps {
        users.entry(&step.object).or_default().insert(step.thread);
    }
    let told: HashSet<u64> = steps.iter().filter_map(|step| step.reads_from).collect();
    // Other steps than those on an object: the start of a thread, a choice.
    let own = |step: &StepReport| {
        let object = step.object.as_str();
        object.is_empty() || (object.contains('#') && users[object].len() == 1)
    };
    // Where there is one thread only, that says nothing.
    let several = steps.iter().any(|step| step.thread != steps[0].thread);
    let idle = |step: &StepReport| several && own(step) && !keep.contains(&step.index) && !told.contains(&step.index);
    let mut items = Vec::new();
    for run in steps.chunk_by(|a, b| a.thread == b.thread) {
        let start = items.len();
        for part in run.chunk_by(|a, b| idle(a) == idle(b)) {
            match part.len() >= FEW && idle(&part[0]) {
                true => items.push(Item::Folded(part)),
                false => items.extend(part.iter().map(Item::Step)),
            }
        }
        if items.len() - start > LONG {
            items.truncate(start);
            items.extend(ends(run, keep));
        }
    }
    items
}

/// The beginning and the end of a run of steps of one thread, and the steps to keep in between.
fn ends<'a>(run: &'a [StepReport], keep: &HashSet<u64>) -> Vec<Item<'a>> {
    let middle = ENDS..run.len() - ENDS;
    let hidden = |at: usize| middle.contains(&at) && !keep.contains(&run[at].index);
    let mut items = Vec::new();
    let mut at = 0;
    while at < run.len() {
        let end = (at..run.len())
            .find(|&end| hidden(end) != hidden(at))
            .unwrap_or(run.len());
        match hidden(at) && end - at >= FEW {
            true => items.push(Item::Folded(&run[at..end])),
            false => items.extend(run[at..end].iter().map(Item::Step)),
        }
        at = end;
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(index: u64, thread: u32, object: &str) -> StepReport {
        StepReport {
            index,
            thread,
            object: object.into(),
            ..StepReport::default()
        }
    }

    /// The numbers of the steps that are shown, and the number of those that are not, negative.
    fn shown(steps: &[StepReport], keep: &[u64]) -> Vec<i64> {
        let items = fold(steps, &keep.iter().copied().collect());
        let number = |item: &Item<'_>| match item {
            Item::Step(step) => step.index as i64,
            Item::Folded(steps) => -(steps.len() as i64),
        };
        items.iter().map(number).collect()
    }

    #[test]
    fn what_concerns_one_thread_only_is_folded() {
        let mut steps: Vec<_> = (0..4).map(|i| step(i, 0, "atomic#1")).collect();
        steps.extend([step(4, 0, "atomic#2"), step(5, 1, "atomic#2"), step(6, 1, "atomic#3")]);
        assert_eq!(shown(&steps, &[]), [-4, 4, 5, 6]);
        assert_eq!(shown(&steps, &[3]), [-3, 3, 4, 5, 6]);
        assert_eq!(shown(&steps, &[1]), [0, 1, 2, 3, 4, 5, 6]);
        steps[5].reads_from = Some(3);
        assert_eq!(shown(&steps, &[]), [-3, 3, 4, 5, 6]);
        assert_eq!(shown(&steps[..4], &[]), [0, 1, 2, 3]);
    }

    #[test]
    fn of_a_long_run_the_ends_are_shown() {
        let mut steps: Vec<_> = (0..40).map(|i| step(i, 0, "atomic#1")).collect();
        steps.push(step(40, 1, "atomic#1"));
        let mut expected: Vec<i64> = (0..8).chain([-24]).chain(32..41).collect();
        assert_eq!(shown(&steps, &[]), expected);
        expected.splice(8..9, [-12, 20, -11]);
        assert_eq!(shown(&steps, &[20]), expected);
    }
}
