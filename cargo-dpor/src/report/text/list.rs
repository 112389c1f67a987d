//! Lists of steps, each under its thread.

use crate::report::story::fold::{Item, fold, row};
use crate::report::story::names::Names;
use crate::report::story::source::SourceTree;
use crate::report::story::words::Words;
use dpor_protocol::StepReport;
use owo_colors::OwoColorize;
use std::collections::HashSet;
use std::fmt::Write;

/// Maximum length of a schedule that is shown whole; of a longer one, the end is shown.
pub const STEPS_SHOWN: usize = 400;

/// Lists steps, each run of steps of one thread under its name.
pub fn list(out: &mut String, steps: &[StepReport], names: Names, sources: &SourceTree) {
    let words = Words::new(steps, names);
    listed(out, &fold(steps, &HashSet::new()), &words, sources, &|_| None);
}

/// Like [`list`], for some of the steps; `before` returns the text before a step.
pub fn listed(
    out: &mut String,
    items: &[Item<'_>],
    words: &Words<'_>,
    sources: &SourceTree,
    before: &dyn Fn(&StepReport) -> Option<String>,
) {
    let rows: Vec<[String; 3]> = items.iter().map(|item| row(item, words)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [n, e, p] = [0, 1, 2].map(width);
    let mut thread = None;
    for (item, [number, effect, place]) in items.iter().zip(&rows) {
        let number = format!("{number:>n$}");
        if let Item::Step(step) = item
            && let Some(text) = before(step)
        {
            put!(out, "\n    {text}");
        }
        if thread.replace(item.thread()) != Some(item.thread()) {
            put!(out, "\n    {}", words.thread(item.thread()).bold());
        }
        match item {
            Item::Folded(_) => put!(out, "    {:>n$}  {}", "", effect.dimmed()),
            Item::Step(step) => {
                let line = format!("  {effect:<e$}  {place:<p$}");
                match step.location.as_ref().and_then(|location| sources.line(location)) {
                    Some(source) => put!(out, "    {}{line}  {}", number.dimmed(), source.dimmed()),
                    None => put!(out, "    {}{}", number.dimmed(), line.trim_end()),
                }
            }
        }
    }
}
