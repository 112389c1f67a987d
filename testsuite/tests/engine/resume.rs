//! An exploration that is interrupted again and again does what one does that is not: the same executions in the same
//! order, the same counts, the same verdict.
//!
//! `DPOR_ORACLE_PROGRAMS` sets how many programs.

use dpor_explorer::{
    CannotResume, End, Explorer, Limits, Observer, Report, Statistics, Strategy as Exploration, System, Trace,
    Transition, Verdict,
};
use dpor_testsuite::actors::{self, Actors};
use dpor_testsuite::generated::QUANTUM;
use dpor_testsuite::oracle::{CONTEXTS, DPORS, UNFOLDINGS};
use dpor_testsuite::programs::{counter, lastwrite, readers};
use dpor_testsuite::toy::{Instruction, Operand, Program, Toy, generate};
use proptest::prop_oneof;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::ops::ControlFlow;
use std::time::Duration;

/// Programs with more interleavings than this are left out.
const INTERLEAVINGS: u64 = 2000;
/// An exploration with more steps is left out.
const STEPS: u64 = 150_000;

/// An execution: its end and its schedule.
type Execution = (End, Vec<Transition>);

/// The files: the last snapshot, the keys of all, and the number of executions that had ended.
#[derive(Default)]
struct Disk {
    bytes: Option<Vec<u8>>,
    keys: Vec<u128>,
    executions: usize,
}

/// Notes executions, saves now and then, and breaks off some time later.
struct Interrupter<'a, S> {
    seen: &'a mut Vec<Execution>,
    disk: &'a mut Disk,
    /// The knowledge of the system that resumes.
    system: Option<S>,
    /// Number of executions from one snapshot to the next, and until the end.
    save_after: u64,
    end_after: u64,
    ended: u64,
}

