//! Runs the examples of std's documentation under the tool, and writes the page about them.

use dpor_testsuite::examples::{self, Verdict};
use dpor_testsuite::{surface, tool};
use std::process::ExitCode;

const BOUNDS: [&str; 4] = ["--max-time", "20s", "--stall", "3"];

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(mismatches) => {
            eprintln!("{mismatches} examples are not as expected");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Number of examples that are not as expected.
fn run() -> Result<usize, String> {
    let Some(docs) = surface::docs::of_std() else {
        return Err("std's documentation is not installed: rustup component add rust-docs".into());
    };
    let decisions = surface::decisions::checked_in();
    let examples = examples::read(&docs, &surface::checked_in(), |item| {
        examples::is_wanted(item, &decisions)
    })?;
    let exceptions = examples::exceptions();
    let expected = |name: &str| {
        exceptions
            .get(name)
            .map_or(Verdict::Complete, |exception| exception.verdict)
    };
    let folder = tool::target_folder().join("tmp/doc-examples");
    let tests = examples
        .tests
        .iter()
        .filter(|example| expected(&example.name) != Verdict::NotApplicable);
    examples::write_project(&folder, tests).map_err(|error| format!("{}: {error}", folder.display()))?;
    let met = examples::run(&folder, &BOUNDS)?;
    let mut mismatches = 0;
    for (name, verdict) in &met {
        if *verdict != expected(name) {
            eprintln!("{name}: {verdict:?}, expected {:?}", expected(name));
            mismatches += 1;
        }
    }
    for name in exceptions.keys() {
        if !examples.tests.iter().any(|example| example.name == *name) {
            eprintln!("{name}: there is no such example");
            mismatches += 1;
        }
    }
    let path = examples::page_path();
    std::fs::write(&path, examples::print(&examples, &met, &exceptions))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    eprintln!(
        "{} examples explored; see {}",
        met.len(),
        folder.join("log.txt").display()
    );
    Ok(mismatches)
}
