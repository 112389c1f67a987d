//! Two orders of the same steps that lead to different states, and the differences.

use crate::report::story::names::{Names, plural};
use crate::report::story::source::SourceTree;
use crate::report::text::list::list;
use dpor_protocol::{DifferenceReport, PairReport};
use owo_colors::OwoColorize;
use std::fmt::Write;

/// Number of bytes shown on a line.
const BYTES_A_LINE: usize = 16;

/// The pair to show.
pub struct Pair<'a> {
    /// The test's name.
    pub test: &'a str,
    /// The number of the pair among those that differ.
    pub number: u64,
    pub pair: &'a PairReport,
    pub sources: &'a SourceTree,
}

impl Pair<'_> {
    /// The text with colours.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let PairReport {
            common,
            first,
            second,
            differences,
        } = self.pair;
        put!(
            out,
            "{} {}\n",
            format!("pair {}:", self.number).yellow().bold(),
            self.test.bold()
        );
        let common = plural(usize::try_from(*common).unwrap_or(usize::MAX), "step");
        put!(
            out,
            "  after {common} in common, two orders that lead to different states\n"
        );
        let steps = first.iter().chain(second);
        let names: Vec<_> = steps.map(|step| (step.thread, &step.thread_name)).collect();
        for (title, steps) in [("first", first), ("second", second)] {
            put!(out, "  {title} order:");
            list(&mut out, steps, Names::new(names.iter().copied()), self.sources);
            put!(out, "");
        }
        if differences.is_empty() {
            put!(out, "  nothing differs: run once more, both orders end in equal states");
            return out;
        }
        put!(out, "  what differs ({}):", plural(differences.len(), "place"));
        let mut owner = None;
        for difference in differences {
            let DifferenceReport {
                address,
                offset,
                length,
                hint,
                ..
            } = difference;
            let length = plural(usize::try_from(*length).unwrap_or(usize::MAX), "byte");
            put!(out, "");
            if owner != Some(&difference.owner) {
                put!(out, "    {}", difference.owner.bold());
                owner = Some(&difference.owner);
            }
            let address = address.map(|address| format!(" at {address:#x}")).unwrap_or_default();
            let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            put!(out, "      {length} from +{offset:#x}{address}{hint}");
            bytes(&mut out, difference);
        }
        out
    }
}

/// The bytes of both states, with the differing ones marked.
fn bytes(out: &mut String, difference: &DifferenceReport) {
    let DifferenceReport {
        length, first, second, ..
    } = difference;
    for (name, these, others) in [("first", first, second), ("second", second, first)] {
        if these.is_empty() {
            put!(out, "      {name:<6}  none");
            continue;
        }
        for (line, chunk) in these.chunks(BYTES_A_LINE).enumerate() {
            let name = if line == 0 { name } else { "" };
            let cells = chunk.iter().enumerate().map(|(i, byte)| {
                let cell = format!("{byte:02x}");
                match others.get(line * BYTES_A_LINE + i) {
                    Some(other) if other != byte => cell.red().to_string(),
                    _ => cell,
                }
            });
            put!(out, "      {name:<6}  {}", cells.collect::<Vec<_>>().join(" "));
        }
        // Of long differences only the beginning is told.
        if (these.len() as u64) < *length && these.len() >= others.len() {
            put!(out, "              …");
        }
    }
}

#[cfg(test)]
mod tests;
