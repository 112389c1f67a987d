//! Lists of steps, each under its thread.

use crate::report::SourceTree;
use crate::report::fold::{Item, fold};
use crate::report::source::short;
use crate::report::words::Words;
use dpor_protocol::StepReport;
use owo_colors::OwoColorize;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// Maximum length of a schedule that is shown whole; of a longer one, the end is shown.
pub const STEPS_SHOWN: usize = 400;

/// Lists steps, each run of steps of one thread under its name.
pub fn list(out: &mut String, steps: &[StepReport], names: &Names, sources: &SourceTree) {
    let words = Words::new(steps, names);
    listed(out, &fold(steps, &HashSet::new()), names, &words, sources, &|_| None);
}

/// Like [`list`], for some of the steps; `before` returns the text before a step.
pub fn listed(
    out: &mut String,
    items: &[Item<'_>],
    names: &Names,
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
            put!(out, "\n    {}", names.of(item.thread()).bold());
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

/// Threads' names by their ids.
pub struct Names {
    names: HashMap<u32, String>,
}

impl Names {
    pub fn new<'a>(named: impl Iterator<Item = (u32, &'a Option<String>)>) -> Names {
        Names {
            names: named.filter_map(|(id, name)| Some((id, name.clone()?))).collect(),
        }
    }

    pub fn of(&self, thread: u32) -> String {
        match self.names.get(&thread) {
            Some(name) => format!("t{thread} ({name})"),
            None if thread == 0 => "t0 (main)".into(),
            None => format!("t{thread}"),
        }
    }

    /// The name of an object, which may be a thread.
    pub fn short(&self, object: &str) -> String {
        let thread = object.strip_prefix('t').and_then(|number| number.parse().ok());
        thread.map_or_else(|| object.to_owned(), |thread| self.of(thread))
    }
}

/// `1 step`, `2 steps`, `2 switches`.
pub fn plural(count: usize, noun: &str) -> String {
    let ending = match (count, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{ending}")
}
