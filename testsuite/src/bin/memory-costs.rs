//! Explores the suites with sequential consistency and with weak memory, and prints what the latter costs.

use dpor_testsuite::explored::{self, Asked, How, Met, Test};
use std::collections::BTreeMap;
use std::process::ExitCode;

const USAGE: &str = "\
usage: memory-costs [OPTIONS]

Explores all tests of the suites with `--memory sc` and with `--memory rc11`, and prints a table: of tests that request
weak orderings where that matters, and of the others. The events are kept in tmp/explored of the target folder.

  --max-time SECS  ends a test after this time [default: 5]
  --table          only prints the table, from the events of the last run
  --help           this text
";

const SUITES: [&str; 3] = ["classics", "conformance", "crates"];
const STRATEGIES: [&str; 2] = ["states", "source"];
const HEAD: &str = "\
| suite | strategy | orderings | tests | ended, `sc` | `rc11` | executions, `sc` | `rc11` | steps, `sc` | `rc11` \
| s, `sc` | `rc11` |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|";

fn main() -> ExitCode {
    explored::main(USAGE, "--table", 5, print)
}

/// Prints the table.
fn print(asked: Asked) -> Result<(), String> {
    println!("{HEAD}");
    for suite in SUITES {
        for strategy in STRATEGIES {
            let results = |memory| -> Result<BTreeMap<Test, Met>, String> {
                let how = How {
                    suite,
                    strategy,
                    memory,
                    asked,
                    flags: &[],
                };
                Ok(explored::results(&how)?.into_iter().collect())
            };
            let (sequential, weak) = (results("sc")?, results("rc11")?);
            for is_weak in [true, false] {
                print_row(suite, strategy, is_weak, &sequential, &weak);
            }
        }
    }
    Ok(())
}

/// Prints a line about the tests that request weak orderings where that matters, or those that do not.
fn print_row(suite: &str, strategy: &str, is_weak: bool, sequential: &BTreeMap<Test, Met>, weak: &BTreeMap<Test, Met>) {
    let both = sequential.iter().filter_map(|(test, met)| Some((met, weak.get(test)?)));
    let tests: Vec<_> = both.filter(|(met, _)| met.weak_orderings == is_weak).collect();
    let ended = |which: fn(&(&Met, &Met)) -> bool| tests.iter().filter(|pair| which(pair)).count();
    let ended = [ended(|(sc, _)| sc.ended()), ended(|(_, rc11)| rc11.ended())];
    // What takes all of its time in one of them says nothing.
    let compared = tests.iter().filter(|(sc, rc11)| sc.ended() && rc11.ended());
    let mut sums = [[0; 2]; 3];
    for (sc, rc11) in compared {
        for (at, counts) in [sc.counts, rc11.counts].into_iter().enumerate() {
            sums[0][at] += counts.begun();
            sums[1][at] += counts.steps;
            sums[2][at] += counts.millis;
        }
    }
    let [begun, steps, millis] = sums;
    let seconds = millis.map(|millis| millis as f64 / 1000.0);
    println!(
        "| {suite} | `{strategy}` | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} | {:.1} |",
        if is_weak { "weak" } else { "others" },
        tests.len(),
        ended[0],
        ended[1],
        begun[0],
        begun[1],
        steps[0],
        steps[1],
        seconds[0],
        seconds[1],
    );
}
