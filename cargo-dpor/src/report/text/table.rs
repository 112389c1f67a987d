//! A schedule as a table: a column for each thread, a row for each step.

use crate::report::story::fold::{Item, row};
use crate::report::story::source::SourceTree;
use crate::report::story::words::Words;
use crate::report::text::fit::wrapped_source;
use dpor_protocol::StepReport;
use owo_colors::OwoColorize;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Maximum width of a column, unless all columns fit as they are, or there is enough room.
const WIDEST: usize = 34;
/// Minimum room for source lines beside the steps. With less, they have their own lines.
const SOURCE: usize = 32;
/// Maximum number of threads: with more, columns are not easier to read than a list.
const THREADS: usize = 6;

/// A table that fits the terminal.
pub struct Table<'a> {
    items: &'a [Item<'a>],
    rows: Vec<[String; 3]>,
    /// Threads, with the titles and widths of their columns.
    columns: Vec<(u32, String, usize)>,
    number: usize,
    place: usize,
    /// Width of source lines beside the steps; `None` if they are below them.
    source: Option<usize>,
    width: usize,
}

impl<'a> Table<'a> {
    /// Lays out a table, if it fits.
    pub fn fitting(items: &'a [Item<'a>], words: &Words<'_>, width: usize) -> Option<Table<'a>> {
        let mut rows: Vec<_> = items.iter().map(|item| row(item, words)).collect();
        shorten_places(&mut rows);
        let threads: BTreeSet<u32> = items.iter().map(Item::thread).collect();
        let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (number, place) = (widest(0), widest(2));
        let title = |thread: u32| match thread {
            0 => "main".to_owned(),
            _ => words.thread(thread),
        };
        let natural = |thread: u32| {
            let own = items.iter().zip(&rows).filter(|(item, _)| item.thread() == thread);
            let longest = own.map(|(_, row)| row[1].chars().count()).max().unwrap_or(0);
            longest.max(title(thread).chars().count())
        };
        let room = |most: usize| {
            let columns: usize = threads.iter().map(|&thread| natural(thread).min(most) + 3).sum();
            width.checked_sub(4 + number + columns + 3 + place)
        };
        let beside = |most: usize| room(most)?.checked_sub(2).filter(|&room| room >= SOURCE);
        // Rather a source line below than a column that is cut.
        let most = Some(usize::MAX)
            .filter(|&most| room(most).is_some())
            .or_else(|| (WIDEST..width).rev().find(|&most| beside(most).is_some()))
            .or_else(|| room(WIDEST).map(|_| WIDEST))?;
        let columns = threads
            .iter()
            .map(|&thread| (thread, title(thread), natural(thread).min(most)));
        let columns: Vec<_> = columns.collect();
        let source = beside(most);
        (columns.len() <= THREADS).then_some(Table {
            items,
            columns,
            number,
            place,
            source,
            width,
            rows,
        })
    }

    /// Prints the table; `before` returns the text before a step, `marked` are steps to highlight.
    pub fn print(
        &self,
        out: &mut String,
        sources: &SourceTree,
        before: &dyn Fn(&StepReport) -> Option<String>,
        marked: &dyn Fn(&StepReport) -> bool,
    ) {
        let bar = "│".dimmed().to_string();
        let mut titles = format!("    {:>number$}", "", number = self.number);
        for (_, title, width) in &self.columns {
            write!(titles, " {bar} {:<width$}", title.bold()).expect("a String takes anything");
        }
        put!(out, "\n{titles} {bar}");
        for (item, [number, effect, place]) in self.items.iter().zip(&self.rows) {
            if let Item::Step(step) = item
                && let Some(text) = before(step)
            {
                put!(out, "    {:>width$} {text}", "", width = self.number);
            }
            let is_marked = matches!(item, Item::Step(step) if marked(step));
            let number = format!("{number:>width$}", width = self.number);
            let mut line = match is_marked {
                true => format!("    {}", number.yellow().bold()),
                false => format!("    {}", number.dimmed()),
            };
            for (thread, _, width) in &self.columns {
                let cell = match *thread == item.thread() {
                    true => shortened(effect, *width),
                    false => String::new(),
                };
                let cell = format!("{cell:<width$}");
                let cell = match item {
                    Item::Folded(_) => cell.dimmed().to_string(),
                    Item::Step(_) if is_marked => cell.yellow().bold().to_string(),
                    Item::Step(_) => cell,
                };
                write!(line, " {bar} {cell}").expect("a String takes anything");
            }
            let source = match item {
                Item::Step(step) => step.location.as_ref().and_then(|location| sources.line(location)),
                Item::Folded(_) => None,
            };
            let (beside, below) = self.parted(source.as_deref().unwrap_or_default());
            let mut beside = beside.into_iter();
            let text = format!(
                "{place:<width$}  {}",
                beside.next().unwrap_or_default(),
                width = self.place
            );
            match text.trim_end() {
                "" => put!(out, "{line} {bar}"),
                text => put!(out, "{line} {bar} {}", text.dimmed()),
            }
            for text in beside {
                let mut line = format!("    {:number$}", "", number = self.number);
                for (_, _, width) in &self.columns {
                    write!(line, " {bar} {:width$}", "").expect("a String takes anything");
                }
                put!(out, "{line} {bar} {:place$}  {}", "", text.dimmed(), place = self.place);
            }
            for text in below {
                put!(out, "{:1$}{2}", "", self.number + 6, text.dimmed());
            }
        }
    }

    /// A source line, broken into lines beside its step or below it.
    fn parted(&self, source: &str) -> (Vec<String>, Vec<String>) {
        match self.source {
            _ if source.is_empty() => (Vec::new(), Vec::new()),
            Some(width) => (wrapped_source(source, width), Vec::new()),
            None => {
                let width = self.width.saturating_sub(self.number + 6);
                (Vec::new(), wrapped_source(source, width))
            }
        }
    }
}

/// Removes the folders from the places, unless the files' names alone are ambiguous.
fn shorten_places(rows: &mut [[String; 3]]) {
    let file = |place: &str| place.rsplit_once(':').map_or(place, |(file, _)| file).to_owned();
    let name = |place: &str| place.rsplit('/').next().unwrap_or(place).to_owned();
    let files: BTreeSet<String> = rows.iter().map(|row| file(&row[2])).collect();
    let names: BTreeSet<String> = files.iter().map(|file| name(file)).collect();
    if files.len() == names.len() {
        rows.iter_mut().for_each(|row| row[2] = name(&row[2]));
    }
}

/// The text, cut where it is too long.
fn shortened(text: &str, width: usize) -> String {
    match text.chars().count() <= width {
        true => text.to_owned(),
        false => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}
