//! A failure in full: what happened, the schedule, who waits for whom, what was printed, how to see it again.

use crate::child::{Account, Outcome};
use crate::report::SourceTree;
use crate::report::source::short;
use crate::report::steps::{self, Names, plural};
use dpor_protocol::{BlockedThread, FailureReport, SourceLocation, Verdict};
use owo_colors::OwoColorize;
use std::fmt::Write;

/// What is to be shown.
pub struct Failure<'a> {
    /// The test's name.
    pub test: &'a str,
    /// The run that failed.
    pub outcome: &'a Outcome,
    /// The same schedule run once more; `outcome` itself if it is that run.
    pub replay: Option<&'a Outcome>,
    /// The command that shows this again.
    pub again: Option<&'a str>,
    pub sources: &'a SourceTree,
}

impl Failure<'_> {
    /// The text, with colours.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let replayed = self.replay.filter(|replay| same_failure(self.outcome, replay));
        // The replay's report is the one with names and places.
        let shown = replayed.unwrap_or(self.outcome);
        let account = replayed.map_or(&self.outcome.account, |replay| &replay.account);
        put!(out, "{} {}\n", "failure:".red().bold(), self.test.bold());
        if let Some(failure) = &shown.failure {
            let names = names(account, failure);
            self.what(&mut out, failure, &names);
            self.schedule(&mut out, account, &names);
            self.waits(&mut out, &failure.blocked, &names);
            printed(&mut out, failure, account);
        } else if let Some(reason) = &shown.reason {
            put!(out, "  {reason}\n");
        }
        if let Some(replay) = self.replay
            && replayed.is_none()
        {
            not_the_same(&mut out, replay);
        }
        match (&self.outcome.seed, self.again) {
            (Some(seed), Some(again)) => {
                put!(out, "  seed: {}", seed.cyan());
                put!(out, "  again: {}", again.cyan());
            }
            _ if shown
                .failure
                .as_ref()
                .is_some_and(|failure| failure.kind == "never-reached") =>
            {
                put!(out, "  there is no seed: it is no single schedule that fails");
            }
            _ => put!(
                out,
                "  there is no seed: the schedule is not known, or too long to be kept"
            ),
        }
        out
    }

    fn what(&self, out: &mut String, failure: &FailureReport, names: &Names) {
        // Who waits is told in full below.
        let shown = if failure.blocked.is_empty() { usize::MAX } else { 1 };
        let mut lines = failure.message.lines().take(shown);
        put!(
            out,
            "  {} {}",
            format!("{}:", failure.kind).red().bold(),
            lines.next().unwrap_or_default()
        );
        for line in lines {
            put!(out, "    {line}");
        }
        match (failure.thread, &failure.location) {
            (Some(thread), Some(location)) => put!(out, "  in {} at {}", names.of(thread), self.place(location)),
            (Some(thread), None) => put!(out, "  in {}", names.of(thread)),
            (None, Some(location)) => put!(out, "  at {}", self.place(location)),
            (None, None) => {}
        }
        put!(out, "");
    }

    /// `file:line`, and the text of the line.
    fn place(&self, location: &SourceLocation) -> String {
        let mut text = short(location);
        if let Some(line) = self.sources.line(location) {
            write!(text, "  {}", line.dimmed()).expect("a String takes anything");
        }
        text
    }

    fn schedule(&self, out: &mut String, account: &Account, names: &Names) {
        let steps = &account.steps;
        if steps.is_empty() {
            return;
        }
        let switches = steps.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count();
        put!(
            out,
            "  schedule ({}, {}):",
            plural(steps.len(), "step"),
            plural(switches, "switch")
        );
        steps::list(out, steps, names, self.sources);
        put!(out, "");
    }

    fn waits(&self, out: &mut String, blocked: &[BlockedThread], names: &Names) {
        if blocked.is_empty() {
            return;
        }
        put!(out, "  who waits:\n");
        for thread in blocked {
            let object = if thread.object.is_empty() {
                String::new()
            } else {
                format!(" of {}", thread.object)
            };
            let operation = &thread.operation;
            put!(
                out,
                "    {} waits in {operation}{object}",
                names.of(thread.thread).bold()
            );
            if let Some(location) = &thread.location {
                put!(out, "      at {}", self.place(location));
            }
            for holder in &thread.held_by {
                let since = holder
                    .location
                    .as_ref()
                    .map(|place| format!(" since {}", self.place(place)));
                put!(
                    out,
                    "      held by {}{}",
                    names.of(holder.thread),
                    since.unwrap_or_default()
                );
            }
        }
        put!(out, "");
    }
}

/// What the failing run printed, by the model's account; then what the process wrote past it.
fn printed(out: &mut String, failure: &FailureReport, account: &Account) {
    let mut text: String = account.output.iter().map(|(_, text)| text.as_str()).collect();
    if text.is_empty() {
        text = failure.output.clone();
    }
    for (title, text) in [
        ("output", text.as_str()),
        ("the process's own standard error", &account.stderr),
    ] {
        if !text.is_empty() {
            put!(out, "  {title}:\n");
            for line in text.lines() {
                put!(out, "    {} {line}", "│".dimmed());
            }
            put!(out, "");
        }
    }
}

/// Says that a replay did not show the failure again, which the reader must know before trusting anything else.
fn not_the_same(out: &mut String, replay: &Outcome) {
    let what = match (&replay.account.diverged, &replay.failure) {
        (Some((step, expected, met)), _) => {
            format!("at step {} it expected {expected} and met {met}", step + 1)
        }
        (None, Some(failure)) => format!("it ended in another failure: {}: {}", failure.kind, failure.message),
        (None, None) => match &replay.reason {
            Some(reason) => format!("it is {}: {reason}", replay.verdict),
            None => "it did not fail".into(),
        },
    };
    put!(
        out,
        "  {} the same schedule, run once more, did not end in the same way: {what}",
        "warning:".yellow().bold()
    );
    put!(
        out,
        "  the test depends on something that the model does not control, such as time, files or addresses\n"
    );
}

/// Says whether a replay ended as the run that it repeats.
pub fn same_failure(first: &Outcome, replay: &Outcome) -> bool {
    let kinds = (
        first.failure.as_ref().map(|f| &f.kind),
        replay.failure.as_ref().map(|f| &f.kind),
    );
    replay.verdict == Verdict::Failed && replay.account.diverged.is_none() && kinds.0 == kinds.1
}

/// Names of threads, from wherever they are told.
fn names(account: &Account, failure: &FailureReport) -> Names {
    let threads = account.threads.iter().map(|thread| (thread.id, &thread.name));
    let steps = account.steps.iter().map(|step| (step.thread, &step.thread_name));
    let blocked = failure.blocked.iter().flat_map(|thread| {
        let holders = thread.held_by.iter().map(|holder| (holder.thread, &holder.thread_name));
        holders.chain([(thread.thread, &thread.thread_name)])
    });
    let failed = failure.thread.map(|thread| (thread, &failure.thread_name));
    Names::new(threads.chain(steps).chain(blocked).chain(failed))
}

#[cfg(test)]
mod tests;
