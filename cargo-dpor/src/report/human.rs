//! The reporter for people.

mod screen;

use crate::build::{Binary, Test};
use crate::cli::CargoArgs;
use crate::judgement::{Fault, vacuous, weak_orderings};
use crate::outcome::Outcome;
use crate::report::event::{Event, NO_THREADS, Reporter, Resumed};
use crate::report::result::{Summary, TestResult, digits};
use crate::report::story::names::plural;
use crate::report::story::source::{SourceTree, short};
use crate::report::story::weak::sequential;
use crate::report::text::failure::Failure;
use crate::report::text::fit::fit;
use crate::report::text::pair::Pair;
use crate::report::text::survey::Survey;
use crate::report::text::{WIDTH, failure_text, settings};
use dpor_protocol::{Counts, LabelReport, Verdict};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use owo_colors::OwoColorize;
use screen::{Screen, StandardError};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Prints lines and failures to an output, and shows progress on the terminal.
pub struct Human<W> {
    out: W,
    amount: Amount,
    sources: SourceTree,
    bar: ProgressBar,
    name_width: usize,
    /// The present width in columns; `None` if the output is no terminal.
    width: Box<dyn Fn() -> Option<usize>>,
    /// The tests repeated at the end: those that have failed, and those that are incomplete where that counts.
    failed: Vec<String>,
    incomplete: Vec<String>,
}

/// The amount of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Failures, what is incomplete, and the summary.
    Quiet,
    /// One line for each test.
    Usual,
    /// One line for each test, with more counts.
    Verbose,
}

impl Amount {
    /// The amount that the flags request.
    pub fn of(args: &CargoArgs) -> Self {
        match (args.quiet, args.verbose) {
            (true, _) => Amount::Quiet,
            (false, 0) => Amount::Usual,
            (false, _) => Amount::Verbose,
        }
    }
}

/// Maximum number of places of weak orderings that are named without `--verbose`.
const WEAK_SHOWN: usize = 3;
/// The margin before the name of a test, under its verdict.
const MARGIN: &str = "             ";
/// Maximum width of the column of names.
const MAX_NAME: usize = 60;

