//! std's surface beside the shim's.

use super::decisions::Decisions;
use super::{Impl, Item, Surface, normal};
use std::collections::{BTreeMap, BTreeSet};

/// The origin of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The shim redefines it.
    Ours,
    /// std's own item, for this reason.
    Std(String),
    /// std's own item, which should not be.
    Hole(String),
}

/// An item of std in the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// std's item.
    pub item: Item,
    /// The origin of the facade's item.
    pub source: Source,
    /// Differences from std's and why they are right, and missing parts of the model.
    pub notes: Vec<String>,
}

/// The comparison.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// One for each item of std.
    pub rows: Vec<Row>,
    /// The errors: an undecided item or difference, or a decision about nothing.
    pub problems: Vec<String>,
}

/// Compares item by item.
///
/// # Errors
/// The signature that is not understood.
pub fn compare(std: &Surface, ours: &Surface, decisions: &Decisions) -> Result<Table, String> {
    let mut table = Table::default();
    let mut used = BTreeSet::new();
    let unstable: BTreeSet<_> = std.unstable_traits.iter().map(|path| last(path)).collect();
    let by_path: BTreeMap<_, _> = ours.items.iter().map(|item| (item.path(), item)).collect();
    for item in &std.items {
        let path = item.path();
        let mut notes = Vec::new();
        let source = match by_path.get(&path) {
            None => match (decisions.std.get(&path), decisions.holes.get(&path)) {
                (Some(reason), None) => {
                    used.insert(path.clone());
                    Source::Std(reason.clone())
                }
                (None, Some(reason)) => {
                    used.insert(path.clone());
                    Source::Hole(reason.clone())
                }
                _ => {
                    table.problems.push(format!("{path} is std's own, without one reason"));
                    continue;
                }
            },
            Some(own) => {
                if let Some(limit) = decisions.limits.get(&path) {
                    used.insert(path.clone());
                    notes.push(limit.clone());
                }
                for difference in differences(item, own, &unstable)? {
                    match decisions.differs.get(&difference) {
                        Some(reason) => notes.push(format!("`{}`: {reason}", strip_path(&difference))),
                        None => table.problems.push(format!("undecided: {difference}")),
                    }
                    used.insert(difference);
                }
                Source::Ours
            }
        };
        table.rows.push(Row {
            item: item.clone(),
            source,
            notes,
        });
    }
    let known: BTreeSet<_> = std.items.iter().map(Item::path).collect();
    for path in by_path.keys().filter(|path| !known.contains(*path)) {
        table.problems.push(format!("{path} is no stable item of std"));
    }
    let decided = [&decisions.std, &decisions.differs, &decisions.limits, &decisions.holes];
    for what in decided
        .into_iter()
        .flat_map(BTreeMap::keys)
        .filter(|what| !used.contains(*what))
    {
        table
            .problems
            .push(format!("a decision about what is not there: {what}"));
    }
    Ok(table)
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

fn strip_path(difference: &str) -> &str {
    difference.split_once(' ').map_or(difference, |(_, rest)| rest)
}

/// The differences: std's has what ours lacks (`PATH lacks …`), or the other way round (`PATH adds …`).
fn differences(std: &Item, ours: &Item, unstable: &BTreeSet<&str>) -> Result<Vec<String>, String> {
    let path = std.path();
    let mut found = Vec::new();
    if std.kind != ours.kind {
        found.push(format!("{path} lacks being a {}", std.kind));
        return Ok(found);
    }
    if normal::declaration(&std.kind, &std.declaration)? != normal::declaration(&ours.kind, &ours.declaration)? {
        found.push(format!("{path} lacks {}", normal::short(&std.declaration)));
        found.push(format!("{path} adds {}", normal::short(&ours.declaration)));
    }
    for (std, ours) in [
        (members(&std.inherent)?, members(&ours.inherent)?),
        (traits(&std.traits, unstable)?, traits(&ours.traits, unstable)?),
    ] {
        let (absent, more) = (without(&std, &ours), without(&ours, &std));
        found.extend(absent.map(|text| format!("{path} lacks {text}")));
        found.extend(more.map(|text| format!("{path} adds {text}")));
    }
    Ok(found)
}

/// Facts by their normal forms.
type Facts = BTreeMap<String, String>;

fn without<'a>(facts: &'a Facts, others: &'a Facts) -> impl Iterator<Item = &'a String> {
    facts
        .iter()
        .filter(|(normal, _)| !others.contains_key(*normal))
        .map(|(_, text)| text)
}

fn members(impls: &[Impl]) -> Result<Facts, String> {
    let mut facts = Facts::new();
    for each in impls {
        let header = normal::header(&each.header)?;
        for member in &each.members {
            let normal = format!("{} {}", header.text, normal::member(&header, member)?);
            let shown = format!("{} {{ {} }}", normal::short(&each.header), normal::short(member));
            facts.insert(normal, shown);
        }
    }
    Ok(facts)
}

fn traits(impls: &[Impl], unstable: &BTreeSet<&str>) -> Result<Facts, String> {
    let mut facts = Facts::new();
    for each in impls {
        let header = normal::header(&each.header)?;
        let name = normal::trait_name(&each.header)?;
        // Whether there is something to be dropped is nothing that can be used.
        if name == "Drop" || unstable.contains(name.as_str()) {
            continue;
        }
        let mut normal = header.text.clone();
        let mut shown = normal::short(&each.header);
        for member in &each.members {
            normal.push_str(&normal::member(&header, member)?);
            shown = format!("{shown} {{ {} }}", normal::short(member));
        }
        facts.insert(normal, shown);
    }
    Ok(facts)
}
