//! The progress of a build of the facades: Cargo prints it, for terminals, on its standard error.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Makes Cargo print its progress although its standard error is a pipe.
pub fn ask_for(command: &mut Command) {
    command
        .env("CARGO_TERM_PROGRESS_WHEN", "always")
        .env("CARGO_TERM_PROGRESS_WIDTH", "100");
}

/// Runs Cargo, shows its progress on the terminal, and returns everything else that it prints.
///
/// # Errors
/// If it cannot be started or followed.
pub fn output(command: &mut Command, quiet: bool) -> io::Result<Output> {
    let mut cargo = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut messages = cargo.stdout.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut stdout = Vec::new();
        messages.read_to_end(&mut stdout).map(|_| stdout)
    });
    let bar = if quiet {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(0)
    };
    let style = ProgressStyle::with_template("{spinner} {pos} of {len} crates, {elapsed}");
    bar.set_style(style.expect("the template is well formed"));
    let stderr = besides(
        BufReader::new(cargo.stderr.take().expect("it is piped")),
        |done, total| {
            bar.set_length(total);
            bar.set_position(done);
            bar.enable_steady_tick(Duration::from_millis(120));
        },
    );
    bar.finish_and_clear();
    let stdout = reader.join().expect("it does not panic");
    Ok(Output {
        status: cargo.wait()?,
        stdout: stdout?,
        stderr: stderr?,
    })
}

/// The output besides the progress. The lines of the progress do not end, but go back so that the next one replaces
/// them.
fn besides(stderr: impl BufRead, mut progress: impl FnMut(u64, u64)) -> io::Result<Vec<u8>> {
    let (mut rest, mut line) = (Vec::new(), Vec::new());
    for byte in stderr.bytes() {
        line.push(byte?);
        if let Some(b'\r' | b'\n') = line.last() {
            match counts(&String::from_utf8_lossy(&line)) {
                Some((done, total)) => progress(done, total),
                None => rest.extend(&line),
            }
            line.clear();
        }
    }
    rest.extend(line);
    Ok(rest)
}

/// The numbers in `Building [====>  ] 3/25: names`.
fn counts(line: &str) -> Option<(u64, u64)> {
    let (before, after) = line.split_once("] ")?;
    let (done, total) = after.split(':').next()?.split_once('/')?;
    let numbers = (done.parse().ok()?, total.trim_end().parse().ok()?);
    before.contains("Building").then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_from_the_rest() {
        let said = "   Compiling libc v0.2\n    Building [>   ] 0/25: libc\r    Building [=>  ] 3/25: libc, x(build)\r\
                    warning: at [1] 2/3: x\n   Compiling x\n\u{1b}[1mBuilding\u{1b}[0m [==> ] 4/25\rerror: no";
        let mut seen = Vec::new();
        let rest = besides(said.as_bytes(), |done, total| seen.push((done, total))).unwrap();
        assert_eq!(seen, [(0, 25), (3, 25), (4, 25)]);
        assert_eq!(
            String::from_utf8(rest).unwrap(),
            "   Compiling libc v0.2\nwarning: at [1] 2/3: x\n   Compiling x\nerror: no"
        );
    }
}
