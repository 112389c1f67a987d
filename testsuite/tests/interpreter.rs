//! The interpreter against itself: steps that its footprints call independent commute.

use dpor_explorer::{Step, System, Transition};
use dpor_testsuite::enumerate::{enabled, enumerate};
use dpor_testsuite::oracle::enumerate_all;
use dpor_testsuite::toy::{Program, Toy, generate};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::collections::{BTreeMap, BTreeSet, HashSet};

fn run(toy: &mut Toy, transition: Transition) -> Option<Step> {
    let possible = toy
        .threads()
        .get(transition.thread.index())?
        .alternatives()?
        .contains(transition.alternative);
    let mut step = Step::default();
    (possible && toy.step(transition, &mut step).is_ok()).then_some(step)
}

/// At each state of each execution, runs all pairs of enabled transitions in both orders.
fn check(program: Program) -> Result<(), TestCaseError> {
    let mut toy = Toy::new(program);
    let mut states = HashSet::new();
    // What is beyond the limit is not looked at.
    let _ = enumerate(
        &mut toy,
        100,
        || (),
        |(), end, steps| {
            let mut toy = end.clone();
            toy.restart();
            for (transition, _) in steps {
                if states.insert(toy.fingerprint()) {
                    check_pairs(&toy);
                }
                if run(&mut toy, *transition).is_none() {
                    break;
                }
            }
        },
    );
    Ok(())
}

fn check_pairs(state: &Toy) {
    let transitions = enabled(state);
    for &a in &transitions {
        for &b in transitions.iter().filter(|b| b.thread != a.thread) {
            let (mut left, mut right) = (state.clone(), state.clone());
            let (Some(first), Some(other)) = (run(&mut left, a), run(&mut right, b)) else {
                continue;
            };
            if first.footprint.conflicts_with(&other.footprint) {
                continue;
            }
            let second = run(&mut left, b).expect("an independent step leaves it enabled");
            let last = run(&mut right, a).expect("an independent step leaves it enabled");
            assert_eq!(second.footprint, other.footprint, "{b} after {a}");
            assert_eq!(last.footprint, first.footprint, "{a} after {b}");
            assert_eq!(left.terminal(), right.terminal(), "{a} and {b} do not commute");
        }
    }
}

#[test]
fn independent_steps_commute() {
    let mut runner = TestRunner::new(Config {
        cases: 1000,
        failure_persistence: None,
        ..Config::default()
    });
    if let Err(error) = runner.run(&generate::programs(300), check) {
        panic!("{error}");
    }
}

/// What kinds of instructions there are, by their first word.
fn kinds(program: &Program) -> BTreeSet<String> {
    let name = |instruction| format!("{instruction:?}").split([' ', '(']).next().map(str::to_owned);
    program.bodies.iter().flatten().filter_map(name).collect()
}

#[test]
fn generated_programs_are_varied() {
    const PROGRAMS: u32 = 2000;
    let mut runner = TestRunner::deterministic();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut contended = 0;
    for _ in 0..PROGRAMS {
        let program = generate::programs(300)
            .new_tree(&mut runner)
            .expect("programs can be generated")
            .current();
        for kind in kinds(&program) {
            *seen.entry(kind).or_default() += 1;
        }
        let found = enumerate_all(&program, 2000);
        contended += u32::from(found.is_none_or(|found| found.traces.len() > 1));
    }
    println!("{seen:?}, {contended} of {PROGRAMS} have several traces");
    assert_eq!(seen.len(), 25, "every kind of instruction occurs");
    for (kind, count) in seen {
        assert!(count >= PROGRAMS / 50, "{kind} occurs in only {count} programs");
    }
    assert!(contended > PROGRAMS / 2);
}
