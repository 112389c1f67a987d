//! What `cargo dpor test` prints, read.

use std::collections::BTreeMap;

/// Tests by target and name.
pub type Table<T> = BTreeMap<(String, String), T>;

/// What the tool said of a test.
#[derive(Debug, Default)]
pub struct Met {
    /// `complete`, `failed` or `incomplete`.
    pub verdict: String,
    /// Why it is incomplete, and what else was said below its line.
    pub reason: String,
    /// The most threads of an execution; 0 without `--verbose`.
    pub threads: u64,
    /// Complete executions.
    pub executions: u64,
    /// All executions: also those that were blocked or pruned.
    pub begun: u64,
    /// Comparisons of states.
    pub compared: u64,
    /// Of those, how many were equal.
    pub equal: u64,
    /// How long it took.
    pub seconds: f64,
    /// The failure, if there is one.
    pub failure: Failure,
}

/// What the tool said of a failure.
#[derive(Debug, Default)]
pub struct Failure {
    /// Its kind, such as `panic`.
    pub kind: Option<String>,
    /// The seed, or the file that holds it.
    pub seed: Option<String>,
    /// The arguments of `cargo` that replay it.
    pub again: Vec<String>,
    /// What was said if a replay did not show it again.
    pub warning: Option<String>,
    /// All that was printed of it, but for the seed: what happened, and the schedule.
    pub text: String,
}

/// `package::file name` or `package name` as target and name. The target is `package.file` or, for a library's own
/// tests, `package.lib`.
pub fn key(target: &str, name: &str) -> (String, String) {
    let target = match target.split_once("::") {
        Some((package, "lib")) => format!("{package}.tests/lib"),
        Some((package, file)) => format!("{package}.{file}"),
        None => format!("{target}.lib"),
    };
    (target, name.to_string())
}

/// A line of `cargo dpor list`.
pub fn listed(line: &str) -> Option<(String, String)> {
    match line.split_whitespace().collect::<Vec<_>>()[..] {
        [target, name] => Some(key(target, name)),
        _ => None,
    }
}

/// With this begins what is said below the line of a test.
const INDENT: &str = "             ";

/// With this begins what is said of weak orderings, which is no reason for anything.
const WEAK: &str = "only sequentially consistent ";

/// What came of each test, out of what `cargo dpor test` printed.
///
/// # Panics
/// If the tool would not have printed that.
pub fn results(text: &str) -> Table<Met> {
    let mut failures = failures(text);
    let mut table = Table::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let words: Vec<_> = line.split_whitespace().collect();
        let [
            verdict @ ("complete" | "failed" | "incomplete"),
            target,
            name,
            counts @ ..,
        ] = &words[..]
        else {
            continue;
        };
        let count = |label| count(counts, label);
        let Some(executions) = complete(counts) else {
            continue;
        };
        let or_none = |label| count(label).unwrap_or(0);
        let seconds = counts.iter().find_map(|time| time.strip_suffix('s')?.parse().ok());
        let mut reason = Vec::new();
        while let Some(more) = lines.next_if(|line| line.starts_with(INDENT)) {
            reason.push(more.trim());
        }
        reason.retain(|more| !more.starts_with(WEAK));
        let test = key(target, name);
        let met = Met {
            verdict: verdict.to_string(),
            reason: reason.join("; "),
            threads: or_none("threads"),
            executions,
            begun: executions + or_none("blocked") + or_none("pruned"),
            compared: or_none("compared"),
            equal: or_none("equal"),
            seconds: seconds.unwrap_or_else(|| panic!("no time in: {line}")),
            failure: failures.remove(&test).unwrap_or_default(),
        };
        assert!(table.insert(test, met).is_none(), "twice the same test: {line}");
    }
    table
}

/// The number before a label, in the line of a test.
pub(crate) fn count(words: &[&str], label: &str) -> Option<u64> {
    words
        .windows(2)
        .filter(|pair| pair[1] == label)
        .find_map(|pair| pair[0].parse().ok())
}

/// The number of complete executions, in the line of a test.
pub(crate) fn complete(words: &[&str]) -> Option<u64> {
    count(words, "executions").or_else(|| count(words, "execution"))
}

/// The failures that were printed.
pub fn failures(text: &str) -> Table<Failure> {
    let mut table = Table::new();
    let mut test = None;
    for line in text.lines() {
        if let Some((target, name)) = line.strip_prefix("failure: ").and_then(|rest| rest.split_once(' ')) {
            test = Some(key(target, name));
            table.insert(key(target, name), Failure::default());
            continue;
        }
        let (Some(name), Some(line)) = (&test, line.strip_prefix("  ")) else {
            continue;
        };
        let failure: &mut Failure = table.get_mut(name).expect("it was inserted before");
        match line.split_once(": ") {
            // The first line of a failure says what it is.
            Some((kind, _)) if failure.kind.is_none() && !line.starts_with(' ') => {
                failure.kind = Some(kind.to_string());
            }
            Some(("seed", seed)) => {
                failure.seed = Some(seed.to_string());
                continue;
            }
            // The last line of a failure.
            Some(("again", again)) => {
                failure.again = again.split_whitespace().skip(1).map(str::to_string).collect();
                test = None;
                continue;
            }
            Some(("warning", warning)) => failure.warning = Some(warning.to_string()),
            _ => {}
        }
        failure.text.push_str(line);
        failure.text.push('\n');
    }
    table
}
