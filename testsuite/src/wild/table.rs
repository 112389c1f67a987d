//! `crates.toml`: the crates, their tests, and the changes from outside.

use serde::Deserialize;
use std::collections::BTreeMap;

/// `testsuite/wild/crates.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Changes that fit the tests of many crates.
    pub small: Vec<Change>,
    /// The crates, in the order in which they run.
    #[serde(rename = "crate")]
    pub crates: Vec<Crate>,
}

/// A crate, and the changes to its tests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Crate {
    /// Its name on crates.io.
    pub name: String,
    /// Its exact version.
    pub version: String,
    /// Whether its tests are part of the suites that must pass: all tests not named by [`Crate::open`] and
    /// [`Crate::failures`] are complete.
    #[serde(default)]
    pub fast: bool,
    /// Features to switch on.
    #[serde(default)]
    pub features: Vec<String>,
    /// Cargo's flags that choose targets.
    #[serde(default = "all_targets")]
    pub targets: Vec<String>,
    /// Flags for the compiler, such as a `cfg` that the crate knows.
    #[serde(default)]
    pub rustflags: Vec<String>,
    /// Environment variables that the tests read.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The files or folders to which [`Table::small`] is applied.
    #[serde(default)]
    pub small: Vec<String>,
    /// Changes of the copy.
    #[serde(default, rename = "change")]
    pub changes: Vec<Change>,
    /// Tests that are not run, and why not. A test is named with its target, `lib::tests::a` or `mpsc::b`.
    #[serde(default)]
    pub skip: BTreeMap<String, String>,
    /// Tests that are not run because they rely on a sleep or a timeout that is long enough for others to do their
    /// part.
    #[serde(default)]
    pub timed: Vec<String>,
    /// Tests that fail, and why.
    #[serde(default)]
    pub failures: BTreeMap<String, String>,
    /// Tests that are known to be incomplete, and why, if there is more to say than the tool does.
    #[serde(default)]
    pub open: BTreeMap<String, String>,
    /// A further note.
    pub note: Option<String>,
}

/// A change of the copied sources: parameters that are too large to explore.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// A file, or a folder with everything in it, in the crate.
    #[serde(default)]
    pub path: String,
    /// A regular expression. It must match.
    pub pattern: String,
    /// The replacement; `$1` and so on are its groups.
    pub with: String,
}

fn all_targets() -> Vec<String> {
    ["--tests"].map(String::from).into()
}

impl Table {
    /// The checked-in table.
    ///
    /// # Panics
    /// If it is not well formed.
    pub fn read() -> Table {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/wild/crates.toml");
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

impl Crate {
    /// The name with the version.
    pub fn id(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// The reason why the test is not run.
    pub fn skipped(&self, test: &str) -> Option<&str> {
        let timed = self.timed.iter().any(|name| name == test);
        let reason = timed.then_some("it relies on a sleep or a timeout to be long enough, which nothing promises");
        reason.or(self.skip.get(test).map(String::as_str))
    }

    /// The names under which tests are listed that may not exist.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        let tables = [&self.skip, &self.failures, &self.open];
        tables.into_iter().flat_map(BTreeMap::keys).chain(&self.timed)
    }
}