impl<W: Write> Human<W> {
    /// Creates the reporter. The bar is hidden if standard error is no terminal, or if little output is requested.
    pub fn new(out: W, amount: Amount) -> Self {
        let bar = if amount == Amount::Quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            let screen = Box::new(Screen::new(StandardError));
            ProgressBar::with_draw_target(None, ProgressDrawTarget::term_like(screen))
        };
        Human {
            out,
            amount,
            sources: SourceTree::new(Vec::new()),
            bar,
            name_width: 0,
            width: Box::new(|| None),
            failed: Vec::new(),
            incomplete: Vec::new(),
        }
    }

    /// Sets how to find out the width of the output, which can change; an output that is no terminal has no width of
    /// its own.
    pub fn set_width(&mut self, width: impl Fn() -> Option<usize> + 'static) {
        self.width = Box::new(width);
    }

    /// The width of a report in columns.
    fn columns(&self) -> usize {
        (self.width)().unwrap_or(WIDTH)
    }

    /// Returns the output.
    #[cfg(test)]
    pub fn into_output(self) -> W {
        self.out
    }

    fn print(&mut self, text: &str) {
        let fitting = (self.width)().map(|width| fit(text, width));
        let text = fitting.as_deref().unwrap_or(text);
        let out = &mut self.out;
        // Whoever closed the output does not want the rest of it.
        self.bar.suspend(|| {
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        });
    }

    fn run_started(&mut self, tests: &[Test], resumed: Option<Resumed>) {
        let longest = tests
            .iter()
            .map(|test| test.display_name().chars().count())
            .max()
            .unwrap_or(0);
        self.name_width = longest.min(MAX_NAME);
        if self.amount != Amount::Quiet {
            self.print(&format!(
                "exploring {}{}\n",
                plural(tests.len(), "test"),
                resumed.map(of_which).unwrap_or_default()
            ));
        }
        let style = ProgressStyle::with_template("{spinner} [{pos}/{len}] {elapsed_precise} {wide_msg}");
        self.bar.set_style(style.expect("the template is well formed"));
        self.bar.reset_elapsed();
        self.bar.set_length(tests.len() as u64);
        self.bar.enable_steady_tick(Duration::from_millis(120));
    }

    fn test_finished(&mut self, test: &Test, result: &TestResult) {
        self.bar.inc(1);
        let outcome = &result.outcome;
        let printed = printed(outcome);
        if self.amount != Amount::Quiet || outcome.verdict != Verdict::Complete || !printed.is_empty() {
            let mut line = self.line(test, outcome);
            if let Some(again) = result.again.as_ref().filter(|_| outcome.verdict == Verdict::Incomplete) {
                line.push_str(&format!("{MARGIN}again: {}\n", again.cyan()));
            }
            line.push_str(&printed);
            self.print(&line);
        }
        if outcome.verdict == Verdict::Failed {
            let text = format!("\n{}\n", failure_text(test, result, &self.sources, self.columns()));
            self.print(&text);
            let failure = result.shown().failure.as_ref();
            let what = failure.map_or_else(String::new, |failure| {
                let place = failure.location.as_ref();
                let place = place.map_or_else(String::new, |place| format!(" at {}", short(place)));
                format!("{}{place}", failure.kind)
            });
            self.failed.push(self.in_short(test, &what));
        } else if result.fault == Some(Fault::Incomplete) {
            let reason = outcome.reason.as_deref().and_then(|reason| reason.lines().next());
            self.incomplete.push(self.in_short(test, reason.unwrap_or_default()));
        }
    }

    /// A test, for the lists at the end.
    fn in_short(&self, test: &Test, what: &str) -> String {
        let name = test.display_name();
        match what {
            "" => format!("    {name}\n"),
            what => format!("    {name:<width$}  {}\n", what.dimmed(), width = self.name_width),
        }
    }

    /// The line of a test.
    fn line(&self, test: &Test, outcome: &Outcome) -> String {
        let counts = &outcome.counts;
        let given_up = [(counts.pruned, "pruned"), (counts.cut, "cut")].into_iter();
        let given_up: Vec<_> = given_up
            .filter(|&(count, _)| count > 0)
            .map(|(count, what)| format!("{count:>5} {what}"))
            .collect();
        let given_up = given_up.join("  ");
        let executions = if counts.complete == 1 {
            "execution"
        } else {
            "executions"
        };
        let name = test.display_name();
        let mut told = format!(
            "{name:<width$}  {:>7} {executions:<10}  {:>5} blocked  {given_up:<12}  {:>8} steps",
            counts.complete,
            counts.blocked,
            counts.steps,
            width = self.name_width,
        );
        if self.amount == Amount::Verbose {
            told.push_str(&format!(
                "  {:>3} threads  {:>8} states  {:>5} checks  {:>8} equal of {} compared",
                counts.threads, counts.states, counts.checks, counts.equal, counts.compared
            ));
        }
        told.push_str(&format!("  {:>8}", time(outcome.time)));
        if let Some(width) = (self.width)().filter(|&width| MARGIN.len() + told.chars().count() > width) {
            told = self.narrow(&name, outcome, width);
        }
        let mut line = format!("{} {told}", verdict(outcome));
        if let Some(reason) = vacuous(outcome) {
            line.push_str(&format!("  {} {reason}", "vacuous?".yellow()));
        }
        let weak = weak_orderings(outcome);
        let shown = if self.amount == Amount::Verbose {
            usize::MAX
        } else {
            WEAK_SHOWN
        };
        let weak = (!weak.is_empty() && outcome.verdict != Verdict::Failed).then(|| sequential(weak, shown));
        let share = (outcome.verdict == Verdict::Incomplete)
            .then(|| share(counts))
            .flatten();
        let refined = (self.amount == Amount::Verbose && counts.refinements > 0).then(|| refined(counts.refinements));
        let said = outcome.reason.iter().chain(&share).chain(&outcome.note);
        for text in said.chain(&refined).chain(&weak) {
            for text in text.lines() {
                line.push_str(&format!("\n{MARGIN}{}", text.dimmed()));
            }
        }
        let width = outcome.labels.iter().map(|label| label.label.chars().count()).max();
        for label in &outcome.labels {
            let text = self.label(label, width.unwrap_or(0), counts.complete);
            line.push_str(&format!("\n{MARGIN}{}", text.dimmed()));
        }
        line.push('\n');
        line
    }

    /// A test's name and counts where there is no room for columns: what is not zero, on a separate line if necessary.
    fn narrow(&self, name: &str, outcome: &Outcome, width: usize) -> String {
        let counts = &outcome.counts;
        let mut told = vec![plural(counts.complete as usize, "execution")];
        let mut more = vec![
            ("blocked", counts.blocked),
            ("pruned", counts.pruned),
            ("cut", counts.cut),
        ];
        if self.amount == Amount::Verbose {
            let Counts {
                threads,
                states,
                checks,
                equal,
                compared,
                ..
            } = *counts;
            more.extend([("threads", threads), ("states", states), ("checks", checks)]);
            more.extend([("compared", compared), ("equal", equal)]);
        }
        told.extend(
            more.iter()
                .filter(|(_, count)| *count > 0)
                .map(|(what, count)| format!("{count} {what}")),
        );
        told.extend([plural(counts.steps as usize, "step"), time(outcome.time)]);
        let told = told.join(", ");
        let columns = |name: usize| MARGIN.len() + name + 2 + told.len();
        let length = name.chars().count();
        if columns(length.max(self.name_width)) <= width {
            format!("{name:<width$}  {told}", width = self.name_width)
        } else if columns(length) <= width {
            format!("{name}  {told}")
        } else {
            format!("{name}\n{MARGIN}{told}")
        }
    }

    /// The number of executions that reached a label.
    fn label(&self, label: &LabelReport, width: usize, executions: u64) -> String {
        let name = &label.label;
        let mut text = match label.all {
            0 => format!("label {name:<width$}  never reached"),
            _ => format!(
                "label {name:<width$}  reached in {} of {executions} executions",
                label.complete
            ),
        };
        if label.all > label.complete {
            text.push_str(&format!(", and in {} that were given up", label.all - label.complete));
        }
        if let Some(required) = label.required.as_ref().filter(|_| self.amount == Amount::Verbose) {
            text.push_str(&format!(", required at {}", short(required)));
        }
        text
    }

    fn run_finished(&mut self, summary: &Summary) {
        self.bar.finish_and_clear();
        // Of a single test, it was said just now.
        if summary.total() > 1 {
            let (failed, incomplete) = (std::mem::take(&mut self.failed), std::mem::take(&mut self.incomplete));
            let titles = [
                "failed:".red().bold().to_string(),
                "incomplete:".yellow().bold().to_string(),
            ];
            for (title, tests) in titles.into_iter().zip([failed, incomplete]) {
                if !tests.is_empty() {
                    self.print(&format!("{title}\n{}", tests.concat()));
                }
            }
        }
        let mut parts = vec![
            plural(summary.total(), "test"),
            format!("{} complete", summary.complete),
            format!("{} failed", summary.failed),
            format!("{} incomplete", summary.incomplete),
        ];
        if summary.vacuous > 0 {
            parts.push(format!("{} vacuous?", summary.vacuous));
        }
        if summary.not_run > 0 {
            parts.push(format!("{} not run", summary.not_run));
        }
        if summary.left_out > 0 {
            parts.push(format!("{} left out", summary.left_out));
        }
        let shard = summary
            .shard
            .map_or_else(String::new, |shard| format!(" of shard {shard}"));
        let mut text = format!("summary{shard}: {} in {}\n", parts.join(", "), time(summary.time));
        if summary.shard.is_some() && summary.complete > 0 {
            text.push_str(&format!(
                "a test is complete if all shards say so, and all have the fingerprint {}\n",
                digits(summary.fingerprint)
            ));
        }
        let text = match (summary.fault, summary.incomplete) {
            (Some(Fault::Failed), _) => text.red().to_string(),
            (None, 0) => text.green().to_string(),
            _ => text.yellow().to_string(),
        };
        self.print(&text);
        if summary.threaded == 0 && summary.total() > 0 {
            self.print(&format!("{} {NO_THREADS}\n", "warning:".yellow().bold()));
        }
    }

    fn replayed(&mut self, test: &Test, seed: &str, outcome: &Outcome) {
        self.bar.finish_and_clear();
        let name = test.display_name();
        let text = if let Some((step, expected, met)) = &outcome.account.diverged {
            format!(
                "{} {name}\n  the code has changed, or is not deterministic: at step {} the seed expects {expected}, \
                 and the test is at {met}\n",
                "cannot replay:".red().bold(),
                step + 1
            )
        } else if outcome.verdict == Verdict::Failed || outcome.seed.is_some() {
            let own = Outcome {
                seed: Some(seed.into()),
                ..outcome.clone()
            };
            let again = format!("cargo dpor replay {seed}");
            Failure {
                test: &name,
                outcome: &own,
                replay: None,
                again: Some(&again),
                sources: &self.sources,
                width: self.columns(),
            }
            .render()
        } else if let Some(reason) = &outcome.reason {
            format!("{} {name}\n  {reason}\n", "cannot replay:".red().bold())
        } else {
            let why = "the schedule ran to its end without a failure: the code has changed, if it once failed";
            format!("{} {name}\n  {why}\n", "no failure:".green().bold())
        };
        self.print(&text);
    }
}

