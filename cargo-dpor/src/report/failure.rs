//! A whole failure: what happened, the schedule, who waits for whom, what was printed, how to see it again.

use crate::callers;
use crate::child::{Account, Outcome};
use crate::report::SourceTree;
use crate::report::fold::fold;
use crate::report::source::short;
use crate::report::steps::{self, Names, STEPS_SHOWN, plural};
use crate::report::table::Table;
use crate::report::waits::Waits;
use crate::report::words::Words;
use dpor_protocol::{ChoiceReport, FailureReport, PanicReport, PartingReport, SourceLocation, StepReport, Verdict};
use owo_colors::OwoColorize;
use std::collections::HashSet;
use std::fmt::Write;

/// The failure to show.
pub struct Failure<'a> {
    /// The test's name.
    pub test: &'a str,
    /// The run that failed.
    pub outcome: &'a Outcome,
    /// The repeated run of the same schedule; `outcome` itself if it is that run.
    pub replay: Option<&'a Outcome>,
    /// The command that shows this again.
    pub again: Option<&'a str>,
    pub sources: &'a SourceTree,
    /// The width of the output in columns.
    pub width: usize,
}

impl Failure<'_> {
    /// The text with colours.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let replayed = self.replay.filter(|replay| same_failure(self.outcome, replay));
        // The replay's report is the one with names and places.
        let shown = replayed.unwrap_or(self.outcome);
        let account = replayed.map_or(&self.outcome.account, |replay| &replay.account);
        let title = match shown.verdict {
            Verdict::Incomplete => "incomplete:".yellow().bold().to_string(),
            _ => "failure:".red().bold().to_string(),
        };
        put!(out, "{title} {}\n", self.test.bold());
        if let Some(failure) = &shown.failure {
            let names = names(account, failure);
            let words = Words::new(&account.steps, &names);
            let waits = Waits {
                failure,
                steps: &account.steps,
                words: &words,
                names: &names,
                sources: self.sources,
            };
            self.what(&mut out, failure, &names, &words, waits.sentence());
            self.block(&mut out, failure, &names);
            waits.print(&mut out);
            self.schedule(&mut out, account, failure, &names, &words);
            printed(&mut out, failure, account);
        } else if let Some(reason) = &shown.reason {
            for line in reason.lines() {
                put!(out, "  {line}");
            }
            put!(out, "");
            let failure = FailureReport::default();
            let names = names(account, &failure);
            let words = Words::new(&account.steps, &names);
            self.schedule(&mut out, account, &failure, &names, &words);
            printed(&mut out, &failure, account);
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
                put!(out, "  there is no seed: the failure is not one of a single schedule");
            }
            _ => put!(
                out,
                "  there is no seed: the schedule is unknown, or too long to be kept"
            ),
        }
        out
    }

    /// The verdict in a sentence, and the place.
    fn what(
        &self,
        out: &mut String,
        failure: &FailureReport,
        names: &Names,
        words: &Words<'_>,
        sentence: Option<String>,
    ) {
        let kind = format!("{}:", failure.kind);
        // Who waits is told in full below.
        if let Some(sentence) = sentence {
            put!(out, "  {} {sentence}\n", kind.red().bold());
            return;
        }
        if let Some(cause) = cause(failure) {
            let message = cause.message.lines().next().unwrap_or_default();
            put!(
                out,
                "  {} {} panicked: {message}",
                kind.red().bold(),
                names.of(cause.thread)
            );
            self.panics(out, &failure.panics, names);
            put!(out, "");
            return;
        }
        let message = words.with_blocks(&failure.message);
        let mut lines = message.lines();
        put!(out, "  {} {}", kind.red().bold(), lines.next().unwrap_or_default());
        // Where it was is told with the source below.
        let place = failure
            .location
            .as_ref()
            .map(|place| format!("at {}:{}", place.file, place.line));
        for line in lines.filter(|line| place.as_ref().is_none_or(|place| line.trim() != place)) {
            put!(out, "    {line}");
        }
        match (failure.thread, &failure.location) {
            _ if failure.panics.len() > 1 => self.panics(out, &failure.panics, names),
            (Some(thread), Some(location)) => put!(out, "  in {} at {}", names.of(thread), self.place(location)),
            (Some(thread), None) => put!(out, "  in {}", names.of(thread)),
            (None, Some(location)) => put!(out, "  at {}", self.place(location)),
            (None, None) => {}
        }
        for line in callers::lines(&failure.callers) {
            put!(out, "    {line}");
        }
        if let Some(value) = freed_bytes(failure) {
            put!(
                out,
                "  {value} consists of bytes 0xdd, which fill freed memory: something was used after it was freed"
            );
        }
        put!(out, "");
    }

    /// The panics, in the order in which they happened.
    fn panics(&self, out: &mut String, panics: &[PanicReport], names: &Names) {
        for panic in panics {
            let place = panic
                .location
                .as_ref()
                .map(|place| format!(" at {}", self.place(place)));
            put!(
                out,
                "    step {}: {} panics{}",
                panic.step + 1,
                names.of(panic.thread),
                place.unwrap_or_default()
            );
            for line in panic.message.lines() {
                put!(out, "      {line}");
            }
        }
    }

    /// The history of the block that was freed wrongly.
    fn block(&self, out: &mut String, failure: &FailureReport, names: &Names) {
        if failure.block.is_empty() {
            return;
        }
        let last = failure.block.len() - 1;
        for (number, what) in failure.block.iter().enumerate() {
            let verb = match (
                what.freed,
                number == last && number > 0 && failure.block[number - 1].freed,
            ) {
                (false, _) => "allocated",
                (true, false) => "freed",
                (true, true) => "freed again",
            };
            let place = what.location.as_ref().map(|place| format!(" at {}", self.place(place)));
            put!(
                out,
                "    {verb:<11} in step {} by {}{}",
                what.step + 1,
                names.of(what.thread),
                place.unwrap_or_default()
            );
        }
        put!(out, "");
    }

    /// `file:line`, and the text of that line.
    fn place(&self, location: &SourceLocation) -> String {
        let mut text = short(location);
        if let Some(line) = self.sources.line(location) {
            write!(text, "  {}", line.dimmed()).expect("a String takes anything");
        }
        text
    }

    fn schedule(&self, out: &mut String, account: &Account, failure: &FailureReport, names: &Names, words: &Words<'_>) {
        let steps = &account.steps;
        if steps.is_empty() {
            return;
        }
        // Of one thread, there is nothing to be simplified.
        let simplified = self.outcome.simplified.as_ref().filter(|_| account.threads.len() > 1);
        let switches = steps.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count();
        let preemptions = simplified.map(|simplified| plural(simplified.preemptions as usize, "preemption"));
        let which = match simplified {
            Some(simplified) if simplified.proven => ", the simplest one that fails like this",
            _ => "",
        };
        put!(
            out,
            "  schedule ({}, {}{}){which}:",
            plural(steps.len(), "step"),
            plural(switches, "switch"),
            preemptions.map(|count| format!(", {count}")).unwrap_or_default()
        );
        let parting = match simplified.and_then(|simplified| simplified.parting.as_ref()) {
            Some(PartingReport::At(choice)) => Some(choice),
            _ => None,
        };
        let is_decisive = |step: &StepReport| parting.is_some_and(|choice| choice.step == step.index);
        let before = |step: &StepReport| {
            let choice = parting.filter(|_| is_decisive(step))?;
            let text = format!("▼ {}", other_choice(choice, step, steps, names));
            Some(text.yellow().bold().to_string())
        };
        let told = failure.block.iter().map(|what| what.step);
        let keep: HashSet<u64> = failure
            .panics
            .iter()
            .map(|panic| panic.step)
            .chain(told)
            .chain(parting.map(|choice| choice.step))
            .collect();
        let items = fold(steps, &keep);
        let shown = &items[items.len().saturating_sub(STEPS_SHOWN)..];
        if shown.len() < items.len() {
            put!(out, "\n    … {} before", plural(items.len() - shown.len(), "step"));
        }
        match Table::fitting(shown, names, words, self.width) {
            Some(table) => table.print(out, self.sources, &before, &is_decisive),
            None => steps::listed(out, shown, names, words, self.sources, &before),
        }
        if let Some(PartingReport::Nowhere) = simplified.and_then(|simplified| simplified.parting.as_ref()) {
            put!(
                out,
                "\n    no run with a different choice at one point passes: the cause may not be the schedule"
            );
        }
        put!(out, "");
    }
}

