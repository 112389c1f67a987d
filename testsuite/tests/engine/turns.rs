//! Turns: threads that go on for ever until another one moves.
//!
//! `DPOR_ORACLE_PROGRAMS` sets how many programs are compared.

use dpor_explorer::{Explorer, Limits, Strategy as Exploration, Verdict};
use dpor_testsuite::generated::setting;
use dpor_testsuite::oracle::{compare_turns, fails};
use dpor_testsuite::toy::{Instruction, Operand, Program, Test, Toy, generate};
use proptest::prop_oneof;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::num::NonZeroUsize;

/// Programs with more interleavings than this are left out.
const LIMIT: u64 = 2000;

#[test]
fn turns_make_no_difference_to_what_is_found() {
    let programs = setting("DPOR_ORACLE_PROGRAMS", 4000);
    let generator = prop_oneof![
        generate::programs(LIMIT),
        generate::commuting_programs(LIMIT),
        generate::choosing_programs(LIMIT),
    ];
    let mut runner = TestRunner::deterministic();
    let mut compared = 0;
    for number in 0..programs {
        let program = generator.new_tree(&mut runner).unwrap().current();
        let turn = NonZeroUsize::new(1 + number as usize % 5).unwrap();
        match compare_turns(&program, LIMIT, turn) {
            Ok(has_few) => compared += u64::from(has_few),
            Err(mismatch) => panic!("program {number}, turns of {turn} steps\n{program}{mismatch}"),
        }
    }
    println!("of {programs} programs, {compared} were compared");
    assert!(compared > programs * 9 / 10);
}

/// Two threads that add to a variable in two steps, so that one addition may be lost, and one that counts until both
/// have ended, in which no state is as another one before. It then finds what the sum is.
fn counts_until_others_have_ended() -> Program {
    use Instruction::*;
    let (sum, ended, rounds) = (0, 1, 2);
    let load = |variable, into| Load { variable, into };
    let add = |variable| FetchAdd {
        variable,
        value: Operand::Constant(1),
        into: None,
    };
    let repeat = |count| Repeat {
        register: 0,
        test: Test::NotEqual(2),
        count,
    };
    let counts = vec![
        add(rounds),
        load(ended, 0),
        repeat(2),
        load(sum, 0),
        Assert {
            register: 0,
            test: Test::Equal(2),
        },
    ];
    let adds = vec![
        load(sum, 0),
        Compute {
            into: 0,
            factor: 1,
            value: Operand::Constant(1),
        },
        Store {
            variable: sum,
            value: Operand::Register(0),
        },
        add(ended),
    ];
    Program::new(vec![counts, adds.clone(), adds], 3)
}

#[test]
fn a_thread_that_goes_on_until_others_move_does_not_keep_them_from_failing() {
    for name in ["states", "source", "optimal", "context", "pct", "random"] {
        let limits = Limits {
            depth: 100_000,
            executions: Some(200),
            ..Limits::default()
        };
        let strategy: Exploration = name.parse().unwrap();
        let system = Toy::new(counts_until_others_have_ended());
        // As the tool does.
        let mut explorer = Explorer::new(system, strategy, limits).sends_scouts(Some(500));
        let report = explorer.run(&mut ());
        let Verdict::Failed { schedule, .. } = &report.verdict else {
            panic!("{name}: {:?}", report.verdict)
        };
        assert!(fails(explorer.system(), schedule), "{name}");
        let longest = report.statistics.peak_depth;
        assert!(longest < 2_000, "{name}: an execution takes {longest} steps");
    }
}
