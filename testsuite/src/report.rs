//! Parses the output of `cargo dpor test`.

use std::collections::BTreeMap;

/// Tests by target and name.
pub type Table<T> = BTreeMap<(String, String), T>;

/// The tool's report on a test.
#[derive(Debug, Default)]
pub struct Met {
    /// `complete`, `failed` or `incomplete`.
    pub verdict: String,
    /// The reason why it is incomplete, and the other notes below its line.
    pub reason: String,
    /// Maximum number of threads of an execution; 0 without `--verbose`.
    pub threads: u64,
    /// Complete executions.
    pub executions: u64,
    /// All executions: also those that were blocked, pruned or cut.
    pub begun: u64,
    /// Comparisons of states.
    pub compared: u64,
    /// Compared states that were equal.
    pub equal: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// The failure, if there is one.
    pub failure: Failure,
}

/// The tool's report on a failure.
#[derive(Debug, Default)]
pub struct Failure {
    /// Its kind, such as `panic`.
    pub kind: Option<String>,
    /// The seed, or the file that holds it.
    pub seed: Option<String>,
    /// The arguments of `cargo` that replay it.
    pub again: Vec<String>,
    /// The warning if a replay did not reproduce it.
    pub warning: Option<String>,
    /// Everything printed about it except the seed: what happened, and the schedule.
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

/// The beginning of the notes below the line of a test.
const INDENT: &str = "             ";

/// What is said of an incomplete test of which all that is sequentially consistent has been explored, if only
/// [`BUT_FOR_RACES`].
pub const SEQUENTIALLY_COMPLETE: &str = "under sequential consistency, the test is complete";

/// What is said of an incomplete test of which all has been explored in which operations find one of the last values of
/// their atomic, with the number of these before it.
pub const COMPLETE_WITH_VALUES: &str = " values of each atomic to choose from, the test is complete";

/// What is added if data races may have been overlooked there.
pub const BUT_FOR_RACES: &str = ", but for data races";

/// The beginning of the note on weak orderings, which is no reason for anything.
const WEAK: &str = "only sequentially consistent ";

/// The results of the tests in the output of `cargo dpor test`.
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
            begun: executions + or_none("blocked") + or_none("pruned") + or_none("cut"),
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
