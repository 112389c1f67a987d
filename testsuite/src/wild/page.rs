//! The page of the book with the results of the crates.

use crate::wild::{Circumstances, Class, Crate, Run, Table, Tested};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Number of tests with each result.
#[derive(Default)]
struct Counts {
    complete: usize,
    failed: usize,
    incomplete: usize,
    alone: usize,
    not_applicable: usize,
}

impl Counts {
    fn of(run: &Run) -> Counts {
        let mut counts = Counts::default();
        for test in &run.tests {
            *match test.class {
                Class::NotApplicable(_) => &mut counts.not_applicable,
                Class::Failed { .. } => &mut counts.failed,
                Class::Incomplete(_) => &mut counts.incomplete,
                Class::Complete if test.is_concurrent() => &mut counts.complete,
                Class::Complete => &mut counts.alone,
            } += 1;
        }
        counts
    }
}

/// A line about a crate.
pub fn summary(run: &Run) -> String {
    let Counts {
        complete,
        failed,
        incomplete,
        alone,
        not_applicable,
    } = Counts::of(run);
    let error = run.error.iter().map(|error| format!("; {error}")).collect::<String>();
    format!(
        "{}: {complete} complete, {failed} failed, {incomplete} incomplete, {alone} of one thread, {not_applicable} \
         not applicable, in {:.0} s{error}",
        run.id, run.seconds
    )
}

const HEAD: &str = "\
# Crates as they are

Crates from crates.io, with their own unit and integration tests, unmodified, under `cargo dpor test`:

```console
$ cargo run --release -p dpor-testsuite --bin wild-crates               # all of them, and this page
$ cargo run --release -p dpor-testsuite --bin wild-crates -- --resume   # those that are left after an interruption
$ cargo run --release -p dpor-testsuite --bin wild-crates -- flume bus  # some of them
```

fetches them, builds them and their dev-dependencies against the facades, and explores each test within limits.
`testsuite/wild/crates.toml` names the crates, versions, targets and tests, and the changes from outside: where a test
loops thousands of times, or over many threads, its constants are made small in the copy that is compiled. Every such
change is listed below. What the tool printed is kept in `tmp/wild/log` of the target folder. A few small crates are run
with the other tests (`tests/wild.rs`).

