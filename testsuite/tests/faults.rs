//! The oracle catches faults that are seeded into the explorer, each within a stated number of programs.

use dpor_explorer::{Fault, Strategy as Exploration};
use dpor_testsuite::oracle::compare;
use dpor_testsuite::toy::generate;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// The number of generated programs after which the oracle sees the fault.
#[track_caller]
fn caught_within(fault: Fault, budget: u32) {
    let mut runner = TestRunner::deterministic();
    let strategy = generate::programs(500);
    for count in 1..=budget {
        let program = strategy
            .new_tree(&mut runner)
            .expect("programs can always be generated")
            .current();
        if let Err(mismatch) = compare(&program, 500, Some(fault), false) {
            println!("{fault:?} is caught by program {count}:\n{program}{mismatch}");
            assert_eq!(mismatch.strategy, Exploration::Source, "only source is faulty");
            return;
        }
    }
    panic!("{fault:?} is not caught within {budget} programs");
}

#[test]
fn a_dropped_race() {
    caught_within(Fault::DropRace(1), 50);
    caught_within(Fault::DropRace(2), 200);
    caught_within(Fault::DropRace(10), 500);
}

#[test]
fn a_sleeping_entry_that_is_kept() {
    caught_within(Fault::KeepSleeping(1), 200);
    caught_within(Fault::KeepSleeping(2), 500);
    caught_within(Fault::KeepSleeping(10), 2000);
}

#[test]
fn blocked_threads_that_are_forgotten() {
    caught_within(Fault::SkipBlockedAtEnd, 200);
}

#[test]
fn locks_that_race_like_stores() {
    caught_within(Fault::IgnoreGuards, 500);
}

#[test]
fn alternatives_that_are_not_explored() {
    caught_within(Fault::IgnoreAlternatives, 500);
}
