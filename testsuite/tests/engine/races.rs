//! The checker of data races on generated programs, against the definition: no race missed, none invented.
//!
//! `DPOR_RACES_PROGRAMS` sets how many programs (3,000 by default), `DPOR_RACES_SEED` which ones, `DPOR_RACES_FAILURES`
//! after how many failures to stop (3). A hundred thousand:
//! `DPOR_RACES_PROGRAMS=100000 cargo test --release -p dpor-testsuite --test engine races:: -- --nocapture`.

use dpor_explorer::{Fault, SplitMix64};
use dpor_scheduler::RaceFault;
use dpor_testsuite::generated::{alone, first_caught, setting};
use dpor_testsuite::races::{Agreement, Program, Seeded, Settings, check, minimise, program};
use proptest::prelude::any;
use proptest::strategy::Strategy;
use std::collections::BTreeMap;

const SETTINGS: Settings = Settings {
    states: 20_000,
    executions: 2000,
    exhaustive: 300,
    thorough: false,
    fault: None,
};

#[derive(Default)]
struct Totals {
    programs: u64,
    too_large: u64,
    races: u64,
    deadlocks: u64,
    states: usize,
    /// By strategy: programs, and executions together.
    explored: BTreeMap<String, (u64, u64)>,
    abandoned: BTreeMap<String, u64>,
}

impl Totals {
    fn add(&mut self, agreement: Agreement) {
        self.programs += 1;
        let Agreement::Agreed {
            judgement,
            executions,
            abandoned,
        } = agreement
        else {
            self.too_large += 1;
            return;
        };
        self.races += u64::from(judgement.race);
        self.deadlocks += u64::from(judgement.deadlock);
        self.states += judgement.states;
        for (strategy, executions) in executions {
            let of = self.explored.entry(strategy.to_string()).or_default();
            of.0 += 1;
            of.1 += executions;
        }
        for strategy in abandoned {
            *self.abandoned.entry(strategy.to_string()).or_default() += 1;
        }
    }
}

/// The seed of the program with this number.
fn seed_of(seed: u64, number: u64) -> u64 {
    SplitMix64::mix(SplitMix64::mix(seed).wrapping_add(number))
}

#[test]
fn every_race_and_no_other() {
    let _alone = alone();
    let seed = setting("DPOR_RACES_SEED", 1979);
    let failures = setting("DPOR_RACES_FAILURES", 3);
    let mut totals = Totals::default();
    let mut wrong = 0;
    for number in 0..setting("DPOR_RACES_PROGRAMS", 3000) {
        let program = program(seed_of(seed, number));
        let settings = Settings {
            thorough: number.is_multiple_of(8),
            ..SETTINGS
        };
        match check(&program, settings) {
            Ok(agreement) => totals.add(agreement),
            Err(_) => {
                println!("seed {seed}, program {number}\n{}", report(program));
                wrong += 1;
                if wrong == failures {
                    break;
                }
            }
        }
    }
    println!(
        "{} programs ({} skipped: too large) with {} states of brute force; {} with a race, {} with a deadlock",
        totals.programs, totals.too_large, totals.states, totals.races, totals.deadlocks
    );
    for (strategy, (programs, executions)) in &totals.explored {
        let abandoned = totals.abandoned.get(strategy).unwrap_or(&0);
        println!("{strategy}: {programs} programs with {executions} executions; {abandoned} abandoned");
    }
    assert_eq!(wrong, 0, "programs are judged wrongly");
    let judged = totals.programs - totals.too_large;
    assert!(totals.too_large * 4 < totals.programs, "most programs are compared");
    assert!(
        totals.races * 4 > judged && totals.races * 4 < judged * 3,
        "there are both sorts"
    );
}

/// The program, made as small as possible, and what is wrong.
fn report(program: Program) -> String {
    let settings = Settings {
        thorough: true,
        ..SETTINGS
    };
    let original = program.to_string();
    let program = minimise(program, |program| check(program, settings).is_err());
    match check(&program, settings) {
        Err(mismatch) => format!("{program}{mismatch}"),
        Ok(_) => format!("it is right when checked again:\n{original}"),
    }
}

/// The number of programs after which a fault is noticed.
#[track_caller]
fn caught_within(fault: Seeded, budget: u32) {
    let _alone = alone();
    let programs = any::<u64>().prop_map(program);
    first_caught(&format!("{fault:?}"), budget, &programs, |program, faulty| {
        let settings = Settings {
            exhaustive: 0,
            fault: faulty.then_some(fault),
            ..SETTINGS
        };
        check(program, settings).map(drop)
    });
}

#[test]
fn fences_that_do_not_release() {
    caught_within(Seeded::Races(RaceFault::IgnoreReleaseFences), 200);
}

#[test]
fn release_sequences_that_end_at_modifications() {
    caught_within(Seeded::Races(RaceFault::EndReleaseSequences), 200);
}

#[test]
fn reads_that_are_not_noted() {
    caught_within(Seeded::Races(RaceFault::ForgetReads), 50);
}

#[test]
fn states_without_accesses() {
    caught_within(Seeded::Races(RaceFault::IgnoreInStates), 2000);
}

#[test]
fn modifications_that_count_as_reads() {
    caught_within(Seeded::Races(RaceFault::ModifyLikeReads), 2000);
}

#[test]
fn stacks_that_are_not_exposed() {
    caught_within(Seeded::Races(RaceFault::KeepPrivate), 200);
}

#[test]
fn states_that_cover_all() {
    caught_within(Seeded::Search(Fault::CoverAll), 20_000);
}
