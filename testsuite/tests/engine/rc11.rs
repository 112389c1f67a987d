//! Weak memory under the explorer, against the oracle: no outcome missed, none invented.
//!
//! `DPOR_RC11_PROGRAMS` sets how many programs are generated (300 by default), `DPOR_RC11_SEED` which ones. A hundred
//! thousand: `DPOR_RC11_PROGRAMS=100000 cargo test --release -p dpor-testsuite --test engine rc11::`.

use dpor_explorer::{Strategy, Verdict};
use dpor_scheduler::{Memory, RaceFault};
use dpor_testsuite::generated::{alone, first_caught, setting};
use dpor_testsuite::weak::litmus::{if_equal, load, store};
use dpor_testsuite::weak::{
    Instruction, Outcome, Program, explore, explore_with, generate, interleave, litmus, miri, outcomes, render,
};
use proptest::prelude::any;
use proptest::strategy::Strategy as _;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const STRATEGIES: [&str; 5] = ["exhaustive", "source", "states", "context", "dpor"];

/// Programs with more interleavings are left to the other strategies.
const MOST_INTERLEAVINGS: u64 = 20_000;

fn interleavings(program: &Program) -> u64 {
    // With the start and the end of each thread.
    let lengths = program.threads().iter().map(|thread| thread.len() as u64 + 2);
    let (mut sum, mut product) = (0, 1u64);
    for length in lengths {
        for step in 1..=length {
            sum += 1;
            product = product.saturating_mul(sum) / step;
        }
    }
    product
}

/// Compares all strategies with the oracle.
#[track_caller]
fn compare(program: &Program, expected: &BTreeSet<Outcome>, memory: Memory) {
    check(program, expected, memory, None).unwrap_or_else(|wrong| panic!("{wrong}\nin\n{}", render(program)));
}

/// Compares all strategies with the oracle, with this fault in the model. Says what is wrong.
fn check(
    program: &Program,
    expected: &BTreeSet<Outcome>,
    memory: Memory,
    fault: Option<RaceFault>,
) -> Result<(), String> {
    for name in STRATEGIES {
        if name == "exhaustive" && interleavings(program) > MOST_INTERLEAVINGS {
            continue;
        }
        let strategy: Strategy = name.parse().unwrap();
        let explored = explore_with(program, strategy, memory, fault);
        if explored.verdict != Verdict::Complete {
            return Err(format!("{name}: {:?}", explored.verdict));
        }
        let shown = |outcomes: BTreeSet<&Outcome>| {
            let lines: Vec<String> = outcomes.iter().map(ToString::to_string).collect();
            lines.join("\n")
        };
        let missed = shown(expected.difference(&explored.outcomes).collect());
        let invented = shown(explored.outcomes.difference(expected).collect());
        if !missed.is_empty() || !invented.is_empty() {
            return Err(format!("{name} misses\n{missed}\nand invents\n{invented}"));
        }
    }
    Ok(())
}

/// A generated program, as it is printed.
#[derive(Debug)]
struct Generated(Program);

impl fmt::Display for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", render(&self.0))
    }
}

/// Checks that the fault shows within so many programs.
#[track_caller]
fn caught_within(fault: RaceFault, budget: u32) {
    let _alone = alone();
    let programs = any::<u64>().prop_map(|seed| Generated(generate(seed, 4 + (seed % 4) as usize)));
    first_caught(
        &format!("{fault:?}"),
        budget,
        &programs,
        |Generated(program), faulty| check(program, &outcomes(program), Memory::Rc11, faulty.then_some(fault)),
    );
}

/// Three threads are needed for this one, with which few are generated.
#[test]
fn fences_that_acquire_what_others_have_read() {
    let _alone = alone();
    let shown = |litmus: &litmus::Litmus| {
        let (program, expected) = (&litmus.program, outcomes(&litmus.program));
        check(program, &expected, Memory::Rc11, Some(RaceFault::AcquireForAll)).is_err()
    };
    let names: Vec<&str> = litmus::all()
        .iter()
        .filter(|litmus| shown(litmus))
        .map(|litmus| litmus.name)
        .collect();
    assert_eq!(names, ["porf-psc", "acquire fence of another's read"]);
}

#[test]
fn values_that_are_found_though_a_later_one_is_known() {
    caught_within(RaceFault::ForgetWhatOthersHave, 2000);
}

#[test]
fn modifications_that_are_not_atomic() {
    caught_within(RaceFault::SplitModifications, 2000);
}

#[test]
fn stores_that_come_last() {
    caught_within(RaceFault::StoreLast, 2000);
}