impl<S: System + Clone> Observer<S> for Interrupter<'_, S> {
    fn execution(&mut self, _: &mut S, end: &End, trace: &Trace, _: &Statistics) -> ControlFlow<()> {
        self.seen.push((end.clone(), trace.schedule()));
        self.ended += 1;
        if self.ended > self.end_after {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn at_rest(&mut self, explorer: &mut Explorer<S>) -> ControlFlow<String> {
        if self.ended.is_multiple_of(self.save_after) {
            self.save(explorer);
        }
        ControlFlow::Continue(())
    }
}

impl<'a, S: System + Clone> Interrupter<'a, S> {
    fn new(seen: &'a mut Vec<Execution>, disk: &'a mut Disk, save_after: u64, end_after: u64) -> Self {
        Interrupter {
            seen,
            disk,
            system: None,
            save_after,
            end_after,
            ended: 0,
        }
    }

    fn save(&mut self, explorer: &mut Explorer<S>) {
        let snapshot = explorer.save().expect("the exploration is at rest");
        if snapshot.anew {
            self.disk.keys.clear();
        }
        self.disk.keys.extend(snapshot.keys);
        self.disk.bytes = Some(snapshot.bytes);
        self.disk.executions = self.seen.len();
        self.system = Some(explorer.system().clone());
    }
}

/// The setup of an exploration.
#[derive(Clone, Copy, Debug)]
struct Setup {
    strategy: Exploration,
    limits: Limits,
    /// Number of executions from one snapshot to the next.
    save_after: u64,
    /// Number of executions until the process is killed.
    end_after: u64,
}

fn explorer<S: System>(system: S, setup: &Setup) -> Explorer<S> {
    Explorer::new(system, setup.strategy, setup.limits)
        .resumable(true)
        .quantum(QUANTUM)
        .verify_states(true)
}

/// Explores without interruption.
fn whole<S: System + Clone>(system: &S, setup: &Setup) -> (Report, Vec<Execution>) {
    let (mut seen, mut disk) = (Vec::new(), Disk::default());
    let mut observer = Interrupter::new(&mut seen, &mut disk, u64::MAX, u64::MAX);
    let report = explorer(system.clone(), setup).run(&mut observer);
    (report, seen)
}

/// Explores with interruptions. Says also how many there were.
fn in_parts<S: System + Clone>(system: &S, setup: &Setup) -> (Report, Vec<Execution>, u64) {
    let (mut seen, mut disk, mut system) = (Vec::new(), Disk::default(), system.clone());
    for interruptions in 0.. {
        seen.truncate(disk.executions);
        let mut explorer = explorer(system.clone(), setup);
        if let Some(bytes) = &disk.bytes {
            let resumed = explorer.resume(bytes, disk.keys.iter().copied());
            assert_eq!(resumed, Ok(()), "{setup:?}");
        }
        let mut observer = Interrupter::new(&mut seen, &mut disk, setup.save_after, setup.end_after);
        let report = explorer.run(&mut observer);
        let (ended, known) = (observer.ended, observer.system.take());
        if ended <= setup.end_after {
            return (report, seen, interruptions);
        }
        system = known.unwrap_or(system);
    }
    unreachable!("there is an end to everything")
}

/// The report without what depends on the clock and on when estimates were made.
fn counted(report: Report) -> Report {
    let statistics = Statistics {
        time: Duration::ZERO,
        ..report.statistics
    };
    Report { statistics, ..report }
}

/// Compares both ways to explore; says how many interruptions there were.
fn compare<S: System + Clone>(system: &S, setup: &Setup, what: &dyn std::fmt::Display) -> u64 {
    let (report, executions) = whole(system, setup);
    if matches!(report.verdict, Verdict::Incomplete { .. }) && report.statistics.steps >= STEPS {
        return 0;
    }
    let (in_parts, parts, interruptions) = in_parts(system, setup);
    assert_eq!(counted(report), counted(in_parts), "{setup:?}\n{what}");
    assert_eq!(executions, parts, "{setup:?}\n{what}");
    interruptions
}

fn limits(preemptions: Option<u32>) -> Limits {
    Limits {
        preemptions,
        steps: Some(STEPS),
        ..Limits::default()
    }
}

/// Every strategy, and bounds on preemptions.
fn setups() -> Vec<(Exploration, Option<u32>)> {
    let all = [
        Exploration::Source,
        Exploration::Optimal,
        Exploration::Exhaustive,
        Exploration::States,
    ];
    let all = all
        .into_iter()
        .chain(CONTEXTS.map(Exploration::Context))
        .chain(UNFOLDINGS);
    let all = all
        .chain(DPORS.map(Exploration::Dpor))
        .chain(DPORS.map(Exploration::Trans));
    let bounded = [Exploration::Source, Exploration::Exhaustive].map(|strategy| (strategy, Some(5)));
    all.map(|strategy| (strategy, None)).chain(bounded).collect()
}

fn runner(seed: u8) -> TestRunner {
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]))
}

fn programs() -> usize {
    std::env::var("DPOR_ORACLE_PROGRAMS").map_or(600, |n| n.parse().expect("a number"))
}

#[test]
fn interruptions_make_no_difference() {
    let generated = prop_oneof![
        generate::programs(INTERLEAVINGS),
        generate::commuting_programs(INTERLEAVINGS),
        generate::choosing_programs(INTERLEAVINGS),
    ];
    let mut runner = runner(31);
    let setups = setups();
    let mut interruptions = vec![0; setups.len()];
    for count in 0..programs() {
        let tree = (&generated, 1..4u64, 0..6u64).new_tree(&mut runner);
        let (program, save_after, more) = tree.expect("programs can always be generated").current();
        let at = count % setups.len();
        let (strategy, preemptions) = setups[at];
        let setup = Setup {
            strategy,
            limits: limits(preemptions),
            save_after,
            end_after: save_after + more,
        };
        interruptions[at] += compare(&Toy::new(program.clone()), &setup, &program);
    }
    println!("interruptions: {interruptions:?}");
    assert!(interruptions.iter().all(|&number| number > 0), "{interruptions:?}");
}

#[test]
fn actors_make_no_difference() {
    let generated = actors::generate::programs();
    let mut runner = runner(32);
    let mut interruptions = 0;
    for count in 0..programs() / 2 {
        let tree = (&generated, 1..4u64, 0..6u64).new_tree(&mut runner);
        let (program, save_after, more) = tree.expect("programs can always be generated").current();
        let dpor = DPORS[count % DPORS.len()];
        let setup = Setup {
            strategy: [Exploration::Dpor(dpor), Exploration::Trans(dpor)][count / DPORS.len() % 2],
            limits: limits(None),
            save_after,
            end_after: save_after + more,
        };
        interruptions += compare(&Actors::new(program.clone()), &setup, &format_args!("{program:?}"));
    }
    assert!(interruptions > 0);
}

