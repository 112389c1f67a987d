//! What is to be done with a suite: `peer-suites/<package>/suite.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;

/// The plan of a suite.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    /// The package whose tests they are, and that the stand-in replaces.
    pub package: String,
    /// Its version.
    pub version: String,
    /// The edition of the tests.
    pub edition: String,
    /// Files of the package's `tests` that are built, without `.rs`. Tests in others are exceptions.
    pub files: Vec<String>,
    /// Files that are built with another text, without `.rs`. Their tests are exceptions.
    #[serde(default)]
    pub replacements: BTreeMap<String, String>,
    /// The dependencies of the tests, but for the stand-in, as in a manifest.
    #[serde(default)]
    pub dependencies: BTreeMap<String, toml::Value>,
    /// How many parts of a test's name make up the heading under which it is counted.
    pub heading: usize,
    /// What is replaced in the text.
    #[serde(default)]
    pub substitutions: Vec<Substitution>,
    /// Tests that say nothing of a sequentially consistent checker with reduction, or nothing that it can be asked.
    #[serde(default)]
    pub exceptions: Vec<Exception>,
    /// How the exploration of each test ends that expects a failure. `sampled` is no failure: too much for an
    /// exhaustive exploration, of what the peer samples as well.
    #[serde(default)]
    pub failures: BTreeMap<String, String>,
}

/// A change of the tests' text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Substitution {
    /// The files, below `tests`.
    pub files: Vec<String>,
    /// What must occur in each of them.
    pub find: String,
    /// What takes its place.
    pub replace: String,
    /// Why.
    pub reason: String,
}

/// Tests that are not expected to pass.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Their names, or with a `*` at the end, the beginning of their names.
    pub tests: Vec<String>,
    /// Why.
    pub reason: String,
    /// What becomes of them.
    pub treatment: Treatment,
}

/// What becomes of an exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Treatment {
    /// It is run, and must fail.
    Fails,
    /// It is cut out of the text, or its file is not built.
    Cut,
}

impl Plan {
    /// The plan of the suite of this package.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn of(package: &str) -> Result<Plan, String> {
        let path = super::folder(package).join("suite.toml");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The exception that a test is, if it is one.
    pub fn exception(&self, test: &str) -> Option<&Exception> {
        let names = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => test.starts_with(start),
            None => test == pattern,
        };
        self.exceptions
            .iter()
            .find(|exception| exception.tests.iter().any(names))
    }
}