#[test]
fn modifications_of_the_last_value() {
    caught_within(RaceFault::ModifyLast, 2000);
}

#[test]
fn exchanges_that_fail_by_the_last_value() {
    caught_within(RaceFault::FailByLast, 2000);
}

#[test]
fn sequential_consistency_by_execution() {
    caught_within(RaceFault::OrderByExecution, 2000);
}

#[test]
fn sequential_consistency_without_an_order() {
    caught_within(RaceFault::IgnorePsc, 2000);
}

/// A thread that has seen another one end finds the same value twice: of that one's store, which publishes, and is the
/// last, or of an earlier one, which does not. What it finds of the data after that depends on which it was.
fn same_values() -> [Vec<Instruction>; 3] {
    let (data, flag, ended, other) = (0, 1, 2, 3);
    [
        vec![
            store(data, 1, Relaxed),
            load(0, flag, Relaxed),
            if_equal(0, 1, vec![store(flag, 1, Release), store(ended, 1, Relaxed)]),
        ],
        vec![load(0, data, Relaxed), if_equal(0, 1, vec![store(flag, 1, Relaxed)])],
        vec![
            load(0, ended, Relaxed),
            load(1, flag, Acquire),
            // It is pending when the states are compared, in which it shows what a pending operation can find.
            load(2, other, Relaxed),
            load(3, data, Relaxed),
        ],
    ]
}

#[test]
fn states_without_what_threads_know() {
    let _alone = alone();
    let threads = same_values();
    let mut caught = 0;
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let program = Program::new(order.map(|thread| threads[thread].clone()).into());
        let expected = outcomes(&program);
        compare(&program, &expected, Memory::Rc11);
        let fault = Some(RaceFault::IgnoreInStates);
        caught += usize::from(check(&program, &expected, Memory::Rc11, fault).is_err());
    }
    assert!(caught > 0, "states are told apart by what threads know");
}

#[test]
fn known_programs_have_their_outcomes() {
    let _alone = alone();
    for litmus in [litmus::all(), miri::all()].concat() {
        println!("{}", litmus.name);
        compare(&litmus.program, &outcomes(&litmus.program), Memory::Rc11);
    }
}

/// The figures that do not depend on the compiler: those of the oracle, and of `source`.
#[test]
fn the_page_beside_loom_has_their_figures() {
    let _alone = alone();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/weak-memory-loom.md");
    let page = fs::read_to_string(page).unwrap();
    for litmus in litmus::all() {
        let expected = outcomes(&litmus.program).len();
        let source = explore(&litmus.program, Strategy::Source, Memory::Rc11)
            .statistics
            .complete;
        let start = format!("| {} | {} | {expected} | ", litmus.name, litmus.graphs);
        let row = page.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("the page has no row {start}"));
        let cell = row.split(" | ").nth(4);
        assert_eq!(cell, Some(&*source.to_string()), "{row}");
    }
}

#[test]
fn generated_programs_have_their_outcomes() {
    let _alone = alone();
    let seed = setting("DPOR_RC11_SEED", 1717);
    let mut weak = 0;
    let programs = setting("DPOR_RC11_PROGRAMS", 300);
    for number in 0..programs {
        let program = generate(seed.wrapping_add(number), 4 + (number % 4) as usize);
        let expected = outcomes(&program);
        weak += u64::from(expected != interleave(&program).outcomes());
        compare(&program, &expected, Memory::Rc11);
    }
    assert!(weak > programs / 10, "only {weak} of {programs} programs are weak");
}

#[test]
fn without_it_only_interleavings_are_found() {
    let _alone = alone();
    for litmus in litmus::all() {
        let expected = interleave(&litmus.program).outcomes();
        compare(&litmus.program, &expected, Memory::Sc);
    }
}

/// A program whose orderings are all sequentially consistent is explored as without weak memory: no state is added, and
/// no execution.
#[test]
fn programs_without_weak_orderings_cost_the_same() {
    let _alone = alone();
    for litmus in litmus::all() {
        let program = litmus.program.sequentially_consistent();
        for name in STRATEGIES {
            if name == "exhaustive" {
                continue;
            }
            let strategy: Strategy = name.parse().unwrap();
            let counts = [Memory::Sc, Memory::Rc11].map(|memory| {
                let statistics = explore(&program, strategy, memory).statistics;
                (statistics.complete, statistics.steps, statistics.states)
            });
            assert_eq!(counts[0], counts[1], "{name}: {}", litmus.name);
        }
    }
}