/// A better choice than a step.
pub fn other_choice(choice: &ChoiceReport, step: &StepReport, steps: &[StepReport], names: &Names) -> String {
    let who = names.of(choice.thread);
    let place = choice.location.as_ref().map(|place| format!(" at {}", short(place)));
    let operation = format!("{}{}", plain(&choice.operation), place.unwrap_or_default());
    let before = steps.iter().find(|other| other.index + 1 == step.index);
    let (what, condition) = if choice.same_thread {
        let other = match choice.operation.as_str() {
            "notify-one" => "another thread is woken",
            "choose" => "another value is chosen",
            _ => "the step ends in another way",
        };
        ("decisive", format!("{other} here"))
    } else if before.is_some_and(|before| before.thread == choice.thread) {
        ("decisive switch", format!("{who} goes on here ({operation})"))
    } else {
        ("decisive", format!("{who} runs here ({operation})"))
    };
    format!("{what}: if {condition}, the test can pass")
}

/// An operation in words that need no explanation.
fn plain(operation: &str) -> &str {
    match operation {
        "read-modify-write" => "update",
        "condvar-wait" => "wait",
        "condvar-wake" => "wake-up",
        operation => operation,
    }
}

/// The panic that caused the test's own: the test has joined a thread that had panicked.
fn cause(failure: &FailureReport) -> Option<&PanicReport> {
    let (last, earlier) = failure.panics.split_last()?;
    let passed_on = failure.kind == "panic" && last.message.contains("Any { .. }");
    earlier.first().filter(|_| passed_on)
}