impl<W: Write> Human<W> {
    fn compared(&mut self, test: &Test, number: u64, outcome: &Outcome, again: Option<&str>) {
        self.bar.finish_and_clear();
        let name = test.display_name();
        let Counts { compared, equal, .. } = outcome.counts;
        let text = if let Some(pair) = &outcome.pair {
            Pair {
                test: &name,
                number,
                pair,
                sources: &self.sources,
            }
            .render()
        } else if outcome.verdict == Verdict::Failed {
            self.death(&name, outcome, again)
        } else {
            let unequal = compared - equal;
            let what = match (compared, unequal) {
                (0, _) => "no two orders of conflicting steps were compared".to_owned(),
                (_, 0) => format!("pairs of orders compared: {compared}, all of which lead to equal states"),
                _ => format!("pairs of orders compared: {compared}, of which {unequal} lead to different states"),
            };
            format!(
                "{} {name}\n  {what}{}\n",
                "no such pair:".yellow().bold(),
                more(outcome)
            )
        };
        self.print(&text);
    }

    fn surveyed(&mut self, test: &Test, outcome: &Outcome, again: Option<&str>) {
        self.bar.finish_and_clear();
        let name = test.display_name();
        let text = match &outcome.survey {
            Some(survey) => format!("{}{}\n", Survey { test: &name, survey }.render(), more(outcome)),
            None if outcome.verdict == Verdict::Failed => self.death(&name, outcome, again),
            None => format!("{} {name}{}\n", "no states:".yellow().bold(), more(outcome)),
        };
        self.print(&text);
    }

