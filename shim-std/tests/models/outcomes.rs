//! The outcomes of a small test under each strategy.

use dpor_explorer::{Strategy, Verdict};
use shim_std::Model;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// The strategies that are compared with each other; the first is brute force.
const STRATEGIES: [&str; 8] = [
    "exhaustive",
    "source",
    "optimal",
    "states",
    "context",
    "context:lazy",
    "cdpor2",
    "cdpor3",
];

/// The outcomes of a test under a strategy.
pub fn outcomes(strategy: Strategy, test: impl Fn() -> usize + 'static) -> BTreeSet<usize> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let inner = Arc::clone(&seen);
    let outcome = Model::new().strategy(strategy).explore(move || {
        let value = test();
        shim_std::outside(|| {
            inner.lock().unwrap().insert(value);
        });
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{strategy}: {outcome}");
    let seen = seen.lock().unwrap();
    seen.clone()
}

/// Checks that every strategy finds the outcomes, which brute force finds as well.
#[track_caller]
pub fn all_find(test: impl Fn() -> usize + Copy + 'static, expected: impl IntoIterator<Item = usize>) {
    let expected: BTreeSet<usize> = expected.into_iter().collect();
    for strategy in STRATEGIES {
        assert_eq!(outcomes(strategy.parse().unwrap(), test), expected, "{strategy}");
    }
}

/// Number of Mazurkiewicz traces: of complete executions under `source`, none of which is blocked.
#[track_caller]
pub fn traces(test: impl Fn() -> usize + 'static) -> u64 {
    let outcome = Model::new().strategy(Strategy::Source).explore(move || {
        test();
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    assert_eq!(outcome.report.statistics.blocked, 0, "{outcome}");
    outcome.report.statistics.complete
}

/// Checks that every strategy finds the failure, and that it can be replayed. Returns its report.
#[track_caller]
pub fn fails(kind: &str, test: impl Fn() + Copy + 'static) -> String {
    let mut message = String::new();
    for strategy in STRATEGIES {
        let outcome = Model::new().strategy(strategy.parse().unwrap()).explore(test);
        let Verdict::Failed { failure, .. } = &outcome.report.verdict else {
            panic!("{strategy}: {outcome}")
        };
        assert_eq!(failure.kind, kind, "{strategy}: {outcome}");
        let seed = outcome.seed.clone().expect("a failure of one execution has a seed");
        let again = catch_unwind(AssertUnwindSafe(move || Model::new().replay(&seed, test))).unwrap_err();
        message = *again.downcast::<String>().expect("a replay panics with a message");
        assert!(message.starts_with(kind), "{strategy}: {message}");
    }
    message
}
