//! A whole failure as text: what happened, who waits for whom, the schedule, what was printed, how to see it again.

use crate::callers;
use crate::outcome::{Mend, Outcome};
use crate::report::story::names::plural;
use crate::report::story::source::{SourceTree, short};
use crate::report::story::{Decisive, MemoryEvent, Story};
use crate::report::text::list::{STEPS_SHOWN, listed};
use crate::report::text::table::Table;
use dpor_protocol::{FailureKind, FailureReport, PanicReport, PartingReport, SourceLocation, StepReport, Verdict};
use owo_colors::OwoColorize;
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
        let story = Story::of(self.outcome, self.replay);
        let title = match story.shown.verdict {
            Verdict::Incomplete => "incomplete:".yellow().bold().to_string(),
            _ => "failure:".red().bold().to_string(),
        };
        put!(out, "{title} {}\n", self.test.bold());
        if let Some(failure) = story.failure() {
            self.what(&mut out, failure, &story);
            self.memory(&mut out, &story);
            self.mends(&mut out, &story);
            self.waits(&mut out, &story);
            self.schedule(&mut out, &story);
            printed(&mut out, &story);
        } else if let Some(reason) = &story.shown.reason {
            for line in reason.lines() {
                put!(out, "  {line}");
            }
            put!(out, "");
            self.schedule(&mut out, &story);
            printed(&mut out, &story);
        }
        if let Some(end) = &story.other_end {
            not_the_same(&mut out, end);
        }
        self.seed(&mut out, &story);
        out
    }

    /// The verdict in a sentence, and the place.
    fn what(&self, out: &mut String, failure: &FailureReport, story: &Story<'_>) {
        let kind = format!("{}:", failure.kind);
        // Who waits is told in full below.
        if let Some(sentence) = story.sentence() {
            put!(out, "  {} {sentence}\n", kind.red().bold());
            return;
        }
        if let Some(cause) = story.cause() {
            let message = cause.message.lines().next().unwrap_or_default();
            let who = story.words.thread(cause.thread);
            put!(out, "  {} {who} panicked: {message}", kind.red().bold());
            self.panics(out, &failure.panics, story);
            put!(out, "");
            return;
        }
        let message = story.words.with_blocks(&failure.message);
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
        let who = |thread| story.words.thread(thread);
        match (failure.thread, &failure.location) {
            _ if failure.panics.len() > 1 => self.panics(out, &failure.panics, story),
            (Some(thread), Some(location)) => put!(out, "  in {} at {}", who(thread), self.place(location)),
            (Some(thread), None) => put!(out, "  in {}", who(thread)),
            (None, Some(location)) => put!(out, "  at {}", self.place(location)),
            (None, None) => {}
        }
        for line in callers::lines(&failure.callers) {
            put!(out, "    {line}");
        }
        if let Some(value) = story.freed_bytes() {
            put!(
                out,
                "  {value} consists of bytes 0xdd, which fill freed memory: something was used after it was freed"
            );
        }
        put!(out, "");
    }

    /// The panics, in the order in which they happened.
    fn panics(&self, out: &mut String, panics: &[PanicReport], story: &Story<'_>) {
        for panic in panics {
            let (step, who) = (panic.step + 1, story.words.thread(panic.thread));
            put!(out, "    step {step}: {who} panics{}", self.at(panic.location.as_ref()));
            for line in panic.message.lines() {
                put!(out, "      {line}");
            }
        }
    }

    /// The history of memory that was used wrongly.
    fn memory(&self, out: &mut String, story: &Story<'_>) {
        let events = story.memory();
        let width = events.iter().map(|told| told.verb.len()).max().unwrap_or(0).max(11);
        for MemoryEvent { verb, remark, event } in &events {
            let (step, who) = (event.step + 1, story.words.thread(event.thread));
            let place = self.at(event.location.as_ref());
            put!(out, "    {verb:<width$} in step {step} by {who}{place}");
            if !remark.is_empty() {
                put!(out, "    {:<width$} {remark}", "");
            }
        }
        if !events.is_empty() {
            put!(out, "");
        }
    }

    /// The orderings that the test lacks.
    fn mends(&self, out: &mut String, story: &Story<'_>) {
        let Some(mends) = story.mends else { return };
        put!(out, "  {}:\n", mends.title().to_lowercase());
        let words: Vec<_> = mends.all.iter().map(Mend::words).collect();
        let width = words.iter().map(String::len).max().unwrap_or(0);
        for (mend, words) in mends.all.iter().zip(words) {
            put!(out, "    {words:<width$}{}", self.at(Some(&mend.place.location)));
        }
        put!(out, "");
    }

    /// For one thread after the other what it holds, and what it waits for.
    fn waits(&self, out: &mut String, story: &Story<'_>) {
        let waiting = story.waiting();
        if waiting.is_empty() {
            return;
        }
        put!(out, "  who waits:\n");
        let lines = || waiting.iter().flat_map(|thread| &thread.lines);
        let text = lines().map(|line| line.text.chars().count()).max().unwrap_or(0);
        let place = lines().filter_map(|line| Some(short(line.place.as_ref()?).chars().count()));
        let place = place.max().unwrap_or(0);
        let names = waiting.iter().map(|thread| story.words.thread(thread.thread));
        let name = names.map(|name| name.chars().count()).max().unwrap_or(0);
        for thread in &waiting {
            let mut who = story.words.thread(thread.thread);
            for line in &thread.lines {
                let at = line.place.as_ref().map(short).unwrap_or_default();
                let source = line.place.as_ref().and_then(|place| self.sources.line(place));
                let row = format!("{:<text$}  {at:<place$}", line.text);
                let row = match source {
                    Some(source) => format!("{row}  {}", source.dimmed()),
                    None => row.trim_end().to_owned(),
                };
                put!(out, "    {:<name$}  {row}", who.bold());
                who.clear();
            }
        }
        put!(out, "");
    }

    /// ` at file:line`, and the text of that line.
    fn at(&self, location: Option<&SourceLocation>) -> String {
        location.map_or_else(String::new, |place| format!(" at {}", self.place(place)))
    }

    /// `file:line`, and the text of that line.
    fn place(&self, location: &SourceLocation) -> String {
        let mut text = short(location);
        if let Some(line) = self.sources.line(location) {
            write!(text, "  {}", line.dimmed()).expect("a String takes anything");
        }
        text
    }

    fn schedule(&self, out: &mut String, story: &Story<'_>) {
        let account = story.account();
        if account.steps.is_empty() {
            return;
        }
        // Of one thread, there is nothing to be simplified.
        let several = account.threads.len() > 1;
        let simplified = story.simplified.filter(|_| several);
        let preemptions = simplified.map(|simplified| plural(simplified.preemptions as usize, "preemption"));
        let which = match simplified {
            Some(simplified) if simplified.proven => ", the simplest one that fails like this",
            _ => "",
        };
        put!(
            out,
            "  schedule ({}, {}{}){which}:",
            plural(account.steps.len(), "step"),
            plural(story.switches(), "switch"),
            preemptions.map(|count| format!(", {count}")).unwrap_or_default()
        );
        let decisive = story.decisive().filter(|_| several);
        let is_decisive = |step: &StepReport| decisive.as_ref().is_some_and(|decisive| decisive.step == step.index);
        let before = |step: &StepReport| {
            let Decisive { instead, .. } = decisive.as_ref().filter(|_| is_decisive(step))?;
            Some(format!("▼ {instead}").yellow().bold().to_string())
        };
        let items = story.items(story.parting().filter(|_| several));
        let shown = &items[items.len().saturating_sub(STEPS_SHOWN)..];
        if shown.len() < items.len() {
            put!(out, "\n    … {} before", plural(items.len() - shown.len(), "step"));
        }
        match Table::fitting(shown, &story.words, self.width) {
            Some(table) => table.print(out, self.sources, &before, &is_decisive),
            None => listed(out, shown, &story.words, self.sources, &before),
        }
        if let Some(PartingReport::Nowhere) = simplified.and_then(|simplified| simplified.parting.as_ref()) {
            put!(
                out,
                "\n    no run with a different choice at one point passes: the cause may not be the schedule"
            );
        }
        put!(out, "");
    }

    /// How to see the failure again.
    fn seed(&self, out: &mut String, story: &Story<'_>) {
        let kind = story.failure().and_then(FailureReport::known_kind);
        match (&self.outcome.seed, self.again) {
            (Some(seed), Some(again)) => {
                put!(out, "  seed: {}", seed.cyan());
                put!(out, "  again: {}", again.cyan());
            }
            _ if kind.is_some_and(|kind: FailureKind| !kind.has_schedule()) => {
                put!(out, "  there is no seed: the failure is not one of a single schedule");
            }
            _ => put!(
                out,
                "  there is no seed: the schedule is unknown, or too long to be kept"
            ),
        }
    }
}

/// What the failing run printed.
fn printed(out: &mut String, story: &Story<'_>) {
    for output in story.printed() {
        let title = output.title;
        match (output.is_whole, output.file) {
            (true, _) => put!(out, "  {title}:\n"),
            (false, None) => put!(out, "  {title}, the end of it:\n"),
            (false, Some(file)) => put!(out, "  {title}, the end of it (all of it is in {}):\n", file.display()),
        }
        for line in output.shown().lines() {
            put!(out, "    {} {line}", "│".dimmed());
        }
        put!(out, "");
    }
}

/// Warns that a replay did not show the failure again, which the reader must know before trusting anything else.
fn not_the_same(out: &mut String, end: &str) {
    put!(
        out,
        "  {} the same schedule, run once more, did not end in the same way: {end}",
        "warning:".yellow().bold()
    );
    put!(
        out,
        "  the test depends on something that the model does not control, such as time, files or addresses\n"
    );
}

#[cfg(test)]
mod tests;
