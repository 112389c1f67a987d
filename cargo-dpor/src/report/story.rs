//! The story of a failure: what happened, who waits for whom, the steps that led there, what was printed.
//!
//! It is made of what the test process has reported, and has the words; the renderers only lay it out. So nothing here
//! knows of a terminal or a page, and no renderer needs another one.

mod blocks;
mod change;
pub mod fold;
pub mod names;
pub mod objects;
pub mod output;
mod parting;
pub mod source;
pub mod waits;
pub mod weak;
pub mod words;

use crate::outcome::{Account, Mends, Outcome};
use dpor_protocol::{
    BlockReport, ChoiceReport, FailureKind, FailureReport, PanicReport, PartingReport, Simplified, Verdict,
};
use fold::{Item, fold};
use names::Names;
use output::{Printed, printed};
use parting::other_choice;
use std::collections::HashSet;
use waits::{Waiting, Waits};
use words::Words;

/// The story of a test that has failed, or was given up in the middle of a step.
pub struct Story<'a> {
    /// The run with the most details: the repeated one, if it ended in the same way.
    pub shown: &'a Outcome,
    pub words: Words<'a>,
    /// The result of the search for the simplest schedule.
    pub simplified: Option<&'a Simplified>,
    /// Orderings with which the test is complete.
    pub mends: Option<&'a Mends>,
    /// How the repeated run ended, if it did not end in the same way.
    pub other_end: Option<String>,
}

/// The step at which a schedule parts from one that passes.
pub struct Decisive {
    /// The number of the step, counted from 0.
    pub step: u64,
    /// What could have run instead.
    pub instead: String,
}

/// An event in the history of memory that was used wrongly.
pub struct MemoryEvent<'a> {
    /// What was done.
    pub verb: &'a str,
    /// What is to be said of that; empty if nothing is.
    pub remark: &'a str,
    /// The event.
    pub event: &'a BlockReport,
}

impl<'a> Story<'a> {
    /// The story of a run, and of the repeated run of its schedule.
    pub fn of(outcome: &'a Outcome, replay: Option<&'a Outcome>) -> Story<'a> {
        let shown = shown(outcome, replay);
        let account = &shown.account;
        Story {
            shown,
            words: Words::new(&account.steps, names(account, shown.failure.as_ref())),
            simplified: outcome.simplified.as_ref(),
            mends: outcome.mends.as_ref(),
            other_end: replay.filter(|replay| !same_failure(outcome, replay)).map(other_end),
        }
    }

    /// What was reported of the run.
    pub fn account(&self) -> &'a Account {
        &self.shown.account
    }

    pub fn failure(&self) -> Option<&'a FailureReport> {
        self.shown.failure.as_ref()
    }

    fn waits(&self) -> Option<Waits<'_>> {
        Some(Waits::new(self.failure()?, &self.account().steps, &self.words))
    }

    /// Who waits for what, in a sentence, if the failure is that threads wait.
    pub fn sentence(&self) -> Option<String> {
        self.waits()?.sentence()
    }

    /// The failure in words: that sentence, or its message.
    pub fn message(&self) -> String {
        let message = || {
            self.words
                .with_blocks(self.failure().map_or("", |failure| &failure.message))
        };
        self.sentence().unwrap_or_else(message)
    }

    /// The panic that caused the test's own: the test has joined a thread that had panicked.
    pub fn cause(&self) -> Option<&'a PanicReport> {
        let failure = self.failure()?;
        let (last, earlier) = failure.panics.split_last()?;
        let passed_on = FailureKind::Panic.is(&failure.kind) && last.message.contains("Any { .. }");
        earlier.first().filter(|_| passed_on)
    }

    /// A value in the failure's message that consists of the bytes with which freed memory is filled.
    pub fn freed_bytes(&self) -> Option<&'a str> {
        const VALUES: [&str; 5] = [
            "3722304989",
            "15987178197214944733",
            "-572662307",
            "-2459565876494606883",
            "0xdddddddddddddddd",
        ];
        let numbers = self
            .failure()?
            .message
            .split(|c: char| !c.is_alphanumeric() && c != '-');
        numbers.into_iter().find(|number| VALUES.contains(number))
    }

    /// The threads that wait.
    pub fn waiting(&self) -> Vec<Waiting> {
        self.waits().map(|waits| waits.threads()).unwrap_or_default()
    }

    /// The history of memory that was used wrongly, such as the accesses in a data race: each event with its verb, and
    /// what is to be said of it.
    pub fn memory(&self) -> Vec<MemoryEvent<'a>> {
        let events = self.failure().map_or(&[][..], |failure| &failure.block);
        let last = events.len().saturating_sub(1);
        let told = |(number, event): (usize, &'a BlockReport)| {
            let (verb, remark) = match (&event.access, event.freed) {
                (Some(access), _) => access.split_once(", ").unwrap_or((access, "")),
                (None, false) => ("allocated", ""),
                (None, true) if number == last && number > 0 && events[number - 1].freed => ("freed again", ""),
                (None, true) => ("freed", ""),
            };
            MemoryEvent { verb, remark, event }
        };
        events.iter().enumerate().map(told).collect()
    }

    /// The choice at which the schedule parts from one that passes.
    pub fn parting(&self) -> Option<&'a ChoiceReport> {
        match self.simplified?.parting.as_ref()? {
            PartingReport::At(choice) => Some(choice),
            PartingReport::Nowhere => None,
        }
    }

    /// The step of that choice.
    pub fn decisive(&self) -> Option<Decisive> {
        let choice = self.parting()?;
        let steps = &self.account().steps;
        let step = steps.iter().find(|step| step.index == choice.step)?;
        Some(Decisive {
            step: step.index,
            instead: other_choice(choice, step, steps, &self.words),
        })
    }

    /// The steps, without long runs of those that concern one thread only.
    pub fn items(&self, parting: Option<&ChoiceReport>) -> Vec<Item<'a>> {
        let mut keep: HashSet<u64> = parting.map(|choice| choice.step).into_iter().collect();
        if let Some(failure) = self.failure() {
            keep.extend(failure.panics.iter().map(|panic| panic.step));
            keep.extend(failure.block.iter().map(|event| event.step));
        }
        fold(&self.account().steps, &keep)
    }

    /// Number of switches between threads.
    pub fn switches(&self) -> usize {
        let pairs = self.account().steps.windows(2);
        pairs.filter(|pair| pair[0].thread != pair[1].thread).count()
    }

    /// What the run printed.
    pub fn printed(&self) -> Vec<Printed<'a>> {
        printed(self.account(), self.failure())
    }
}

