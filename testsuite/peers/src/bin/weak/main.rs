//! The litmus tests of weak memory on loom and on cargo-dpor, beside what RC11 allows by brute force: a table in
//! Markdown. With a number, loom gets so many seconds for each instead of 60.
//!
//! If the environment variable `GENMC` names GenMC's executable, there are its numbers of executions as well, and a
//! second table of larger programs on GenMC and on cargo-dpor. If `NIDHUGG` names `nidhuggc`, a third table has the
//! same programs under sequential consistency on Nidhugg and on cargo-dpor.

mod checkers_of_c;

use checkers_of_c::{by_genmc, sequential_families, weak_families};
use dpor_explorer::Verdict;
use dpor_testsuite::run_on_atomics;
use dpor_testsuite::weak::{Instruction, Outcome, Program, explore, graphs, litmus, outcomes};
use loom::model::Builder;
use loom::sync::atomic::{AtomicU32, fence};
use loom::thread;
use shim_std::{Memory, Strategy};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What loom has found.
#[derive(Default)]
struct Found {
    outcomes: BTreeSet<Outcome>,
    executions: u64,
}

/// The instructions of a thread on loom, with its registers.
fn run(instructions: &[Instruction], registers: &mut [u32], atomics: &[AtomicU32]) {
    for instruction in instructions {
        run_on_atomics!(*instruction, registers, atomics, fence, {
            Instruction::If {
                register,
                equals,
                ref then,
            } => {
                if registers[register] == equals {
                    run(then, registers, atomics);
                }
            }
            _ => panic!("no litmus test has {instruction:?}"),
        });
    }
}

/// One execution on loom.
fn execute(program: &Program) -> Outcome {
    let atomics: Vec<AtomicU32> = (0..program.locations()).map(|_| AtomicU32::new(0)).collect();
    let atomics = Arc::new(atomics);
    let spawn = |number: usize| {
        let (instructions, atomics) = (program.threads()[number].clone(), Arc::clone(&atomics));
        let mut registers = vec![0; program.registers(number)];
        thread::spawn(move || {
            run(&instructions, &mut registers, &atomics);
            registers
        })
    };
    let threads: Vec<_> = (0..program.threads().len()).map(spawn).collect();
    let registers = threads
        .into_iter()
        .map(|thread| thread.join().expect("it does not panic"));
    Outcome {
        registers: registers.collect(),
        finals: atomics
            .iter()
            .map(|atomic| atomic.load(std::sync::atomic::Ordering::SeqCst))
            .collect(),
    }
}

/// What loom finds within this time, and whether that is all.
fn by_loom(program: &Program, time: Duration) -> (Found, bool) {
    let found = Arc::new(Mutex::new(Found::default()));
    let (own, program) = (Arc::clone(&found), program.clone());
    let mut builder = Builder::new();
    builder.max_duration = Some(time);
    let start = Instant::now();
    builder.check(move || {
        let outcome = execute(&program);
        let mut found = own.lock().unwrap_or_else(PoisonError::into_inner);
        found.outcomes.insert(outcome);
        found.executions += 1;
    });
    let is_all = start.elapsed() < time;
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    (std::mem::take(&mut *found), is_all)
}

/// The complete executions of cargo-dpor, which must find what there is.
fn executions(program: &Program, strategy: Strategy, expected: &BTreeSet<Outcome>) -> u64 {
    let explored = explore(program, strategy, Memory::Rc11);
    assert_eq!(explored.verdict, Verdict::Complete);
    assert_eq!(explored.outcomes, *expected);
    explored.statistics.complete
}

fn main() {
    let genmc = std::env::var_os("GENMC").map(PathBuf::from);
    let seconds = std::env::args().nth(1).map_or(60, |seconds| {
        seconds
            .parse()
            .unwrap_or_else(|_| panic!("{seconds} is no number of seconds"))
    });
    let (title, line) = match genmc {
        Some(_) => (" GenMC |", "---|"),
        None => ("", ""),
    };
    println!("| program | graphs | outcomes | `states` | `source` | loom | missed by loom | invented by loom |{title}");
    println!("|---|---|---|---|---|---|---|---|{line}");
    for litmus::Litmus { name, program, .. } in litmus::all() {
        let expected = outcomes(&program);
        let own = [Strategy::States, Strategy::Source].map(|strategy| executions(&program, strategy, &expected));
        let (found, is_all) = by_loom(&program, Duration::from_secs(seconds));
        let missed = match is_all {
            true => expected.difference(&found.outcomes).count().to_string(),
            false => "?".to_owned(),
        };
        let theirs = genmc.as_deref().map(|genmc| by_genmc(genmc, &program));
        let theirs = theirs.map_or(String::new(), |theirs| format!(" {} |", theirs.complete));
        println!(
            "| {name} | {} | {} | {} | {} | {}{} | {missed} | {} |{theirs}",
            graphs(&program),
            expected.len(),
            own[0],
            own[1],
            if is_all { "" } else { "more than " },
            found.executions,
            found.outcomes.difference(&expected).count()
        );
    }
    if let Some(genmc) = genmc {
        println!();
        weak_families(&genmc);
    }
    if let Some(nidhugg) = std::env::var_os("NIDHUGG") {
        println!();
        sequential_families(nidhugg.as_ref());
    }
}
