//! Explores the tests of crates from crates.io, and writes the page about them.

use dpor_testsuite::wild::{Bounds, Crate, Run, Table, fetch, page, summary};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: wild-crates [OPTIONS] [CRATE…]

Explores the tests of the crates in testsuite/wild/crates.toml, or of those that are named, and prints a line about each. Once there
are results of all crates, docs/src/wild-crates.md is written from them. What the tool prints is kept in tmp/wild/log of
the target folder.

  --max-time DURATION  give up a test after this time [default: 10s]
  --stall SECS         and after a step that takes longer [default: 3]
  --page               only write the page
  --list               only list the crates
  --help               this text
";

fn main() -> ExitCode {
    let table = Table::read();
    let mut bounds = Bounds::default();
    let (mut run, mut names) = (true, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--max-time" => bounds.max_time = value(),
            "--stall" => bounds.stall = value(),
            "--page" => run = false,
            "--list" => {
                table.crates.iter().for_each(|krate| println!("{}", krate.id()));
                return ExitCode::SUCCESS;
            }
            "--help" => {
                print!("{USAGE}");
                return ExitCode::SUCCESS;
            }
            name if table.crates.iter().any(|krate| krate.name == name) => names.push(argument),
            _ => {
                eprint!("neither a crate of the table nor an option: {argument}\n\n{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    let chosen = |krate: &&Crate| run && (names.is_empty() || names.contains(&krate.name));
    for krate in table.crates.iter().filter(chosen) {
        let source = fetch(&table, krate);
        println!("{}", summary(&Run::new(krate, &source, &bounds)));
    }
    let missing = write_page(&table);
    if !missing.is_empty() {
        println!(
            "the page is not written: there are no results of {}",
            missing.join(", ")
        );
    }
    ExitCode::SUCCESS
}

/// Writes the page, if there are results of all crates; otherwise says of which there are none.
fn write_page(table: &Table) -> Vec<String> {
    let (mut runs, mut missing) = (Vec::new(), Vec::new());
    for krate in &table.crates {
        match Run::last(krate) {
            Some(run) => runs.push((krate, run)),
            None => missing.push(krate.id()),
        }
    }
    if missing.is_empty() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/wild-crates.md");
        std::fs::write(&path, page(table, &runs)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    missing
}
