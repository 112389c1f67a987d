//! Tables as text.

use super::measure::Measured;
use super::tables::{Figures, Row, STRATEGIES};
use std::fmt;

/// The output format of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Aligned columns.
    Text,
    /// A Markdown table.
    Markdown,
}

/// A row with the measured values, for each of [`STRATEGIES`].
pub struct MeasuredRow<'a> {
    /// The row.
    pub row: &'a Row,
    /// The measurements as a toy program, if it is one.
    pub toy: Option<[Measured; STRATEGIES.len()]>,
    /// The measurements as a Rust test.
    pub rust: [Measured; STRATEGIES.len()],
}

const PUBLISHED: [&str; 4] = ["execs", "states", "ms", "gain"];
const MEASURED: [&str; 6] = ["execs", "blocked", "pruned", "states", "ms", "gain"];

/// The table as text: a line for each program and strategy. Numbers of executions that were cut have a `>`, as
/// in the paper; the gain is that in executions. Columns without any figure are left out.
pub fn print(rows: &[MeasuredRow], format: Format) -> String {
    let mut lines = vec![header(format)];
    for row in rows {
        for (i, strategy) in STRATEGIES.iter().enumerate() {
            let mut line = vec![row.row.name.clone(), (*strategy).to_owned()];
            line.extend(published(&row.row.published, i));
            line.extend(row.toy.as_ref().map_or_else(Default::default, |toy| measured(toy, i)));
            line.extend(measured(&row.rust, i));
            lines.push(line);
        }
    }
    text(&without_empty_columns(&lines), format)
}

/// The table as text, from lines of cells, the first of which is the header.
pub(super) fn text(lines: &[Vec<String>], format: Format) -> String {
    match format {
        Format::Text => aligned(lines),
        Format::Markdown => markdown(lines),
    }
}

fn without_empty_columns(lines: &[Vec<String>]) -> Vec<Vec<String>> {
    let used = |column: usize| lines[1..].iter().any(|line| !line[column].is_empty());
    let columns: Vec<_> = (0..lines[0].len()).filter(|column| used(*column)).collect();
    lines
        .iter()
        .map(|line| columns.iter().map(|column| line[*column].clone()).collect())
        .collect()
}

fn header(format: Format) -> Vec<String> {
    let group = |name: &str, columns: &[&str]| -> Vec<String> {
        let full = |(i, column): (usize, &&str)| match format {
            // The other columns of the group follow it.
            Format::Text if i > 0 => (*column).to_owned(),
            _ => format!("{name}: {column}"),
        };
        columns.iter().enumerate().map(full).collect()
    };
    let names = ["program", "strategy"].map(str::to_owned);
    [
        &names[..],
        &group("published", &PUBLISHED),
        &group("toy", &MEASURED),
        &group("Rust", &MEASURED),
    ]
    .concat()
}

fn published(figures: &[Option<Figures>], i: usize) -> [String; PUBLISHED.len()] {
    let Some(figure) = figures[i] else {
        return Default::default();
    };
    let executions = |figures: Figures| Count(figures.executions, figures.cut);
    let base = figures[0].map(executions);
    [
        executions(figure).to_string(),
        optional(figure.states),
        optional(figure.time.map(|time| Count(time, figure.cut))),
        gain(base, executions(figure)),
    ]
}

fn measured(measured: &[Measured], i: usize) -> [String; MEASURED.len()] {
    let executions = |measured: &Measured| Count(measured.complete, measured.cut);
    let Measured {
        cut,
        blocked,
        pruned,
        states,
        time,
        ..
    } = measured[i];
    [
        executions(&measured[i]).to_string(),
        blocked.to_string(),
        pruned.to_string(),
        optional(states),
        Count(time.as_millis() as u64, cut).to_string(),
        gain(Some(executions(&measured[0])), executions(&measured[i])),
    ]
}

/// A number, and whether it would have grown.
#[derive(Clone, Copy)]
struct Count(u64, bool);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Count(number, cut) = self;
        write!(f, "{}{number}", if cut { ">" } else { "" })
    }
}

fn optional<T: fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The factor by which executions are fewer; unknown if these were cut.
fn gain(base: Option<Count>, Count(executions, cut): Count) -> String {
    match base {
        Some(Count(base, more)) if !cut && executions > 0 => {
            let at_least = if more { ">" } else { "" };
            format!("{at_least}{:.1}x", base as f64 / executions as f64)
        }
        _ => String::new(),
    }
}

pub(super) fn aligned(lines: &[Vec<String>]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..lines[0].len()).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut printed = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            if column < 2 {
                printed += &format!("{cell:<width$}  ");
            } else {
                printed += &format!("{cell:>width$}  ");
            }
        }
        text += printed.trim_end();
        text.push('\n');
    }
    text
}

pub(super) fn markdown(lines: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|---|---|{}\n", "---:|".repeat(lines[0].len() - 2));
    let rows: String = lines[1..].iter().map(|cells| line(cells)).collect();
    line(&lines[0]) + &rule + &rows
}
