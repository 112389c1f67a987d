//! What keeps the states of a test apart.

use crate::report::story::names::plural;
use dpor_protocol::{PartReport, PlaceReport, SurveyReport};
use owo_colors::OwoColorize;
use std::fmt::Write;

/// Maximum number of bytes shown of a difference.
const BYTES: usize = 8;

/// The survey to show.
pub struct Survey<'a> {
    /// The test's name.
    pub test: &'a str,
    pub survey: &'a SurveyReport,
}

impl Survey<'_> {
    /// The text with colours.
    pub fn render(&self) -> String {
        let SurveyReport {
            states,
            parts,
            compared,
            alone,
            places,
        } = self.survey;
        let count = |count: u64, noun| plural(usize::try_from(count).unwrap_or(usize::MAX), noun);
        let mut out = String::new();
        let title = format!("{}:", count(*states, "state"));
        put!(out, "{} {}", title.yellow().bold(), self.test.bold());
        if parts.is_empty() {
            put!(out, "\n  no part alone keeps many of them apart");
        } else {
            put!(
                out,
                "\n  states that would be left without a part, and without it and those above it:\n"
            );
        }
        for PartReport {
            name,
            without,
            without_all,
        } in parts
        {
            put!(out, "    {without:>9} {without_all:>9}  {}", name.bold());
        }
        if *compared == 0 {
            return out;
        }
        put!(
            out,
            "\n  {} compared with the nearest one that differs in one kind of part only{}.",
            count(*compared, "state"),
            match alone {
                0 => String::new(),
                alone => format!("; for {alone} there is none"),
            }
        );
        put!(out, "  How many of them differ in a place, and how many there only:\n");
        for PlaceReport { pairs, only, example } in places {
            let offset = match example.offset {
                0 => String::new(),
                offset => format!(" +{offset:#x}"),
            };
            put!(out, "    {pairs:>9} {only:>9}  {}{offset}", example.owner.bold());
            let hint = example
                .hint
                .as_ref()
                .map(|hint| format!("; {hint}"))
                .unwrap_or_default();
            let length = count(example.length, "byte");
            let (first, second) = (bytes(&example.first), bytes(&example.second));
            put!(
                out,
                "    {:>9} {:>9}  {length}, such as {first} and {second}{hint}",
                "",
                ""
            );
        }
        out
    }
}

/// The first bytes; those of a word as a number.
fn bytes(bytes: &[u8]) -> String {
    match bytes {
        [] => "none".to_owned(),
        bytes if let Ok(word) = bytes.try_into().map(u64::from_le_bytes) => format!("{word:#x}"),
        bytes => {
            let shown: Vec<_> = bytes.iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect();
            let more = if bytes.len() > BYTES { " …" } else { "" };
            format!("{}{more}", shown.join(" "))
        }
    }
}

#[cfg(test)]
mod tests;
