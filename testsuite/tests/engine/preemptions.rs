//! The search under a bound on preemptions finds all classes of executions that have a member within the bound.
//!
//! `DPOR_ORACLE_PROGRAMS` sets how many programs.

use dpor_explorer::{
    Asked, Context, End, Explorer, Fault, Limits, Observer, Report, Rewindable, Statistics, Step, Stop,
    Strategy as Exploration, System,
};
use dpor_explorer::{Trace, Transition, Turns, Verdict};
use dpor_testsuite::erased::Erased;
use dpor_testsuite::generated::setting;
use dpor_testsuite::oracle::{fails, minimise};
use dpor_testsuite::preemptions::{Counting, Covered, compare, compare_shards, first_failure};
use dpor_testsuite::programs;
use dpor_testsuite::toy::{Instruction, Operand, Program, Test, Toy, generate};
use proptest::prop_oneof;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::any::Any;
use std::num::NonZeroU64;
use std::ops::ControlFlow;

/// Programs with more interleavings than this are left out.
const LIMIT: u64 = 2000;

fn generated() -> impl Strategy<Value = (Program, u64)> {
    let programs = prop_oneof![
        2 => generate::programs(LIMIT),
        1 => generate::commuting_programs(LIMIT),
        1 => generate::choosing_programs(LIMIT),
    ];
    (programs, 0..3u64)
}

/// The next program, and how often its operations give way.
fn next(runner: &mut TestRunner) -> (Program, u64) {
    let tree = generated().new_tree(runner);
    let (program, yields) = tree.expect("programs can always be generated").current();
    (program, [0, 0, 3][yields as usize])
}

/// A program, how often its operations give way, and the comparison.
fn sample(
    runner: &mut TestRunner,
    strategy: Exploration,
    fault: Option<Fault>,
) -> (Program, u64, Result<Option<Covered>, String>) {
    let (program, yields) = next(runner);
    let result = compare(&program, yields, strategy, LIMIT, fault);
    (program, yields, result)
}

#[test]
fn bounded_search_agrees_with_brute_force() {
    let programs = setting("DPOR_ORACLE_PROGRAMS", 4000);
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[13; 32]));
    let mut total = [Covered::default(); 2];
    let (mut compared, mut failing, mut needed) = (0, 0, [0u64; 8]);
    for count in 0..programs {
        let strategy = [Exploration::Source, Exploration::Exhaustive][usize::from(count % 8 == 7)];
        let (program, yields, result) = sample(&mut runner, strategy, None);
        let Some(covered) = result.unwrap_or_else(|wrong| {
            let fails = |program: &Program| compare(program, yields, strategy, LIMIT, None).err();
            let small = minimise(program.clone(), |program| fails(program).is_some());
            panic!(
                "program {count}, yields {yields}\n{program}{wrong}\n{small}{:?}",
                fails(&small)
            )
        }) else {
            continue;
        };
        compared += 1;
        failing += u64::from(covered.fails);
        let total = &mut total[usize::from(strategy == Exploration::Exhaustive)];
        total.exhaustive += covered.exhaustive;
        total.bounded += covered.bounded;
        total.complete_at = total.complete_at.max(covered.complete_at);
        needed[covered.needed.min(7) as usize] += 1;
    }
    println!(
        "{compared} of {programs} programs are small enough, {failing} fail; by the preemptions that they need: \
         {needed:?}"
    );
    for (strategy, total) in ["source", "exhaustive"].iter().zip(total) {
        println!(
            "{strategy}: {} interleavings, {} executions under all bounds together, the highest of which is {}",
            total.exhaustive, total.bounded, total.complete_at
        );
    }
    assert!(
        needed[2..].iter().sum::<u64>() > 0,
        "some programs need more than one preemption"
    );
}

#[test]
fn shards_agree_with_brute_force_under_each_bound() {
    let programs = setting("DPOR_ORACLE_PROGRAMS", 800) as usize;
    let mut runner = TestRunner::deterministic();
    let (mut compared, mut most) = (0, 0);
    for number in 0..programs {
        let (program, yields) = next(&mut runner);
        let strategy = [Exploration::Source, Exploration::Exhaustive][usize::from(number % 8 == 7)];
        let count = [2, 3, 5][number % 3];
        match compare_shards(&program, yields, strategy, count, LIMIT / 2) {
            Ok(Some(needed)) => {
                compared += 1;
                most = most.max(needed);
            }
            Ok(None) => {}
            Err(wrong) => panic!("program {number}, yields {yields}\n{program}{wrong}"),
        }
    }
    println!("{compared} of {programs} programs are small enough; at most {most} preemptions");
    assert!(compared * 2 > programs, "most programs are compared");
}

