//! Every strategy against `exhaustive`, on generated toy programs.
//!
//! `DPOR_ORACLE_PROGRAMS` sets how many programs (20,000 by default), `DPOR_ORACLE_SEED` which ones. A
//! million: `DPOR_ORACLE_PROGRAMS=1000000 cargo test --release -p dpor-testsuite --test engine oracle::`.

use dpor_explorer::{Statistics, Strategy as Exploration};
use dpor_testsuite::actors;
use dpor_testsuite::generated::setting;
use dpor_testsuite::oracle::{
    ActorAgreement, Agreement, CONTEXTS, DPORS, Settings, UNFOLDINGS, compare, compare_actors, minimise,
};
use dpor_testsuite::toy::{Program, generate};
use proptest::prop_oneof;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::{Cell, RefCell};
use std::sync::Mutex;

/// Programs with more interleavings than this are left out.
const LIMIT: u64 = 2000;

#[derive(Default)]
struct Totals {
    programs: u64,
    skipped: u64,
    exhaustive: u64,
    source: Statistics,
    optimal: Statistics,
    contexts: [Statistics; CONTEXTS.len()],
    unfoldings: [Statistics; UNFOLDINGS.len()],
    states: Statistics,
    /// For each configuration, the programs on which it completes fewer executions than `source`.
    reduced: [u64; CONTEXTS.len()],
    dpors: Dpors,
    traces: u64,
    terminals: u64,
    reduced_by_source: u64,
    deadlocks: u64,
    failures: u64,
    refined: u64,
}

/// The counters of `dpor` and `trans`, in the order of [`DPORS`].
#[derive(Default)]
struct Dpors {
    dpor: [Statistics; DPORS.len()],
    trans: [Statistics; DPORS.len()],
    refused: u64,
    /// Explorations in which `trans` visits fewer states than `dpor`, and more.
    fewer: [u64; DPORS.len()],
    more: [u64; DPORS.len()],
    /// Explorations in which `dpor` begins fewer executions than `source`.
    below_source: u64,
}

impl Dpors {
    fn add(&mut self, i: usize, source: &Statistics, dpor: &Statistics, trans: Option<&Statistics>) {
        self.below_source += u64::from(dpor.executions() < source.executions());
        let Some(trans) = trans else {
            self.refused += 1;
            return;
        };
        add(&mut self.dpor[i], dpor);
        add(&mut self.trans[i], trans);
        self.fewer[i] += u64::from(trans.states < dpor.states);
        self.more[i] += u64::from(trans.states > dpor.states);
    }

    fn print(&self) {
        println!(
            "explorations that trans refuses: {}; in which dpor begins fewer executions than source: {}",
            self.refused, self.below_source
        );
        for (i, options) in DPORS.iter().enumerate() {
            let executions = |statistics: &Statistics| format!("{} + {}", statistics.complete, statistics.blocked);
            println!(
                "{:<16} dpor {} blocked, trans {}; states: trans fewer {}, more {}",
                Exploration::Dpor(*options).to_string(),
                executions(&self.dpor[i]),
                executions(&self.trans[i]),
                self.fewer[i],
                self.more[i]
            );
        }
    }
}

fn add(total: &mut Statistics, statistics: &Statistics) {
    total.complete += statistics.complete;
    total.blocked += statistics.blocked;
    total.pruned += statistics.pruned;
    total.checks += statistics.checks;
    total.compared += statistics.compared;
    total.equal += statistics.equal;
    total.fallbacks += statistics.fallbacks;
}

impl Totals {
    fn add(&mut self, agreement: Option<Agreement>) {
        self.programs += 1;
        let Some(agreement) = agreement else {
            self.skipped += 1;
            return;
        };
        self.exhaustive += agreement.exhaustive.complete;
        add(&mut self.source, &agreement.source);
        add(&mut self.optimal, &agreement.optimal);
        for (i, statistics) in agreement.contexts.iter().enumerate() {
            add(&mut self.contexts[i], statistics);
            self.reduced[i] += u64::from(statistics.complete < agreement.source.complete);
        }
        add(&mut self.states, &agreement.states);
        for (total, statistics) in self.unfoldings.iter_mut().zip(&agreement.unfoldings) {
            add(total, statistics);
        }
        for (i, (dpor, trans)) in agreement.dpors.iter().zip(&agreement.trans).enumerate() {
            self.dpors.add(i, &agreement.source, dpor, trans.as_ref());
        }
        self.traces += agreement.traces;
        self.terminals += agreement.terminals;
        self.reduced_by_source += u64::from(agreement.source.complete < agreement.exhaustive.complete);
        self.deadlocks += u64::from(agreement.deadlock);
        self.failures += u64::from(agreement.failure);
        self.refined += u64::from(agreement.exhaustive.refinements > 0);
    }

