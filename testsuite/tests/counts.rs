//! Numbers of executions that are published or can be derived by hand.

use dpor_explorer::{End, Explorer, Limits, Observer, Statistics, Strategy, Trace};
use dpor_testsuite::programs::*;
use dpor_testsuite::toy::{Program, Toy};
use std::ops::ControlFlow;

struct Deadlocks(u64);

impl Observer<Toy> for Deadlocks {
    fn execution(&mut self, _: &mut Toy, end: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
        self.0 += u64::from(matches!(end, End::Failed(failure) if failure.kind == "deadlock"));
        ControlFlow::Continue(())
    }
}

/// Explores to the end; the number of deadlocks, and the statistics.
fn explore(program: Program, strategy: Strategy) -> (u64, Statistics) {
    let mut deadlocks = Deadlocks(0);
    let mut explorer = Explorer::new(Toy::new(program), strategy, Limits::default()).keep_going(true);
    let statistics = explorer.run(&mut deadlocks).statistics;
    (deadlocks.0, statistics)
}

/// Complete executions and deadlocks among them under `source`.
#[track_caller]
fn expect(name: &str, program: Program, executions: u64, deadlocks: u64) -> Statistics {
    let (found, statistics) = explore(program, Strategy::Source);
    println!(
        "{name}: {} complete, {} blocked, {found} deadlocks",
        statistics.complete, statistics.blocked
    );
    assert_eq!((statistics.complete, found), (executions, deadlocks), "{name}");
    statistics
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
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
