//! The page of the book that shows what came of the crates.

use crate::wild::{Class, Crate, Run, Table, Tested};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many tests came to what.
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
    if let Some(error) = &run.error {
        return format!("{}: {error}", run.id);
    }
    let Counts {
        complete,
        failed,
        incomplete,
        alone,
        not_applicable,
    } = Counts::of(run);
    format!(
        "{}: {complete} complete, {failed} failed, {incomplete} incomplete, {alone} of one thread, {not_applicable} not \
         applicable, in {:.0} s",
        run.id, run.seconds
    )
}

const HEAD: &str = "\
# Crates as they are

Crates from crates.io, with their own unit and integration tests, unmodified, under `cargo dpor test`:

```console
$ cargo run --release -p dpor-testsuite --bin wild-crates               # all of them, and this page
$ cargo run --release -p dpor-testsuite --bin wild-crates -- flume bus  # some of them
```

fetches them, builds them and their dev-dependencies against the facades, and explores each test with `--max-time 10s --stall 3`. Which crates, versions, targets and tests is
told by `testsuite/wild/crates.toml`, and so is what is changed from outside: where a test loops thousands of times, or over many threads, its constants are made
small in the copy that is compiled (those that were changed are listed below). What the tool printed is kept in `tmp/wild/log` of the target folder.

*One thread*: tests that are complete and in which no second thread was ever made; there is nothing to explore in them. *Not applicable*: tests that did not run, for the reason
told below. A test that is *incomplete* has not failed in any of the executions that were run.

";

/// The page: a table, and a section for each crate of which there is more to say.
///
/// # Panics
/// Never: a `String` takes anything.
pub fn page(table: &Table, runs: &[(&Crate, Run)]) -> String {
    let mut out = String::from(HEAD);
    out.push_str("| crate | version | complete | failed | incomplete | one thread | not applicable |\n|---|---|---:|---:|---:|---:|---:|\n");
    let mut total = Counts::default();
    for (krate, run) in runs {
        let counts = Counts::of(run);
        row(&mut out, &krate.name, &krate.version, &counts);
        total.complete += counts.complete;
        total.failed += counts.failed;
        total.incomplete += counts.incomplete;
        total.alone += counts.alone;
        total.not_applicable += counts.not_applicable;
    }
    row(&mut out, "**all**", "", &total);
    out.push_str(
        "\nChanges of constants that are made in many crates:\n\n| regular expression | replaced with |\n|---|---|\n",
    );
    for change in &table.small {
        let pattern = change.pattern.replace('|', "\\|");
        put(&mut out, format_args!("| `{pattern}` | `{}` |", change.with));
    }
    for (krate, run) in runs {
        section(&mut out, krate, run);
    }
    out
}

fn row(out: &mut String, name: &str, version: &str, counts: &Counts) {
    let Counts {
        complete,
        failed,
        incomplete,
        alone,
        not_applicable,
    } = counts;
    put(
        out,
        format_args!("| {name} | {version} | {complete} | {failed} | {incomplete} | {alone} | {not_applicable} |"),
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
            Class::Failed { what, seed } => {
                put(&mut text, format_args!("* **Failed**: `{}`: {what}.", test.name));
                if let Some(why) = why(&krate.failures, &test.name) {
                    put(&mut text, format_args!("  {why}"));
                }
                if let Some(seed) = seed.as_ref().filter(|seed| seed.len() <= LONG) {
                    put(&mut text, format_args!("  Seed: `{seed}`"));
                }
            }
            Class::Incomplete(reason) => {
                let reason = match why(&krate.open, &test.name) {
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

/// The longest seed that is shown.
const LONG: usize = 400;

fn why<'a>(table: &'a BTreeMap<String, String>, name: &str) -> Option<&'a String> {
    table.get(name)
}

fn escaped(text: &str) -> String {
    text.replace('\n', "⏎")
}
