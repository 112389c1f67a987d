//! The compiler and Cargo of the user's project.

mod answers;

use crate::error::Error;
use crate::home::home;
use answers::Answers;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The toolchain in force in the current folder.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Default))]
pub struct Toolchain {
    /// `cargo` itself, not rustup's proxy, so that another folder cannot choose another one.
    pub cargo: PathBuf,
    /// `rustc` itself.
    pub rustc: PathBuf,
    /// The folder in which the compiler looks for its parts.
    pub sysroot: PathBuf,
    /// The folder of its libraries for the host, in the sysroot.
    pub libraries: PathBuf,
    /// What `rustc -vV` prints.
    pub version: String,
    /// The host's target triple.
    pub host: String,
    /// The earlier answers of the tools.
    pub(crate) answers: Arc<Answers>,
}

impl Toolchain {
    /// Finds the toolchain in force in the current folder.
    ///
    /// # Errors
    /// If there is no working `rustc`.
    pub fn find() -> Result<Toolchain, Error> {
        let named = std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
        // Where the folder cannot be told, who needs it most will say why.
        let answers = home().map_or_else(|_| Answers::default(), |home| Answers::load(&home));
        let ask = |command: &mut Command| answers.of(command, output);
        let sysroot = ask(Command::new(&named).args(["--print", "sysroot"])).map_err(|error| Error::Toolchain {
            what: error.to_string(),
            advice: "is Rust installed (https://rustup.rs), and does RUSTC, if it is set, name the compiler?",
        })?;
        let sysroot = PathBuf::from(sysroot.trim());
        let tool = |name: &str| Some(sysroot.join("bin").join(name)).filter(|path| path.is_file());
        let rustc = tool("rustc").unwrap_or(named);
        let cargo = tool("cargo")
            .or_else(|| std::env::var_os("CARGO").map(PathBuf::from))
            .unwrap_or_else(|| PathBuf::from("cargo"));
        let version = ask(Command::new(&rustc).arg("-vV"))?;
        check(&version)?;
        let host = version
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .map(str::to_string);
        let host = host.ok_or_else(|| tool_error(&Command::new(&rustc), "`-vV` names no host"))?;
        let libraries = PathBuf::from(ask(Command::new(&rustc).args(["--print", "target-libdir"]))?.trim());
        if !libraries.is_dir() {
            return Err(Error::Toolchain {
                what: format!(
                    "the compiler's standard library for {host} is not in {}",
                    libraries.display()
                ),
                advice: "install it: rustup component add rust-std",
            });
        }
        let found = answers.of(Command::new(&cargo).arg("--version"), |command| {
            command
                .output()
                .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        });
        if let Some(error) = found.err() {
            return Err(Error::Toolchain {
                what: format!("{} cannot be started: {error}", cargo.display()),
                advice: "install Cargo: rustup component add cargo",
            });
        }
        Ok(Toolchain {
            cargo,
            rustc,
            sysroot,
            libraries,
            version,
            host,
            answers: Arc::new(answers),
        })
    }

    /// The output of a command of the toolchain, either now or from an earlier call in the same circumstances.
    ///
    /// # Errors
    /// As [`output`].
    pub fn ask(&self, command: &mut Command) -> Result<String, Error> {
        self.answers.of(command, output)
    }
}

/// The oldest compiler that can build the facades, 1.95.
const OLDEST: (u32, u32) = (1, 95);

/// Rejects an unsuitable compiler, given what `-vV` prints.
fn check(version: &str) -> Result<(), Error> {
    let field = |name: &str| version.lines().find_map(|line| line.strip_prefix(name));
    let release = field("release: ").unwrap_or("unknown");
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    if let (Some(major), Some(minor)) = (numbers.next(), numbers.next())
        && (major, minor) < OLDEST
    {
        return Err(Error::Toolchain {
            what: format!(
                "the compiler here is Rust {release}, and cargo-dpor needs {}.{} or later",
                OLDEST.0, OLDEST.1
            ),
            advice: "choose another one: `rustup update`, `cargo +stable dpor …`, or `rust-toolchain.toml`",
        });
    }
    let host = field("host: ").unwrap_or("unknown");
    if !(host.starts_with("x86_64") && host.contains("linux")) {
        return Err(Error::Toolchain {
            what: format!("the compiler here is for {host}, and cargo-dpor runs on Linux on x86-64 only"),
            advice: "use another machine, or a virtual one",
        });
    }
    Ok(())
}

/// Runs a command and returns its output.
///
/// # Errors
/// If it cannot be started, or does not succeed: then with what it printed to stderr.
fn output(command: &mut Command) -> Result<String, Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused() {
        let judged = |release: &str, host: &str| {
            let version = format!("rustc {release}\nhost: {host}\nrelease: {release}\n");
            check(&version).map_err(|error| {
                assert_eq!(error.exit(), crate::error::Exit::Internal);
                error.to_string()
            })
        };
        let linux = "x86_64-unknown-linux-gnu";
        for release in ["1.95.0", "1.96.0-nightly", "2.0.0"] {
            assert_eq!(judged(release, linux), Ok(()));
        }
        let error = judged("1.80.1", linux).unwrap_err();
        assert!(
            error.starts_with("the compiler here is Rust 1.80.1, and cargo-dpor needs 1.95 or later\n"),
            "{error}"
        );
        let error = judged("1.95.0", "aarch64-apple-darwin").unwrap_err();
        assert!(
            error.contains("aarch64-apple-darwin") && error.contains("Linux on x86-64"),
            "{error}"
        );
    }
}
