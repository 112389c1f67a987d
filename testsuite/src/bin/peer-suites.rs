//! Runs the test suite of loom or shuttle on cargo-dpor.

use dpor_testsuite::peer_suites::{How, SC, Suite};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
usage: peer-suites loom|shuttle [OPTIONS] [FILTER]

Fetches the package's tests from the registry, builds them in the target folder against stand-ins for the package, and
runs those whose names contain FILTER. Prints their results, file by file; the exit code is 1 if anything is not as
`testsuite/peer-suites/*/suite.toml` says.

  --strategy NAME  how to explore [default: source]
  --memory sc|rc11 what atomics promise [default: sc]
  --max-time SECS  ends a test after this time [default: 180]
  --verbose        a line for each test
  --help           this text
";

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(Some(error)) => {
            eprint!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match options.run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// The command line.
struct Options {
    package: String,
    filter: String,
    strategy: String,
    memory: String,
    time: Duration,
    verbose: bool,
}

impl Options {
    /// Reads the arguments; `Err(None)` if only help is wanted.
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, Option<String>> {
        let mut words = Vec::new();
        let (mut strategy, mut memory) = ("source".to_owned(), SC.to_owned());
        let (mut seconds, mut verbose) = (180, false);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument}: a value is missing"));
            match argument.as_str() {
                "--strategy" => strategy = value()?,
                "--memory" => memory = value()?,
                "--max-time" => {
                    let number = value()?.parse();
                    seconds = number.map_err(|_| "--max-time: not a number of seconds".to_owned())?;
                }
                "--verbose" => verbose = true,
                "--help" => return Err(None),
                _ if argument.starts_with('-') => return Err(Some(format!("{argument}: no such option"))),
                _ => words.push(argument),
            }
        }
        let mut words = words.into_iter();
        let package = words.next().filter(|package| package == "loom" || package == "shuttle");
        let options = Options {
            package: package.ok_or("which suite?".to_owned())?,
            filter: words.next().unwrap_or_default(),
            strategy,
            memory,
            time: Duration::from_secs(seconds),
            verbose,
        };
        match words.next() {
            Some(word) => Err(Some(format!("{word}: one filter at most"))),
            None => Ok(options),
        }
    }

    fn run(&self) -> Result<bool, String> {
        let suite = Suite::build(&self.package)?;
        let how = How {
            strategy: &self.strategy,
            memory: &self.memory,
            time: self.time,
        };
        let report = suite.run(&self.filter, how)?;
        if self.verbose {
            for (test, met) in &report.met {
                let passed = if met.passed { "ok" } else { "failed" };
                let ended = met.ended.as_deref().unwrap_or("no model");
                println!(
                    "{test}: {passed}, {ended}, {} executions, {:.2} s",
                    met.executions, met.seconds
                );
            }
            println!();
        }
        println!("{}\n{}\n{report}", suite.table(&report), suite.exceptions(&self.memory));
        Ok(report.mismatches.is_empty())
    }
}
