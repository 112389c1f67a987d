//! The tables of Tasharofi et al., *TransDPOR* (FMOODS/FORTE 2012): see `dpor_testsuite::papers::transdpor`.

use dpor_explorer::{Explorer, Limits, Strategy, System, Verdict};
use dpor_testsuite::actors::programs::{ErlangLeader, Registry};
use dpor_testsuite::actors::{Action, Actors, Constraint, Handler, Program, Target};
use dpor_testsuite::erased::Erased;
use dpor_testsuite::papers::Limit;
use dpor_testsuite::papers::transdpor::{ORDERS, actor_tables};
use dpor_testsuite::programs::readers;
use dpor_testsuite::toy::Toy;
use std::any::Any;
use std::time::Duration;

/// Paths, and transitions: the edges of the search tree.
type Figures = (u64, u64);

fn verdict(system: impl System + Any, strategy: &str) -> (Verdict, Figures) {
    let strategy: Strategy = strategy.parse().expect("the strategy is known");
    let report = Explorer::new(Erased::new(system), strategy, Limits::default()).run(&mut ());
    let figures = (report.statistics.complete, report.statistics.states - 1);
    (report.verdict, figures)
}

/// §2 and Figure 1. All orders are 30 paths.
#[test]
fn registry_example() {
    let example = Registry {
        workers: 2,
        groups: 0,
        master: false,
    };
    for (strategy, paths) in [("exhaustive", 30), ("dpor:nosleep", 24), ("trans:nosleep", 10)] {
        let (verdict, figures) = verdict(Actors::new(example), strategy);
        assert_eq!((verdict, figures.0), (Verdict::Complete, paths), "{strategy}");
    }
}