/// A value in the failure's message that consists of the bytes with which freed memory is filled.
fn freed_bytes(failure: &FailureReport) -> Option<&str> {
    const VALUES: [&str; 5] = [
        "3722304989",
        "15987178197214944733",
        "-572662307",
        "-2459565876494606883",
        "0xdddddddddddddddd",
    ];
    let numbers = failure.message.split(|c: char| !c.is_alphanumeric() && c != '-');
    numbers.into_iter().find(|number| VALUES.contains(number))
}

/// Maximum number of lines shown of an output: its last ones.
const LINES: usize = 100;
/// Maximum number of bytes shown of an output.
const BYTES: usize = 16 << 10;

/// Says whether a report shows all of an output.
pub fn printed_whole(text: &str) -> bool {
    end(text).len() == text.len()
}

/// The end of an output, which is shown: whole lines, unless the last one alone is too long.
fn end(text: &str) -> &str {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let from_line = body.rmatch_indices('\n').nth(LINES - 1).map_or(0, |(at, _)| at + 1);
    let least = text.len().saturating_sub(BYTES);
    if from_line >= least {
        return &text[from_line..];
    }
    let cut = text.ceil_char_boundary(least);
    match text[cut..].trim_end_matches('\n').find('\n') {
        Some(end) => &text[cut + end + 1..],
        None => &text[cut..],
    }
}

/// What the failing run printed, according to the model; then what the process wrote past it.
fn printed(out: &mut String, failure: &FailureReport, account: &Account) {
    let output = account.output_text(Some(failure));
    for (title, text, file, whole) in [
        ("output", &*output, &account.output_file, printed_whole(&output)),
        (
            "the process's own standard error",
            &account.stderr,
            &account.stderr_file,
            account.stderr_whole.is_none(),
        ),
    ] {
        if text.is_empty() {
            continue;
        }
        let shown = end(text);
        match (whole, file) {
            (true, _) => put!(out, "  {title}:\n"),
            (false, None) => put!(out, "  {title}, the end of it:\n"),
            (false, Some(file)) => put!(out, "  {title}, the end of it (all of it is in {}):\n", file.display()),
        }
        for line in shown.lines() {
            put!(out, "    {} {line}", "│".dimmed());
        }
        put!(out, "");
    }
}

/// Warns that a replay did not show the failure again, which the reader must know before trusting anything else.
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

/// Says whether a replay ended like the run that it repeats.
pub fn same_failure(first: &Outcome, replay: &Outcome) -> bool {
    let kinds = (
        first.failure.as_ref().map(|f| &f.kind),
        replay.failure.as_ref().map(|f| &f.kind),
    );
    replay.verdict == Verdict::Failed && replay.account.diverged.is_none() && kinds.0 == kinds.1
}

/// The names of all threads in the report.
pub fn names(account: &Account, failure: &FailureReport) -> Names {
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
