//! Arguments after `--`, which `cargo test` passes to libtest.

use crate::cli::command::Command;
use crate::cli::foreign::{self, Position};
use crate::cli::output::Color;
use crate::cli::select::Names;
use crate::cli::test::TestArgs;
use crate::config::Jobs;
use clap::{Parser, ValueEnum};

/// Arguments of libtest that have a meaning here.
#[derive(Debug, Parser)]
#[command(
    about = "Arguments behind `--` have the meaning that they have for libtest",
    no_binary_name = true,
    disable_version_flag = true,
    override_usage = "cargo dpor test [OPTIONS] -- [ARGS]..."
)]
struct Libtest {
    #[command(flatten)]
    names: Names,
    /// List the tests without exploring them
    #[arg(long)]
    list: bool,
    /// Show what each test printed in its first execution
    #[arg(long, aliases = ["nocapture", "show-output"])]
    no_capture: bool,
    /// Number of tests to explore at the same time
    #[arg(long, value_name = "N")]
    test_threads: Option<Jobs>,
    /// Print only failures and the summary
    #[arg(short, long)]
    quiet: bool,
    /// Colours
    #[arg(long, value_enum)]
    color: Option<Color>,
    /// Amount of output
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Run tests and no benchmarks, which is always so
    #[arg(long)]
    test: bool,
}

/// libtest's formats that are supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The default
    Pretty,
    /// Like `--quiet`
    Terse,
}

/// Treats arguments after `--` like the corresponding ones before it.
///
/// # Errors
/// If it is nothing that libtest takes, or nothing that can be done here.
pub fn take_in(command: &mut Command) -> Result<(), clap::Error> {
    let select = match command {
        Command::Test(args) => &mut args.select,
        Command::List(args) => &mut args.select,
        _ => return Ok(()),
    };
    let words = std::mem::take(&mut select.libtest);
    if words.is_empty() {
        return Ok(());
    }
    let given = Libtest::try_parse_from(words).map_err(|error| foreign::explained(error, Position::Libtest))?;
    select.names.add(&given.names);
    if let Command::Test(args) = command {
        given.set(args);
    }
    Ok(())
}

impl Libtest {
    fn set(&self, args: &mut TestArgs) {
        args.list |= self.list;
        args.no_capture |= self.no_capture;
        args.explore.test_jobs = self.test_threads.or(args.explore.test_jobs);
        args.cargo.quiet |= self.quiet || self.format == Some(Format::Terse);
        args.cargo.color = self.color.unwrap_or(args.cargo.color);
    }
}