#[test]
fn random_walks_go_on_as_they_would() {
    for strategy in [Exploration::Random { seed: 7 }, Exploration::Pct { depth: 3, seed: 7 }] {
        let setup = Setup {
            strategy,
            limits: limits(None),
            save_after: 3,
            end_after: 10,
        };
        let whole = Setup {
            limits: Limits {
                executions: Some(40),
                ..setup.limits
            },
            ..setup
        };
        let (_, executions) = self::whole(&Toy::new(counter(3)), &whole);
        let (mut seen, mut disk) = (Vec::new(), Disk::default());
        for _ in 0..3 {
            seen.truncate(disk.executions);
            let mut explorer = explorer(Toy::new(counter(3)), &setup);
            if let Some(bytes) = &disk.bytes {
                assert_eq!(explorer.resume(bytes, []), Ok(()));
            }
            let mut observer = Interrupter::new(&mut seen, &mut disk, setup.save_after, setup.end_after);
            explorer.run(&mut observer);
        }
        assert!(seen.len() > 20 && executions.starts_with(&seen), "{strategy}");
    }
}

/// A snapshot of the program's exploration after three executions.
fn snapshot(program: Program, strategy: Exploration) -> Vec<u8> {
    let setup = Setup {
        strategy,
        limits: limits(None),
        save_after: 3,
        end_after: 3,
    };
    let (mut seen, mut disk) = (Vec::new(), Disk::default());
    let mut observer = Interrupter::new(&mut seen, &mut disk, 3, 3);
    explorer(Toy::new(program), &setup).run(&mut observer);
    disk.bytes.expect("there are more than three executions")
}

#[test]
fn what_cannot_be_gone_on_with_is_refused() {
    let resume = |program: Program, strategy, bytes: &[u8]| {
        let mut explorer = Explorer::new(Toy::new(program.clone()), strategy, limits(None)).resumable(true);
        let refused = explorer.resume(bytes, []);
        // It begins at the beginning then.
        if refused.is_err() {
            let mut fresh = Explorer::new(Toy::new(program), strategy, limits(None));
            assert_eq!(counted(explorer.run(&mut ())), counted(fresh.run(&mut ())));
        }
        refused
    };
    let source = Exploration::Source;
    let bytes = snapshot(lastwrite(3), source);
    assert_eq!(resume(lastwrite(3), source, &bytes), Ok(()));
    assert!(matches!(
        resume(readers(3), source, &bytes),
        Err(CannotResume::Diverged(_))
    ));
    assert_eq!(resume(lastwrite(3), UNFOLDINGS[0], &bytes), Err(CannotResume::Other));
    for len in 0..bytes.len() {
        let cut = resume(lastwrite(3), source, &bytes[..len]);
        assert_eq!(cut, Err(CannotResume::Damaged), "{len} of {} bytes", bytes.len());
    }
}

