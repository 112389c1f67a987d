//! Steps, listed under the threads that make them.

use crate::report::SourceTree;
use crate::report::source::short;
use dpor_protocol::StepReport;
use owo_colors::OwoColorize;
use std::collections::HashMap;
use std::fmt::Write;

/// The longest schedule that is shown whole; of a longer one, the end is.
const STEPS_SHOWN: usize = 400;

/// Lists steps, each run of steps of one thread under its name.
pub fn list(out: &mut String, steps: &[StepReport], names: &Names, sources: &SourceTree) {
    let shown = &steps[steps.len().saturating_sub(STEPS_SHOWN)..];
    if shown.len() < steps.len() {
        put!(out, "\n    … {} before", plural(steps.len() - shown.len(), "step"));
    }
    let rows: Vec<[String; 4]> = shown.iter().map(row).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut index = 0;
    for run in shown.chunk_by(|a, b| a.thread == b.thread) {
        put!(out, "\n    {}", names.of(run[0].thread).bold());
        for step in run {
            let [number, operation, object, place] = &rows[index];
            index += 1;
            let [n, o, b, p] = widths;
            let number = format!("{number:>n$}");
            let line = format!("  {operation:<o$}  {object:<b$}  {place:<p$}");
            let source = step.location.as_ref().and_then(|location| sources.line(location));
            match source {
                Some(source) => put!(out, "    {}{line}  {}", number.dimmed(), source.dimmed()),
                None => put!(out, "    {}{}", number.dimmed(), line.trim_end()),
            }
        }
    }
}

/// The number, the operation, the object with what happened to it, and the place of a step.
fn row(step: &StepReport) -> [String; 4] {
    let mut object = step.object.clone();
    if let Some(detail) = step.detail.as_ref().filter(|detail| !detail.is_empty()) {
        if !object.is_empty() {
            object.push_str("  ");
        }
        object.push_str(detail);
    }
    let place = step.location.as_ref().map(short).unwrap_or_default();
    [(step.index + 1).to_string(), step.operation.clone(), object, place]
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
