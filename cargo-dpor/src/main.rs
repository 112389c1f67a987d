//! The `cargo dpor` command. All of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_dpor::main(std::env::args_os())
}
