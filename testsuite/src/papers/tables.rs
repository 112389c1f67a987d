//! The tables: programs, and their published figures.

use crate::programs::{cav17, counter, prodcons};
use crate::toy::Program;

/// The strategies that are compared. The gain is relative to the first.
pub const STRATEGIES: [&str; 5] = ["source", "cdpor1", "cdpor2", "cdpor3", "context"];

/// A table of the paper.
pub struct Table {
    /// Its name on the command line.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// The tests' target in the package `papers`.
    pub target: &'static str,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A program at one size.
pub struct Row {
    /// Its name in the paper.
    pub name: String,
    /// The test in the table's target.
    pub test: String,
    /// The same program for the toy machine.
    pub toy: Option<Program>,
    /// Published figures, for each of [`STRATEGIES`]. The paper's implementation stores states (§6.2), as `context`
    /// does.
    pub published: [Option<Figures>; STRATEGIES.len()],
    /// Whether some strategy takes minutes.
    pub slow: bool,
}

/// The published figures of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Complete executions.
    pub executions: u64,
    /// Whether it ran out of time after this number of executions.
    pub cut: bool,
    /// Explored states.
    pub states: Option<u64>,
    /// Milliseconds.
    pub time: Option<u64>,
}

/// All tables.
pub fn tables() -> Vec<Table> {
    vec![section_3(), table_1(), table_2(), variants()]
}

fn section_3() -> Table {
    let executions = |executions| Some(Figures { executions, ..DONE });
    Table {
        id: "section3",
        title: "Section 3: x = 5 | x = 5 | read x",
        target: "tables",
        rows: vec![Row {
            toy: Some(cav17()),
            // The example follows the algorithm without optimisations.
            published: [executions(6), executions(3), None, None, None],
            ..row("Section 3", "section_3")
        }],
    }
}

fn table_1() -> Table {
    let row = |n: usize, [source, cdpor]: [[u64; 3]; 2]| {
        let figures = |[executions, time, states]: [u64; 3]| {
            Some(Figures {
                executions,
                time: Some(time),
                states: Some(states),
                ..DONE
            })
        };
        Row {
            toy: Some(prodcons(n)),
            // Not said to be one of the three: what §6.2 has implemented.
            published: [figures(source), None, None, None, figures(cdpor)],
            ..row(&format!("N = {n}"), &format!("prodcons_{n}"))
        }
    };
    Table {
        id: "1",
        title: "Table 1: producer and consumer",
        target: "tables",
        rows: vec![
            row(3, [[20, 5, 69], [8, 6, 52]]),
            row(5, [[252, 100, 923], [32, 58, 324]]),
            row(7, [[3432, 1663, 12869], [128, 357, 1712]]),
            row(9, [[48620, 30856, 184_755], [512, 2284, 8428]]),
        ],
    }
}

fn table_2() -> Table {
    /// Executions and milliseconds of an exploration that ran out of time.
    const fn cut(executions: u64) -> Option<Figures> {
        Some(Figures {
            executions,
            cut: true,
            time: Some(120_000),
            ..DONE
        })
    }
    const fn done(executions: u64, time: u64) -> Option<Figures> {
        Some(Figures {
            executions,
            time: Some(time),
            ..DONE
        })
    }
    let row = |program: &str, n: usize, [source, cdpor1, cdpor2, cdpor3]: [Option<Figures>; 4]| Row {
        toy: (program == "Pi").then(|| counter(n)),
        // With both optimisations, and implemented as §6.2 says.
        published: [source, cdpor1, cdpor2, cdpor3, cdpor3],
        ..row(&format!("{program}({n})"), &format!("{}_{n}", program.to_lowercase()))
    };
    let slow = |row| Row { slow: true, ..row };
    Table {
        id: "2",
        title: "Table 2: actor programs",
        target: "tables",
        rows: vec![
            row("Fib", 5, [done(94, 93), done(26, 64), done(26, 50), done(1, 39)]),
            row(
                "Fib",
                6,
                [done(2148, 2935), done(256, 1407), done(256, 683), done(1, 39)],
            ),
            slow(row("Fib", 7, [cut(56735), cut(7929), done(11924, 43637), done(1, 124)])),
            row("QSort", 9, [done(84, 99), done(13, 57), done(7, 20), done(1, 23)]),
            row("QSort", 12, [done(280, 356), done(26, 176), done(26, 68), done(1, 24)]),
            row(
                "QSort",
                15,
                [done(3166, 3940), done(177, 1132), done(87, 249), done(1, 40)],
            ),
            row("MSort", 9, [done(256, 259), done(14, 84), done(14, 32), done(1, 18)]),
            row("MSort", 12, [done(912, 1187), done(33, 470), done(23, 98), done(1, 37)]),
            row(
                "MSort",
                15,
                [done(15872, 36653), done(135, 2051), done(135, 374), done(1, 51)],
            ),
            row("Pi", 5, [done(120, 83), done(9, 26), done(9, 17), done(9, 15)]),
            row("Pi", 6, [done(720, 556), done(24, 51), done(24, 60), done(24, 43)]),
            row("Pi", 7, [done(5040, 4673), done(74, 146), done(74, 150), done(74, 149)]),
            row("PSort", 4, [done(288, 109), done(8, 14), done(2, 12), done(2, 4)]),
            row(
                "PSort",
                5,
                [done(34560, 11921), done(64, 128), done(8, 15), done(8, 15)],
            ),
            slow(row(
                "PSort",
                6,
                [cut(275_358), done(1224, 2598), done(72, 128), done(72, 129)],
            )),
            row("Reg", 4, [done(384, 214), done(148, 178), done(71, 68), done(1, 4)]),
            row(
                "Reg",
                5,
                [done(3840, 2357), done(1047, 1465), done(449, 498), done(1, 6)],
            ),
            row(
                "Reg",
                6,
                [done(46080, 39769), done(7920, 13916), done(3145, 4337), done(1, 7)],
            ),
        ],
    }
}

/// The programs that `papers::variants` explains.
fn variants() -> Table {
    let names = ["Fib(5)", "MSort(9)", "Pi(5)", "PSort(4)", "Registry(5)"];
    let row = |name: &&str| row(name, &name.to_lowercase().replace('(', "_").replace(')', ""));
    Table {
        id: "variants",
        title: "Not published: the same messages, where their order shows in addresses, threads or values",
        target: "variants",
        rows: names.iter().map(row).collect(),
    }
}

/// Nothing but an end.
const DONE: Figures = Figures {
    executions: 0,
    cut: false,
    states: None,
    time: None,
};

fn row(name: &str, test: &str) -> Row {
    Row {
        name: name.to_owned(),
        test: test.to_owned(),
        toy: None,
        published: [None; STRATEGIES.len()],
        slow: false,
    }
}
