//! The rows of CAV 2017's tables that are measured in seconds: see `dpor_testsuite::papers`.

use dpor_testsuite::papers::{Limit, Measured, Row, STRATEGIES, explore_rust, explore_toy, tables};
use std::collections::BTreeMap;
use std::time::Duration;

const LIMIT: Limit = Limit(Duration::from_secs(120));

/// Complete executions of the tests under `source` and `context`: the number of traces, and of different ends.
const EXPECTED: [(&str, u64, u64); 20] = [
    ("section_3", 6, 2),
    ("prodcons_3", 20, 8),
    ("prodcons_5", 252, 32),
    ("prodcons_7", 3432, 128),
    ("prodcons_9", 48620, 512),
    ("fib_5", 128, 1),
    ("fib_6", 4096, 1),
    ("qsort_9", 128, 1),
    ("qsort_12", 512, 1),
    ("qsort_15", 4096, 1),
    ("msort_9", 256, 1),
    ("msort_12", 2048, 1),
    ("msort_15", 16384, 1),
    ("pi_5", 120, 1),
    ("pi_6", 720, 1),
    ("pi_7", 5040, 1),
    ("psort_4", 288, 1),
    ("psort_5", 34560, 1),
    ("reg_4", 384, 1),
    ("reg_5", 3840, 1),
];

/// Complete and pruned executions of the slides' examples under `source` and `context`, as the book has them.
const SLIDES: [(&str, &str, [[u64; 2]; 2]); 5] = [
    ("slides", "slides_two_variables", [[1, 0], [1, 0]]),
    ("slides", "slides_read_and_kept", [[2, 0], [2, 0]]),
    ("slides", "slides_read_and_forgotten", [[2, 0], [1, 1]]),
    ("slides", "slides_two_readers", [[4, 0], [4, 0]]),
    ("tables", "section_3", [[6, 0], [2, 4]]),
];

/// Those for which the basic algorithm takes less than a second.
const SMALL: [&str; 8] = [
    "section_3",
    "prodcons_3",
    "prodcons_5",
    "qsort_9",
    "msort_9",
    "pi_5",
    "psort_4",
    "reg_4",
];

fn rows() -> Vec<Row> {
    tables().into_iter().flat_map(|table| table.rows).collect()
}

/// The expected counts under `source` and `context`.
fn check(test: &str, [source, context]: [Measured; 2]) {
    let expected = EXPECTED.iter().find(|(name, ..)| *name == test);
    let &(_, traces, ends) = expected.unwrap_or_else(|| panic!("{test}: nothing is expected"));
    assert!(!source.cut && !context.cut, "{test} takes too long");
    assert_eq!((source.complete, context.complete), (traces, ends), "{test}");
}

#[test]
fn toy_programs() {
    for row in rows() {
        let Some(toy) = &row.toy else { continue };
        let [source, basic, .., context] = STRATEGIES.map(|strategy| explore_toy(toy, strategy, LIMIT));
        check(&row.test, [source, context]);
        assert!(
            (context.complete..=source.complete).contains(&basic.complete),
            "{}",
            row.name
        );
        // Where the program is known exactly, the published figures come out.
        for (published, measured) in row.published.iter().zip([source, basic, basic, basic, context]) {
            let (Some(published), false) = (published, row.test.starts_with("pi")) else {
                continue;
            };
            assert_eq!(measured.complete, published.executions, "{}", row.name);
            assert!(
                published.states.is_none() || measured.states == published.states,
                "{}",
                row.name
            );
        }
    }
}

#[test]
fn rust_programs() {
    let all = EXPECTED.map(|(test, ..)| test);
    let explore = |strategy| explore_rust("tables", &all, strategy, LIMIT);
    let [source, context] = ["source", "context"].map(explore);
    for test in all {
        check(test, [source[test], context[test]]);
    }
    for strategy in &STRATEGIES[1..4] {
        let met: BTreeMap<_, _> = explore_rust("tables", &SMALL, strategy, LIMIT);
        for (test, measured) in met {
            assert!(!measured.cut, "{test} takes too long under {strategy}");
            let possible = context[&test].complete..source[&test].complete;
            assert!(
                possible.contains(&measured.complete),
                "{test} under {strategy}: {measured:?}"
            );
        }
    }
}

#[test]
fn slides() {
    for (target, test, expected) in SLIDES {
        let counts = ["source", "context"].map(|strategy| {
            let measured = explore_rust(target, &[test], strategy, LIMIT)[test];
            assert!(!measured.cut, "{test} takes too long under {strategy}");
            [measured.complete, measured.pruned]
        });
        assert_eq!(counts, expected, "{test}");
    }
}
