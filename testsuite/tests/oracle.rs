//! Every strategy against `exhaustive`, on generated toy programs.
//!
//! `DPOR_ORACLE_PROGRAMS` sets how many programs (20,000 by default), `DPOR_ORACLE_SEED` which ones. A
//! million: `DPOR_ORACLE_PROGRAMS=1000000 cargo test --release -p dpor-testsuite --test oracle`.

use dpor_testsuite::oracle::{Comparison, compare, minimise};
use dpor_testsuite::toy::generate;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::sync::Mutex;

/// Programs with more interleavings than this are left out.
const LIMIT: u64 = 2000;

#[derive(Default)]
struct Totals {
    programs: u64,
    skipped: u64,
    exhaustive: u64,
    source: u64,
    blocked: u64,
    traces: u64,
    terminals: u64,
    reduced: u64,
    deadlocks: u64,
    failures: u64,
    fallbacks: u64,
    refined: u64,
}

impl Totals {
    fn add(&mut self, comparison: Comparison) {
        self.programs += 1;
        match comparison {
            Comparison::Skipped => self.skipped += 1,
            Comparison::Agreed {
                exhaustive,
                source,
                blocked,
                traces,
                terminals,
                deadlock,
                failure,
                fallbacks,
                refined,
            } => {
                self.exhaustive += exhaustive;
                self.source += source;
                self.blocked += blocked;
                self.traces += traces;
                self.terminals += terminals;
                self.reduced += u64::from(source < exhaustive);
                self.deadlocks += u64::from(deadlock);
                self.failures += u64::from(failure);
                self.fallbacks += fallbacks;
                self.refined += u64::from(refined);
            }
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| {
        value.parse().unwrap_or_else(|_| panic!("{name} must be a number"))
    })
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
    let count = std::cell::Cell::new(0u64);
    let result = runner.run(&generate::programs(LIMIT), |program| {
        count.set(count.get() + 1);
        match compare(&program, LIMIT, None, count.get().is_multiple_of(16)) {
            Ok(comparison) => {
                totals.lock().unwrap().add(comparison);
                Ok(())
            }
            Err(mismatch) => Err(TestCaseError::fail(mismatch.to_string())),
        }
    });
    match result {
        Ok(()) => Ok(()),
        Err(TestError::Fail(_, program)) => {
            let program = minimise(program, |program| compare(program, LIMIT, None, true).is_err());
            let mismatch = compare(&program, LIMIT, None, true).map_or_else(|m| m.to_string(), |c| format!("{c:?}"));
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
    let t = totals.into_inner().unwrap();
    println!(
        "{} programs ({} skipped: too large): executions {} exhaustive, {} source (+ {} blocked), for {} traces with {} \
         terminal states\nprograms that source reduces: {}, that deadlock: {}, \
         that fail: {}, that refine: {}; races without an enabled initial: {}",
        t.programs,
        t.skipped,
        t.exhaustive,
        t.source,
        t.blocked,
        t.traces,
        t.terminals,
        t.reduced,
        t.deadlocks,
        t.failures,
        t.refined,
        t.fallbacks
    );
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
