//! Weak memory under the explorer, against the oracle: no outcome missed, none invented.
//!
//! `DPOR_RC11_PROGRAMS` sets how many programs are generated (300 by default), `DPOR_RC11_SEED` which ones. A hundred
//! thousand: `DPOR_RC11_PROGRAMS=100000 cargo test --release -p dpor-testsuite --test rc11`.

use dpor_explorer::{Strategy, Verdict};
use dpor_scheduler::Memory;
use dpor_testsuite::generated::{alone, setting};
use dpor_testsuite::weak::{Outcome, Program, explore, generate, interleave, litmus, outcomes, render};
use std::collections::BTreeSet;

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
fn compare(program: &Program, expected: &BTreeSet<Outcome>, memory: Memory) {
    for name in STRATEGIES {
        if name == "exhaustive" && interleavings(program) > MOST_INTERLEAVINGS {
            continue;
        }
        let strategy: Strategy = name.parse().unwrap();
        let explored = explore(program, strategy, memory);
        assert_eq!(explored.verdict, Verdict::Complete, "{name}\n{}", render(program));
        let shown = |outcomes: BTreeSet<&Outcome>| {
            let lines: Vec<String> = outcomes.iter().map(ToString::to_string).collect();
            lines.join("\n")
        };
        let missed = shown(expected.difference(&explored.outcomes).collect());
        let invented = shown(explored.outcomes.difference(expected).collect());
        assert!(
            missed.is_empty() && invented.is_empty(),
            "{name} misses\n{missed}\nand invents\n{invented}\nin\n{}",
            render(program)
        );
    }
}

#[test]
fn known_programs_have_their_outcomes() {
    let _alone = alone();
    for litmus in litmus::all() {
        println!("{}", litmus.name);
        compare(&litmus.program, &outcomes(&litmus.program), Memory::Rc11);
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
