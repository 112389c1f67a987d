//! Finds `cargo dpor`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The tool's path; it is built first unless `CARGO_DPOR_BIN` names one.
///
/// # Panics
/// If it does not build.
pub fn path() -> &'static Path {
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| match std::env::var_os("CARGO_DPOR_BIN") {
        Some(path) => std::path::absolute(path).expect("CARGO_DPOR_BIN is a path"),
        None => build(),
    });
    &PATH
}

/// The target folder that this process was built in.
///
/// # Panics
/// If Cargo has not built it.
pub fn target_folder() -> PathBuf {
    let profile = profile_folder();
    let target = profile.parent().expect("the profile's folder is in the target folder");
    target.to_path_buf()
}

fn profile_folder() -> PathBuf {
    let own = std::env::current_exe().expect("this process has an executable");
    let is_profile = |folder: &&Path| folder.join(".fingerprint").is_dir();
    let profile = own.ancestors().find(is_profile);
    profile.expect("Cargo has built this executable").to_path_buf()
}

fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let release = (!cfg!(debug_assertions)).then_some("--release");
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--package", "cargo-dpor", "--target-dir"])
        .arg(target_folder())
        .args(release)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("Cargo can be started");
    assert!(status.success(), "cargo-dpor does not build");
    profile_folder().join(format!("cargo-dpor{}", std::env::consts::EXE_SUFFIX))
}
