//! The programs of Table 1 of Pham, Jéron and Quinson, *Unfolding-Based Dynamic Partial Order Reduction of Asynchronous
//! Distributed Programs* (FORTE 2019), rebuilt in its model.
//!
//! The first five are tests of the MPI checker Umpire; DTG is from Khanna et al. (FM 2018), RMQ-receiving from Rosa et
//! al. (AVoCS 2010). The authors' prototype is public and says how it takes MPI programs apart: a blocking send or
//! receive is posted and waited for, `MPI_Waitall` waits for one after another, barriers are left out; each process
//! receives in one mailbox, whatever the source.

mod print;

pub use print::{print, print_partial};

use super::Limit;
use crate::erased::Erased;
use crate::message_passing::{Action, Program};
use dpor_explorer::{Explorer, Limits, Report, Strategy, System};
use std::any::Any;

/// A row of the table.
pub struct Row {
    /// The program's name in the paper.
    pub name: &'static str,
    /// The program.
    pub program: Program,
    /// Whether it deadlocks.
    pub deadlock: bool,
    /// The published number of traces of the exhaustive search, and seconds, if it ended within 30 minutes.
    pub exhaustive: Option<(u64, &'static str)>,
    /// The published number of traces of UDPOR, and seconds.
    pub unfolding: (u64, &'static str),
}

/// Explores a program to the end, past deadlocks.
pub fn explore(system: impl System + Any, strategy: Strategy, limit: Limit) -> Report {
    let limits = Limits {
        time: Some(limit.0),
        ..Limits::default()
    };
    let mut explorer = Explorer::new(Erased::new(system), strategy, limits).keep_going(true);
    explorer.run(&mut ())
}

/// An actor's actions, one per word: `S` and `R` post a send or a receive to the mailbox whose number follows, `W`
/// waits for the last posted communication, or with a number for the n-th one; `L` is a local computation.
fn actor(words: &str) -> Vec<Action> {
    let mut posted = 0;
    let mut post = || {
        posted += 1;
        posted - 1
    };
    let mut last = 0;
    let action = |word: &str| {
        let (kind, number) = word.split_at(1);
        let number = || -> usize { number.parse().expect("a number follows") };
        match kind {
            "S" => {
                last = post();
                Action::Send {
                    mailbox: number(),
                    value: 0,
                    handle: last,
                }
            }
            "R" => {
                last = post();
                Action::Receive {
                    mailbox: number(),
                    handle: last,
                }
            }
            "W" if word.len() > 1 => Action::wait(number()),
            "W" => Action::wait(last),
            _ => Action::LOCAL,
        }
    };
    words.split_whitespace().map(action).collect()
}

fn program(actors: &[&str]) -> Program {
    Program::new(actors.iter().map(|words| actor(words)).collect())
}

/// RMQ-receiving: `senders` processes send to one, which receives from all.
pub fn rmq_receiving(senders: usize) -> Program {
    let receiver = "R0 W ".repeat(senders);
    let mut actors = vec![receiver.as_str()];
    actors.resize(senders + 1, "S0 W");
    program(&actors)
}

/// Master-worker: the master sends a task to each worker, waits until all are received, and receives the results.
pub fn master_worker(workers: usize) -> Program {
    let sends: String = (1..=workers).map(|worker| format!("S{worker} ")).collect();
    let waits: String = (0..workers).map(|handle| format!("W{handle} ")).collect();
    let mut actors = vec![sends + &waits + &"R0 W ".repeat(workers)];
    actors.extend((1..=workers).map(|worker| format!("R{worker} W L S0 W")));
    program(&actors.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The table.
pub fn rows() -> Vec<Row> {
    let row = |name, program, deadlock, exhaustive, unfolding| Row {
        name,
        program,
        deadlock,
        exhaustive,
        unfolding,
    };
    vec![
        row(
            "Wait-deadlock",
            program(&["R0 W S1 W", "R1 W S0 W"]),
            true,
            Some((2, "<0.01")),
            (1, "<0.01"),
        ),
        row(
            "Complex-deadlock",
            program(&["S2 W R0 W S1 W", "R1 W S0 W", "R2 W"]),
            true,
            Some((36, "0.03")),
            (1, "<0.01"),
        ),
        row(
            "Waitall-deadlock",
            program(&["R0 R0 W0 W1 S1 W", "S0 S2 W0 W1 R1 W S0 W", "R2 W"]),
            true,
            Some((1458, "1.2")),
            (1, "<0.01"),
        ),
        row(
            "No-error-wait-any_src",
            program(&["R0 S1 W1 W0", "R1 W S0 W"]),
            false,
            Some((21, "0.02")),
            (1, "0.01"),
        ),
        row(
            "Any-src-can-deadlock3",
            program(&["R0 W S1 W R0 W", "S0 W R1 W", "S0 W"]),
            true,
            Some((999, "0.65")),
            (2, "0.03"),
        ),
        row(
            "DTG",
            program(&["R0 W S4 W R0 W", "S0 W S3 W", "R2 W S0 W", "R3 W R4 W", "S2 W"]),
            true,
            None,
            (2, "0.07"),
        ),
        row(
            "RMQ-receiving",
            rmq_receiving(3),
            false,
            Some((20064, "8.15")),
            (6, "0.2"),
        ),
        row("RMQ-receiving", rmq_receiving(4), false, None, (24, "2.52")),
        row(
            "Master-worker",
            master_worker(2),
            false,
            Some((1_356_444, "1038")),
            (2, "0.2"),
        ),
        row("Master-worker", master_worker(3), false, None, (6, "2.5")),
    ]
}
