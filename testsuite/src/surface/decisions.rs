//! Decisions by hand: which items are std's own, and where the shim's may differ, each with a reason.

use super::folder;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The decisions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decisions {
    /// Items that stay std's own, by path.
    pub std: BTreeMap<String, String>,
    /// Differences between the shim's items and std's, as [`super::compare`] names them.
    pub differs: BTreeMap<String, String>,
    /// Items of the shim that do not do everything that std's do, by path.
    pub limits: BTreeMap<String, String>,
    /// Items that are std's own and should not be, by path.
    pub holes: BTreeMap<String, String>,
}

/// The checked-in decisions.
///
/// # Panics
/// If they cannot be read.
pub fn checked_in() -> Decisions {
    let path = folder().join("decisions.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