#[test]
fn points_where_threads_take_control_are_needed() {
    let mut runner = TestRunner::deterministic();
    for count in 1..=2000 {
        let (program, yields, result) = sample(&mut runner, Exploration::Source, Some(Fault::SkipBlockStarts));
        if let Err(wrong) = result {
            println!("caught by program {count}:\n{program}{wrong}");
            let right = compare(&program, yields, Exploration::Source, LIMIT, None);
            assert!(right.is_ok(), "nothing else is wrong with it");
            return;
        }
    }
    panic!("nobody notices that conservative points are missing");
}

#[test]
fn races_and_blocked_threads_are_needed() {
    for fault in [Fault::DropRace(3), Fault::SkipBlocked] {
        let mut runner = TestRunner::deterministic();
        let caught = (0..500).any(|_| sample(&mut runner, Exploration::Source, Some(fault)).2.is_err());
        assert!(caught, "{fault:?}");
    }
}

fn run(program: Program, strategy: Exploration, bound: u32) -> (Verdict, Option<u32>) {
    let limits = Limits {
        preemptions: Some(bound),
        ..Limits::default()
    };
    let report = Explorer::new(Erased::new(Counting::new(program, 0)), strategy, limits).run(&mut ());
    (report.verdict, report.preemptions)
}

#[test]
fn verdicts_name_the_bound() {
    let context = Exploration::Context(Context::default());
    for philosophers in 2..=4 {
        // One is stopped between its forks; the others come one after the other, each before its neighbour, and have to
        // wait.
        let program = programs::philosophers(philosophers);
        assert_eq!(first_failure(&program, 9, Exploration::Source), Some(1));
        assert_eq!(first_failure(&program, 1, context), Some(1));
        assert_eq!(first_failure(&program, 0, context), None);
    }
    let (verdict, bound) = run(programs::mutexcounter(2, 3), context, 1);
    let reason = "executions with at most 1 preemption were explored, and there are others (--preemptions)".to_owned();
    assert_eq!((verdict, bound), (Verdict::Incomplete { reason }, Some(1)));
    // Nothing is left out long before the bound.
    let (verdict, bound) = run(programs::ordered_philosophers(2), context, 50);
    assert_eq!(verdict, Verdict::Complete);
    assert!(bound < Some(5), "{bound:?}");
}

/// Explores with a second search. Returns the system as well, which knows
/// its scheduling points then.
fn look_beside(program: &Program, turns: Option<Turns>, limits: Limits) -> (Report, Erased) {
    let system = Erased::new(Counting::new(program.clone(), 0));
    let mut explorer = Explorer::new(system, Exploration::States, limits).looks_beside(turns);
    (explorer.run(&mut ()), explorer.into_system())
}

#[test]
fn a_second_search_comes_to_the_same_verdict() {
    let programs = setting("DPOR_ORACLE_PROGRAMS", 2000);
    let mut runner = TestRunner::deterministic();
    let mut failed = 0;
    for number in 0..programs {
        let (program, _) = next(&mut runner);
        let (alone, _) = look_beside(&program, None, Limits::default());
        let turns = Turns {
            after: [0, 20, 100][number as usize % 3],
            even: [0, 50][number as usize / 3 % 2],
            ratio: NonZeroU64::new(number % 4),
        };
        let (both, mut system) = look_beside(&program, Some(turns), Limits::default());
        match (&alone.verdict, &both.verdict) {
            (Verdict::Complete, Verdict::Complete) => {}
            (Verdict::Failed { .. }, Verdict::Failed { schedule, .. }) => {
                assert!(fails(&mut system, schedule), "program {number}\n{program}{schedule:?}");
                if let Some(bound) = both.preemptions {
                    failed += 1;
                    let least = first_failure(&program, bound, Exploration::Source);
                    assert_eq!(least, Some(bound), "program {number}\n{program}");
                }
            }
            (alone, both) => panic!("program {number}\n{program}{alone:?}\n{both:?}"),
        }
        if both.preemptions.is_none() {
            assert_eq!(both.statistics.executions(), alone.statistics.executions(), "{program}");
            assert_eq!(both.statistics.steps, alone.statistics.steps, "{program}");
        }
    }
    println!("of {programs} programs, the second search shows {failed} to fail");
    assert!(failed > 0);
}

