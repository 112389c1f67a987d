//! The shards of a program together find everything.
//!
//! `DPOR_ORACLE_PROGRAMS` sets how many programs (800 by default), `DPOR_ORACLE_SEED` which ones.

use dpor_explorer::{Context, Dpor, Order, Shard, ShardFault, Strategy as Exploration};
use dpor_testsuite::generated::{first_caught, setting};
use dpor_testsuite::oracle::{CONTEXTS, minimise};
use dpor_testsuite::shards::{Covered, compare};
use dpor_testsuite::toy::{Program, generate};
use proptest::prop_oneof;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Programs with more interleavings than this are left out.
const LIMIT: u64 = 1000;

const COUNTS: [u32; 3] = [2, 3, 5];

fn strategies() -> Vec<Exploration> {
    let contexts = [CONTEXTS[1], CONTEXTS[4], CONTEXTS[9], Context::default()].map(Exploration::Context);
    let dpor = Exploration::Dpor(Dpor {
        sleep: true,
        order: Order::Fifo,
    });
    let others = [
        Exploration::Exhaustive,
        Exploration::Source,
        Exploration::States,
        Exploration::Unfolding { partial: None },
        dpor,
    ];
    [&others[..], &contexts].concat()
}

fn programs() -> impl Strategy<Value = Program> {
    prop_oneof![
        2 => generate::programs(LIMIT),
        2 => generate::commuting_programs(LIMIT),
        1 => generate::choosing_programs(LIMIT),
    ]
}

#[test]
fn shards_together_find_everything() {
    let (programs_wanted, seed) = (setting("DPOR_ORACLE_PROGRAMS", 800), setting("DPOR_ORACLE_SEED", 2014));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let strategies = strategies();
    let (mut totals, mut compared) = ([Covered::default(); COUNTS.len()], 0);
    for number in 0..programs_wanted {
        let program = programs()
            .new_tree(&mut runner)
            .expect("programs can always be generated")
            .current();
        for (i, &count) in COUNTS.iter().enumerate() {
            // Each program with some of the strategies.
            let strategy = strategies[(number as usize * COUNTS.len() + i) % strategies.len()];
            let opaque = number % 8 == 1;
            let covered = compare(&program, strategy, count, opaque, LIMIT, None).unwrap_or_else(|wrong| {
                let wrong_of = |program: &Program| compare(program, strategy, count, opaque, LIMIT, None).err();
                let small = minimise(program.clone(), |program| wrong_of(program).is_some());
                panic!(
                    "seed {seed}, program {number}\n{program}{wrong}\n{small}{:?}",
                    wrong_of(&small)
                )
            });
            let Some(covered) = covered else { continue };
            compared += 1;
            let total = &mut totals[i];
            for i in 0..2 {
                total.parts[i] += covered.parts[i];
                total.executions[i] += covered.executions[i];
            }
            total.pairs += covered.pairs;
        }
    }
    println!("{programs_wanted} programs, {compared} comparisons");
    for (count, total) in COUNTS.iter().zip(totals) {
        println!(
            "{count} shards: {} parts explored, {} shards with nothing to explore, {} pairs, {} executions complete, \
             {} given up",
            total.parts[0], total.parts[1], total.pairs, total.executions[0], total.executions[1]
        );
        assert!(total.parts[0] > total.parts[1], "most programs can be parted");
    }
}

/// The oracle notices the fault within this number of programs.
#[track_caller]
fn caught_within(fault: ShardFault, strategy: Exploration, budget: u32) {
    first_caught(&format!("{fault:?}"), budget, &programs(), |program, faulty| {
        compare(program, strategy, 3, false, LIMIT, faulty.then_some(fault)).map(drop)
    });
}

#[test]
fn faults_are_caught() {
    caught_within(ShardFault::SameSide, Exploration::Source, 20);
    caught_within(ShardFault::JudgeHeld, Exploration::Source, 20);
    caught_within(ShardFault::HideWait, Exploration::Unfolding { partial: None }, 200);
}

#[test]
fn shards_are_counted_from_one() {
    let read = |text: &str| text.parse::<Shard>();
    let shard = read("2/4").expect("there is one");
    assert_eq!(
        (shard.number(), shard.count(), shard.to_string()),
        (2, 4, "2/4".to_owned())
    );
    for wrong in ["", "2", "0/4", "5/4", "1/0", "a/b", "-1/2", "1/2/3", "1/5000"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
