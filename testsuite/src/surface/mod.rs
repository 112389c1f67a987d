//! The surface of std, item by item, and the shim's part of it.
//!
//! std's is read from the documentation that comes with the toolchain, and kept as a list of facts
//! (`surface/std-1.95.txt`), so that the comparison also works where the documentation is not installed. The shim's is
//! read in the same way from the documentation that rustdoc makes of it. What is std's own, and where the two may
//! differ, is said by hand, one reason each (`surface/decisions.toml`).

pub mod compare;
pub mod decisions;
pub mod docs;
pub mod list;
pub mod normal;
pub mod page;
pub mod probe;

use std::path::PathBuf;

/// The modules that are compared, as paths under `std`.
pub const MODULES: [&str; 10] = [
    "sync",
    "sync::atomic",
    "sync::mpsc",
    "thread",
    "cell",
    "time",
    "task",
    "hint",
    "panic",
    "process",
];

/// The macros of std that are compared: those that the shim redefines. They are not in a module.
pub const MACROS: [&str; 6] = ["dbg", "eprint", "eprintln", "print", "println", "thread_local"];

/// The version of std whose surface the list holds.
pub const VERSION: &str = "1.95";

/// A public item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its module, under `std`; empty for macros.
    pub module: String,
    /// Its name.
    pub name: String,
    /// `struct`, `enum`, `trait`, `fn`, `constant`, `type`, or `macro`.
    pub kind: String,
    /// The libraries below std that have it under the same path: `core` or `alloc`.
    pub also_in: Vec<String>,
    /// Its declaration, with all types by their full paths.
    pub declaration: String,
    /// Its inherent implementations.
    pub inherent: Vec<Impl>,
    /// The implementations of stable traits, blanket ones aside.
    pub traits: Vec<Impl>,
}

impl Item {
    /// The item's path, under `std`.
    pub fn path(&self) -> String {
        if self.module.is_empty() {
            self.name.clone()
        } else {
            format!("{}::{}", self.module, self.name)
        }
    }
}

/// An implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impl {
    /// `impl<…> Trait for Type where …`
    pub header: String,
    /// The stable items of an inherent one; the associated types of a trait's.
    pub members: Vec<String>,
}

/// The public items of a library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surface {
    /// The items, by module and name.
    pub items: Vec<Item>,
    /// The traits that are met and are not stable.
    pub unstable_traits: Vec<String>,
}

/// The folder of the list and the decisions.
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/surface"))
}

/// The checked-in list of std's surface.
pub fn list_path() -> PathBuf {
    folder().join(format!("std-{VERSION}.txt"))
}

/// The table as a page of the book.
pub fn page_path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/surface-table.md"))
}

/// The checked-in list.
///
/// # Panics
/// If it cannot be read.
pub fn checked_in() -> Surface {
    let path = list_path();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    list::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