/// Explores with random executions ahead, from so many states on.
fn look_ahead(system: impl System + Any, after: Option<u64>) -> (Report, Erased) {
    let mut explorer = Explorer::new(Erased::new(system), Exploration::States, Limits::default()).sends_scouts(after);
    (explorer.run(&mut ()), explorer.into_system())
}

#[test]
fn random_executions_ahead_come_to_the_same_verdict() {
    let programs = setting("DPOR_ORACLE_PROGRAMS", 2000);
    let mut runner = TestRunner::deterministic();
    let (mut compared, mut failed) = (0, 0);
    for number in 0..programs {
        let (program, _) = next(&mut runner);
        let system = || Counting::new(program.clone(), 0);
        let (alone, _) = look_ahead(system(), None);
        let (ahead, mut system) = look_ahead(system(), Some([2, 10, 50][number as usize % 3]));
        match (&alone.verdict, &ahead.verdict) {
            (Verdict::Complete, Verdict::Complete) => {}
            (Verdict::Failed { .. }, Verdict::Failed { schedule, .. }) => {
                assert!(fails(&mut system, schedule), "program {number}\n{program}{schedule:?}");
                failed += u64::from(alone.statistics.executions() != ahead.statistics.executions());
            }
            (alone, ahead) => panic!("program {number}\n{program}{alone:?}\n{ahead:?}"),
        }
        if alone.verdict == Verdict::Complete && alone.statistics.refinements == ahead.statistics.refinements {
            assert_eq!(
                ahead.statistics.executions(),
                alone.statistics.executions(),
                "{program}"
            );
            // Steps are also those before exploration started again, which it does earlier now.
            assert_eq!(ahead.statistics.states, alone.statistics.states, "{program}");
            compared += 1;
        }
    }
    println!("of {programs} programs, {compared} compared; random executions change how {failed} are seen to fail");
    assert!(compared > programs / 4 && failed > 0);
}

/// A program that exploration learns something of by an execution in which the last thread moves first: a depth-first
/// search comes to that last of all.
struct Learning {
    program: Toy,
    /// Whether exploration starts again in the step itself, or when it is asked at the end.
    at_once: bool,
    steps: usize,
    seen: bool,
    told: bool,
}

impl Learning {
    fn new(at_once: bool) -> Learning {
        Learning {
            program: Toy::new(programs::mutexcounter(4, 3)),
            at_once,
            steps: 0,
            seen: false,
            told: false,
        }
    }
}

impl dpor_explorer::Layer for Learning {
    type Inner = Toy;

    fn inner(&self) -> &Toy {
        &self.program
    }

    fn inner_mut(&mut self) -> &mut Toy {
        &mut self.program
    }

    fn restart(&mut self) {
        self.program.restart();
        self.steps = 0;
    }

    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        let last = self.program.threads().len() - 1;
        self.seen |= self.steps == 0 && transition.thread.index() == last;
        self.steps += 1;
        if self.at_once && self.seen && !self.told {
            self.told = true;
            return Err(Stop::Refine);
        }
        self.program.step(transition, step)
    }

    fn repeat(&mut self, transition: Transition, scratch: &mut Step) -> Result<Option<u64>, Stop> {
        self.steps += 1;
        self.program.repeat(transition, scratch)
    }

    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        None
    }

    fn starts_again(&mut self, asked: Asked) -> bool {
        if self.program.starts_again(asked) {
            return true;
        }
        let again = self.seen && !self.told && matches!(asked, Asked::Ahead | Asked::AtTheEnd { .. });
        self.told |= again;
        again
    }
}

#[test]
fn random_executions_find_early_what_makes_exploration_start_again() {
    for at_once in [false, true] {
        let [(late, _), (early, _)] = [None, Some(100)].map(|after| look_ahead(Learning::new(at_once), after));
        for report in [&late, &early] {
            assert_eq!(report.verdict, Verdict::Complete);
            assert_eq!(report.statistics.refinements, 1);
        }
        assert_eq!(late.statistics.states, early.statistics.states);
        // Everything is explored twice, or once and a part.
        let (late, early) = (late.statistics.steps, early.statistics.steps);
        assert!(at_once || early < late * 6 / 10, "{late} and {early} steps");
    }
}

/// Breaks exploration off as soon as something has been learnt.
struct BreaksOff;

