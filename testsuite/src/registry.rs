//! The sources of published packages.

use cargo_metadata::MetadataCommand;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The folder in which Cargo keeps the sources of a package. It is fetched from crates.io first if need be, by way of a
/// package that depends on it.
///
/// # Errors
/// In words.
pub fn source(name: &str, version: &str) -> Result<PathBuf, String> {
    let project = crate::tool::target_folder()
        .join("tmp/fetch")
        .join(format!("{name}-{version}"));
    let manifest = project.join("Cargo.toml");
    let text = format!(
        "[package]\nname = \"fetch\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n[dependencies]\n{name} = {{ \
         version = \"={version}\", default-features = false }}\n\n[workspace]\n"
    );
    fs::create_dir_all(&project)
        .and_then(|()| write(&project.join("lib.rs"), b""))
        .and_then(|()| write(&manifest, text.as_bytes()))
        .map_err(|error| format!("{}: {error}", project.display()))?;
    let metadata = MetadataCommand::new()
        .manifest_path(&manifest)
        .other_options(["--filter-platform".into(), "x86_64-unknown-linux-gnu".into()])
        .exec()
        .map_err(|error| format!("{name} {version} cannot be fetched: {error}"))?;
    let package = metadata
        .packages
        .iter()
        .find(|package| *package.name == name && package.version.to_string() == version);
    let folder = package.and_then(|package| package.manifest_path.parent());
    folder
        .map(|folder| folder.as_std_path().to_path_buf())
        .ok_or_else(|| format!("{name} {version} was not fetched"))
}

/// Writes a file, unless it already has these contents: Cargo looks at the time of change.
pub(crate) fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == contents) {
        return Ok(());
    }
    fs::write(path, contents)
}