    fn print(&self) {
        println!(
            "{} programs ({} skipped: too large): executions {} exhaustive, {} source (+ {} blocked), {} optimal (+ {} \
             blocked), for {} traces with {} terminal states\nprograms that source reduces: {}, that deadlock: {}, that \
             fail: {}, that refine: {}; races without an enabled initial: {}",
            self.programs,
            self.skipped,
            self.exhaustive,
            self.source.complete,
            self.source.blocked,
            self.optimal.complete,
            self.optimal.blocked,
            self.traces,
            self.terminals,
            self.reduced_by_source,
            self.deadlocks,
            self.failures,
            self.refined,
            self.source.fallbacks
        );
        println!(
            "{:<32} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} programs reduced",
            "", "complete", "blocked", "pruned", "checks", "compared", "equal"
        );
        for ((context, statistics), reduced) in CONTEXTS.iter().zip(&self.contexts).zip(self.reduced) {
            println!(
                "{:<32} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {reduced}",
                Exploration::Context(*context).to_string(),
                statistics.complete,
                statistics.blocked,
                statistics.pruned,
                statistics.checks,
                statistics.compared,
                statistics.equal
            );
        }
        println!(
            "{:<32} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
            Exploration::States.to_string(),
            self.states.complete,
            self.states.blocked,
            self.states.pruned,
            self.states.checks,
            self.states.compared,
            self.states.equal
        );
        for (strategy, statistics) in UNFOLDINGS.iter().zip(&self.unfoldings) {
            println!(
                "{:<32} {:>8} {:>8}",
                strategy.to_string(),
                statistics.complete,
                statistics.blocked
            );
        }
        self.dpors.print();
    }
}

/// Programs of all generators.
fn programs() -> impl Strategy<Value = Program> {
    prop_oneof![
        2 => generate::programs(LIMIT),
        2 => generate::commuting_programs(LIMIT),
        1 => generate::choosing_programs(LIMIT),
    ]
}

fn run(seed: u64, worker: u64, cases: u32, totals: &Mutex<Totals>) -> Result<(), String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&worker.to_le_bytes());
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let (count, failed) = (Cell::new(0u64), Cell::new(false));
    let settings = Settings::new(LIMIT);
    let thorough = Settings {
        brute_force: true,
        ..settings
    };
    let result = runner.run(&programs(), |program| {
        // After a failure, all that follows are smaller variants.
        count.set(count.get() + u64::from(!failed.get()));
        let settings = if count.get().is_multiple_of(16) {
            &thorough
        } else {
            &settings
        };
        let opaque = count.get() % 8 == 1;
        match compare(&program, &Settings { opaque, ..*settings }) {
            Ok(agreement) => {
                totals.lock().unwrap().add(agreement);
                Ok(())
            }
            Err(mismatch) => {
                failed.set(true);
                Err(TestCaseError::fail(mismatch.to_string()))
            }
        }
    });
    match result {
        Ok(()) => Ok(()),
        Err(TestError::Fail(_, program)) => {
            let opaque = Settings {
                opaque: true,
                ..thorough
            };
            let wrong = |program: &Program| compare(program, &thorough).err().or(compare(program, &opaque).err());
            let program = minimise(program, |program| wrong(program).is_some());
            let mismatch = wrong(&program).map_or_else(String::new, |mismatch| mismatch.to_string());
            Err(format!(
                "seed {seed}, program {} of worker {worker}\n{program}{mismatch}",
                count.get()
            ))
        }
        Err(TestError::Abort(reason)) => Err(reason.to_string()),
    }
}

#[test]
fn strategies_agree_with_exhaustive() {
    let programs = setting("DPOR_ORACLE_PROGRAMS", 20_000);
    let seed = setting("DPOR_ORACLE_SEED", 2014);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let cases = programs
        .div_ceil(workers)
        .try_into()
        .expect("fewer than 2^32 programs a worker");
    let totals = Mutex::new(Totals::default());
    let results: Vec<_> = std::thread::scope(|scope| {
        let totals = &totals;
        let handles: Vec<_> = (0..workers)
            .map(|worker| scope.spawn(move || run(seed, worker, cases, totals)))
            .collect();
        handles.into_iter().map(|handle| handle.join()).collect()
    });
    totals.into_inner().unwrap().print();
    let mut wrong = String::new();
    for result in results {
        match result {
            Ok(Ok(())) => {}
            Ok(Err(message)) => wrong += &format!("\n{message}\n"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Without sleep sets, `trans` visits no more states than `dpor` in actor programs: that is part of the comparison.
/// With them it sometimes does.
#[test]
fn actor_strategies_agree_with_exhaustive() {
    let programs = setting("DPOR_ORACLE_PROGRAMS", 20_000) / 4;
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&setting("DPOR_ORACLE_SEED", 2014).to_le_bytes());
    let config = Config {
        cases: programs.try_into().expect("fewer than 2^32 programs"),
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let settings = Settings {
        brute_force: true,
        contexts: &CONTEXTS[8..9],
        ..Settings::new(LIMIT)
    };
    let totals = RefCell::new(Dpors::default());
    let (compared, failing) = (Cell::new(0u64), Cell::new(0u64));
    let result = runner.run(&actors::generate::programs(), |program| {
        match compare_actors(&program, &settings) {
            Ok(None) => {}
            Ok(Some(ActorAgreement {
                source, dpors, fails, ..
            })) => {
                compared.set(compared.get() + 1);
                failing.set(failing.get() + u64::from(fails));
                let mut totals = totals.borrow_mut();
                for (i, [dpor, trans]) in dpors.iter().enumerate() {
                    totals.add(i, &source, dpor, Some(trans));
                }
            }
            Err(mismatch) => return Err(TestCaseError::fail(mismatch.to_string())),
        }
        Ok(())
    });
    println!(
        "{programs} actor programs, {} of them small enough, {} of which fail",
        compared.get(),
        failing.get()
    );
    totals.into_inner().print();
    if let Err(TestError::Fail(reason, program)) = result {
        panic!("{program}{reason}");
    }
}
