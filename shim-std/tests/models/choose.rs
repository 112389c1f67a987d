//! `choose` and `nondet`: every strategy explores all values, whatever else happens.

use dpor_explorer::{Context, Strategy, Verdict};
use shim_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shim_std::{Model, Nondet, choose, choose_from, nondet, thread};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Outcomes below 1024, in memory that outlives the executions.
type Seen = Arc<[AtomicU64; 16]>;

fn strategies() -> Vec<Strategy> {
    let contexts = [
        "context",
        "context:lazy",
        "context:eager,guide",
        "cdpor1",
        "cdpor2",
        "cdpor3",
    ];
    let mut all: Vec<Strategy> = contexts.iter().map(|name| name.parse().unwrap()).collect();
    all.extend([Strategy::Exhaustive, Strategy::Source]);
    all
}

/// The results of the test in the executions of a strategy.
fn outcomes(model: &Model, verdict: Option<&Verdict>, test: fn() -> usize) -> BTreeSet<usize> {
    let seen = Seen::default();
    let inner = Arc::clone(&seen);
    let outcome = model.explore(move || {
        let value = test();
        inner[value / 64].fetch_or(1 << (value % 64), SeqCst);
    });
    if let Some(verdict) = verdict {
        assert_eq!(outcome.report.verdict, *verdict, "{outcome}");
    }
    let contains = |value: &usize| seen[value / 64].load(SeqCst) >> (value % 64) & 1 == 1;
    (0..1024).filter(contains).collect()
}

#[track_caller]
fn all_find(test: fn() -> usize, expected: impl IntoIterator<Item = usize>) {
    let expected: BTreeSet<usize> = expected.into_iter().collect();
    for strategy in strategies() {
        let model = Model::new().strategy(strategy);
        assert_eq!(outcomes(&model, Some(&Verdict::Complete), test), expected, "{strategy}");
    }
    let random = Model::new()
        .strategy(Strategy::Random { seed: 3 })
        .max_executions(200 * expected.len() as u64);
    assert_eq!(outcomes(&random, None, test), expected, "random");
}

/// Joins both threads; returns their results as the digits of a number.
fn two(a: fn(&AtomicUsize) -> usize, b: fn(&AtomicUsize) -> usize) -> usize {
    let shared = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&shared);
    let handle = thread::spawn(move || a(&other));
    let b = b(&shared);
    handle.join().unwrap() * 10 + b
}

#[test]
fn one_thread_alone() {
    all_find(|| choose(3..7), 3..7);
    all_find(|| choose(5..=5), [5]);
    all_find(
        || choose(0..2) * 100 + choose(0..=2) * 10 + choose(..2),
        (0..2).flat_map(|a| (0..3).flat_map(move |b| (0..2).map(move |c| a * 100 + b * 10 + c))),
    );
    // What comes next depends on what was chosen.
    all_find(|| if choose(0..2) == 0 { 7 } else { choose(0..3) }, [0, 1, 2, 7]);
}

#[test]
fn values_that_are_forgotten_again() {
    all_find(
        || {
            let _ = choose(0..3);
            choose(0..2)
        },
        [0, 1],
    );
}

#[test]
fn two_threads_that_do_not_meet() {
    all_find(
        || two(|_| choose(0..3), |_| choose(0..2)),
        (0..3).flat_map(|a| (0..2).map(move |b| 10 * a + b)),
    );
}

#[test]
fn a_choice_before_a_race_and_after_it() {
    // One thread adds 1 or 2, the other reads and chooses.
    all_find(
        || {
            two(
                |x| x.fetch_add(1 + choose(0..2), SeqCst),
                |x| x.load(SeqCst) * 2 + choose(0..2),
            )
        },
        [0, 1, 2, 3, 4, 5],
    );
    // The thread that races is there for one value only.
    all_find(
        || {
            two(
                |x| {
                    if choose(0..2) == 1 {
                        x.store(1, SeqCst);
                    }
                    0
                },
                |x| x.load(SeqCst) + 2 * x.load(SeqCst),
            )
        },
        [0, 2, 3],
    );
}

#[test]
fn a_loop_around_a_choice_ends() {
    // Going round again changes nothing.
    all_find(
        || {
            let mut x = Box::new(0);
            while choose(0..2) == 0 {
                *x = 0;
            }
            *x
        },
        [0],
    );
    all_find(
        || {
            two(
                |x| {
                    x.store(1, SeqCst);
                    0
                },
                |x| loop {
                    let seen = x.load(SeqCst);
                    if choose(0..2) == 1 {
                        return seen;
                    }
                },
            )
        },
        [0, 1],
    );
}

