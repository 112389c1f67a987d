//! Generated programs whose threads call the system on the same descriptors: each strategy finds the outcomes that
//! brute force finds.
//!
//! `DPOR_DESCRIPTORS_PROGRAMS` sets how many programs (1,000 by default), `DPOR_DESCRIPTORS_SEED` which ones.

use dpor_explorer::{Context, Dpor, Strategy as Exploration};
use dpor_testsuite::descriptors::{explore, programs};
use dpor_testsuite::generated::{alone, setting};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Number of executions after which a program is too large.
const EXECUTIONS: u64 = 20_000;

#[test]
fn every_outcome_of_calls_on_descriptors() {
    let _alone = alone();
    let count = setting("DPOR_DESCRIPTORS_PROGRAMS", 1000);
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&setting("DPOR_DESCRIPTORS_SEED", 1).to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let programs = programs();
    let (mut too_large, mut given_up, mut outcomes, mut stuck) = (0, 0, 0, 0);
    for number in 0..count {
        let program = programs
            .new_tree(&mut runner)
            .expect("programs can always be generated")
            .current();
        let all = explore(&program, Exploration::Exhaustive, EXECUTIONS).unwrap_or_else(|error| {
            panic!("program {number}, exhaustive: {error}\n{program}");
        });
        let Some(expected) = all else {
            too_large += 1;
            continue;
        };
        outcomes += expected.len();
        stuck += expected.iter().filter(|(stuck, _)| *stuck).count();
        let strategies = [
            Exploration::Source,
            Exploration::Optimal,
            Exploration::Dpor(Dpor::default()),
            Exploration::Context(Context::default()),
            Exploration::States,
            Exploration::Unfolding { partial: None },
        ];
        for strategy in strategies {
            match explore(&program, strategy, 10 * EXECUTIONS) {
                Ok(Some(found)) => {
                    assert_eq!(found, expected, "program {number}, {strategy}:\n{program}");
                }
                // It refuses operations that are enabled by different steps.
                Ok(None) if matches!(strategy, Exploration::Unfolding { .. }) => given_up += 1,
                Ok(None) => panic!("program {number}, {strategy} does not end:\n{program}"),
                Err(error) => panic!("program {number}, {strategy}: {error}\n{program}"),
            }
        }
    }
    println!(
        "{count} programs, {too_large} of them too large, {given_up} given up by `unfolding`; \
         {outcomes} outcomes, {stuck} of them stuck"
    );
    assert!((too_large + given_up) * 2 < count && stuck > 0);
}
