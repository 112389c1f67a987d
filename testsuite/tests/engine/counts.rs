//! Numbers of executions that are published or can be derived by hand.

use dpor_explorer::{Check, Context, End, Explorer, Limits, Observer, Statistics, Strategy, Trace, Verdict};
use dpor_testsuite::erased::Erased;
use dpor_testsuite::oracle::CONTEXTS;
use dpor_testsuite::programs::*;
use dpor_testsuite::toy::{Program, Terminal, Toy};
use std::collections::HashSet;
use std::ops::ControlFlow;

struct Deadlocks(u64);

impl Observer<Erased> for Deadlocks {
    fn execution(&mut self, _: &mut Erased, end: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
        self.0 += u64::from(matches!(end, End::Failed(failure) if failure.kind == "deadlock"));
        ControlFlow::Continue(())
    }
}

/// Explores to the end; the number of deadlocks, and the statistics.
fn explore(program: Program, strategy: Strategy) -> (u64, Statistics) {
    let mut deadlocks = Deadlocks(0);
    let mut explorer = Explorer::new(Erased::new(Toy::new(program)), strategy, Limits::default()).keep_going(true);
    let statistics = explorer.run(&mut deadlocks).statistics;
    (deadlocks.0, statistics)
}

/// Complete executions and deadlocks among them under `source`, under `optimal`, and under `unfolding` if they are few:
/// the two run no others.
#[track_caller]
fn expect(name: &str, program: Program, executions: u64, deadlocks: u64) -> Statistics {
    let (found, statistics) = explore(program.clone(), Strategy::Source);
    println!(
        "{name}: {} complete, {} blocked, {found} deadlocks",
        statistics.complete, statistics.blocked
    );
    assert_eq!((statistics.complete, found), (executions, deadlocks), "{name}");
    let (found, optimal) = explore(program.clone(), Strategy::Optimal);
    let all = (optimal.executions(), optimal.complete, found);
    assert_eq!(all, (executions, executions, deadlocks), "{name}, optimal");
    if executions <= 1000 {
        let (found, unfolding) = explore(program, Strategy::Unfolding { partial: None });
        let all = (unfolding.executions(), unfolding.complete, found);
        assert_eq!(all, (executions, executions, deadlocks), "{name}, unfolded");
    }
    statistics
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

/// Of n! executions that are all alike, the explored part is known exactly.
#[test]
fn the_explored_part_of_a_regular_tree_is_known() {
    for executions in [1, 5, 8, 23] {
        let limits = Limits {
            executions: Some(executions),
            ..Limits::default()
        };
        let statistics = Explorer::new(Erased::new(Toy::new(lastwrite(4))), Strategy::Exhaustive, limits)
            .run(&mut ())
            .statistics;
        assert_eq!(
            u64::from(statistics.explored),
            1_000_000 * executions / 24,
            "{executions} of 24"
        );
    }
    let (_, statistics) = explore(lastwrite(4), Strategy::Source);
    assert_eq!(statistics.explored, 1_000_000);
}

/// A failure that needs two preemptions, in a program that is far too large for random walks to find it.
#[test]
fn random_priorities_find_what_random_steps_do_not() {
    let strategies = [Strategy::Random { seed: 1 }, Strategy::Pct { depth: 3, seed: 1 }];
    let found = strategies.map(|strategy| {
        let limits = Limits {
            executions: Some(2_000),
            ..Limits::default()
        };
        let report = Explorer::new(Erased::new(Toy::new(narrow(12))), strategy, limits).run(&mut ());
        matches!(report.verdict, Verdict::Failed { .. })
    });
    assert_eq!(found, [false, true]);
}

#[test]
fn stores_of_one_variable() {
    for n in 2..=6 {
        expect(&format!("lastwrite({n})"), lastwrite(n), factorial(n as u64), 0);
    }
    for n in 1..=6 {
        expect(&format!("writers({n})"), writers(n), factorial(n as u64 + 1), 0);
    }
    for n in 1..=5 {
        expect(
            &format!("writers({n}), spawned and joined"),
            writers_spawned(n),
            factorial(n as u64 + 1),
            0,
        );
    }
}

#[test]
fn one_store_and_loads() {
    for n in 1..=10 {
        expect(&format!("readers({n})"), readers(n), 1 << n, 0);
    }
}

#[test]
fn counters() {
    for n in 1..=6 {
        expect(&format!("counterobs({n})"), counterobs(n), factorial(n as u64), 0);
        expect(&format!("counter({n})"), counter(n), factorial(n as u64), 0);
    }
    for (threads, k, executions) in [(2, 2, 6), (2, 4, 70), (3, 2, 90), (3, 3, 1680), (4, 2, 2520)] {
        expect(
            &format!("mutexcounter({threads}, {k})"),
            mutexcounter(threads, k),
            executions,
            0,
        );
        expect(
            &format!("mutexcounter_atomic({threads}, {k})"),
            mutexcounter_atomic(threads, k),
            executions,
            0,
        );
    }
}

#[test]
fn last_zero() {
    for (n, executions, published) in [
        (3, 12, 1),
        (5, 64, 33),
        (8, 704, 1611),
        (10, 3328, 16867),
        (12, 15360, 163_835),
    ] {
        let statistics = expect(&format!("lastzero({n})"), lastzero(n), executions, 0);
        println!(
            "    blocked by sleep sets: {}, published: {published}",
            statistics.blocked
        );
    }
}

#[test]
fn hash_table_and_file_system() {
    for (n, executions) in [(11, 1), (12, 8), (13, 64)] {
        expect(&format!("indexer({n})"), indexer(n), executions, 0);
    }
    for (n, executions) in [(14, 2), (16, 8), (18, 32)] {
        expect(&format!("filesystem({n})"), filesystem(n), executions, 0);
    }
}

#[test]
fn dining_philosophers() {
    for n in 2..=6 {
        expect(&format!("philosophers({n})"), philosophers(n), (1 << n) - 1, 1);
        expect(
            &format!("ordered_philosophers({n})"),
            ordered_philosophers(n),
            (1 << n) - 2,
            0,
        );
    }
}

#[test]
fn queues() {
    for (n, executions) in [(1, 2), (2, 6), (3, 20), (5, 252), (7, 3432), (9, 48620)] {
        expect(&format!("prodcons({n})"), prodcons(n), executions, 0);
    }
    for (k, executions) in [(2, 6), (3, 20), (4, 70)] {
        let statistics = expect(&format!("mpsc({k})"), mpsc(k), executions, 0);
        assert_eq!(statistics.blocked, 0, "no run of mpsc({k}) is redundant");
    }
}

#[test]
fn context_sensitive_paper() {
    expect("CAV 2017, section 3", cav17(), 6, 0);
    let (_, statistics) = explore(cav17(), Strategy::Exhaustive);
    assert_eq!(statistics.complete, 6);
}

#[derive(Default)]
struct Ends(HashSet<Terminal>);

impl Observer<Erased> for Ends {
    fn execution(&mut self, system: &mut Erased, end: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
        let system: &mut Toy = system.get();
        if matches!(end, End::Complete | End::Failed(_)) {
            self.0.insert(system.terminal());
        }
        ControlFlow::Continue(())
    }
}

/// The counters of the context-sensitive strategy, and the number of final states.
fn in_context(name: &str, program: Program, context: Context) -> (Statistics, usize) {
    let mut ends = Ends::default();
    let strategy = Strategy::Context(context);
    let mut explorer = Explorer::new(Erased::new(Toy::new(program)), strategy, Limits::default()).keep_going(true);
    let s = explorer.run(&mut ends).statistics;
    println!(
        "{name}, {strategy}: {} complete, {} blocked, {} pruned, {} states, {} checks, {} final states",
        s.complete,
        s.blocked,
        s.pruned,
        s.states,
        s.checks,
        ends.0.len()
    );
    (s, ends.0.len())
}

/// Source-DPOR needs as many executions as there are traces.
fn source(program: Program) -> u64 {
    explore(program, Strategy::Source).1.complete
}

/// The paper follows the basic algorithm: 3 executions where 2 would do. Where states are stored, an end that was
/// reached before is none, so there are as many executions as final states in what follows.
#[test]
fn section_3_of_the_context_sensitive_paper() {
    for context in [Context::CDPOR1, Context::CDPOR2, Context::CDPOR3] {
        let (statistics, states) = in_context("CAV 2017, section 3", cav17(), context);
        assert_eq!((statistics.complete, states), (3, 2), "{context}");
    }
    let (statistics, states) = in_context("CAV 2017, section 3", cav17(), Context::default());
    assert_eq!((statistics.complete, states), (2, 2));
}

/// Table 1 of CAV 2017: executions and states.
#[test]
fn table_1_of_the_context_sensitive_paper() {
    for (n, executions, states) in [(3, 8, 52), (5, 32, 324), (7, 128, 1712), (9, 512, 8428)] {
        let name = format!("prodcons({n})");
        let (statistics, ends) = in_context(&name, prodcons(n), Context::default());
        assert_eq!((statistics.complete, statistics.states), (executions, states), "{name}");
        assert_eq!(ends as u64, executions, "all executions end differently");
    }
    for n in [3, 5, 7] {
        for context in CONTEXTS {
            let (statistics, ends) = in_context(&format!("prodcons({n})"), prodcons(n), context);
            assert_eq!(ends, 1 << n, "{context}");
            assert!(statistics.complete < source(prodcons(n)), "{context}");
        }
    }
}

/// All orders lead to one state.
#[test]
fn counters_in_context() {
    let counters = (2..=6).map(|n| (format!("counter({n})"), counter(n)));
    let mutexcounters = [(2, 2), (2, 4), (3, 2), (3, 3), (4, 2)]
        .map(|(threads, k)| (format!("mutexcounter({threads}, {k})"), mutexcounter(threads, k)));
    for (name, program) in counters.chain(mutexcounters) {
        for context in CONTEXTS {
            let (statistics, ends) = in_context(&name, program.clone(), context);
            assert_eq!(ends, 1, "{name}, {context}");
            if context.check == Check::Stored {
                assert_eq!(statistics.complete, 1, "{name}, {context}");
            }
        }
        let (statistics, _) = in_context(&name, program.clone(), Context::CDPOR1);
        assert!(statistics.complete < source(program), "{name}");
    }
}

/// n stores end in n ways. With a load that sees any of the n + 1 values, in n (n + 1) ways.
#[test]
fn stores_of_one_variable_in_context() {
    for n in 2..=6 {
        for context in CONTEXTS
            .into_iter()
            .filter(|context| n <= 5 || context.check == Check::Stored)
        {
            let (last, ends) = in_context(&format!("lastwrite({n})"), lastwrite(n), context);
            assert_eq!(ends, n, "lastwrite({n}), {context}");
            let (all, loads) = in_context(&format!("writers({n})"), writers(n), context);
            assert_eq!(loads, n * (n + 1), "writers({n}), {context}");
            if context.check == Check::Stored {
                assert_eq!((last.complete, all.complete), (ends as u64, loads as u64), "{context}");
            }
        }
    }
}
