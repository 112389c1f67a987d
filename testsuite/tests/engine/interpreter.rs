//! The interpreter against itself: steps that its footprints call independent commute.

use dpor_explorer::{Step, System, Transition};
use dpor_testsuite::enumerate::{enabled, enumerate};
use dpor_testsuite::oracle::enumerate_all;
use dpor_testsuite::toy::{Program, Toy, generate};
use proptest::prop_oneof;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

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
    for_each_state(program, check_pairs);
    Ok(())
}

/// Calls `visit` in each state once.
fn for_each_state(program: Program, mut visit: impl FnMut(&Toy)) {
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
                    visit(&toy);
                }
                if run(&mut toy, *transition).is_none() {
                    break;
                }
            }
        },
    );
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
    let programs = prop_oneof![generate::programs(300), generate::commuting_programs(300)];
    if let Err(error) = runner.run(&programs, check) {
        panic!("{error}");
    }
}

/// A schedule leads to the same fingerprint whatever came before; and states with the same fingerprint look the same.
#[test]
fn fingerprints_name_states() {
    let mut runner = TestRunner::deterministic();
    let programs = prop_oneof![generate::programs(300), generate::commuting_programs(300)];
    let (mut schedules, mut states) = (0, 0);
    for _ in 0..500 {
        let program = programs
            .new_tree(&mut runner)
            .expect("programs can be generated")
            .current();
        let mut toy = Toy::new(program);
        let (mut by_schedule, mut by_fingerprint) = (HashMap::new(), HashMap::new());
        // The second time, all threads have their ids from the start.
        for _ in 0..2 {
            let met = enumerate(&mut toy, 300, Vec::new, |met, end, steps| {
                end.restart();
                let mut schedule = Vec::new();
                for (transition, _) in steps {
                    if run(end, *transition).is_none() {
                        break;
                    }
                    schedule.push(*transition);
                    met.push((schedule.clone(), end.fingerprint(), end.terminal(), enabled(end)));
                }
            });
            let Ok((_, met)) = met else { break };
            for (schedule, fingerprint, terminal, enabled) in met {
                let before = *by_schedule.entry(schedule).or_insert(fingerprint);
                assert_eq!(before, fingerprint, "the same schedule, another fingerprint");
                let looks = (terminal, enabled);
                let before = by_fingerprint.entry(fingerprint).or_insert_with(|| looks.clone());
                assert_eq!(*before, looks, "the same fingerprint, another state");
            }
        }
        schedules += by_schedule.len();
        states += by_fingerprint.len();
    }
    println!("{schedules} schedules lead to {states} states");
    assert!(states < schedules / 2, "executions meet");
}

/// The kinds of instructions, by their first words.
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
        let found = enumerate_all(Toy::new(program.clone()), 2000);
        contended += u32::from(found.is_none_or(|found| found.traces.len() > 1));
    }
    println!("{seen:?}, {contended} of {PROGRAMS} have several traces");
    assert_eq!(seen.len(), 27, "every kind of instruction occurs");
    for (kind, count) in seen {
        assert!(count >= PROGRAMS / 50, "{kind} occurs in only {count} programs");
    }
    assert!(contended > PROGRAMS / 2);
}

/// The properties of pairs of conflicting steps of different threads that are enabled in one state.
#[derive(Default, Debug)]
struct Pairs {
    conflicting: u32,
    /// Both orders lead to the same state.
    commuting: u32,
    /// Commuting pairs in which one order has a footprint that differs from the other order's.
    differing: u32,
    /// Of the commuting pairs, those one of whose threads can go on at once.
    chained: u32,
}

fn count_pairs(state: &Toy, pairs: &mut Pairs) {
    let transitions = enabled(state);
    for (i, &a) in transitions.iter().enumerate() {
        for &b in transitions[i + 1..].iter().filter(|b| b.thread != a.thread) {
            let (mut left, mut right) = (state.clone(), state.clone());
            let (Some(first), Some(other)) = (run(&mut left, a), run(&mut right, b)) else {
                continue;
            };
            let (Some(second), Some(last)) = (run(&mut left, b), run(&mut right, a)) else {
                continue;
            };
            if !first.footprint.conflicts_with(&second.footprint) && !other.footprint.conflicts_with(&last.footprint) {
                continue;
            }
            pairs.conflicting += 1;
            if left.fingerprint() != right.fingerprint() {
                continue;
            }
            assert_eq!(
                left.terminal(),
                right.terminal(),
                "states with equal fingerprints are equal"
            );
            pairs.commuting += 1;
            pairs.differing += u32::from(first.footprint != last.footprint || second.footprint != other.footprint);
            let goes_on = |t: Transition| left.threads()[t.thread.index()].alternatives().is_some();
            pairs.chained += u32::from(goes_on(a) || goes_on(b));
        }
    }
}

/// Without steps that conflict and commute, nothing tests the context-sensitive strategy.
#[test]
fn conflicting_steps_often_commute() {
    const PROGRAMS: u32 = 1000;
    let generators = [
        ("all kinds", generate::programs(300).boxed(), PROGRAMS / 8),
        ("commuting", generate::commuting_programs(300).boxed(), PROGRAMS / 3),
    ];
    for (name, generator, least) in generators {
        let mut runner = TestRunner::deterministic();
        let (mut pairs, mut having) = (Pairs::default(), 0);
        for _ in 0..PROGRAMS {
            let program = generator.new_tree(&mut runner).expect("programs can be generated");
            let before = pairs.commuting;
            for_each_state(program.current(), |state| count_pairs(state, &mut pairs));
            having += u32::from(pairs.commuting > before);
        }
        println!("{name}: {having} of {PROGRAMS} programs have commuting pairs; {pairs:?}");
        assert!(having >= least, "{name}: commuting pairs in only {having} programs");
        assert!(pairs.differing > 0, "{name}: footprints never depend on the context");
    }
}
