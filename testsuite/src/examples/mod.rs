//! The examples in std's documentation of the items that the shim redefines, as tests under the tool.
//!
//! They are read from the installed documentation: the link to the playground of each holds all of its code, hidden
//! lines included. What the examples come to is said in `surface/doc-examples.toml`: `complete`, but for those that
//! have a line there.

mod docs;
mod project;

pub use docs::read;
pub use project::{Met, Verdict, page_path, print, run, write_project};

use crate::surface::decisions::Decisions;
use crate::surface::{Item, folder};
use serde::Deserialize;
use std::collections::BTreeMap;

/// An example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// `module_item_member_number`.
    pub name: String,
    /// The item's path, under `std`.
    pub item: String,
    /// The whole program.
    pub code: String,
    /// Whether it must panic.
    pub should_panic: bool,
}

/// All examples of the documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examples {
    /// Those that std itself runs as tests.
    pub tests: Vec<Example>,
    /// Number of examples that std only compiles (`no_run`), or not even that.
    pub not_run: usize,
    /// Number of examples that need unstable features.
    pub unstable: usize,
}

/// Whether an item's examples are run: it is the shim's, a hole that is no process, or a clock.
pub fn is_wanted(item: &Item, decisions: &Decisions) -> bool {
    let path = item.path();
    let one_of_many = item.module == "sync::atomic"
        && (item.name.starts_with("AtomicI") || item.name.starts_with("AtomicU"))
        && item.name != "AtomicU32";
    let shim = !decisions.std.contains_key(&path);
    let hole_of_another_kind = item.module == "process" && decisions.holes.contains_key(&path);
    let clock = ["time::Instant", "time::SystemTime"].contains(&path.as_str());
    (shim && !hole_of_another_kind && !one_of_many) || clock
}

/// An example that is not simply complete.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Its expected verdict.
    pub verdict: Verdict,
    /// The reason.
    pub reason: String,
}

/// Examples that are not simply complete, by name.
///
/// # Panics
/// If they cannot be read.
pub fn exceptions() -> BTreeMap<String, Exception> {
    let path = folder().join("doc-examples.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
