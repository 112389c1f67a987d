//! The test suites of loom and shuttle, run on cargo-dpor.
//!
//! The tests are those of the published packages: Cargo fetches them, they are copied to the target folder, and built
//! there against stand-ins of the same names (`testsuite/peer-suites`). What stands beside those says which tests are
//! taken, and what is replaced in their text, with the reasons.

mod build;
mod plan;
mod run;

pub use build::Suite;
pub use plan::{Exception, Plan};
pub use run::{How, Met, Report};

use std::path::{Path, PathBuf};

/// What atomics promise by default.
pub const SC: &str = "sc";

/// A folder of `testsuite/peer-suites`.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peer-suites").join(name)
}
