//! A compiled test target, and a test in it.

use std::path::PathBuf;
use std::sync::Arc;

/// A compiled test target.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The executable.
    pub path: PathBuf,
    /// `package/kind/target`, which identifies the binary among those of a workspace.
    pub id: String,
    /// The readable name: the package, and the target if it is not the package's library.
    pub name: String,
    /// The package's folder, in which its tests run.
    pub folder: PathBuf,
    /// Whether it belongs to a procedural macro: made for the compiler to load, with the real standard library.
    pub is_proc_macro: bool,
    /// The environment that Cargo would set.
    pub environment: Vec<(String, String)>,
}

/// One test.
#[derive(Clone, Debug)]
pub struct Test {
    /// The binary that contains it.
    pub binary: Arc<Binary>,
    /// Its name in the binary.
    pub name: String,
    /// Whether it has `#[ignore]`.
    pub ignored: bool,
}

impl Test {
    /// Its name in seeds.
    pub fn id(&self) -> String {
        format!("{} {}", self.binary.id, self.name)
    }

    /// The name of its package.
    pub fn package(&self) -> &str {
        self.binary.id.split('/').next().unwrap_or_default()
    }

    /// Its readable name.
    pub fn display_name(&self) -> String {
        format!("{} {}", self.binary.name, self.name)
    }
}