impl Observer<Erased> for BreaksOff {
    fn execution(&mut self, _: &mut Erased, _: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn at_rest(&mut self, explorer: &mut Explorer<Erased>) -> ControlFlow<String> {
        match explorer.system().get::<Learning>().told {
            true => ControlFlow::Break("interrupted".to_owned()),
            false => ControlFlow::Continue(()),
        }
    }
}

#[test]
fn what_was_explored_before_something_was_learnt_is_not_kept_when_random_executions_are_broken_off() {
    let system = Erased::new(Learning::new(true));
    let mut explorer = Explorer::new(system, Exploration::States, Limits::default()).sends_scouts(Some(100));
    let report = explorer.run(&mut BreaksOff);
    assert_eq!(
        report.verdict,
        Verdict::Incomplete {
            reason: "interrupted".to_owned()
        }
    );
    // It has started again, and has run one execution.
    assert_eq!(report.statistics.refinements, 1);
    assert_eq!(report.statistics.executions(), 1);
}

#[test]
fn what_the_second_search_has_explored_is_said() {
    let limits = Limits {
        steps: Some(2000),
        ..Limits::default()
    };
    let turns = Turns {
        after: 100,
        ..Turns::LONG
    };
    let (report, _) = look_beside(&programs::mutexcounter(4, 3), Some(turns), limits);
    let Verdict::Incomplete { reason } = report.verdict else {
        panic!("{:?}", report.verdict)
    };
    let known = "the limit of 2000 steps was reached; all executions without preemptions were explored";
    assert_eq!(reason, known);
}

/// One thread waits for another by a loop, which is cut where that one does not move.
#[test]
fn nothing_is_said_of_bounds_within_which_executions_were_cut() {
    let count = Instruction::FetchAdd {
        variable: 0,
        value: Operand::Constant(1),
        into: None,
    };
    let load = Instruction::Load { variable: 1, into: 0 };
    let again = Instruction::Repeat {
        register: 0,
        test: Test::Equal(0),
        count: 2,
    };
    let set = Instruction::Store {
        variable: 1,
        value: Operand::Constant(1),
    };
    let program = Program::new(vec![vec![count, count, set], vec![count, load, again]], 2);
    let limits = Limits {
        depth: 40,
        steps: Some(100),
        preemptions: Some(10),
        ..Limits::default()
    };
    let (report, _) = look_beside(&program, None, limits);
    assert!(report.statistics.cut > 0 && report.preemptions > Some(0), "{report:?}");
    let reason = "the limit of 100 steps was reached, within the executions with at most 1 preemption".to_owned();
    assert_eq!(report.verdict, Verdict::Incomplete { reason });
}

/// A program of which the system leaves something out by a bound of its own.
struct Partial(Toy);

impl dpor_explorer::Layer for Partial {
    type Inner = Toy;

    fn inner(&self) -> &Toy {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut Toy {
        &mut self.0
    }

    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        self.0.step(transition, step)
    }

    fn repeat(&mut self, transition: Transition, scratch: &mut Step) -> Result<Option<u64>, Stop> {
        self.0.repeat(transition, scratch)
    }

    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        None
    }

    fn part(&self) -> Option<String> {
        Some("with few values".to_owned())
    }
}

#[test]
fn a_part_is_not_complete_and_its_bounds_are_those_of_the_part() {
    let explored = |preemptions| {
        let limits = Limits {
            preemptions,
            ..Limits::default()
        };
        let system = Erased::new(Partial(Toy::new(programs::mutexcounter(2, 1))));
        Explorer::new(system, Exploration::Source, limits).run(&mut ())
    };
    for preemptions in [None, Some(10)] {
        let report = explored(preemptions);
        let reason = "all executions with few values were explored, and there are others".to_owned();
        assert_eq!(report.verdict, Verdict::Incomplete { reason }, "{preemptions:?}");
        assert_eq!((report.statistics.explored, report.preemptions), (0, None));
    }
}

#[test]
fn strategies_that_cannot_be_bounded_say_so() {
    for name in ["random", "pct", "unfolding", "dpor", "trans", "cdpor1", "context:guide"] {
        let (verdict, _) = run(programs::philosophers(2), name.parse().unwrap(), 1);
        let reason = format!("`{}` cannot bound preemptions", name.parse::<Exploration>().unwrap());
        assert_eq!(verdict, Verdict::Incomplete { reason });
    }
}