#[test]
fn what_is_broken_off_at_rest_is_saved_as_far_as_it_was_explored() {
    struct After(u64);
    impl Observer<Toy> for After {
        fn execution(&mut self, _: &mut Toy, _: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
            self.0 -= 1;
            ControlFlow::Continue(())
        }

        fn at_rest(&mut self, _: &mut Explorer<Toy>) -> ControlFlow<String> {
            match self.0 {
                0 => ControlFlow::Break("enough".into()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let explorer = || Explorer::new(Toy::new(lastwrite(3)), Exploration::Source, limits(None)).resumable(true);
    let whole = explorer().run(&mut ());
    let mut first = explorer();
    let broken_off = first.run(&mut After(3));
    let reason = "enough".to_owned();
    assert_eq!(broken_off.verdict, Verdict::Incomplete { reason });
    assert_eq!(broken_off.statistics.executions(), 3);
    let saved = first.save().expect("something is left to explore");
    assert_eq!(saved.executions, 3);
    let mut second = explorer();
    second.resume(&saved.bytes, saved.keys).expect("it is the same program");
    assert_eq!(counted(second.run(&mut ())), counted(whole));
}

#[test]
fn an_exploration_that_is_not_resumable_is_not_saved() {
    struct Never;
    impl Observer<Toy> for Never {
        fn execution(&mut self, _: &mut Toy, _: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }

        fn at_rest(&mut self, explorer: &mut Explorer<Toy>) -> ControlFlow<String> {
            assert!(explorer.save().is_none());
            ControlFlow::Continue(())
        }
    }
    let explorer = || Explorer::new(Toy::new(lastwrite(2)), Exploration::Source, limits(None));
    assert!(explorer().save().is_none());
    assert_eq!(explorer().run(&mut Never).verdict, Verdict::Complete);
    let mut after_failures = explorer().resumable(true).keep_going(true);
    assert_eq!(after_failures.run(&mut Never).verdict, Verdict::Complete);
    let mut ended = explorer().resumable(true);
    ended.run(&mut ());
    assert!(ended.save().is_none(), "nothing is left to explore");
}

#[test]
fn the_time_is_up_while_a_long_way_is_left() {
    const LIMIT: Duration = Duration::from_millis(400);
    struct Slow;
    impl Observer<Toy> for Slow {
        fn execution(&mut self, _: &mut Toy, _: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
            std::thread::sleep(LIMIT);
            ControlFlow::Continue(())
        }
    }
    let store = |number| Instruction::Store {
        variable: 0,
        value: Operand::Constant(number),
    };
    let program = || Toy::new(Program::of(vec![(0..200).map(store).collect()]));
    let explorer = |time| {
        let limits = Limits { time, ..limits(None) };
        Explorer::new(program(), Exploration::States, limits).resumable(true)
    };
    let mut first = explorer(Some(LIMIT));
    let reason = format!("the time limit of {LIMIT:?} was reached");
    assert_eq!(first.run(&mut Slow).verdict, Verdict::Incomplete { reason });
    let saved = first.save().expect("something is left to explore");
    let mut second = explorer(None);
    second.resume(&saved.bytes, saved.keys).expect("it is the same program");
    assert_eq!(second.run(&mut ()).verdict, Verdict::Complete);
    assert_eq!(
        explorer(None).run(&mut Slow).verdict,
        Verdict::Complete,
        "without a limit"
    );
}

#[test]
fn limits_are_for_what_comes() {
    let strategy = Exploration::Exhaustive;
    let limits = Limits {
        executions: Some(4),
        ..Limits::default()
    };
    let (mut bytes, mut executions) = (None::<Vec<u8>>, 0);
    let whole = Explorer::new(Toy::new(lastwrite(3)), strategy, Limits::default()).run(&mut ());
    loop {
        let mut explorer = Explorer::new(Toy::new(lastwrite(3)), strategy, limits).resumable(true);
        if let Some(bytes) = &bytes {
            assert_eq!(explorer.resume(bytes, []), Ok(()));
        }
        let report = explorer.run(&mut ());
        if report.verdict == Verdict::Complete {
            assert_eq!(counted(report), counted(whole));
            break;
        }
        executions += 4;
        assert_eq!(report.statistics.executions(), executions);
        bytes = explorer.save().map(|snapshot| snapshot.bytes);
        assert!(bytes.is_some());
    }
}

/// Shows that the comparison would notice: without the keys of stored states, they are explored again.
#[test]
fn lost_keys_are_noticed() {
    let setup = Setup {
        strategy: Exploration::default(),
        limits: limits(None),
        save_after: 2,
        end_after: 2,
    };
    let (report, _) = whole(&Toy::new(counter(3)), &setup);
    assert!(report.statistics.pruned > 0);
    let (mut seen, mut disk) = (Vec::new(), Disk::default());
    let forgetful = loop {
        let mut explorer = explorer(Toy::new(counter(3)), &setup);
        if let Some(bytes) = &disk.bytes {
            assert_eq!(explorer.resume(bytes, []), Ok(()));
        }
        let mut observer = Interrupter::new(&mut seen, &mut disk, setup.save_after, setup.end_after);
        let report = explorer.run(&mut observer);
        if observer.ended <= setup.end_after {
            break report;
        }
    };
    assert_eq!(forgetful.verdict, report.verdict);
    assert!(forgetful.statistics.states > report.statistics.states);
}
