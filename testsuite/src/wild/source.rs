//! Copies of crates.

use crate::registry;
use crate::wild::{Change, Crate, Table, folder};
use regex::Regex;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The copied sources of a crate.
#[derive(Debug)]
pub struct Source {
    /// The folder of the copy, a workspace of its own.
    pub folder: PathBuf,
}

/// Fetches a crate from crates.io, and copies it with its changes.
///
/// # Errors
/// If Cargo cannot fetch it, if nothing can be written, or if a change fits nothing.
pub fn fetch(table: &Table, krate: &Crate) -> Result<Source, String> {
    let original = registry::source(&krate.name, &krate.version)?;
    let copy = folder().join("src").join(krate.id());
    let general = table
        .small
        .iter()
        .flat_map(|change| krate.small.iter().map(move |path| (path, change)));
    let own = krate.changes.iter().map(|change| (&change.path, change));
    let changes: Vec<_> = general
        .chain(own)
        .map(|(path, change)| Ok((Path::new(path), change, regex(change)?)))
        .collect::<Result<_, String>>()?;
    let matched = copy_changed(&original, &copy, &changes).map_err(|error| format!("{}: {error}", copy.display()))?;
    let useless = changes
        .iter()
        .zip(matched)
        .find(|((_, change, _), matched)| !change.path.is_empty() && !matched);
    if let Some(((path, change, _), _)) = useless {
        return Err(format!("nothing in {} is `{}`", path.display(), change.pattern));
    }
    Ok(Source { folder: copy })
}

/// Copies a crate with changes, and says which of them matched. Files that are as they should be are left alone, so
/// that Cargo need not build them again.
fn copy_changed(from: &Path, to: &Path, changes: &[(&Path, &Change, Regex)]) -> io::Result<Vec<bool>> {
    let mut matched = vec![false; changes.len()];
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        fs::create_dir_all(to.join(&folder))?;
        for entry in fs::read_dir(from.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            // Another toolchain than the one that the tool works with.
            if entry.file_name().to_string_lossy().starts_with("rust-toolchain") {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(path);
                continue;
            }
            let mut bytes = fs::read(entry.path())?;
            if path == Path::new("Cargo.toml") {
                bytes.extend(b"\n[workspace]\n");
            }
            for ((at, change, regex), matched) in changes.iter().zip(&mut matched) {
                if path.starts_with(at)
                    && let Ok(text) = std::str::from_utf8(&bytes)
                    && regex.is_match(text)
                {
                    bytes = regex.replace_all(text, &change.with).into_owned().into_bytes();
                    *matched = true;
                }
            }
            registry::write(&to.join(&path), &bytes)?;
        }
    }
    Ok(matched)
}

fn regex(change: &Change) -> Result<Regex, String> {
    Regex::new(&change.pattern).map_err(|error| error.to_string())
}
