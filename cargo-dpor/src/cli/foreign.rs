//! Flags of Cargo, of nextest and of libtest that cargo-dpor does not have: the reasons, and the replacements.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Some flags, and the message for those who use one.
struct Foreign {
    flags: &'static [&'static str],
    why: &'static str,
}

/// Flags of `cargo test` and `cargo nextest run`.
const COMMAND: &[Foreign] = &[
    Foreign {
        flags: &["--retries", "--flaky-result"],
        why: "an exploration always comes to the same verdict, so that a second run has nothing to add; a failure has \
              a seed, with which `cargo dpor replay` runs the failing schedule again",
    },
    Foreign {
        flags: &["--stress-count", "--stress-duration"],
        why: "each test is run in every schedule that matters, once; for more runs than that, `--strategy random` \
              takes `--max-executions N` and `--max-time DURATION`",
    },
    Foreign {
        flags: &["--watch"],
        why: "bacon and cargo-watch run `cargo dpor test` whenever a file changes: see docs/src/watch.md",
    },
    Foreign {
        flags: &["--doc"],
        why: "doctests are not explored; `cargo test --doc` runs them",
    },
    Foreign {
        flags: &["--partition"],
        why: "`--shard K/N` divides the work between machines; it divides each test, and not the list of tests",
    },
    Foreign {
        flags: &["--rerun", "-R"],
        why: "`--resume` goes on with an interrupted run; a failure is run again by `cargo dpor replay` and its seed",
    },
    Foreign {
        flags: &["--debugger", "--tracer"],
        why: "`--no-run` builds the tests and names their executables: start one as `gdb --args EXECUTABLE --exact \
              TEST`, and it explores the test in that process",
    },
    Foreign {
        flags: &["--failure-output"],
        why: "the report of a failure has what the failing schedule printed, and is shown at once",
    },
    Foreign {
        flags: &["--success-output"],
        why: "`--no-capture` shows what a test printed in its first execution",
    },
    Foreign {
        flags: &["--status-level", "--final-status-level"],
        why: "`--quiet` shows failures, what is incomplete and the summary; `--verbose` shows more of each test",
    },
    Foreign {
        flags: &[
            "--show-progress",
            "--hide-progress-bar",
            "--max-progress-running",
            "--no-input-handler",
        ],
        why: "progress is shown if standard error is a terminal, and not with `--quiet`; no keys are read",
    },
    Foreign {
        flags: &["--no-output-indent"],
        why: "output of tests is always indented; `--message-format json` has it as it is",
    },
    Foreign {
        flags: &["--message-format-version"],
        why: "lines of `--message-format json` have their version in them",
    },
    Foreign {
        flags: &["--cargo-message-format"],
        why: "Cargo's messages go to standard error as text; `--message-format json` has the results of the tests",
    },
    Foreign {
        flags: &["--cargo-quiet", "--cargo-verbose"],
        why: "`--quiet` and `--verbose` are passed on to Cargo",
    },
    Foreign {
        flags: &[
            "--archive-file",
            "--archive-format",
            "--extract-to",
            "--extract-overwrite",
            "--persist-extract-tempdir",
            "--cargo-metadata",
            "--binaries-metadata",
            "--workspace-remap",
            "--target-dir-remap",
            "--build-dir-remap",
        ],
        why: "tests run where they were built, as reports show their sources; a cache of `target/dpor` saves builds",
    },
    Foreign {
        flags: &["--user-config-file", "--tool-config-file", "--override-version-check"],
        why: "nextest's configuration is not read; `dpor.toml` is, or what `--config-file` names instead",
    },
    Foreign {
        flags: &["--platform-filter", "--target"],
        why: "tests are built for the machine that explores them, and for no other one",
    },
    Foreign {
        flags: &["-E", "--filterset", "--filter-expr"],
        why: "filtersets are not understood. Instead of `test(a) + test(b)`, give the filters `a b`; of `test(=a)`, \
              `--exact a`; of `not test(a)`, `--skip a`; of `package(p)`, `-p p`; of `binary(b)`, `--test b` or `--bin \
              b`; of `kind(lib)`, `--lib`",
    },
    Foreign {
        flags: &["--no-pager"],
        why: "nothing is piped through a pager",
    },
    Foreign {
        flags: &["--ignore-default-filter"],
        why: "no filter is configured; filters of `dpor.toml` choose settings, not tests",
    },
    Foreign {
        flags: &["--unit-graph", "-Z"],
        why: "Cargo's unstable flags are not passed on",
    },
];

/// Flags of libtest.
const LIBTEST: &[Foreign] = &[
    Foreign {
        flags: &["--bench"],
        why: "benchmarks are not explored",
    },
    Foreign {
        flags: &["--exclude-should-panic"],
        why: "tests that should panic are explored like others; `--skip NAME` leaves one out",
    },
    Foreign {
        flags: &["--force-run-in-process"],
        why: "each test has a process of its own",
    },
    Foreign {
        flags: &["--logfile"],
        why: "`--junit FILE` writes the results of the tests to a file, and `--message-format json` prints them",
    },
    Foreign {
        flags: &["--report-time", "--ensure-time"],
        why: "the line of a test has its time; `--max-time DURATION` limits it",
    },
    Foreign {
        flags: &["--shuffle", "--shuffle-seed"],
        why: "each test has a process of its own, so that their order makes no difference",
    },
    Foreign {
        flags: &["-Z"],
        why: "libtest's unstable flags are not understood",
    },
];

/// The place of a flag.
#[derive(Clone, Copy, Debug)]
pub enum Position {
    /// Before `--`.
    Command,
    /// After `--`.
    Libtest,
}

/// Extends an error about an unknown flag, if users of other tools know the flag.
pub fn explained(error: clap::Error, place: Position) -> clap::Error {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let known = match place {
        Position::Command => COMMAND,
        Position::Libtest => LIBTEST,
    };
    let known = known.iter().find(|foreign| foreign.flags.contains(&given.as_str()));
    match known {
        Some(Foreign { why, .. }) => clap::Error::raw(
            ErrorKind::UnknownArgument,
            format!("cargo dpor has no `{given}`: {why}\n"),
        ),
        None => error,
    }
}
