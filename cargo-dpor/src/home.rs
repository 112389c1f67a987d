//! The folder for what is kept between runs.

use crate::error::Error;
use std::path::PathBuf;

/// `$CARGO_DPOR_HOME`, or `cargo-dpor` in the user's cache folder.
pub fn home() -> Result<PathBuf, Error> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let path = match std::env::var_os("CARGO_DPOR_HOME").filter(|value| !value.is_empty()) {
        Some(path) => std::path::absolute(path).map_err(Error::io("CARGO_DPOR_HOME is no usable path"))?,
        None => absolute("XDG_CACHE_HOME")
            .or_else(|| Some(std::env::home_dir()?.join(".cache")))
            .ok_or_else(|| Error::Usage("there is no home folder: set CARGO_DPOR_HOME to a folder for caches".into()))?
            .join("cargo-dpor"),
    };
    match path.to_str() {
        Some(text) if !text.contains('\x1f') => Ok(path),
        _ => Err(Error::Usage(format!(
            "{} is not Unicode: set CARGO_DPOR_HOME to another folder",
            path.display()
        ))),
    }
}