/// The run with the most details of the failure: the repeated one, if it ended in the same way.
pub fn shown<'a>(outcome: &'a Outcome, replay: Option<&'a Outcome>) -> &'a Outcome {
    replay.filter(|replay| same_failure(outcome, replay)).unwrap_or(outcome)
}

/// Says whether a replay ended like the run that it repeats.
pub fn same_failure(first: &Outcome, replay: &Outcome) -> bool {
    let kinds = (
        first.failure.as_ref().map(|f| &f.kind),
        replay.failure.as_ref().map(|f| &f.kind),
    );
    replay.verdict == Verdict::Failed && replay.account.diverged.is_none() && kinds.0 == kinds.1
}

/// How a replay ended that did not show the failure again.
fn other_end(replay: &Outcome) -> String {
    match (&replay.account.diverged, &replay.failure) {
        (Some((step, expected, met)), _) => format!("at step {} it expected {expected} and met {met}", step + 1),
        (None, Some(failure)) => format!("it ended in another failure: {}: {}", failure.kind, failure.message),
        (None, None) => match &replay.reason {
            Some(reason) => format!("it is {}: {reason}", replay.verdict),
            None => "it did not fail".into(),
        },
    }
}

/// The names of all threads in the report.
fn names(account: &Account, failure: Option<&FailureReport>) -> Names {
    let threads = account.threads.iter().map(|thread| (thread.id, &thread.name));
    let steps = account.steps.iter().map(|step| (step.thread, &step.thread_name));
    let blocked = failure
        .into_iter()
        .flat_map(|failure| &failure.blocked)
        .flat_map(|thread| {
            let holders = thread.held_by.iter().map(|holder| (holder.thread, &holder.thread_name));
            holders.chain([(thread.thread, &thread.thread_name)])
        });
    let failed = failure.and_then(|failure| Some((failure.thread?, &failure.thread_name)));
    Names::new(threads.chain(steps).chain(blocked).chain(failed))
}