    /// The failure of a test whose process was to do something else than to look for failures.
    fn death(&self, test: &str, outcome: &Outcome, again: Option<&str>) -> String {
        Failure {
            test,
            outcome,
            replay: None,
            again,
            sources: &self.sources,
            width: self.columns(),
        }
        .render()
    }
}

impl<W: Write> Reporter for Human<W> {
    fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::FacadesBuilding => {
                if self.amount != Amount::Quiet {
                    let what = "the facades of the standard library (once for each toolchain)";
                    anstream::eprintln!("{} {what}", "    Building".green().bold());
                }
            }
            Event::Built { folders } => self.sources = SourceTree::new(folders.to_vec()),
            Event::Warning { message } => {
                anstream::eprintln!("{} {message}", "warning:".yellow().bold());
            }
            Event::Unseen { binary, unseen } => {
                let told = unseen.told(self.amount == Amount::Verbose);
                anstream::eprintln!("{} {}: {told}", "note:".cyan().bold(), binary.name);
            }
            Event::Configured { configuration } => self.print(&settings::render(configuration)),
            Event::Listed { tests } => {
                let names: String = tests.iter().map(|test| test.display_name() + "\n").collect();
                self.print(&names);
            }
            Event::Executables { binaries } => {
                let line = |binary: &Binary| format!("{}  {}\n", binary.name, binary.path.display());
                let lines: String = binaries.iter().map(line).collect();
                self.print(&lines);
            }
            Event::RunStarted { tests, resumed } => self.run_started(tests, resumed),
            Event::TestStarted { test } => self.bar.set_message(test.display_name()),
            Event::TestProgress { test, counts } => self.bar.set_message(progress(test, counts)),
            Event::Replaying { test } => self.bar.set_message(format!("{}: replaying", test.display_name())),
            Event::TestFinished { test, result } => self.test_finished(test, result),
            Event::RunFinished { summary, .. } => self.run_finished(summary),
            Event::Stopped { error } => {
                self.bar.finish_and_clear();
                anstream::eprintln!("{} {error}", "error:".red().bold());
            }
            Event::Interrupted { signal, resumable } => {
                self.bar.finish_and_clear();
                let next = match resumable {
                    true => ": the same command with `--resume` goes on from here",
                    false => "",
                };
                self.print(&format!("{} by {signal}{next}\n", "interrupted".yellow().bold()));
            }
            Event::Compared {
                test,
                number,
                outcome,
                again,
            } => self.compared(test, number, outcome, again),
            Event::Surveyed { test, outcome, again } => self.surveyed(test, outcome, again),
            Event::Replayed {
                test, seed, outcome, ..
            } => self.replayed(test, seed, outcome),
        }
    }
}

