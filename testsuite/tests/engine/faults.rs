//! The oracle catches faults that are seeded into the explorer, each within a stated number of programs.

use dpor_explorer::{Context, Fault, Strategy as Exploration};
use dpor_testsuite::actors;
use dpor_testsuite::generated::first_caught;
use dpor_testsuite::oracle::{CONTEXTS, DPORS, Mismatch, Settings, UNFOLDINGS, compare, compare_actors};
use dpor_testsuite::toy::{Part, Program, generate};
use proptest::prop_oneof;
use proptest::strategy::Strategy;

const LIMIT: u64 = 500;

/// The first of the generated programs on which the oracle sees that something is wrong.
#[track_caller]
fn caught_within(name: &str, settings: &Settings, budget: u32, generator: impl Strategy<Value = Program>) -> Mismatch {
    let faultless = Settings {
        fault: None,
        optimal_fault: None,
        unfolding_fault: None,
        states_fault: None,
        unseen: None,
        unseen_by_states: None,
        ..*settings
    };
    first_caught(name, budget, &generator, |program, faulty| {
        compare(program, if faulty { settings } else { &faultless }).map(drop)
    })
}

/// The number of generated programs after which the oracle sees the fault of `source`.
#[track_caller]
fn source_caught_within(fault: Fault, budget: u32) {
    let settings = Settings {
        contexts: &[],
        fault: Some(fault),
        ..Settings::new(LIMIT)
    };
    let mismatch = caught_within(&format!("{fault:?}"), &settings, budget, generate::programs(LIMIT));
    assert_eq!(mismatch.strategy, Exploration::Source, "only source is faulty");
}

/// The number of generated programs after which the oracle sees the fault of `optimal`.
#[track_caller]
fn optimal_caught_within(fault: Fault, budget: u32) {
    let settings = Settings {
        contexts: &[],
        dpors: &[],
        optimal_fault: Some(fault),
        ..Settings::new(LIMIT)
    };
    let name = format!("{fault:?} of optimal");
    let mismatch = caught_within(&name, &settings, budget, generate::programs(LIMIT));
    assert_eq!(mismatch.strategy, Exploration::Optimal, "only that is faulty");
}

/// The number of generated programs after which the oracle sees the fault of the unfolding-based strategy.
#[track_caller]
fn unfolding_caught_within(fault: Fault, budget: u32) {
    let settings = Settings {
        contexts: &[],
        unfolding_fault: Some(fault),
        ..Settings::new(LIMIT)
    };
    let name = format!("{fault:?} of the unfolding");
    let mismatch = caught_within(&name, &settings, budget, generate::programs(LIMIT));
    assert!(UNFOLDINGS.contains(&mismatch.strategy), "only that is faulty");
}

/// The number of generated programs after which the oracle sees the fault of each configuration of the
/// context-sensitive strategy.
#[track_caller]
fn contexts_caught_within(name: &str, settings: Settings, contexts: &'static [Context], budget: u32) {
    for (i, context) in contexts.iter().enumerate() {
        let settings = Settings {
            contexts: &contexts[i..=i],
            ..settings
        };
        let programs = prop_oneof![generate::programs(LIMIT), generate::commuting_programs(LIMIT)];
        let mismatch = caught_within(
            &format!("{name}, {}", Exploration::Context(*context)),
            &settings,
            budget,
            programs,
        );
        assert_eq!(mismatch.strategy, Exploration::Context(*context), "only that is faulty");
    }
}

/// The number of generated programs after which the oracle sees the fault of the search over states.
#[track_caller]
fn states_caught_within(name: &str, settings: Settings, budget: u32) {
    let settings = Settings {
        contexts: &[],
        ..settings
    };
    let programs = prop_oneof![generate::programs(LIMIT), generate::commuting_programs(LIMIT)];
    let mismatch = caught_within(&format!("{name}, states"), &settings, budget, programs);
    assert_eq!(mismatch.strategy, Exploration::States, "only that is faulty");
}

/// Fingerprints that do not depend on a part of the state.
#[track_caller]
fn coarse_caught_within(part: Part, budget: u32) {
    let settings = Settings {
        unseen_by_states: Some(part),
        ..Settings::new(LIMIT)
    };
    states_caught_within(&format!("a fingerprint without {part:?}"), settings, budget);
    let settings = Settings {
        unseen: Some(part),
        ..Settings::new(LIMIT)
    };
    contexts_caught_within(&format!("a fingerprint without {part:?}"), settings, &CONTEXTS, budget);
}

#[test]
fn a_dropped_race() {
    source_caught_within(Fault::DropRace(1), 50);
    source_caught_within(Fault::DropRace(2), 50);
    source_caught_within(Fault::DropRace(10), 50);
}

#[test]
fn a_sleeping_entry_that_is_kept() {
    source_caught_within(Fault::KeepSleeping(1), 50);
    source_caught_within(Fault::KeepSleeping(2), 50);
    source_caught_within(Fault::KeepSleeping(10), 100);
}

#[test]
fn blocked_threads_that_are_forgotten() {
    source_caught_within(Fault::SkipBlocked, 100);
}

