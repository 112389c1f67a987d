//! The examples as a crate, and the tool's results for it.

use super::{Example, Examples, Exception};
use crate::tool;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The verdict on an example.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every interleaving was explored.
    Complete,
    /// Some were not.
    Incomplete,
    /// The example fails.
    Failed,
    /// The example is no test for a model checker, and is left out.
    NotApplicable,
}

/// The tool's verdicts on the examples, by name.
pub type Met = BTreeMap<String, Verdict>;

/// Writes the crate. Each example is a module with a test.
///
/// # Errors
/// If it cannot be written.
pub fn write_project<'a>(folder: &Path, examples: impl Iterator<Item = &'a Example>) -> std::io::Result<()> {
    let mut source = String::from("#![allow(warnings)]\n");
    for example in examples {
        let code: String = example
            .code
            .lines()
            .filter(|line| !line.trim_start().starts_with("#!["))
            .flat_map(|line| [line, "\n"])
            .collect();
        let result = code
            .lines()
            .find_map(|line| line.strip_prefix("fn main() -> "))
            .map(|rest| format!(" -> {}", rest.trim_end_matches('{')))
            .unwrap_or_default();
        let panics = if example.should_panic { "#[should_panic] " } else { "" };
        writeln!(
            source,
            "mod {} {{\n{code}\n#[test] {panics}fn example(){result} {{ main() }}\n}}",
            example.name
        )
        .expect("a String takes anything");
    }
    fs::create_dir_all(folder.join("src"))?;
    let manifest = "[package]\nname = \"doc-examples\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/lib.rs"), source)
}

/// Explores the examples of a crate. Leaves the tool's output in `log.txt` beside it.
///
/// # Errors
/// What the tool said, if it explored nothing.
pub fn run(folder: &Path, flags: &[&str]) -> Result<Met, String> {
    let log = folder.join("log.txt");
    let file = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let error_file = file
        .try_clone()
        .map_err(|error| format!("{}: {error}", log.display()))?;
    Command::new(tool::path())
        .args(["dpor", "test", "--color", "never", "--verbose", "--target-dir"])
        .arg(folder.join("target"))
        .args(flags)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(error_file)
        .status()
        .map_err(|error| format!("{}: {error}", tool::path().display()))?;
    let text = fs::read_to_string(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut met = Met::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let [verdict, "doc-examples", name, _, ..] = words[..] else {
            continue;
        };
        let verdict = match verdict {
            "complete" => Verdict::Complete,
            "incomplete" => Verdict::Incomplete,
            "failed" => Verdict::Failed,
            _ => continue,
        };
        met.insert(name.trim_end_matches("::example").to_string(), verdict);
    }
    if met.is_empty() { Err(text) } else { Ok(met) }
}

/// The page of the book about the examples.
pub fn page_path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/doc-examples.md"))
}

/// The page.
pub fn print(examples: &Examples, met: &Met, exceptions: &BTreeMap<String, Exception>) -> String {
    let count = |wanted| met.values().filter(|verdict| **verdict == wanted).count();
    let left_out = exceptions
        .values()
        .filter(|exception| exception.verdict == Verdict::NotApplicable)
        .count();
    let mut text = format!(
        "# std's own examples

The examples in std's documentation of the items that the shim redefines, of `Arc` and `Weak`, and of the clocks, each
as a test under `cargo dpor test --max-time 20s --stall 3`. They are read from the documentation that is installed with
the toolchain (`rustup component add rust-docs`):

```console
$ cargo run -p dpor-testsuite --bin doc-examples
```

runs them all, compares the outcome with `testsuite/surface/doc-examples.toml`, and writes this page. CI runs those of
the locks, of `Once` and its kin, and of `mpsc`.

| examples | |
|---|---|
| complete | {} |
| incomplete | {} |
| failed | {} |
| not applicable | {left_out} |
| not run by std either (`no_run`, `ignore`, `compile_fail`) | {} |
| of unstable items | {} |

Examples of the integer atomics are those of `AtomicU32`; the others' are the same.

| example | verdict | reason |
|---|---|---|
",
        count(Verdict::Complete),
        count(Verdict::Incomplete),
        count(Verdict::Failed),
        examples.not_run,
        examples.unstable,
    );
    for (name, exception) in exceptions {
        let verdict = match exception.verdict {
            Verdict::Complete => "complete",
            Verdict::Incomplete => "incomplete",
            Verdict::Failed => "failed",
            Verdict::NotApplicable => "not applicable",
        };
        writeln!(text, "| `{name}` | {verdict} | {} |", exception.reason).expect("a String takes anything");
    }
    text
}
