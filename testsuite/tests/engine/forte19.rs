//! Table 1 of FORTE 2019: see `dpor_testsuite::papers::forte19`.

use dpor_explorer::{Strategy, Verdict};
use dpor_testsuite::enumerate::enumerate;
use dpor_testsuite::message_passing::{Machine, interleavings};
use dpor_testsuite::papers::{Limit, forte19};
use std::num::NonZeroU32;
use std::time::Duration;

const LIMIT: Limit = Limit(Duration::from_secs(300));

/// The larger ones are counted only: as the paths through the graph of states.
#[test]
fn exhaustive() {
    for row in forte19::rows() {
        let paths = interleavings(&row.program);
        if let Some((published, _)) = row.exhaustive {
            assert_eq!(paths, u128::from(published), "{}", row.name);
        }
        if paths < 100_000 {
            let mut machine = Machine::new(row.program.clone());
            let all = enumerate(&mut machine, 100_000, || (), |_, _, _| ());
            let (executions, ()) = all.expect("there are no more");
            assert_eq!(u128::from(executions), paths, "{}", row.name);
            let report = forte19::explore(Machine::new(row.program.clone()), Strategy::Exhaustive, LIMIT);
            assert_eq!(u128::from(report.statistics.complete), paths, "{}", row.name);
            assert_eq!(
                matches!(report.verdict, Verdict::Failed { .. }),
                row.deadlock,
                "{}",
                row.name
            );
        }
    }
}

#[test]
fn unfolding() {
    for row in forte19::rows() {
        let report = forte19::explore(
            Machine::new(row.program.clone()),
            Strategy::Unfolding { partial: None },
            LIMIT,
        );
        let statistics = report.statistics;
        assert_eq!(
            (statistics.complete, statistics.blocked),
            (row.unfolding.0, 0),
            "{}",
            row.name
        );
        match report.verdict {
            Verdict::Failed { failure, .. } => {
                assert!(row.deadlock && failure.kind == "deadlock", "{}: {failure}", row.name)
            }
            verdict => assert!(
                verdict == Verdict::Complete && !row.deadlock,
                "{}: {verdict:?}",
                row.name
            ),
        }
        let source = forte19::explore(Machine::new(row.program.clone()), Strategy::Source, LIMIT);
        assert!(source.statistics.executions() >= statistics.complete, "{}", row.name);
    }
}

/// §4.4: with k = 4 there are still 24 traces.
#[test]
fn partial_alternatives() {
    for k in 1..=7 {
        let partial = NonZeroU32::new(k);
        let report = forte19::explore(
            Machine::new(forte19::rmq_receiving(4)),
            Strategy::Unfolding { partial },
            LIMIT,
        );
        assert_eq!(report.verdict, Verdict::Complete);
        assert_eq!(
            (report.statistics.complete, report.statistics.blocked),
            (24, 0),
            "k = {k}"
        );
    }
}