/// Table, program, order; paths and transitions of `dpor` and `trans`. What takes long is left out.
const EXPECTED: &[(&str, &str, &str, [Option<Figures>; 2])] = &[
    ("registry", "registry", "FIFO", [Some((24, 71)), Some((10, 30))]),
    ("registry", "registry", "ECA", [Some((27, 80)), Some((12, 36))]),
    ("registry", "registry", "LCA", [Some((6, 17)), Some((6, 17))]),
    ("transdpor1", "fib5", "FIFO", [Some((40, 203)), Some((40, 203))]),
    ("transdpor1", "fib5", "ECA", [Some((327, 1650)), Some((203, 1051))]),
    ("transdpor1", "fib5", "LCA", [Some((16, 91)), Some((16, 91))]),
    (
        "transdpor1",
        "quicksort6",
        "FIFO",
        [Some((368, 1586)), Some((368, 1586))],
    ),
    (
        "transdpor1",
        "quicksort6",
        "ECA",
        [Some((3822, 16766)), Some((1519, 6992))],
    ),
    ("transdpor1", "quicksort6", "LCA", [Some((32, 156)), Some((32, 156))]),
    ("transdpor1", "pi5", "FIFO", [Some((120, 931)), Some((120, 931))]),
    ("transdpor1", "pi5", "ECA", [Some((120, 931)), Some((120, 931))]),
    ("transdpor1", "pi5", "LCA", [Some((19845, 156070)), Some((312, 2452))]),
    (
        "transdpor1",
        "pipesort4",
        "FIFO",
        [Some((1791, 8562)), Some((755, 3541))],
    ),
    ("transdpor1", "pipesort4", "ECA", [Some((288, 1293)), Some((288, 1293))]),
    (
        "transdpor1",
        "pipesort4",
        "LCA",
        [Some((5970, 32385)), Some((2221, 11999))],
    ),
    (
        "transdpor1",
        "chameneos2",
        "FIFO",
        [Some((3240, 19459)), Some((600, 3673))],
    ),
    (
        "transdpor1",
        "chameneos2",
        "ECA",
        [Some((19683, 118197)), Some((1728, 10554))],
    ),
    (
        "transdpor1",
        "chameneos2",
        "LCA",
        [Some((216, 1231)), Some((216, 1231))],
    ),
    (
        "transdpor1",
        "leader4",
        "FIFO",
        [Some((18098, 107780)), Some((14984, 86889))],
    ),
    (
        "transdpor1",
        "leader4",
        "ECA",
        [Some((11957, 68373)), Some((11909, 68125))],
    ),
    (
        "transdpor1",
        "leader4",
        "LCA",
        [Some((39238, 236330)), Some((27287, 163030))],
    ),
    ("transdpor1", "shortpath4", "FIFO", [Some((238, 910)), Some((238, 910))]),
    (
        "transdpor1",
        "shortpath4",
        "ECA",
        [Some((392, 1464)), Some((392, 1464))],
    ),
    (
        "transdpor1",
        "shortpath4",
        "LCA",
        [Some((640, 2158)), Some((370, 1337))],
    ),
    (
        "transdpor1",
        "shortpath5",
        "FIFO",
        [Some((528, 2443)), Some((528, 2443))],
    ),
    (
        "transdpor1",
        "shortpath5",
        "ECA",
        [Some((2658, 8476)), Some((1170, 3737))],
    ),
    (
        "transdpor1",
        "shortpath5",
        "LCA",
        [Some((1865, 7076)), Some((1272, 4704))],
    ),
    ("transdpor1", "regsim", "FIFO", [None, Some((1320, 3607))]),
    ("transdpor1", "regsim", "ECA", [None, Some((1950, 5434))]),
    ("transdpor1", "regsim", "LCA", [Some((720, 1962)), Some((720, 1962))]),
    ("transdpor2", "fib5", "FIFO", [Some((16, 101)), Some((16, 101))]),
    ("transdpor2", "fib5", "ECA", [Some((16, 139)), Some((16, 139))]),
    ("transdpor2", "fib5", "LCA", [Some((16, 91)), Some((16, 91))]),
    ("transdpor2", "quicksort6", "FIFO", [Some((32, 179)), Some((32, 179))]),
    ("transdpor2", "quicksort6", "ECA", [Some((32, 272)), Some((32, 272))]),
    ("transdpor2", "quicksort6", "LCA", [Some((32, 156)), Some((32, 156))]),
    ("transdpor2", "pi5", "FIFO", [Some((120, 931)), Some((120, 931))]),
    ("transdpor2", "pi5", "ECA", [Some((120, 931)), Some((120, 931))]),
    ("transdpor2", "pi5", "LCA", [Some((120, 1236)), Some((120, 990))]),
    (
        "transdpor2",
        "pipesort4",
        "FIFO",
        [Some((288, 1448)), Some((288, 1422))],
    ),
    ("transdpor2", "pipesort4", "ECA", [Some((288, 1293)), Some((288, 1293))]),
    ("transdpor2", "pipesort4", "LCA", [Some((288, 1944)), Some((288, 1935))]),
    (
        "transdpor2",
        "chameneos2",
        "FIFO",
        [Some((216, 1681)), Some((216, 1453))],
    ),
    (
        "transdpor2",
        "chameneos2",
        "ECA",
        [Some((216, 1826)), Some((216, 1530))],
    ),
    (
        "transdpor2",
        "chameneos2",
        "LCA",
        [Some((216, 1231)), Some((216, 1231))],
    ),
    ("transdpor2", "leader4", "FIFO", [Some((492, 3125)), Some((492, 3112))]),
    ("transdpor2", "leader4", "ECA", [Some((492, 3267)), Some((492, 3261))]),
    ("transdpor2", "leader4", "LCA", [Some((492, 3311)), Some((492, 3311))]),
    ("transdpor2", "shortpath4", "FIFO", [Some((126, 473)), Some((126, 473))]),
    ("transdpor2", "shortpath4", "ECA", [Some((126, 489)), Some((126, 489))]),
    ("transdpor2", "shortpath4", "LCA", [Some((126, 522)), Some((126, 502))]),
    (
        "transdpor2",
        "shortpath5",
        "FIFO",
        [Some((296, 1408)), Some((296, 1408))],
    ),
    ("transdpor2", "shortpath5", "ECA", [Some((296, 1031)), Some((296, 997))]),
    (
        "transdpor2",
        "shortpath5",
        "LCA",
        [Some((296, 1228)), Some((296, 1218))],
    ),
    ("transdpor2", "regsim", "FIFO", [Some((720, 3453)), Some((720, 2019))]),
    ("transdpor2", "regsim", "ECA", [Some((720, 4054)), Some((720, 2152))]),
    ("transdpor2", "regsim", "LCA", [Some((720, 1962)), Some((720, 1962))]),
    (
        "transdpor2",
        "regsim-2-level",
        "FIFO",
        [Some((1296, 5751)), Some((1296, 4566))],
    ),
    (
        "transdpor2",
        "regsim-2-level",
        "ECA",
        [Some((1296, 7996)), Some((1296, 6737))],
    ),
    (
        "transdpor2",
        "regsim-2-level",
        "LCA",
        [Some((1296, 3972)), Some((1296, 3972))],
    ),
    ("transdpor2", "diningphil", "FIFO", [Some((31, 826)), Some((31, 826))]),
    ("transdpor2", "diningphil", "ECA", [Some((31, 899)), Some((31, 713))]),
    ("transdpor2", "diningphil", "LCA", [Some((31, 651)), Some((31, 651))]),
    ("transdpor2-bugs", "diningphil", "FIFO", [Some((1, 15)), Some((1, 15))]),
    (
        "transdpor2-bugs",
        "diningphil",
        "ECA",
        [Some((16, 301)), Some((16, 301))],
    ),
    ("transdpor2-bugs", "diningphil", "LCA", [Some((1, 15)), Some((1, 15))]),
    ("transdpor2-bugs", "minesweeper", "FIFO", [Some((1, 21)), Some((1, 21))]),
    ("transdpor2-bugs", "minesweeper", "ECA", [Some((3, 44)), Some((3, 44))]),
    (
        "transdpor2-bugs",
        "minesweeper",
        "LCA",
        [Some((721, 3422)), Some((721, 3422))],
    ),
    (
        "transdpor2-bugs",
        "le-erlang3-failure",
        "FIFO",
        [Some((23207, 98162)), Some((23207, 90273))],
    ),
    (
        "transdpor2-bugs",
        "le-erlang3-failure",
        "ECA",
        [Some((554, 2664)), Some((554, 2664))],
    ),
    (
        "transdpor2-bugs",
        "le-erlang3-failure",
        "LCA",
        [Some((23930, 70510)), Some((23930, 70485))],
    ),
    (
        "transdpor2-bugs",
        "le-erlang4",
        "ECA",
        [Some((4477, 18589)), Some((2953, 10554))],
    ),
];

