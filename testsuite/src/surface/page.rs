//! The table as a page of the book.

use super::compare::{Row, Source, Table};
use super::{Impl, Item, MODULES, VERSION};
use std::fmt::Write as _;

/// The page.
pub fn print(table: &Table) -> String {
    let count = |wanted: fn(&Source) -> bool| table.rows.iter().filter(|row| wanted(&row.source)).count();
    let functions: usize = own(table).map(functions).sum();
    let traits: usize = own(table).map(|item| traits(&item.traits).count()).sum();
    let mut text = format!(
        "# std's surface, item by item

Every public stable item of the modules of std {VERSION} that this project is about, and where it comes from under
`cargo dpor`. This page is made by `cargo run -p dpor-testsuite --bin surface` from std's documentation, the shim's, and
the decisions in `testsuite/surface/decisions.toml`; CI fails if it is not up to date, if the shim lacks something or
has it with another signature, or if an item is std's own and nobody has said why.

Of {} items, {} are the shim's, with all of their {functions} stable functions and constants, {traits} implementations
of stable traits, and the same auto traits; {} are std's own, for the reason given, and {} are holes. What is not
stable is std's own.

",
        table.rows.len(),
        count(|source| *source == Source::Ours),
        count(|source| matches!(source, Source::Std(_))),
        count(|source| matches!(source, Source::Hole(_))),
    );
    for module in MODULES.into_iter().chain([""]) {
        let title = if module.is_empty() {
            "Macros".to_string()
        } else {
            format!("`{module}`")
        };
        writeln!(text, "## {title}\n\n| item | from | notes |\n|---|---|---|").expect("a String takes anything");
        for row in table.rows.iter().filter(|row| row.item.module == module) {
            writeln!(text, "{}", line(row)).expect("a String takes anything");
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn line(row: &Row) -> String {
    let item = &row.item;
    let mut notes = row.notes.clone();
    let from = match &row.source {
        Source::Ours => {
            let counts = [
                (functions(item), "function", "functions"),
                (traits(&item.traits).count(), "trait", "traits"),
            ];
            let shown = counts.into_iter().filter(|(count, ..)| *count > 0);
            let shown: Vec<_> = shown
                .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
                .collect();
            if !shown.is_empty() {
                notes.insert(0, shown.join(", "));
            }
            "shim"
        }
        Source::Std(reason) => {
            notes.insert(0, reason.clone());
            "std"
        }
        Source::Hole(reason) => {
            notes.insert(0, reason.clone());
            "**hole**"
        }
    };
    let bang = if item.kind == "macro" { "!" } else { "" };
    format!("| `{}{bang}` | {from} | {} |", item.name, notes.join("; "))
}

fn own(table: &Table) -> impl Iterator<Item = &Item> {
    let own = table.rows.iter().filter(|row| row.source == Source::Ours);
    own.map(|row| &row.item)
}

/// Number of functions and constants of an item; 1 if it is one.
fn functions(item: &Item) -> usize {
    let members: usize = item.inherent.iter().map(|each| each.members.len()).sum();
    members + usize::from(["fn", "constant"].contains(&item.kind.as_str()))
}

/// The traits that are implemented.
fn traits(impls: &[Impl]) -> impl Iterator<Item = &Impl> {
    impls.iter().filter(|each| !each.header.contains(" !"))
}
