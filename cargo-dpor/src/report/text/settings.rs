//! The configuration in readable form.

use crate::config::{Entry, Row, Told};
use crate::report::event::Configuration;
use owo_colors::OwoColorize;
use std::fmt::Write;

/// The settings in force, the overrides, and the origin of each value.
pub fn render(configuration: &Configuration<'_>) -> String {
    let mut out = String::new();
    let files = configuration.config.files();
    match files.is_empty() {
        true => put!(out, "no configuration files"),
        false => put!(out, "files: {}", files.join(", ")),
    }
    if let Some(profile) = configuration.config.profile() {
        put!(out, "profile: {profile}");
    }
    put!(out, "\n{}", "the run:".bold());
    rows(&mut out, &configuration.run.rows());
    for (packages, settings) in &configuration.tests {
        let packages = packages.join(", ");
        let title = match configuration.test {
            Some(test) => format!("a test {test} of {packages}:"),
            None => format!("tests of {packages}:"),
        };
        put!(out, "\n{}", title.bold());
        rows(&mut out, &settings.rows());
    }
    if configuration.test.is_none() {
        for told in configuration.config.overrides() {
            let Told {
                file,
                of,
                entries,
                profile,
            } = told;
            let profile = profile.map_or_else(String::new, |name| format!("profile {name}, "));
            put!(out, "\n{}", format!("{profile}override for {of}:").bold());
            for Entry { key, text, line } in entries {
                put!(out, "  {key:<17}  {text:<12}  {}", format!("{file}:{line}").dimmed());
            }
        }
    }
    out
}

fn rows(out: &mut String, rows: &[Row<'_>]) {
    for Row { key, value, origin } in rows {
        put!(out, "  {key:<17}  {value:<12}  {}", origin.dimmed());
    }
}
