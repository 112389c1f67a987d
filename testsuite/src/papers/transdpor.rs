//! The tables of Tasharofi et al., *TransDPOR* (FMOODS/FORTE 2012), measured again on toy actor programs.

use super::measure::{Limit, Measured, explore_system};
use super::print::{Format, aligned, markdown};
use crate::actors::programs::{
    Chameneos, Divide, ErlangLeader, Leader, Minesweeper, Philosophers, Pi, Pipesort, Registry, ShortestPath, Task,
};
use crate::actors::{Actors, Protocol};
use dpor_explorer::{Dpor, Order, Strategy};

/// The orders that the paper compares.
pub const ORDERS: [(&str, Order); 3] = [("FIFO", Order::Fifo), ("ECA", Order::Eca), ("LCA", Order::Lca)];

/// Published paths and transitions; 0 where they were not published or cannot be read.
pub type Published = (u64, u64);

/// A table of the paper.
pub struct ActorTable {
    /// Its name on the command line.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Whether transitions sleep.
    pub sleep: bool,
    /// Whether exploration ends with the first failure.
    pub first_failure: bool,
    /// Its rows.
    pub rows: Vec<ActorRow>,
}

/// A program.
pub struct ActorRow {
    /// Its name in the paper.
    pub name: &'static str,
    /// The published figures: for each of [`ORDERS`], of DPOR and of TransDPOR.
    pub published: [[Published; 2]; 3],
    explore: Box<dyn Fn(Strategy, Limit, bool) -> Measured>,
}

impl ActorRow {
    /// Explores the program with `dpor` and with `trans`.
    pub fn measure(&self, table: &ActorTable, order: Order, limit: Limit) -> [Measured; 2] {
        let options = Dpor {
            sleep: table.sleep,
            order,
        };
        [Strategy::Dpor(options), Strategy::Trans(options)]
            .map(|strategy| (self.explore)(strategy, limit, table.first_failure))
    }
}

fn row(name: &'static str, program: impl Protocol + Clone + 'static, published: [[Published; 2]; 3]) -> ActorRow {
    ActorRow {
        name,
        published,
        explore: Box::new(move |strategy, limit, first_failure| {
            explore_system(Actors::new(program.clone()), strategy, limit, first_failure)
        }),
    }
}

const UNKNOWN: Published = (0, 0);

fn registry(workers: usize, groups: usize, master: bool) -> Registry {
    Registry {
        workers,
        groups,
        master,
    }
}

fn fib5() -> Divide {
    Divide {
        task: Task::Fibonacci(5),
    }
}

fn quicksort6() -> Divide {
    Divide {
        task: Task::Quicksort(vec![4, 2, 6, 1, 3, 5]),
    }
}

fn pipesort4() -> Pipesort {
    Pipesort {
        numbers: vec![4, 3, 2, 1],
    }
}

fn leader4() -> Leader {
    Leader {
        numbers: vec![0, 1, 2, 3],
    }
}

/// Edges of the same length.
fn graph(nodes: usize, source: usize, edges: &[(usize, usize)]) -> ShortestPath {
    ShortestPath {
        nodes,
        edges: edges.iter().map(|&(from, to)| (from, to, 10)).collect(),
        source,
    }
}

fn shortpath4() -> ShortestPath {
    graph(4, 0, &[(0, 1), (0, 2), (0, 3), (1, 3), (3, 1), (2, 3), (3, 2)])
}

fn shortpath5() -> ShortestPath {
    let both = [(0, 1), (0, 2), (1, 3), (4, 0), (4, 1)].map(|(a, b)| [(a, b), (b, a)]);
    graph(5, 4, both.as_flattened())
}

const CHAMENEOS2: Chameneos = Chameneos {
    creatures: 3,
    meetings: 2,
};

/// All tables.
pub fn actor_tables() -> Vec<ActorTable> {
    vec![example(), without_sleep_sets(), with_sleep_sets(), first_failures()]
}

