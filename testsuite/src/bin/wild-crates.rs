//! Explores the tests of crates from crates.io, and writes the page about them.

use dpor_testsuite::wild::{Circumstances, Crate, Run, Table, page, summary};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: wild-crates [OPTIONS] [CRATE…]

Explores the tests of the crates in testsuite/wild/crates.toml, or of those that are named, and prints a line about
each. The results of a crate are kept in tmp/wild/log of the target folder, like the output of the tool. Once there are
results of all crates, docs/src/wild-crates.md is written from them.

  --resume             leave out crates of which there is a result of the same tool, limits, and changes
  --max-time SECS      give up a test after this time [default: 10]
  --stall SECS         and after a step that takes longer [default: 3]
  --test-jobs N        tests to explore at the same time [default: 1]
  --memory MODEL       what atomics promise: rc11 or sc [default: rc11]
  --page               only write the page
  --list               only list the crates
  --help               this text
";

fn main() -> ExitCode {
    let table = Table::read();
    let mut now = Circumstances::now();
    let (mut run, mut resume, mut names) = (true, false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        let mut is_wrong = false;
        match argument.as_str() {
            "--resume" => resume = true,
            "--max-time" => value()
                .parse()
                .map_or_else(|_| is_wrong = true, |secs| now.max_time = secs),
            "--stall" => now.stall = value(),
            "--memory" => {
                now.memory = value();
                is_wrong = !["sc", "rc11"].contains(&now.memory.as_str());
            }
            "--test-jobs" => value()
                .parse()
                .map_or_else(|_| is_wrong = true, |jobs| now.test_jobs = jobs),
            "--page" => run = false,
            "--list" => {
                table.crates.iter().for_each(|krate| println!("{}", krate.id()));
                return ExitCode::SUCCESS;
            }
            "--help" => {
                print!("{USAGE}");
                return ExitCode::SUCCESS;
            }
            name if table.crates.iter().any(|krate| krate.name == name) => names.push(argument.clone()),
            _ => is_wrong = true,
        }
        if is_wrong {
            eprint!("neither a crate of the table nor an option, or not its value: {argument}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    }
    let chosen = |krate: &&Crate| run && (names.is_empty() || names.contains(&krate.name));
    for krate in table.crates.iter().filter(chosen) {
        let circumstances = now.of(&table, krate);
        let last = Run::last(krate).filter(|last| resume && last.circumstances.agree(&circumstances));
        let run = last.unwrap_or_else(|| Run::new(&table, krate, &circumstances));
        println!("{}", summary(&run));
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

/// Writes the page, if there are results for all crates; otherwise names those without results.
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
