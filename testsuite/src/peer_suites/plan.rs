//! The plan for a suite: `peer-suites/<package>/suite.toml`.

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
    /// The dependencies of the tests except the stand-in, as in a manifest.
    #[serde(default)]
    pub dependencies: BTreeMap<String, toml::Value>,
    /// Number of parts of a test's name that make up the heading under which it is counted.
    pub heading: usize,
    /// The substitutions in the text.
    #[serde(default)]
    pub substitutions: Vec<Substitution>,
    /// Tests that say nothing of a checker with reduction, or nothing that it can be asked.
    #[serde(default)]
    pub exceptions: Vec<Exception>,
    /// The end of the exploration of each test that expects a failure. `sampled` is no failure: an exhaustive
    /// exploration would be too large, and the peer samples the test as well.
    #[serde(default)]
    pub failures: BTreeMap<String, String>,
}

/// A change of the tests' text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Substitution {
    /// The files, below `tests`.
    pub files: Vec<String>,
    /// The text that must occur in each of them.
    pub find: String,
    /// The text that replaces it.
    pub replace: String,
    /// The reason.
    pub reason: String,
}

/// Tests that are not expected to pass.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Their names, or with a `*` at the end, the beginning of their names.
    pub tests: Vec<String>,
    /// The reason.
    pub reason: String,
    /// The treatment of these tests.
    pub treatment: Treatment,
    /// What atomics promise where this is an exception, if it is not one under every memory.
    pub memory: Option<String>,
}

/// The treatment of an exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Treatment {
    /// The test runs, and must fail.
    Fails,
    /// The test is cut out of the text, or its file is not built.
    Cut,
}

impl Exception {
    /// Whether it is one under this memory.
    pub fn applies(&self, memory: &str) -> bool {
        self.memory.as_ref().is_none_or(|only| only == memory)
    }
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

    /// The exception that a test is under this memory, if it is one.
    pub fn exception(&self, test: &str, memory: &str) -> Option<&Exception> {
        let names = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => test.starts_with(start),
            None => test == pattern,
        };
        let mut exceptions = self.exceptions.iter().filter(|exception| exception.applies(memory));
        exceptions.find(|exception| exception.tests.iter().any(names))
    }
}