fn example() -> ActorTable {
    let mut rows = vec![row("registry", registry(2, 0, false), [[UNKNOWN; 2]; 3])];
    rows[0].published[0] = [(24, 0), (10, 0)];
    ActorTable {
        id: "registry",
        title: "The registry of Figure 1",
        sleep: false,
        first_failure: false,
        rows,
    }
}

fn without_sleep_sets() -> ActorTable {
    ActorTable {
        id: "transdpor1",
        title: "TransDPOR, Table 1: without sleep sets",
        sleep: false,
        first_failure: false,
        rows: vec![
            row(
                "fib5",
                fib5(),
                [[(40, 203), (40, 203)], [(327, 1650), (203, 1051)], [(16, 91), (16, 91)]],
            ),
            row(
                "quicksort6",
                quicksort6(),
                [
                    [(368, 1586), (368, 1586)],
                    [(3822, 16766), (1519, 6992)],
                    [(32, 156), (32, 156)],
                ],
            ),
            row(
                "pi5",
                Pi { workers: 5 },
                [
                    [(120, 931), (120, 931)],
                    [(120, 931), (120, 931)],
                    [(0, 156_070), (312, 2452)],
                ],
            ),
            row(
                "pipesort4",
                pipesort4(),
                [
                    [(1791, 8562), (755, 3541)],
                    [(288, 1293), (288, 1293)],
                    [(5970, 32385), (2221, 11999)],
                ],
            ),
            row(
                "chameneos2",
                CHAMENEOS2,
                [
                    [(3240, 19459), (600, 3673)],
                    [(19683, 0), (1728, 10554)],
                    [(216, 1231), (216, 1231)],
                ],
            ),
            row(
                "leader4",
                leader4(),
                [
                    [(18098, 107_780), (14984, 86889)],
                    [(11957, 68373), (11909, 68125)],
                    [(0, 236_330), (27287, 163_030)],
                ],
            ),
            row(
                "shortpath4",
                shortpath4(),
                [
                    [(238, 910), (238, 910)],
                    [(392, 1464), (392, 1464)],
                    [(640, 2158), (370, 1337)],
                ],
            ),
            row(
                "shortpath5",
                shortpath5(),
                [
                    [(528, 2443), (528, 2443)],
                    [(2658, 8476), (1170, 3737)],
                    [(1865, 7076), (1272, 4704)],
                ],
            ),
            row(
                "regsim",
                registry(5, 0, true),
                [
                    [UNKNOWN, (1320, 3607)],
                    [UNKNOWN, (1950, 5434)],
                    [(720, 1962), (720, 1962)],
                ],
            ),
        ],
    }
}

fn minesweeper() -> Minesweeper {
    Minesweeper {
        cells: 6,
        clicks: [0, 4],
    }
}

