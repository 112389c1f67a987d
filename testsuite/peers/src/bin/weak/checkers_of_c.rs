//! Checkers of C programs, and tables of larger programs on these and on cargo-dpor.

use dpor_explorer::{Statistics, Verdict};
use dpor_testsuite::weak::{Program, explore, families, render_c};
use shim_std::{Memory, Strategy};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// What a checker says of a program.
pub struct Found {
    /// Number of complete executions.
    pub complete: u64,
    /// Number of executions that were given up.
    pub blocked: u64,
    /// As it is printed, without spaces.
    pub seconds: String,
}

/// Writes the program in C, has a checker explore it, and returns what it prints.
fn printed(checker: &Path, options: &[&str], program: &Program) -> String {
    let file = std::env::temp_dir().join(format!("cargo-dpor-weak-{}.c", std::process::id()));
    std::fs::write(&file, render_c(program)).expect("the folder for temporary files is writable");
    let output = Command::new(checker).args(options).arg(&file).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", checker.display()));
    let _ = std::fs::remove_file(&file);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}{errors}", checker.display());
    text
}

/// The words of a line of this text that begins like this.
fn after<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(words))?;
    Some(line.trim_start_matches(':').trim())
}

/// What this text says, in which lines that begin like these have the numbers of executions.
fn found(text: &str, complete: &str, blocked: &str) -> Found {
    let number = |words| after(text, words)?.split_whitespace().next()?.parse().ok();
    let Some(complete) = number(complete) else {
        panic!("there is no line `{complete}` in\n{text}");
    };
    Found {
        complete,
        // Of none, Nidhugg says nothing.
        blocked: number(blocked).unwrap_or(0),
        seconds: after(text, "Total wall-clock time")
            .unwrap_or_default()
            .replace(' ', ""),
    }
}

fn of_genmc(text: &str) -> Found {
    let complete = "Number of complete executions explored";
    found(text, complete, "Number of blocked executions seen")
}

fn of_nidhugg(text: &str) -> Found {
    found(text, "Trace count", "Sleepset-blocked trace count")
}

/// Explores the program by this executable of GenMC, under RC11.
pub fn by_genmc(genmc: &Path, program: &Program) -> Found {
    of_genmc(&printed(genmc, &["--rc11", "--disable-estimation"], program))
}

/// Explores the program by this `nidhuggc`, under sequential consistency, with an option that chooses the algorithm.
fn by_nidhugg(nidhugg: &Path, algorithm: &str, program: &Program) -> Found {
    of_nidhugg(&printed(nidhugg, &["--", "--sc", algorithm], program))
}

/// What cargo-dpor does in a program: its counters, and seconds.
fn by_us(program: &Program, strategy: Strategy, memory: Memory) -> (Statistics, f64) {
    let start = Instant::now();
    let explored = explore(program, strategy, memory);
    assert_eq!(explored.verdict, Verdict::Complete);
    (explored.statistics, start.elapsed().as_secs_f64())
}

/// Prints a line for each program of [`families`]: what a checker of C finds, and what cargo-dpor does.
fn rows(memory: Memory, by_others: impl Fn(&Program) -> Vec<Found>) {
    for family in &families::ALL {
        for size in family.sizes {
            let program = family.program(size);
            print!("| {} | {size} |", family.name);
            for found in by_others(&program) {
                print!(" {} | {} | {} |", found.complete, found.blocked, found.seconds);
            }
            let (source, seconds) = by_us(&program, Strategy::Source, memory);
            print!(" {} | {} | {seconds:.2}s |", source.complete, source.blocked);
            let (states, seconds) = by_us(&program, Strategy::States, memory);
            println!(" {} | {} | {seconds:.2}s |", states.complete, states.states);
        }
    }
}

/// The table of larger programs under weak memory.
pub fn weak_families(genmc: &Path) {
    println!("| program | threads | GenMC | blocked | time | `source` | blocked | time | `states` | states | time |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    rows(Memory::Rc11, |program| vec![by_genmc(genmc, program)]);
}

/// The table of larger programs under sequential consistency.
pub fn sequential_families(nidhugg: &Path) {
    println!(
        "| program | threads | `--optimal` | blocked | time | `--rf` | blocked | time | `source` | blocked | time | `states` | \
         states | time |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    rows(Memory::Sc, |program| {
        ["--optimal", "--rf"]
            .map(|algorithm| by_nidhugg(nidhugg, algorithm, program))
            .into()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_checkers_print_is_read() {
        let genmc = "*** Verification complete.\nNo errors were detected.\n\
            Number of complete executions explored: 43\nNumber of blocked executions seen: 2\n\
            Total wall-clock time: 0.05s\n";
        let read = |found: Found| (found.complete, found.blocked, found.seconds);
        assert_eq!(read(of_genmc(genmc)), (43, 2, "0.05s".to_owned()));
        let nidhugg = "Trace count: 3\nNo errors were detected.\nTotal wall-clock time: 0.46 s\n";
        assert_eq!(read(of_nidhugg(nidhugg)), (3, 0, "0.46s".to_owned()));
    }
}
