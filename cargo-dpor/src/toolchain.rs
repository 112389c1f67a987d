//! The compiler and the Cargo that the user's project uses.

use crate::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A toolchain, found as the current folder has it.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// `cargo` itself, not rustup's proxy, so that another folder cannot choose another one.
    pub cargo: PathBuf,
    /// `rustc` itself.
    pub rustc: PathBuf,
    /// What `rustc -vV` prints.
    pub version: String,
    /// The host's target triple.
    pub host: String,
}

impl Toolchain {
    /// Finds the toolchain in force in the current folder.
    ///
    /// # Errors
    /// If there is no working `rustc`.
    pub fn find() -> Result<Toolchain, Error> {
        let named = std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
        let sysroot = PathBuf::from(output(Command::new(&named).args(["--print", "sysroot"]))?.trim());
        let tool = |name: &str| Some(sysroot.join("bin").join(name)).filter(|path| path.is_file());
        let rustc = tool("rustc").unwrap_or(named);
        let cargo = tool("cargo")
            .or_else(|| std::env::var_os("CARGO").map(PathBuf::from))
            .unwrap_or_else(|| PathBuf::from("cargo"));
        let version = output(Command::new(&rustc).arg("-vV"))?;
        let host = version
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .map(str::to_string);
        let host = host.ok_or_else(|| tool_error(&Command::new(&rustc), "`-vV` names no host"))?;
        Ok(Toolchain {
            cargo,
            rustc,
            version,
            host,
        })
    }
}

/// Runs a command and gives what it printed.
///
/// # Errors
/// If it cannot be started, or does not succeed: then with what it printed to stderr.
pub fn output(command: &mut Command) -> Result<String, Error> {
    let result = command.output().map_err(|e| tool_error(command, &e.to_string()))?;
    if !result.status.success() {
        return Err(tool_error(command, String::from_utf8_lossy(&result.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&result.stdout).into_owned())
}

fn tool_error(command: &Command, why: &str) -> Error {
    let program = Path::new(command.get_program()).display().to_string();
    let arguments = command
        .get_args()
        .map(|argument| format!(" {}", argument.to_string_lossy()));
    Error::Tool {
        command: program + &arguments.collect::<String>(),
        why: why.into(),
    }
}