fn with_sleep_sets() -> ActorTable {
    // With sleep sets, the paths are as many as there are traces, with one exception below.
    fn row(
        name: &'static str,
        program: impl Protocol + Clone + 'static,
        paths: u64,
        transitions: [[u64; 2]; 3],
    ) -> ActorRow {
        let published = transitions.map(|pair| pair.map(|transitions| (paths, transitions)));
        super::transdpor::row(name, program, published)
    }
    let mut table = ActorTable {
        id: "transdpor2",
        title: "TransDPOR, Table 2: with sleep sets",
        sleep: true,
        first_failure: false,
        rows: vec![
            row("fib5", fib5(), 16, [[101, 101], [139, 139], [91, 91]]),
            row("quicksort6", quicksort6(), 32, [[179, 179], [272, 272], [156, 156]]),
            row("pi5", Pi { workers: 5 }, 120, [[931, 931], [931, 931], [1236, 990]]),
            row(
                "pipesort4",
                pipesort4(),
                288,
                [[1448, 1422], [1293, 1293], [1944, 1935]],
            ),
            row(
                "chameneos2",
                CHAMENEOS2,
                216,
                [[1681, 1453], [1826, 1530], [1231, 1231]],
            ),
            row("leader4", leader4(), 492, [[3125, 3097], [3267, 3218], [3311, 3311]]),
            row("shortpath4", shortpath4(), 126, [[473, 473], [489, 489], [522, 502]]),
            row(
                "shortpath5",
                shortpath5(),
                296,
                [[1408, 1408], [1031, 997], [1228, 1218]],
            ),
            row(
                "regsim",
                registry(5, 0, true),
                720,
                [[3453, 2019], [4054, 2152], [1962, 1962]],
            ),
            row(
                "regsim-2-level",
                registry(2, 3, true),
                1296,
                [[8636, 5537], [14990, 7486], [6481, 6295]],
            ),
            row(
                "diningphil",
                Philosophers { seats: 5 },
                31,
                [[1375, 1375], [2082, 1662], [1333, 1147]],
            ),
        ],
    };
    // The only row whose numbers of paths differ.
    if let Some(row) = table.rows.last_mut() {
        row.published[2][1] = (29, 1147);
    }
    table
}

fn first_failures() -> ActorTable {
    ActorTable {
        id: "transdpor2-bugs",
        title: "TransDPOR, Table 2: up to the first failure, with sleep sets",
        sleep: true,
        first_failure: true,
        rows: vec![
            row(
                "diningphil",
                Philosophers { seats: 5 },
                [[(1, 15), (1, 15)], [(16, 915), (16, 767)], [(1, 15), (1, 15)]],
            ),
            row(
                "minesweeper",
                minesweeper(),
                [
                    [(1, 29), (1, 29)],
                    [(2710, 15577), (2710, 15381)],
                    [(6993, 69350), (6993, 55430)],
                ],
            ),
            // Its first two figures under LCA are those at the authors' limit of time.
            row(
                "le-erlang3-failure",
                ErlangLeader {
                    candidates: 3,
                    failing: Some(0),
                },
                [
                    [(457, 1976), (452, 1944)],
                    [(30, 174), (30, 174)],
                    [(233_738, 759_109), (93640, 296_229)],
                ],
            ),
            row(
                "le-erlang4",
                ErlangLeader {
                    candidates: 4,
                    failing: None,
                },
                [
                    [(2209, 11006), (2191, 10146)],
                    [(1, 27), (1, 27)],
                    [(198_713, 698_759), (88505, 277_440)],
                ],
            ),
        ],
    }
}

const HEADER: [&str; 12] = [
    "program",
    "order",
    "DPOR, published: paths",
    "transitions",
    "dpor: paths",
    "blocked",
    "transitions",
    "TransDPOR, published: paths",
    "transitions",
    "trans: paths",
    "blocked",
    "transitions",
];

/// Measures the table and prints it. Paths are executions that ran to their end; `>N`: the exploration was cut after N.
pub fn print_actors(table: &ActorTable, limit: Limit, format: Format) -> String {
    let mut lines = vec![HEADER.map(str::to_owned).to_vec()];
    for row in &table.rows {
        for ((name, order), published) in ORDERS.into_iter().zip(row.published) {
            let measured = row.measure(table, order, limit);
            let mut line = vec![row.name.to_owned(), name.to_owned()];
            for ((paths, transitions), measured) in published.into_iter().zip(measured) {
                let known = |number: u64| if number > 0 { number.to_string() } else { String::new() };
                line.extend([known(paths), known(transitions)]);
                let more = if measured.cut { ">" } else { "" };
                line.push(format!("{more}{}", measured.complete));
                line.push(measured.blocked.to_string());
                let transitions = measured.states.unwrap_or(0).saturating_sub(1);
                line.push(format!("{more}{transitions}"));
            }
            lines.push(line);
        }
    }
    match format {
        Format::Text => aligned(&lines),
        Format::Markdown => markdown(&lines),
    }
}