/// Why it is incomplete, and what else there is to say, in lines of their own.
fn more(outcome: &Outcome) -> String {
    let texts = outcome.reason.iter().chain(&outcome.note);
    texts.map(|text| format!("\n  {text}")).collect()
}

/// The numbers of tests that are not explored from the start.
fn of_which(resumed: Resumed) -> String {
    let Resumed { finished, interrupted } = resumed;
    match (finished, interrupted) {
        (0, 0) => ", all from the start: nothing is left of an interrupted run".to_owned(),
        (finished, 0) => format!(", of which {finished} had finished"),
        (0, interrupted) => format!(", of which {interrupted} had been interrupted"),
        (finished, interrupted) => {
            format!(", of which {finished} had finished, and {interrupted} had been interrupted")
        }
    }
}

/// What the first execution of a test has printed, if it is to be shown. The report has what the failing one has
/// printed.
fn printed(outcome: &Outcome) -> String {
    let text: String = outcome.account.printed.iter().map(|(_, text)| text.as_str()).collect();
    if text.is_empty() || outcome.verdict == Verdict::Failed {
        return String::new();
    }
    let mut lines = format!("{MARGIN}printed in the first execution:\n");
    for line in text.lines() {
        lines.push_str(&format!("{MARGIN}  {line}\n"));
    }
    lines
}

fn progress(test: &Test, counts: &Counts) -> String {
    let seconds = counts.millis.max(1) as f64 / 1000.0;
    format!(
        "{}: {} executions, {:.0} a second, {}",
        test.display_name(),
        counts.executions(),
        counts.executions() as f64 / seconds,
        share(counts).unwrap_or_else(|| format!("{} steps", counts.steps))
    )
}

/// The note that exploration has started again.
fn refined(times: u64) -> String {
    let times = plural(times as usize, "time");
    format!(
        "exploration started again {times} with more scheduling points: at observed releases or drops, \
         or in a loop that waits"
    )
}

/// The approximate explored part, if there is something to say.
fn share(counts: &Counts) -> Option<String> {
    let percent = f64::from(counts.explored) / 10_000.0;
    match counts.explored {
        0 => None,
        1..100 => Some("less than 0.01 % explored".to_owned()),
        100..100_000 => Some(format!("about {percent:.2} % explored")),
        _ => Some(format!("about {percent:.0} % explored")),
    }
}

/// The verdict, coloured and right-aligned.
fn verdict(outcome: &Outcome) -> String {
    let text = match (outcome.verdict, outcome.shard) {
        // Of the part, and not of the test.
        (verdict @ Verdict::Complete, Some(shard)) => format!("{:>12}", format!("{verdict} {shard}")),
        (verdict, _) => format!("{verdict:>12}"),
    };
    match outcome.verdict {
        Verdict::Complete => text.green().bold().to_string(),
        Verdict::Failed => text.red().bold().to_string(),
        Verdict::Incomplete => text.yellow().bold().to_string(),
    }
}

fn time(duration: Duration) -> String {
    format!("{:.2}s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests;
