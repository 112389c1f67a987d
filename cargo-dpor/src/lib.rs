//! `cargo dpor`: explores every thread interleaving that matters of unmodified Rust tests.
//!
//! | module | what |
//! |---|---|
//! | `cli` | the command line |
//! | `toolchain`, `facades`, `build` | compiling: the facades, then the user's tests against them |
//! | `stand_ins` | libraries that are taken as specified, swapped while Cargo compiles them |
//! | `home` | where caches are |
//! | `child` | one test in a process of its own |
//! | `outcome` | what came of a test |
//! | `report` | what is shown |
//! | `values` | words for values of the user's types |
//! | `unseen` | code of a test binary whose accesses to memory are not seen |
//! | `run` | the commands |
//! | `config` | configuration files and settings |
//! | `judgement` | what is to be thought of a result |
//! | `near` | what somebody may have meant |
//! | `interrupt` | signals that ask the command to end |
//! | `error` | what can go wrong, and exit codes |
//!
//! Nothing here explores: that is done inside the test process. The two talk in the terms of
//! `dpor-protocol`.
//!
//! # Sources of other packages
//!
//! The folder `sources` has links to the packages that run in the test process, in which `cargo package` puts the files
//! themselves. The build script packs them into the binary. Two of them are also modules here, so that this package can
//! be installed without any other of the project: the protocol, and what the explorer calls things.

mod build;
mod callers;
mod child;
mod cli;
mod config;
mod error;
mod facades;
mod home;
mod interrupt;
mod judgement;
mod near;
mod outcome;
mod report;
mod run;
mod stand_ins;
mod toolchain;
mod unseen;
mod values;

#[path = "../sources/cargo-dpor/protocol/src/lib.rs"]
mod protocol;
#[path = "../sources/explorer/src/vocabulary/mod.rs"]
mod vocabulary;

// These modules, and all others here, call what is in them by the names of the packages.
extern crate self as dpor_explorer;
extern crate self as dpor_protocol;
pub use protocol::*;
pub use vocabulary::*;

use cli::Color;
use error::Exit;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command in the arguments (the program's name first), and prints its results.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    if stand_ins::is_wrapper() {
        return stand_ins::wrap(&mut arguments);
    }
    let cli = match cli::parse(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Complete
            };
            // There is nowhere left to tell that this cannot be printed.
            let _ = error.print();
            return exit.into();
        }
    };
    let choice = match run::color(&cli.command) {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
    // Without it, a signal ends the command at once, as it ends others.
    let _ = interrupt::listen();
    run::run(&cli.command).into()
}
