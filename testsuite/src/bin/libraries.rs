//! Explores the tests of `testsuite/crates` that use real libraries, and writes the page about them.

use dpor_testsuite::explored::{self, Asked, How, Met, Test};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: libraries [OPTIONS]

Explores the tests of libraries in testsuite/crates, each under `context` and under `states` with `--memory sc`, and
under `states` with `--memory rc11`, and writes docs/src/libraries.md. The events are kept in tmp/explored of the target
folder.

  --max-time SECS  ends a test after this time [default: 10]
  --page           only write the page, from the events of the last run
  --help           this text
";

const INTRODUCTION: &str = "\
# Small tests over libraries

What a user's own test over a library comes to: `testsuite/crates` has small tests, of two or three threads with a few
operations each, over libraries as they come from crates.io. [Their own tests](wild-crates.md) have another page. This
one is written by

```console
$ cargo run --release -p dpor-testsuite --bin libraries
```

which explores each test under two [strategies](strategies.md) with `--memory sc`, and under `states` with [weak
memory](weak-memory.md) as well, which is the default: for 10 s at most, and all libraries [as they are
written](commands.md#libraries-as-specified). **Executions** are all that were begun, **states** those that were visited;
`states` visits each once, if it can. With weak memory, the states are those of the last exploration, and the steps are
[those of both](weak-memory.md#what-comes-first). Times are of a machine with 2 cores that did other things meanwhile:
steps and states say more.
";

const CAUSES: &str = "
## Why some are not complete

* **Bounded spinning.** parking_lot (and with it dashmap, bus, futures-intrusive, quick_cache, and the caches of moka)
  tries up to ten times before a thread waits, crossbeam-channel up to eleven times, and scc for 32 µs, which are some
  25 looks at the clock. Each attempt that fails is a state of its own, times those of all other threads. Who waits in
  scc for another thread's answer does so again and again, and each time it is later: no state comes back. With what
  scc waits on [as specified](commands.md#libraries-as-specified), which is the default, one of its tests is complete
  within 10 s, one within a minute, and one fails by a data race.
* **Loops that count for ever.** append-only-vec counts its attempts and yields; kanal's lock doubles the number of
  attempts, draws from a generator that all threads share, and sleeps. No round comes back to an earlier state, so that
  [a loop is not recognised as waiting](limits.md#loops) and executions are cut at `--max-depth`. With their pauses
  [as specified](commands.md#libraries-as-specified), which is the default, their tests are complete.
* **Pools of threads.** A worker of rayon looks for work in 32 rounds and more before it sleeps; one of tokio
  looks for tasks of others before it waits, and has to be stopped when its runtime is dropped. With two workers, all of
  that comes twice. With rayon's idle rounds [as specified](commands.md#libraries-as-specified), which is the default,
  its test with one worker is complete within some seconds.
* **Timers that come again.** The threads of r2d2's scheduler wait with timeouts, which [may fire at
  once](commands.md#when-timeouts-fire), for ever; with `--timeouts last` its test does not end in 10 s either.
* **Three threads.** Two producers, or two readers, beside a third thread multiply what one of them has: the channels of
  async-channel, crossbeam-channel and futures, and arc-swap.
* **Long executions.** The first use of a cache of moka makes some 2800 steps, and exploration starts again whenever it
  finds more memory that several threads use.

## What fails

* crossbeam-skiplist 0.1.3: of two threads that `remove` one key, both are given the entry, although one of them alone
  has removed it.
* orx-concurrent-vec 4.1.0: `vector[0]` panics (`out-of-bounds`) beside an update of that element, if nobody has asked
  for the length before.
* thread_local, as documented: a thread may find the value of one that has ended.
* atomic_refcell, event-listener, tokio and others: tests that are wrong on purpose.
";

/// What is compared: a strategy, a memory model, and how both are named on the page.
const EXPLORED: [(&str, &str, &str); 3] = [
    ("context", "sc", "`context`"),
    ("states", "sc", "`states`"),
    ("states", "rc11", "weak memory"),
];
/// All libraries as they are written, without the members of the workspace whose tests are about something else.
const FLAGS: [&str; 5] = ["--as-written", "--exclude", "kernel", "--exclude", "messages"];
/// The target with one module for each library.
const MODULES: &str = "libraries";
/// Files in which one module is not one library.
const SEVERAL: [&str; 4] = ["block_on", "futex", "others", "std_beside"];

/// By library and name, what the test came to in each of [`EXPLORED`].
type Results = BTreeMap<(String, String), [Option<Met>; EXPLORED.len()]>;

fn main() -> ExitCode {
    explored::main(USAGE, "--page", 10, write)
}

/// Writes the page.
fn write(asked: Asked) -> Result<(), String> {
    let mut results = Results::new();
    for (at, (strategy, memory, _)) in EXPLORED.into_iter().enumerate() {
        let how = How {
            suite: "crates",
            strategy,
            memory,
            asked,
            flags: &FLAGS,
        };
        for (test, met) in explored::results(&how)? {
            results.entry(name(test)).or_default()[at] = Some(met);
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join("docs/src/libraries.md");
    std::fs::write(&path, page(&results)).map_err(|error| format!("{}: {error}", path.display()))
}

/// The library of a test, and what it is called there.
fn name(test: Test) -> (String, String) {
    match test.name.split_once("::") {
        Some((library, name)) if test.target == MODULES => (library.to_string(), name.to_string()),
        _ if SEVERAL.contains(&test.target.as_str()) => (format!("{}/{}", test.package, test.target), test.name),
        _ => (test.target, test.name),
    }
}

/// What tells the size of an exploration under this strategy.
fn size_name(strategy: &str) -> &'static str {
    match strategy {
        "states" => "states",
        _ => "executions",
    }
}

fn page(results: &Results) -> String {
    let mut out = INTRODUCTION.to_string();
    let libraries: BTreeSet<_> = results.keys().map(|(library, _)| library).collect();
    let ended: [usize; EXPLORED.len()] = std::array::from_fn(|at| {
        let met = results.values().filter_map(|met| met[at].as_ref());
        met.filter(|met| met.ended()).count()
    });
    let _ = write!(
        out,
        "\n{} tests over {} libraries and groups of them. {} of them come to an end under `context`, {} under `states`, \
         and {} with weak memory.\n\n",
        results.len(),
        libraries.len(),
        ended[0],
        ended[1],
        ended[2],
    );
    out.push_str("| library | test |");
    for (strategy, _, name) in EXPLORED {
        let _ = write!(out, " {name} | {} | steps | s |", size_name(strategy));
    }
    out.push_str("\n|---|---|");
    out.push_str(&"---|---:|---:|---:|".repeat(EXPLORED.len()));
    out.push('\n');
    for ((library, name), met) in results {
        let _ = write!(out, "| {library} | {} |", name.replace('_', " "));
        for ((strategy, ..), met) in EXPLORED.into_iter().zip(met) {
            let Some(Met { verdict, counts, .. }) = met else {
                out.push_str(" not run | | | |");
                continue;
            };
            let size = match size_name(strategy) {
                "states" => counts.states,
                _ => counts.begun(),
            };
            let seconds = counts.millis as f64 / 1000.0;
            let _ = write!(out, " {verdict} | {size} | {} | {seconds:.2} |", counts.steps);
        }
        out.push('\n');
    }
    out.push_str(CAUSES);
    out
}
