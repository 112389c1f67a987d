//! Lines of source, shown beside their steps.

use dpor_protocol::SourceLocation;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Finds the source files that the compiler names.
#[derive(Debug)]
pub struct SourceTree {
    roots: Vec<PathBuf>,
    files: RefCell<HashMap<String, Option<Vec<String>>>>,
}

impl SourceTree {
    /// Creates the finder. It looks for relative paths in these folders, in this order.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        SourceTree {
            roots,
            files: RefCell::default(),
        }
    }

    /// The text of a line, if the file can be found.
    pub fn line(&self, location: &SourceLocation) -> Option<String> {
        let line = self.raw(&location.file, location.line)?;
        Some(line.trim().to_owned()).filter(|line| !line.is_empty())
    }

    /// A line without changes.
    pub fn raw(&self, file: &str, line: u32) -> Option<String> {
        self.lines(file, |lines| lines.get(line.checked_sub(1)? as usize).cloned())?
    }

    /// All lines of a file, if it can be found.
    pub fn text(&self, file: &str) -> Option<Vec<String>> {
        self.lines(file, <[String]>::to_vec)
    }

    fn lines<R>(&self, file: &str, take: impl FnOnce(&[String]) -> R) -> Option<R> {
        let mut files = self.files.borrow_mut();
        let lines = files.entry(file.to_owned()).or_insert_with(|| {
            let roots = self.roots.iter();
            let text = roots
                .into_iter()
                .find_map(|root| fs::read_to_string(root.join(file)).ok())?;
            Some(text.lines().map(str::to_owned).collect())
        });
        lines.as_deref().map(take)
    }
}

/// `file:line`, without the part that is the same in all paths of Cargo's registry or of the standard library.
pub fn short(location: &SourceLocation) -> String {
    let file = Path::new(&location.file);
    let parts: Vec<_> = file
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    let from = |marker: &[&str], skipped: usize| {
        let at = parts
            .windows(marker.len())
            .position(|window| window.iter().zip(marker).all(|(a, b)| a == b))?;
        Some(at + marker.len() + skipped).filter(|&start| start < parts.len())
    };
    // registry/src/<index>/<crate>/…; git/checkouts/<repository>/<revision>/…; rustc/<hash>/library/…
    let start = from(&["registry", "src"], 1)
        .or_else(|| from(&["git", "checkouts"], 0))
        .or_else(|| from(&["rustc"], 2).filter(|_| file.is_absolute()))
        .unwrap_or(0);
    let shown = if start == 0 {
        location.file.clone()
    } else {
        parts[start..].join("/")
    };
    format!("{shown}:{}", location.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(file: &str, line: u32) -> SourceLocation {
        SourceLocation {
            file: file.into(),
            line,
            column: 1,
        }
    }

    #[test]
    fn paths_are_shortened_where_nothing_is_lost() {
        for (file, expected) in [
            ("src/lib.rs", "src/lib.rs:3"),
            (
                "/home/me/.cargo/registry/src/index.crates.io-1949/flume-0.11.1/src/lib.rs",
                "flume-0.11.1/src/lib.rs:3",
            ),
            (
                "/rustc/5980/library/core/src/ops/function.rs",
                "core/src/ops/function.rs:3",
            ),
            ("/home/me/rustc/x.rs", "/home/me/rustc/x.rs:3"),
        ] {
            assert_eq!(short(&at(file, 3)), expected);
        }
    }

    #[test]
    fn lines_are_read_from_the_first_root_that_has_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.rs"), "fn a() {\n    b();\n\n}\n").unwrap();
        let tree = SourceTree::new(vec!["/nowhere".into(), folder.path().into()]);
        assert_eq!(tree.line(&at("x.rs", 2)).as_deref(), Some("b();"));
        assert_eq!(tree.line(&at("x.rs", 3)), None);
        assert_eq!(tree.line(&at("x.rs", 9)), None);
        assert_eq!(tree.line(&at("x.rs", 0)), None);
        assert_eq!(tree.line(&at("y.rs", 1)), None);
    }
}