* **complete**: tests with a second thread that are explored completely.
* **incomplete**: something is left to explore; none of the executions that were run has failed. The
  [reasons](#why-tests-are-incomplete) are below.
* **failed**: a schedule was found in which the test fails. Each is shown below, with its seed unless that is very long.
  To replay it, run the command in the crate's copy, `tmp/wild/src/CRATE-VERSION` of the target folder.
* **one thread**: complete, and no second thread was ever made; there is nothing to explore.
* **not applicable**: tests that were not run, for the reason given below. Most order their threads by sleeping: see
  [limits](limits.md#time).

";

/// The page: a table, and a section for each crate about which there is more to say.
pub fn page(table: &Table, runs: &[(&Crate, Run)]) -> String {
    let mut out = String::from(HEAD);
    circumstances(&mut out, runs);
    out.push_str(
        "| crate | complete | incomplete | failed | one thread | not applicable |\n|---|---:|---:|---:|---:|---:|\n",
    );
    let mut total = Counts::default();
    for (krate, run) in runs {
        let counts = Counts::of(run);
        row(&mut out, &format!("{} {}", krate.name, krate.version), &counts);
        total.complete += counts.complete;
        total.failed += counts.failed;
        total.incomplete += counts.incomplete;
        total.alone += counts.alone;
        total.not_applicable += counts.not_applicable;
    }
    row(&mut out, "**all**", &total);
    causes(&mut out, runs);
    out.push_str("\n## Changes that are made in many crates\n\n| regular expression | replaced with |\n|---|---|\n");
    for change in &table.small {
        let pattern = change.pattern.replace('|', "\\|");
        put(&mut out, format_args!("| `{pattern}` | `{}` |", change.with));
    }
    for (krate, run) in runs {
        section(&mut out, krate, run);
    }
    out
}

/// Under which circumstances the runs were made.
fn circumstances(out: &mut String, runs: &[(&Crate, Run)]) {
    let all = |of: &dyn Fn(&Circumstances) -> String| -> String {
        let values: BTreeSet<String> = runs.iter().map(|(_, run)| of(&run.circumstances)).collect();
        values.into_iter().collect::<Vec<_>>().join(", ")
    };
    let seconds: f64 = runs.iter().map(|(_, run)| run.seconds).sum();
    put(
        out,
        format_args!(
            "Run on {}, with {}, on {}, with `{}`; that took {:.0} minutes, builds included.\n",
            all(&|c| c.date.clone()),
            all(&|c| c.toolchain.clone()),
            all(&|c| c.machine.clone()),
            all(&|c| format!(
                "--max-time {} --stall {} --test-jobs {} --memory {}",
                c.max_time, c.stall, c.test_jobs, c.memory
            )),
            seconds / 60.0
        ),
    );
}

/// Number of incomplete tests for each cause.
fn causes(out: &mut String, runs: &[(&Crate, Run)]) {
    let mut causes: BTreeMap<&str, (usize, BTreeMap<&str, usize>)> = BTreeMap::new();
    for (krate, run) in runs {
        for test in &run.tests {
            if let Class::Incomplete(cause) = &test.class {
                let (count, crates) = causes.entry(cause).or_default();
                *count += 1;
                *crates.entry(&krate.name).or_default() += 1;
            }
        }
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    out.push_str("\n## Why tests are incomplete\n\n| cause | tests | where |\n|---|---:|---|\n");
    for (cause, (count, crates)) in causes {
        let crates: Vec<_> = crates.iter().map(|(name, count)| format!("{name} {count}")).collect();
        put(out, format_args!("| {cause} | {count} | {} |", crates.join(", ")));
    }
}

fn row(out: &mut String, name: &str, counts: &Counts) {
    let Counts {
        complete,
        failed,
        incomplete,
        alone,
        not_applicable,
    } = counts;
    put(
        out,
        format_args!("| {name} | {complete} | {incomplete} | {failed} | {alone} | {not_applicable} |"),
    );
}

fn put(out: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(out, "{line}").expect("a String takes anything");
}

fn section(out: &mut String, krate: &Crate, run: &Run) {
    let mut text = String::new();
    if let Some(error) = &run.error {
        put(&mut text, format_args!("* **Error**: {error}"));
    }
    if let Some(note) = &krate.note {
        put(&mut text, format_args!("* {note}"));
    }
    if !krate.features.is_empty() {
        put(
            &mut text,
            format_args!("* Features: `{}`.", krate.features.join("`, `")),
        );
    }
    if !krate.rustflags.is_empty() {
        put(
            &mut text,
            format_args!("* Compiler flags: `{}`.", krate.rustflags.join(" ")),
        );
    }
    for (name, value) in &krate.environment {
        put(&mut text, format_args!("* Environment: `{name}={value}`."));
    }
    if !krate.small.is_empty() {
        put(
            &mut text,
            format_args!("* Constants are made small in `{}`.", krate.small.join("`, `")),
        );
    }
    for change in &krate.changes {
        put(
            &mut text,
            format_args!(
                "* Changed in `{}`: `{}` to `{}`.",
                change.path,
                escaped(&change.pattern),
                escaped(&change.with)
            ),
        );
    }
    let mut incomplete: BTreeMap<String, Vec<&Tested>> = BTreeMap::new();
    let mut not_applicable: BTreeMap<&str, Vec<&Tested>> = BTreeMap::new();
    for test in &run.tests {
        match &test.class {
            Class::Complete => {}
            Class::Failed { what, seed, again } => {
                // Types have parameters, which are no tags of HTML.
                let what = what.replace('<', "\\<");
                put(&mut text, format_args!("* **Failed**: `{}`: {what}.", test.name));
                if let Some(why) = krate.failures.get(&test.name) {
                    put(&mut text, format_args!("  {why}"));
                }
                if seed.as_ref().is_some_and(|seed| seed.len() <= LONG) {
                    put(&mut text, format_args!("  `cargo {}`", again.join(" ")));
                }
            }
            Class::Incomplete(reason) => {
                let reason = match krate.open.get(&test.name) {
                    Some(why) => format!("{reason} ({why})"),
                    None => reason.clone(),
                };
                incomplete.entry(reason).or_default().push(test);
            }
            Class::NotApplicable(reason) => not_applicable.entry(reason).or_default().push(test),
        }
    }
    for (reason, tests) in incomplete {
        let tests: Vec<_> = tests
            .iter()
            .map(|test| format!("`{}` ({} executions)", test.name, test.executions))
            .collect();
        put(&mut text, format_args!("* Incomplete, {reason}: {}.", tests.join(", ")));
    }
    for (reason, tests) in not_applicable {
        let tests: Vec<_> = tests.iter().map(|test| format!("`{}`", test.name)).collect();
        put(
            &mut text,
            format_args!("* Not applicable, {reason}: {}.", tests.join(", ")),
        );
    }
    if !text.is_empty() {
        put(out, format_args!("\n## {}\n\n{text}", krate.name));
        out.truncate(out.trim_end().len() + 1);
    }
}

/// Maximum length of a seed that is shown.
const LONG: usize = 1000;

fn escaped(text: &str) -> String {
    text.replace('\n', "⏎")
}
