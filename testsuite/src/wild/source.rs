//! Fetching crates, and copying them.

use crate::wild::{Change, Crate, Table, folder};
use cargo_metadata::MetadataCommand;
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
/// # Panics
/// If Cargo cannot fetch it, if nothing can be written, or if a change fits nothing.
pub fn fetch(table: &Table, krate: &Crate) -> Source {
    let original = download(krate);
    let copy = folder().join("src").join(krate.id());
    let general = table
        .small
        .iter()
        .flat_map(|change| krate.small.iter().map(move |path| (path, change)));
    let own = krate.changes.iter().map(|change| (&change.path, change));
    let changes: Vec<_> = general
        .chain(own)
        .map(|(path, change)| (Path::new(path), change, regex(change)))
        .collect();
    let matched =
        copy_changed(&original, &copy, &changes).unwrap_or_else(|error| panic!("{}: {error}", copy.display()));
    let useless = changes
        .iter()
        .zip(matched)
        .find(|((_, change, _), matched)| !change.path.is_empty() && !matched);
    if let Some(((path, change, _), _)) = useless {
        panic!("{}: nothing in {} is `{}`", krate.id(), path.display(), change.pattern);
    }
    Source { folder: copy }
}

/// Has Cargo fetch a crate, by way of a package that depends on it: the folder of its source.
fn download(krate: &Crate) -> PathBuf {
    let project = folder().join("fetch").join(krate.id());
    let manifest = project.join("Cargo.toml");
    let text = format!(
        "[package]\nname = \"fetch\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n[dependencies]\n{} = {{ version = \
         \"={}\", default-features = false }}\n\n[workspace]\n",
        krate.name, krate.version
    );
    fs::create_dir_all(&project)
        .and_then(|()| fs::write(project.join("lib.rs"), ""))
        .and_then(|()| fs::write(&manifest, text))
        .unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
    let metadata = MetadataCommand::new()
        .manifest_path(&manifest)
        .other_options(["--filter-platform".into(), "x86_64-unknown-linux-gnu".into()])
        .exec()
        .unwrap_or_else(|error| panic!("{} cannot be fetched: {error}", krate.id()));
    let package = metadata.packages.iter().find(|package| *package.name == krate.name);
    let package = package.expect("a dependency is among the packages");
    let folder = package.manifest_path.parent().expect("a manifest is in a folder");
    folder.as_std_path().into()
}

/// Copies a crate with changes, and says which of them matched. Files that are as they should be are left alone, so that Cargo
/// need not build them again.
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
            let copy = to.join(&path);
            if fs::read(&copy).ok().as_ref() != Some(&bytes) {
                fs::write(&copy, bytes)?;
            }
        }
    }
    Ok(matched)
}

fn regex(change: &Change) -> Regex {
    Regex::new(&change.pattern).unwrap_or_else(|error| panic!("{error}"))
}
