//! Weak memory under the explorer, against the oracle: no outcome missed, none invented.
//!
//! `DPOR_RC11_PROGRAMS` sets how many programs are generated (300 by default), `DPOR_RC11_SEED` which ones. A hundred
//! thousand: `DPOR_RC11_PROGRAMS=100000 cargo test --release -p dpor-testsuite --test engine rc11::`.
//!
//! `DPOR_RC11_GRAPHS` sets for how many of them the execution graphs that `source` explores are counted (20,000 by
//! default). A million:
//! `DPOR_RC11_GRAPHS=1000000 cargo test --release -p dpor-testsuite --test engine each_graph_once`.
//! `DPOR_RC11_LOOPS` sets how many of them wait in a loop (200 by default).
//! `DPOR_RC11_VALUES` sets how many of them are explored with few values of each atomic (600 by default). Twenty
//! thousand: `DPOR_RC11_VALUES=20000 cargo test --release -p dpor-testsuite --test engine with_few_values`.

use dpor_explorer::{Fault, Statistics, Strategy, Verdict};
use dpor_scheduler::{Memory, RaceFault};
use dpor_testsuite::generated::{alone, first_caught, setting};
use dpor_testsuite::races::Seeded;
use dpor_testsuite::weak::litmus::{if_equal, load, store};
use dpor_testsuite::weak::{
    Axioms, Instruction, Outcome, Program, Wait, enumerate, explore, explore_narrowly, explore_parts, explore_turns,
    explore_waiting, explore_with, families, generate, generate_long_histories, graphs, interleave, litmus, miri,
    outcomes, render,
};
use proptest::prelude::any;
use proptest::strategy::Strategy as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

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
fn check(program: &Program, expected: &BTreeSet<Outcome>, memory: Memory, fault: Option<Seeded>) -> Result<(), String> {
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

/// Checks that the fault of the memory model shows within so many programs.
#[track_caller]
fn caught_within(fault: RaceFault, budget: u32) {
    caught_by(Seeded::Races(fault), budget, |program, fault| {
        check(program, &outcomes(program), Memory::Rc11, fault)
    });
}

/// Checks that the fault shows within so many programs.
#[track_caller]
fn caught_by(fault: Seeded, budget: u32, check: impl Fn(&Program, Option<Seeded>) -> Result<(), String>) {
    caught_among(fault, budget, |seed| generate(seed, 4 + (seed % 4) as usize), check);
}

/// Checks that the fault shows within so many of these programs.
#[track_caller]
fn caught_among(
    fault: Seeded,
    budget: u32,
    generate: impl Fn(u64) -> Program,
    check: impl Fn(&Program, Option<Seeded>) -> Result<(), String>,
) {
    let _alone = alone();
    let programs = any::<u64>().prop_map(|seed| Generated(generate(seed)));
    first_caught(
        &format!("{fault:?}"),
        budget,
        &programs,
        |Generated(program), faulty| check(program, faulty.then_some(fault)),
    );
}

/// Three threads are needed for this one, with which few are generated.
#[test]
fn fences_that_acquire_what_others_have_read() {
    let _alone = alone();
    let shown = |litmus: &litmus::Litmus| {
        let (program, expected) = (&litmus.program, outcomes(&litmus.program));
        check(
            program,
            &expected,
            Memory::Rc11,
            Some(Seeded::Races(RaceFault::AcquireForAll)),
        )
        .is_err()
    };
    let names: Vec<&str> = litmus::all()
        .iter()
        .filter(|litmus| shown(litmus))
        .map(|litmus| litmus.name)
        .collect();
    // `source` misses part of relseq: by execution graphs, a fence does not depend on what others read.
    assert_eq!(names, ["relseq", "porf-psc", "acquire fence of another's read"]);
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

/// Whether the second thread comes to the data at all depends on the schedule. Where it does, it finds any of the values.
#[test]
fn locations_that_are_taken_for_one_threads() {
    let _alone = alone();
    let (flag, data) = (0, 1);
    let writes = vec![store(flag, 1, SeqCst), store(data, 1, SeqCst), store(data, 2, SeqCst)];
    let reads = vec![
        load(0, flag, SeqCst),
        if_equal(0, 1, vec![load(1, data, SeqCst)]),
        load(2, flag, SeqCst),
    ];
    let mut caught = 0;
    for threads in [[&writes, &reads], [&reads, &writes]] {
        let program = Program::new(threads.map(Clone::clone).into());
        assert!(program.joins());
        let expected = outcomes(&program);
        compare(&program, &expected, Memory::Rc11);
        let fault = Some(Seeded::Races(RaceFault::KeepUnshared));
        caught += usize::from(check(&program, &expected, Memory::Rc11, fault).is_err());
    }
    assert!(caught > 0, "another thread comes to what was one thread's");
}

#[test]
fn modifications_of_the_last_value() {
    caught_within(RaceFault::ModifyLast, 2000);
}

#[test]
fn values_that_are_left_out_unnoticed() {
    let fault = Seeded::Races(RaceFault::ForgetCuts);
    caught_among(fault, 2000, generate_long_histories, |program, fault| {
        check_narrowly(program, &outcomes(program), fault).map(drop)
    });
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

/// Checks that the fault shows in an order of these threads.
#[track_caller]
fn caught_in(threads: [Vec<Instruction>; 3], fault: Seeded) {
    let _alone = alone();
    let mut caught = 0;
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let program = Program::new(order.map(|thread| threads[thread].clone()).into());
        let expected = outcomes(&program);
        compare(&program, &expected, Memory::Rc11);
        caught += usize::from(check(&program, &expected, Memory::Rc11, Some(fault)).is_err());
    }
    assert!(caught > 0, "{fault:?} is not caught");
}

#[test]
fn states_without_what_threads_know() {
    caught_in(same_values(), Seeded::Races(RaceFault::IgnoreInStates));
}

#[test]
fn states_that_cover_those_in_which_less_is_known() {
    let [first, _, mut third] = same_values();
    let (flag, other) = (1, 3);
    // It is there until the third one has stored, and knows nothing of the data: whatever the third one knows, they have
    // two values in reach.
    let second = vec![store(flag, 1, Relaxed), load(0, other, Relaxed)];
    third[2] = store(other, 1, Relaxed);
    caught_in([first, second, third], Seeded::Search(Fault::CoverAll));
}

#[test]
fn stores_that_come_before_reads() {
    caught_by(Seeded::Search(Fault::PassStores), 200, |program, fault| {
        check(program, &outcomes(program), Memory::Rc11, fault)
    });
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
        let executions = [Strategy::States, Strategy::Source]
            .map(|strategy| explore(&litmus.program, strategy, Memory::Rc11).statistics.complete);
        let start = format!("| {} | {} | {expected} | ", litmus.name, litmus.graphs);
        let row = page.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("the page has no row {start}"));
        let cells: Vec<&str> = row.split(" | ").skip(3).take(2).collect();
        assert_eq!(cells, executions.map(|number| number.to_string()), "{row}");
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

/// Compares what is explored with few values of each atomic, and with more and more of them, with the oracle, and with
/// what `exhaustive` explores with as many. Says what is wrong; and how often exploration came to its end and found
/// less.
fn check_narrowly(program: &Program, expected: &BTreeSet<Outcome>, fault: Option<Seeded>) -> Result<usize, String> {
    let mut others: Option<BTreeMap<u32, BTreeSet<Outcome>>> = None;
    let mut less = 0;
    for strategy in [Strategy::Exhaustive, Strategy::States] {
        if strategy == Strategy::Exhaustive && interleavings(program) > MOST_INTERLEAVINGS {
            continue;
        }
        let (explored, narrowly) = explore_narrowly(program, strategy, fault);
        if explored.verdict != Verdict::Complete || explored.outcomes != *expected {
            let of = [explored.outcomes.len(), expected.len()];
            return Err(format!("{strategy}: {:?}, outcomes: {of:?}", explored.verdict));
        }
        if let Some((values, _)) = narrowly.iter().find(|(_, outcomes)| !outcomes.is_subset(expected)) {
            return Err(format!("{strategy} invents outcomes with {values} values"));
        }
        let others = others.get_or_insert_with(|| narrowly.clone());
        for values in others.keys().chain(narrowly.keys()) {
            // Where one of them has not come to its end with so many, all were explored with these, or with fewer.
            let [one, other] = [&*others, &narrowly].map(|outcomes| outcomes.get(values).unwrap_or(expected));
            if one != other {
                return Err(format!(
                    "{strategy} finds with {values} values\n{other:?}\nand not\n{one:?}"
                ));
            }
        }
        less = narrowly.values().filter(|outcomes| *outcomes != expected).count();
    }
    Ok(less)
}

#[test]
fn with_few_values_all_that_they_allow_is_found_and_in_the_end_everything() {
    let _alone = alone();
    let seed = setting("DPOR_RC11_SEED", 1717);
    let programs = setting("DPOR_RC11_VALUES", 600);
    let (mut less, mut of) = (0, 0);
    for number in 0..programs {
        let program = generate_long_histories(seed.wrapping_add(number));
        let expected = outcomes(&program);
        match check_narrowly(&program, &expected, None) {
            Ok(number) => {
                less += number;
                of += u64::from(number > 0);
            }
            Err(wrong) => panic!("{wrong}\nin\n{}", render(&program)),
        }
    }
    println!("{less} explorations with few values, of {of} programs, find less than all");
    assert!(of > programs / 20, "only {of} of {programs} programs have many values");
}

/// Compares the execution graphs that `source` explores with the oracle: none missed, none explored twice. Says what is
/// wrong.
fn check_graphs(program: &Program, fault: Option<Seeded>) -> Result<Statistics, String> {
    let all = enumerate(program, Axioms::RC11);
    let explored = match fault {
        None => explore_turns(program, Strategy::Source),
        Some(_) => explore_with(program, Strategy::Source, Memory::Rc11, fault),
    };
    let number = all.graphs.len();
    let Statistics { complete, .. } = explored.statistics;
    let same = complete == number as u64 && explored.graphs == number && explored.outcomes == all.outcomes();
    match same && explored.verdict == Verdict::Complete {
        true => Ok(explored.statistics),
        false => Err(format!(
            "of {number} graphs, source explores {} in {complete} executions: {:?}",
            explored.graphs, explored.verdict
        )),
    }
}

#[test]
fn source_explores_each_graph_once() {
    let _alone = alone();
    let seed = setting("DPOR_RC11_SEED", 1717);
    let programs = setting("DPOR_RC11_GRAPHS", 20_000);
    let known = [litmus::all(), miri::all()].concat();
    let generated = (0..programs).map(|number| generate(seed.wrapping_add(number), 4 + (number % 4) as usize));
    let (mut complete, mut blocked) = (0, 0);
    for program in known.into_iter().map(|litmus| litmus.program).chain(generated) {
        match check_graphs(&program, None) {
            Ok(statistics) => {
                complete += statistics.complete;
                blocked += statistics.blocked;
            }
            Err(wrong) => panic!("{wrong}\nin\n{}", render(&program)),
        }
    }
    println!("{complete} complete executions, {blocked} blocked");
    assert!(complete > 4 * programs, "the programs have {complete} graphs");
    assert!(blocked < complete / 20, "{blocked} executions are blocked");
}

/// Threads that are all asleep, or awake for new stores only, need not each be the next one.
#[test]
fn source_gives_up_no_execution_of_programs_that_grow() {
    for family in &families::ALL {
        let program = family.program(4);
        let explored = explore(&program, Strategy::Source, Memory::Rc11);
        let Statistics { complete, blocked, .. } = explored.statistics;
        assert_eq!((complete, blocked), (graphs(&program) as u64, 0), "{}", family.name);
    }
}

#[test]
fn parts_have_all_outcomes() {
    let _alone = alone();
    let (mut more, mut programs) = (0, Vec::new());
    programs.extend(litmus::all().into_iter().map(|litmus| litmus.program));
    programs.extend((0..300).map(|seed| generate(seed, 4 + (seed % 4) as usize)));
    for program in programs {
        let (found, parts) = explore_parts(&program, Strategy::Source, Memory::Rc11, 4);
        assert_eq!(found, outcomes(&program), "in\n{}", render(&program));
        more += usize::from(parts > 1);
    }
    assert!(more > 100, "{more} programs have several parts");
}

/// A load of the program that another thread makes find something in the end, whatever happens: it stores to the atomic
/// under no condition, and nobody stores 0. Nobody waits for who waits.
fn wait(program: &Program) -> Option<Wait> {
    let threads = program.threads();
    let loads = threads.iter().enumerate().flat_map(|(thread, instructions)| {
        let loads = instructions.iter().enumerate();
        loads.filter_map(move |(index, instruction)| match *instruction {
            Instruction::Load { location, .. } => Some((thread, index, location)),
            _ => None,
        })
    });
    let stores = |thread: usize, location: usize| {
        let mut instructions = threads[thread].iter();
        instructions
            .any(|instruction| matches!(*instruction, Instruction::Store { location: at, .. } if at == location))
    };
    let mut fed = loads
        .filter(|&(thread, _, location)| (0..threads.len()).any(|other| other != thread && stores(other, location)));
    let (thread, index, _) = fed.next().filter(|_| program.never_waits())?;
    Some((thread, index))
}

#[test]
fn loops_that_wait_have_the_outcomes_of_those_who_have_waited() {
    let _alone = alone();
    let seed = setting("DPOR_RC11_SEED", 1717);
    let programs = setting("DPOR_RC11_LOOPS", 200);
    let mut waiting = 0;
    for number in 0..programs {
        let program = generate(seed.wrapping_add(number), 4 + (number % 4) as usize);
        let Some((thread, index)) = wait(&program) else {
            continue;
        };
        let Instruction::Load { register, .. } = program.threads()[thread][index] else {
            unreachable!("it is a load")
        };
        // Each load has a register of its own.
        let mut expected = outcomes(&program);
        expected.retain(|outcome| outcome.registers[thread][register] != 0);
        for name in STRATEGIES {
            if name == "exhaustive" && interleavings(&program) > MOST_INTERLEAVINGS {
                continue;
            }
            let explored = explore_waiting(&program, (thread, index), name.parse().unwrap());
            let program = render(&program);
            assert_eq!(explored.verdict, Verdict::Complete, "{name}\n{program}");
            assert_eq!(
                explored.outcomes, expected,
                "{name}, where instruction {index} of thread {thread} waits\n{program}"
            );
        }
        waiting += 1;
    }
    assert!(waiting > programs / 10, "only {waiting} programs can wait");
}

/// Checks that the fault of the exploration shows in the graphs of a few programs.
#[track_caller]
fn graphs_catch(fault: Fault) {
    caught_by(Seeded::Search(fault), 200, |program, fault| {
        check_graphs(program, fault).map(drop)
    });
}

#[test]
fn modifications_that_do_not_exclude_each_other() {
    graphs_catch(Fault::ShareStores);
}

#[test]
fn reads_that_sleep_through_new_stores() {
    graphs_catch(Fault::SleepThroughStores);
}

#[test]
fn races_of_graphs_that_are_dropped() {
    graphs_catch(Fault::DropRace(3));
}

#[test]
fn graphs_that_are_explored_twice() {
    graphs_catch(Fault::ForgetStoresKnown);
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
