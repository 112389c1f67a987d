//! The commands.

use crate::cli::cargo::CargoArgs;
use crate::cli::help::after;
use crate::cli::others::{CompletionsArgs, DiffStatesArgs, InitArgs, ListArgs, ManArgs, ReplayArgs, ShowConfigArgs};
use crate::cli::output::MessageFormat;
use crate::cli::test::TestArgs;
use crate::error::EXIT_CODES;
use clap::{Parser, Subcommand};

/// Explores every thread interleaving that matters of unmodified Rust tests.
#[derive(Debug, Parser)]
#[command(name = "cargo-dpor", bin_name = "cargo dpor", version, about)]
#[command(after_help = EXIT_CODES, after_long_help = after("\
\x20 cargo dpor test                 explore all tests of the package\n\
\x20 cargo dpor replay dpor1-…       run the schedule of a failure again\n\
\x20 cargo dpor help test            all flags of a command"))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Explore tests
    Test(TestArgs),
    /// Run one schedule again, step by step
    Replay(ReplayArgs),
    /// Show why two orders of the same steps of a test count as different
    DiffStates(DiffStatesArgs),
    /// List the tests
    List(ListArgs),
    /// Show the configuration and where each value comes from
    ShowConfig(ShowConfigArgs),
    /// Write a dpor.toml that shows every key, and on request a workflow
    Init(InitArgs),
    /// Print a script that completes command lines of cargo dpor in a shell
    Completions(CompletionsArgs),
    /// Print a manual page
    Man(ManArgs),
}

impl Command {
    /// Cargo's flags, for a command that has them.
    pub fn cargo(&self) -> Option<&CargoArgs> {
        Some(match self {
            Command::Test(args) => &args.cargo,
            Command::Replay(args) => &args.cargo,
            Command::DiffStates(args) => &args.cargo,
            Command::List(args) => &args.cargo,
            Command::ShowConfig(args) => &args.cargo,
            Command::Init(_) | Command::Completions(_) | Command::Man(_) => return None,
        })
    }

    /// The format in which the command prints.
    pub fn message_format(&self) -> MessageFormat {
        match self {
            Command::Test(args) => args.report.message_format,
            Command::Replay(args) => args.report.message_format,
            Command::DiffStates(args) => args.report.message_format,
            Command::List(args) => args.report.message_format,
            Command::ShowConfig(args) => args.report.message_format,
            Command::Init(_) | Command::Completions(_) | Command::Man(_) => MessageFormat::Human,
        }
    }
}
