//! The command line.

mod cargo;
mod command;
mod explore;
mod foreign;
mod help;
mod libtest;
mod options;
mod others;
mod output;
mod select;
mod test;

pub use cargo::CargoArgs;
pub use command::{Cli, Command};
pub use explore::{ConfigArgs, ExploreArgs};
pub use others::{Ci, CompletionsArgs, DiffStatesArgs, InitArgs, ListArgs, ManArgs, ReplayArgs, ShowConfigArgs};
pub use output::{Color, MessageFormat};
pub use select::{Names, SelectArgs};
pub use test::{MaxFail, NoTests, TestArgs};

use clap::Parser;
use foreign::Position;
use std::ffi::OsString;

/// Parses the arguments of the process. Cargo runs `cargo dpor x` as `cargo-dpor dpor x`; both forms are accepted.
///
/// # Errors
/// What clap has to say, help included.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|first| first == "dpor") {
        arguments.remove(1);
    }
    let mut cli = Cli::try_parse_from(arguments).map_err(|error| foreign::explained(error, Position::Command))?;
    libtest::take_in(&mut cli.command)?;
    if let Command::Test(TestArgs { select, .. }) | Command::List(ListArgs { select, .. }) = &mut cli.command {
        select.settle()?;
    }
    if let Command::Test(args) = &cli.command {
        args.check()?;
    }
    Ok(cli)
}

#[cfg(test)]
mod tests;