#[test]
fn races_and_sleeping_entries_of_wakeup_trees() {
    optimal_caught_within(Fault::DropRace(1), 50);
    optimal_caught_within(Fault::DropRace(5), 50);
    optimal_caught_within(Fault::KeepSleeping(1), 50);
    optimal_caught_within(Fault::KeepSleeping(5), 50);
    optimal_caught_within(Fault::SkipBlocked, 100);
}

#[test]
fn sleeping_entries_that_are_trusted_where_a_sequence_did_not_wake_them() {
    optimal_caught_within(Fault::TrustSleepers, 5000);
}

#[test]
fn conflicting_extensions_that_are_dropped() {
    unfolding_caught_within(Fault::DropRace(1), 50);
    unfolding_caught_within(Fault::DropRace(5), 50);
}

#[test]
fn events_that_are_avoided_for_too_long() {
    unfolding_caught_within(Fault::KeepSleeping(1), 50);
    unfolding_caught_within(Fault::KeepSleeping(5), 50);
}

/// What Theorem 1 of FORTE 2019 leaves out, since it is about persistent programs.
#[test]
fn histories_of_blocked_operations_that_are_forgotten() {
    unfolding_caught_within(Fault::SkipBlocked, 100);
}

#[test]
fn alternatives_that_the_unfolding_does_not_explore() {
    unfolding_caught_within(Fault::IgnoreAlternatives, 200);
}

#[test]
fn locks_that_race_like_stores() {
    source_caught_within(Fault::IgnoreGuards, 50);
}

#[test]
fn alternatives_that_are_not_explored() {
    source_caught_within(Fault::IgnoreAlternatives, 200);
}

#[test]
fn fingerprints_without_variables() {
    coarse_caught_within(Part::Variables, 200);
}

#[test]
fn fingerprints_without_messages() {
    coarse_caught_within(Part::Messages, 200);
}

#[test]
fn fingerprints_without_registers() {
    coarse_caught_within(Part::Registers, 200);
}

/// Algorithm 1 as it was published.
#[test]
fn cuts_whose_races_are_not_looked_for() {
    let settings = Settings {
        fault: Some(Fault::SkipCutRaces),
        ..Settings::new(LIMIT)
    };
    contexts_caught_within("SkipCutRaces", settings, &CONTEXTS, 5000);
}

/// What a search over states must know of what follows a state.
#[test]
fn futures_that_are_forgotten() {
    for (fault, budget) in [
        (Fault::SkipCutRaces, 1000),
        (Fault::SkipBlocked, 1000),
        (Fault::LongPasts, 5000),
        (Fault::IgnoreAlternatives, 1000),
    ] {
        let settings = Settings {
            states_fault: Some(fault),
            ..Settings::new(LIMIT)
        };
        states_caught_within(&format!("{fault:?}"), settings, budget);
    }
}

/// Only eager checks know on what a sequence depends.
#[test]
fn sleeping_sequences_that_are_kept() {
    let settings = Settings {
        fault: Some(Fault::LooseSequences),
        ..Settings::new(LIMIT)
    };
    const EAGER: &[Context] = CONTEXTS.split_at(4).0;
    contexts_caught_within("LooseSequences", settings, EAGER, 500);
}

/// As far as the choices of values go.
#[test]
fn choices_that_are_not_explored() {
    let settings = Settings {
        contexts: &[],
        fault: Some(Fault::IgnoreAlternatives),
        ..Settings::new(LIMIT)
    };
    let mismatch = caught_within("IgnoreAlternatives", &settings, 20, generate::choosing_programs(LIMIT));
    assert_eq!(mismatch.strategy, Exploration::Source, "only source is faulty");
}

/// The strategy that the oracle first finds wrong because of the fault, on one of the generated actor programs.
#[track_caller]
fn actors_caught_within(fault: Fault, sleep: bool, budget: u32) -> Exploration {
    let settings = Settings {
        contexts: &[],
        // FIFO only.
        dpors: if sleep { &DPORS[..1] } else { &DPORS[3..4] },
        fault: Some(fault),
        ..Settings::new(LIMIT)
    };
    let faultless = Settings {
        fault: None,
        ..settings
    };
    let name = format!("{fault:?} of actors");
    let mismatch = first_caught(&name, budget, &actors::generate::programs(), |program, faulty| {
        compare_actors(program, if faulty { &settings } else { &faultless }).map(drop)
    });
    mismatch.strategy
}

#[test]
fn a_backtrack_set_that_stays_frozen() {
    for sleep in [false, true] {
        let caught = actors_caught_within(Fault::KeepFrozen, sleep, 100);
        assert!(matches!(caught, Exploration::Trans(_)), "only trans is faulty");
    }
}

#[test]
fn races_of_actors_that_are_dropped_or_forgotten() {
    for (fault, budget) in [
        (Fault::DropRace(2), 50),
        (Fault::DropRace(10), 200),
        (Fault::SkipBlocked, 500),
    ] {
        for sleep in [false, true] {
            actors_caught_within(fault, sleep, budget);
        }
    }
    actors_caught_within(Fault::KeepSleeping(2), true, 50);
}