/// The figures of a row.
fn expected(table: &str, program: &str, order: &str) -> Option<[Option<Figures>; 2]> {
    let found = EXPECTED
        .iter()
        .find(|row| (row.0, row.1, row.2) == (table, program, order));
    found.map(|row| row.3)
}

/// The figures equal the published ones where the book says so, and differ elsewhere.
#[test]
fn tables() {
    let mut checked = 0;
    for table in actor_tables() {
        for row in &table.rows {
            for (name, order) in ORDERS {
                let Some(expected) = expected(table.id, row.name, name) else {
                    continue;
                };
                let measured = row.measure(&table, order, Limit(Duration::from_secs(60)));
                for (measured, expected) in measured.into_iter().zip(expected) {
                    let Some(expected) = expected else { continue };
                    let figures = (measured.complete, measured.states.unwrap_or(0) - 1);
                    assert_eq!(figures, expected, "{} of {}, {name}", row.name, table.id);
                    let fails = ["diningphil", "minesweeper"].contains(&row.name) || row.name.starts_with("le-erlang");
                    assert_eq!(measured.failed, fails, "{}", row.name);
                    checked += 1;
                }
            }
        }
    }
    assert_eq!(checked, EXPECTED.iter().flat_map(|row| row.3).flatten().count());
}

