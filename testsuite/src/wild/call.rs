//! Calling the tool for a crate.

use crate::tool;
use crate::wild::{Crate, Source, folder, logs};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A call, without its arguments.
pub struct Call<'a> {
    /// The crate.
    pub krate: &'a Crate,
    /// Its copy.
    pub source: &'a Source,
    /// Names the log.
    pub log: &'a str,
    /// Cargo's flags that choose targets.
    pub targets: &'a [String],
    /// Maximum time without output, once it has begun.
    pub silence: Duration,
}

/// Maximum time without output before it begins: Cargo builds, or waits for another build.
const BUILD: Duration = Duration::from_secs(3600);

/// The result of a call.
pub struct Called {
    /// Its output.
    pub text: String,
    /// Its end.
    pub end: End,
}

/// The end of the tool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It ended with this exit code; -1 stands for a signal.
    Code(i32),
    /// It was killed because it had printed nothing for too long.
    Silent,
}

impl End {
    /// Whether all tests were run.
    pub fn is_good(self) -> bool {
        matches!(self, End::Code(0 | 1 | 3))
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Code(code) => write!(f, "ended with {code}"),
            End::Silent => write!(f, "hung, and was killed"),
        }
    }
}

/// Runs the tool in the copied crate.
///
/// # Panics
/// If it cannot be started.
pub fn tool(call: &Call<'_>, arguments: &[&str]) -> Called {
    let krate = call.krate;
    let create = |path: &Path| File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (output, errors) = (log(krate, call.log), log(krate, &format!("{}.errors", call.log)));
    let mut command = Command::new(tool::path());
    command
        .arg("dpor")
        .args(arguments)
        .args(["--color", "never", "--target-dir"])
        .arg(folder().join("target"))
        .args(call.targets)
        .envs(&krate.environment)
        .current_dir(&call.source.folder)
        .stdin(Stdio::null())
        .stdout(create(&output))
        .stderr(create(&errors));
    if !krate.features.is_empty() {
        command.args(["--features", &krate.features.join(",")]);
    }
    if !krate.rustflags.is_empty() {
        command.env("RUSTFLAGS", krate.rustflags.join(" "));
    }
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", tool::path().display()));
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let (mut printed, mut since) = (0, Instant::now());
    let end = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break End::Code(status.code().unwrap_or(-1));
        }
        let now = size(&output) + size(&errors);
        if now != printed {
            (printed, since) = (now, Instant::now());
        }
        let limit = if size(&output) == 0 { BUILD } else { call.silence };
        if since.elapsed() > limit {
            // Fails only if it has ended just now. The test's process dies with it.
            let _ = child.kill();
            child.wait().expect("a child can be waited for");
            break End::Silent;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = fs::read(&output).unwrap_or_else(|error| panic!("{}: {error}", output.display()));
    // Whole lines: it may have been killed within one.
    let text = String::from_utf8_lossy(&text[..text.iter().rposition(|c| *c == b'\n').map_or(0, |end| end + 1)]);
    Called {
        text: text.into_owned(),
        end,
    }
}

/// The first error that the tool printed.
pub fn first_error(krate: &Crate, what: &str) -> Option<String> {
    let text = fs::read_to_string(log(krate, &format!("{what}.errors"))).ok()?;
    text.lines().find(|line| line.starts_with("error")).map(String::from)
}

fn log(krate: &Crate, what: &str) -> PathBuf {
    logs().join(format!("{}.{what}.txt", krate.id()))
}
