//! The reporter for people.

use crate::build::Test;
use crate::child::Outcome;
use crate::report::failure::{Failure, plural};
use crate::report::{Event, Reporter, SourceTree, Summary, TestResult};
use dpor_protocol::{Counts, Verdict};
use indicatif::{ProgressBar, ProgressStyle};
use owo_colors::OwoColorize;
use std::io::Write;
use std::time::Duration;

/// Prints lines and failures to an output, and shows progress on the terminal.
pub struct Human<W> {
    out: W,
    quiet: bool,
    sources: SourceTree,
    bar: ProgressBar,
    name_width: usize,
}

/// The widest column of names.
const MAX_NAME: usize = 60;

impl<W: Write> Human<W> {
    /// The bar is hidden if standard error is no terminal, or if `quiet`.
    pub fn new(out: W, quiet: bool) -> Self {
        let bar = if quiet {
            ProgressBar::hidden()
        } else {
            ProgressBar::no_length()
        };
        Human {
            out,
            quiet,
            sources: SourceTree::new(Vec::new()),
            bar,
            name_width: 0,
        }
    }

    /// Says where the sources are.
    pub fn set_sources(&mut self, sources: SourceTree) {
        self.sources = sources;
    }

    /// Takes the output back.
    #[cfg(test)]
    pub fn into_output(self) -> W {
        self.out
    }

    fn print(&mut self, text: &str) {
        let out = &mut self.out;
        // Whoever closed the output does not want the rest of it.
        self.bar.suspend(|| {
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        });
    }

    fn run_started(&mut self, tests: &[Test]) {
        let longest = tests
            .iter()
            .map(|test| test.display_name().chars().count())
            .max()
            .unwrap_or(0);
        self.name_width = longest.min(MAX_NAME);
        if !self.quiet {
            self.print(&format!("exploring {}\n", plural(tests.len(), "test")));
        }
        let style = ProgressStyle::with_template("{spinner} [{pos}/{len}] {wide_msg}");
        self.bar.set_style(style.expect("the template is well formed"));
        self.bar.set_length(tests.len() as u64);
        self.bar.enable_steady_tick(Duration::from_millis(120));
    }

    fn test_finished(&mut self, test: &Test, result: &TestResult) {
        self.bar.inc(1);
        let outcome = &result.outcome;
        if !self.quiet || outcome.verdict != Verdict::Complete {
            let line = self.line(test, outcome);
            self.print(&line);
        }
        if outcome.verdict == Verdict::Failed {
            let name = test.display_name();
            let failure = Failure {
                test: &name,
                outcome,
                replay: result.replay.as_ref(),
                again: result.again.as_deref(),
                sources: &self.sources,
            };
            let text = format!("\n{}\n", failure.render());
            self.print(&text);
        }
    }

    /// The line of a test.
    fn line(&self, test: &Test, outcome: &Outcome) -> String {
        let counts = &outcome.counts;
        let mut line = format!(
            "{} {:<width$}  {:>7} executions  {:>5} blocked  {:>8} steps  {:>8}",
            verdict(outcome.verdict),
            test.display_name(),
            counts.complete,
            counts.blocked,
            counts.steps,
            time(outcome.time),
            width = self.name_width,
        );
        if let Some(reason) = &outcome.reason {
            line.push_str(&format!("\n             {}", reason.dimmed()));
        }
        line.push('\n');
        line
    }

    fn run_finished(&mut self, summary: &Summary) {
        self.bar.finish_and_clear();
        let total = summary.complete + summary.failed + summary.incomplete;
        let mut parts = vec![
            plural(total, "test"),
            format!("{} complete", summary.complete),
            format!("{} failed", summary.failed),
            format!("{} incomplete", summary.incomplete),
        ];
        if summary.not_run > 0 {
            parts.push(format!("{} not run", summary.not_run));
        }
        if summary.left_out > 0 {
            parts.push(format!("{} left out", summary.left_out));
        }
        let text = format!("summary: {} in {}\n", parts.join(", "), time(summary.time));
        let text = match (summary.failed, summary.incomplete) {
            (0, 0) => text.green().to_string(),
            (0, _) => text.yellow().to_string(),
            _ => text.red().to_string(),
        };
        self.print(&text);
    }

    fn replayed(&mut self, test: &Test, seed: &str, outcome: &Outcome) {
        self.bar.finish_and_clear();
        let name = test.display_name();
        let text = if let Some((step, expected, met)) = &outcome.account.diverged {
            format!(
                "{} {name}\n  the code has changed, or is not deterministic: at step {} the seed expects {expected}, and the \
                 test is at {met}\n",
                "cannot replay:".red().bold(),
                step + 1
            )
        } else if outcome.verdict == Verdict::Failed {
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

impl<W: Write> Reporter for Human<W> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::FacadesBuilding => {
                if !self.quiet {
                    let what = "the facades of the standard library (once for each toolchain)";
                    anstream::eprintln!("{} {what}", "    Building".green().bold());
                }
            }
            Event::RunStarted { tests } => self.run_started(tests),
            Event::TestStarted { test } => self.bar.set_message(test.display_name()),
            Event::TestProgress { test, counts } => self.bar.set_message(progress(test, counts)),
            Event::Replaying { test } => self.bar.set_message(format!("{}: replaying", test.display_name())),
            Event::TestFinished { test, result } => self.test_finished(test, result),
            Event::RunFinished { summary } => self.run_finished(summary),
            Event::Replayed { test, seed, outcome } => self.replayed(test, seed, outcome),
        }
    }
}

fn progress(test: &Test, counts: &Counts) -> String {
    let seconds = counts.millis.max(1) as f64 / 1000.0;
    format!(
        "{}: {} executions, {:.0} a second, {} steps",
        test.display_name(),
        counts.executions(),
        counts.executions() as f64 / seconds,
        counts.steps
    )
}

/// The verdict, coloured, right-aligned.
fn verdict(verdict: Verdict) -> String {
    let text = format!("{verdict:>12}");
    match verdict {
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
