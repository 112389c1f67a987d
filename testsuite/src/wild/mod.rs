//! Crates from crates.io, as they are, with their own tests under `cargo dpor test`.
//!
//! [`Table`] is `testsuite/wild/crates.toml`: which crates, which of their tests, and what is changed from outside.
//! [`Source`] fetches their sources with Cargo and puts a copy, with these changes, under `tmp/wild` of the target
//! folder. [`Run`] is what the tool said of the tests of one crate, and [`page`] shows it all.

mod call;
mod circumstances;
mod page;
mod run;
mod source;
mod table;

pub use circumstances::Circumstances;
pub use page::{page, summary};
pub use run::{Class, Run, Tested};
pub use source::{Source, fetch};
pub use table::{Change, Crate, Table};

use std::fs;
use std::path::PathBuf;

/// The folder of copies, logs and results.
pub fn folder() -> PathBuf {
    crate::tool::target_folder().join("tmp").join("wild")
}

/// The folder of logs and results.
fn logs() -> PathBuf {
    let folder = folder().join("log");
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}