#[test]
fn a_loop_that_no_choice_ends_is_never_complete() {
    let model = Model::new().max_depth(1000);
    let outcome = model.explore(|| {
        loop {
            let _ = choose(0..2);
        }
    });
    // Which of the two depends on what the compiler leaves on the stack.
    match &outcome.report.verdict {
        Verdict::Failed { failure, .. } => assert_eq!(failure.kind, "livelock", "{outcome}"),
        Verdict::Incomplete { reason } => assert!(reason.contains("did not end within 1000 steps"), "{outcome}"),
        Verdict::Complete => panic!("{outcome}"),
    }
}

#[test]
fn a_loop_that_only_some_choices_end_is_no_failure() {
    // Each round of two choices leads back, but for one pair of them: there is no last round.
    let outcome = Model::new()
        .max_depth(100)
        .max_executions(50)
        .explore(|| while !(nondet::<bool>() && nondet::<bool>()) {});
    assert!(!matches!(outcome.report.verdict, Verdict::Failed { .. }), "{outcome}");
}

#[test]
fn types_with_few_values() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Colour {
        Red,
        Green,
        Blue,
    }
    impl Nondet for Colour {
        #[track_caller]
        fn nondet() -> Colour {
            *choose_from(&[Colour::Red, Colour::Green, Colour::Blue])
        }
    }
    all_find(|| nondet::<Colour>() as usize, 0..3);
    all_find(|| usize::from(nondet::<bool>()), 0..2);
    all_find(|| usize::from(nondet::<u8>()), 0..256);
    all_find(|| (i16::from(nondet::<i8>()) + 128) as usize, 0..256);
    all_find(
        || nondet::<[bool; 3]>().iter().fold(0, |n, &bit| 2 * n + usize::from(bit)),
        0..8,
    );
    all_find(|| nondet::<Option<bool>>().map_or(2, usize::from), 0..3);
    all_find(|| nondet::<Result<(), bool>>().map_or_else(usize::from, |()| 2), 0..3);
    all_find(|| nondet::<((), bool, std::cmp::Ordering)>().1.into(), 0..2);
}

#[test]
fn as_many_executions_as_values() {
    for strategy in [
        Strategy::Source,
        Strategy::Exhaustive,
        Strategy::Context(Context::CDPOR1),
    ] {
        let outcome = Model::new().strategy(strategy).explore(|| {
            let _ = two(|_| choose(0..4), |_| choose(0..3));
        });
        let statistics = outcome.report.statistics;
        match strategy {
            // The start, two steps and the end of a thread beside those of another.
            Strategy::Exhaustive => assert!(statistics.complete > 12, "{outcome}"),
            _ => assert_eq!(statistics.complete, 12, "{strategy}: {outcome}"),
        }
    }
}

#[test]
fn a_failure_for_one_value_is_found_and_replayed_with_it() {
    let test = || assert_ne!((choose(0..10), nondet::<bool>()), (7, true));
    for strategy in strategies() {
        let outcome = Model::new().strategy(strategy).explore(test);
        let seed = outcome.seed.unwrap();
        let again = catch_unwind(AssertUnwindSafe(move || Model::new().replay(&seed, test))).unwrap_err();
        let again = *again.downcast::<String>().unwrap();
        assert!(
            again.contains("choose  → 7  shim-std/tests/models/choose.rs:"),
            "{again}"
        );
        assert!(
            again.contains("choose  → true  shim-std/tests/models/choose.rs:"),
            "{again}"
        );
    }
}

fn ignore<T>(_: T) {}

/// The message of the panic with which the test fails.
fn failure(test: fn()) -> String {
    match Model::new().explore(test).report.verdict {
        Verdict::Failed { failure, .. } => failure.message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ranges_that_cannot_be_explored_are_refused() {
    #[expect(clippy::reversed_empty_ranges, reason = "it is to be refused")]
    let empty = failure(|| ignore(choose(5..3)));
    assert!(empty.contains("choose: the range is empty"), "{empty}");
    assert!(failure(|| ignore(choose_from::<u8>(&[]))).contains("the slice is empty"));
    assert!(failure(|| ignore(choose(0..))).contains("the range has no end"));
    let large = failure(|| ignore(choose(0..1025)));
    assert!(
        large.contains("1025 values are too many to explore; at most 1024"),
        "{large}"
    );
    assert!(failure(|| ignore(choose(0..=usize::MAX))).contains("too many to explore"));
    let source = Model::new().strategy(Strategy::Source);
    let all = outcomes(&source, Some(&Verdict::Complete), || choose(0..1024));
    assert_eq!(all.len(), 1024);
}

#[test]
fn off_model_threads_there_is_nothing_to_explore() {
    for ask in [|| ignore(choose(0..2)), || ignore(nondet::<bool>())] {
        let message = catch_unwind(ask).unwrap_err();
        let message = message.downcast_ref::<&str>().unwrap();
        assert!(message.contains("need a model"), "{message}");
    }
}