/// The programs that come with the authors' tool have the published figures, except two of TransDPOR with sleep sets.
#[test]
fn published_figures() {
    let (mut agree, mut differ) = (0, Vec::new());
    for table in actor_tables().iter().filter(|table| !table.first_failure) {
        for row in &table.rows {
            if ["regsim-2-level", "diningphil"].contains(&row.name) {
                continue;
            }
            for ((name, _), published) in ORDERS.iter().zip(row.published) {
                let expected = expected(table.id, row.name, name).expect("the program is measured");
                for ((strategy, published), expected) in ["dpor", "trans"].into_iter().zip(published).zip(expected) {
                    let expected = expected.unwrap_or_default();
                    for (published, met) in [(published.0, expected.0), (published.1, expected.1)] {
                        // 0 was not published or cannot be read.
                        match published {
                            0 => {}
                            _ if met == published => agree += 1,
                            _ => differ.push((row.name, *name, strategy, published, met)),
                        }
                    }
                }
            }
        }
    }
    let expected = [
        ("leader4", "FIFO", "trans", 3097, 3112),
        ("leader4", "ECA", "trans", 3218, 3261),
    ];
    assert_eq!((agree, differ.as_slice()), (209, &expected[..]));
}

/// Two reads are independent, and both are in a race with the write.
#[test]
fn programs_whose_dependency_is_not_transitive_are_refused() {
    for strategy in ["trans", "trans:nosleep", "trans:lca"] {
        let (verdict, _) = verdict(Toy::new(readers(2)), strategy);
        let Verdict::Incomplete { reason } = verdict else {
            panic!("{strategy}: {verdict:?}");
        };
        assert!(
            reason.starts_with(&format!("`{strategy}` requires a transitive dependency: step 1 of t")),
            "{reason}"
        );
        assert!(
            reason.contains("are independent, but both race with step 1 of t2"),
            "{reason}"
        );
    }
}

/// Two leaders if a candidate fails and comes back; none if there are four, two of which capture one other each.
/// Nothing is wrong with three that do not fail.
#[test]
fn the_bugs_of_le_erlang_are_found() {
    for (candidates, failing, wrong) in [
        (3, Some(0), "two leaders"),
        (3, Some(1), "two leaders"),
        (4, None, "no leader"),
    ] {
        let (verdict, _) = verdict(Actors::new(ErlangLeader { candidates, failing }), "trans:eca");
        let Verdict::Failed { failure, .. } = verdict else {
            panic!("{candidates}, {failing:?}: {verdict:?}");
        };
        assert!(failure.message.contains(wrong), "{}", failure.message);
    }
    let right = ErlangLeader {
        candidates: 3,
        failing: None,
    };
    for strategy in ["source", "trans", "trans:eca"] {
        let (verdict, figures) = verdict(Actors::new(right), strategy);
        assert_eq!((verdict, figures.0), (Verdict::Complete, 7322), "{strategy}");
    }
}

fn always(actions: Vec<Action>) -> Handler {
    Handler {
        constraint: Constraint::Always,
        actions,
    }
}

/// In the paper's tables it never does: with sleep sets, `trans` can run more transitions than `dpor`. A message that
/// `dpor` has explored needlessly sleeps in the states that are explored after it.
#[test]
fn trans_with_sleep_sets_can_run_more_than_dpor() {
    // No program with fewer messages to three actors that do the same in each state has such a difference.
    let send = |to, handler| vec![Action::Send(Target::First(to), handler)];
    let handlers = [vec![], vec![], send(2, 4), send(0, 5), vec![], vec![]];
    let smallest = Program {
        actors: 3,
        first: vec![(0, 0), (1, 1), (0, 2), (2, 3)],
        handlers: handlers.map(always).into(),
    };
    for (strategy, transitions) in [("dpor:eca", 43), ("trans:eca", 44)] {
        let met = verdict(Actors::new(smallest.clone()), strategy);
        assert_eq!(met, (Verdict::Complete, (9, transitions)), "{strategy}");
    }
    for (table, name, order, figures) in EXPECTED {
        let [Some(dpor), Some(trans)] = figures else { continue };
        assert!(trans.1 <= dpor.1, "{table}, {name}, {order}");
    }
}
