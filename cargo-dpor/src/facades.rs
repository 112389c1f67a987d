//! The facades of `std`, `core` and `alloc`: built from the sources in this binary, once for each toolchain and
//! content.

mod cache;
mod progress;
mod sysroot;

use crate::error::Error;
use crate::home::home;
use crate::toolchain::Toolchain;
use cache::{Hold, MARKER};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice;
use std::time::SystemTime;

/// The sources, by path; made by the build script.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The folder with the stand-ins for libraries, among the sources.
const STAND_INS: &str = "shim-std/stand-ins";

/// The file among the sources with the functions that instrumented code calls by another name.
const RENAMES: &str = "scheduler/src/platform/renames.yaml";

/// The crate to which the attributes and macros of the facades refer, and its name in the user's crates, which differs
/// from its own, so that a crate can depend on it as well (see its `lib.rs`).
const SHIM: (&str, &str) = ("shim_std", "dpor_shim");

/// The profile of the build. The number of codegen units is one that nobody else uses: rustc identifies a crate by what
/// Cargo hashes (version, features, profile …), and a user's `serde`, say, compiled against the facades, must not pass
/// for the facades' own.
///
/// Only what runs in each step of an execution is optimised: the algorithms, the scheduler and the shim, and what they
/// call that is not inlined into them. The rest is for what a process does once, or says to people; to optimise it
/// takes longer than it ever saves.
///
/// Each of the crates that run in each step is one unit, within which more is inlined. They differ from what a user
/// compiles of them by the packages on which they depend.
///
/// Only the functions that stand in for those of the C library need debug information, by which `unseen` tells them
/// from code that is not seen. All of it would be 10 MB more in each test executable, which each process reads.
const PROFILE: &str = r#"
[profile.facade]
inherits = "release"
codegen-units = 13
debug = false
strip = "none"
panic = "unwind"

[profile.facade.package.dpor-scheduler]
debug = "line-tables-only"
codegen-units = 1

[profile.facade.package.dpor-explorer]
codegen-units = 1

[profile.facade.package.dpor-shim-std]
codegen-units = 1

[profile.facade.package."*"]
opt-level = 0

[profile.facade.package.dpor-protocol]
opt-level = 0

[profile.facade.package.corosensei]
opt-level = 3

[profile.facade.package.memchr]
opt-level = 3

[profile.facade.package.smallvec]
opt-level = 3

[profile.facade.package.xxhash-rust]
opt-level = 3
"#;

/// The flags of the build. Unstable features are only for the crate that needs them.
const FLAGS: &str = "--cfg=dpor_facade";
const UNSTABLE: &str = "shim_std";

/// Built facades. They are not removed while this exists.
#[derive(Debug, Serialize, Deserialize)]
pub struct Facades {
    /// The library of each crate that replaces one of the sysroot's.
    libraries: Vec<PathBuf>,
    /// The library of [`SHIM`].
    shim: PathBuf,
    /// The folders of the libraries on which those depend. The paths contain the content's hash, so that Cargo rebuilds
    /// the user's crates when the facades have changed.
    search: Vec<PathBuf>,
    /// The folder with the sources of the stand-ins for libraries.
    #[serde(skip)]
    pub stand_ins: PathBuf,
    /// The file with the functions that instrumented code calls by another name.
    #[serde(skip)]
    pub renames: PathBuf,
    /// The sysroot with the facades, for a toolchain.
    #[serde(skip)]
    sysroot: PathBuf,
    /// The lock on their folder.
    #[serde(skip)]
    _in_use: Option<File>,
}

impl Facades {
    /// The facades for a toolchain, which are built now if they do not exist. Calls `announce` before a build. A build
    /// shows its progress on the terminal, unless it is `quiet`.
    ///
    /// # Errors
    /// [`Error::Facades`] with Cargo's output if they do not build; [`Error::Io`] if the cache cannot be used.
    pub fn ensure(
        toolchain: &Toolchain,
        network: &[&str],
        quiet: bool,
        mut announce: impl FnMut(),
    ) -> Result<Facades, Error> {
        let home = home()?;
        let folder = home.join(content_hash(toolchain));
        loop {
            let in_use = cache::lock(&folder, Hold::Shared)?;
            if let Some(facades) = read_marker(&folder.join(MARKER)) {
                cache::touch(&folder);
                return Ok(Facades {
                    sysroot: sysroot::ensure(&folder, toolchain, &facades.libraries)?,
                    stand_ins: folder.join("src").join(STAND_INS),
                    renames: folder.join("src").join(RENAMES),
                    search: [&facades.search[..], slice::from_ref(&toolchain.libraries)].concat(),
                    _in_use: Some(in_use),
                    ..facades
                });
            }
            drop(in_use);
            let _alone = cache::lock(&folder, Hold::Alone)?;
            // Another process may have built them while this one waited.
            if read_marker(&folder.join(MARKER)).is_none() {
                announce();
                unpack(&folder.join("src"))?;
                build(toolchain, &folder, network, quiet)?.finish(&folder)?;
                if read_marker(&folder.join(MARKER)).is_none() {
                    let what = format!("what Cargo has built in {} is not there", folder.display());
                    let output = String::new();
                    return Err(Error::Facades { what, output });
                }
                cache::remove_unused(&home, SystemTime::now());
            }
        }
    }

    /// Marks the folder as built.
    fn finish(&self, folder: &Path) -> Result<(), Error> {
        let text = serde_json::to_string(self).expect("paths under the cache are Unicode, or were refused");
        let (draft, marker) = (folder.join("finished.json.new"), folder.join(MARKER));
        fs::write(&draft, text).map_err(Error::io(format!("cannot write {}", draft.display())))?;
        fs::rename(&draft, &marker).map_err(Error::io(format!("cannot write {}", marker.display())))
    }

    /// The names of the crates of the facades and of the toolchain.
    pub fn crates(&self) -> HashSet<String> {
        let mut names = HashSet::new();
        for entry in self
            .search
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flatten()
        {
            // What cannot be read is not there for the compiler either.
            let Some(file) = entry.ok().and_then(|entry| entry.file_name().into_string().ok()) else {
                continue;
            };
            let name = file.strip_prefix("lib").and_then(|rest| rest.rsplit_once('-'));
            names.extend(name.map(|(name, _)| name.to_owned()));
        }
        names
    }

    /// The flags that make rustc use the facades.
    pub fn rustc_flags(&self) -> Vec<String> {
        let mut flags = vec![
            "--sysroot".into(),
            self.sysroot.display().to_string(),
            "--extern".into(),
            format!("{}={}", SHIM.1, self.shim.display()),
        ];
        for path in &self.search {
            flags.extend(["-L".into(), format!("dependency={}", path.display())]);
        }
        flags
    }
}

fn content_hash(toolchain: &Toolchain) -> String {
    let mut hasher = DefaultHasher::new();
    (
        SOURCES,
        PROFILE,
        FLAGS,
        UNSTABLE,
        env!("CARGO_PKG_VERSION"),
        &toolchain.version,
    )
        .hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The facades of a finished build, if all of them are still there.
fn read_marker(path: &Path) -> Option<Facades> {
    let facades: Facades = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    let libraries = facades.libraries.iter().chain([&facades.shim]);
    let there = libraries.into_iter().all(|path| path.is_file());
    there.then_some(facades)
}

fn unpack(folder: &Path) -> Result<(), Error> {
    for (name, content) in SOURCES {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(Error::io(format!("cannot create {}", parent.display())))?;
        let content = if *name == "Cargo.toml" {
            format!("{content}{PROFILE}")
        } else {
            content.to_string()
        };
        fs::write(&path, content).map_err(Error::io(format!("cannot write {}", path.display())))?;
    }
    Ok(())
}

/// The command that builds the facades.
fn command(toolchain: &Toolchain, folder: &Path, network: &[&str]) -> Command {
    let mut command = Command::new(&toolchain.cargo);
    command
        .args([
            "build",
            "--profile",
            "facade",
            "--message-format",
            "json-render-diagnostics",
            "--target",
        ])
        .arg(&toolchain.host)
        .arg("--target-dir")
        .arg(folder.join("target"))
        .args([
            "-p",
            "dpor-facade-std",
            "-p",
            "dpor-facade-core",
            "-p",
            "dpor-facade-alloc",
            "-p",
            "dpor-shim-std",
        ])
        // The lock file is the whole workspace's, so Cargo has to shorten it.
        .args(
            network
                .iter()
                .filter(|&&flag| flag != "--locked")
                .map(|&f| if f == "--frozen" { "--offline" } else { f }),
        )
        .current_dir(folder.join("src"));
    isolate(
        &mut command,
        std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()),
    );
    command
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTC_BOOTSTRAP", UNSTABLE)
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS);
    progress::ask_for(&mut command);
    command
}

fn build(toolchain: &Toolchain, folder: &Path, network: &[&str], quiet: bool) -> Result<Facades, Error> {
    let target = folder.join("target");
    let mut command = command(toolchain, folder, network);
    let failed = |what: String, output: &[u8]| Error::Facades {
        what,
        output: String::from_utf8_lossy(output).into_owned(),
    };
    let result = progress::output(&mut command, quiet)
        .map_err(|e| failed(format!("{}: {e}", toolchain.cargo.display()), b""))?;
    if !result.status.success() {
        return Err(failed(
            format!("cargo: {}; its sources are in {}", result.status, folder.display()),
            &result.stderr,
        ));
    }
    let mut libraries = Vec::new();
    for message in cargo_metadata::Message::parse_stream(&result.stdout[..]) {
        if let Ok(cargo_metadata::Message::CompilerArtifact(artifact)) = message {
            let library = artifact.filenames.iter().find(|file| file.extension() == Some("rlib"));
            libraries
                .extend(library.map(|file| (artifact.target.name.replace('-', "_"), file.clone().into_std_path_buf())));
        }
    }
    let library = |crate_name: &str| {
        let built = libraries.iter().find(|(built, _)| built == crate_name);
        let (_, path) = built.ok_or_else(|| failed(format!("Cargo built no {crate_name}"), &result.stderr))?;
        // Cargo names a copy outside of `deps`; rustc must find one crate under one path.
        let shown = path.parent().unwrap_or(path);
        let deps = if shown.ends_with("deps") {
            shown.to_path_buf()
        } else {
            shown.join("deps")
        };
        Ok::<_, Error>(hashed_copy(&deps, crate_name).unwrap_or_else(|| path.clone()))
    };
    let search = vec![
        target.join(&toolchain.host).join("facade/deps"),
        target.join("facade/deps"),
    ];
    Ok(Facades {
        libraries: sysroot::REPLACED.into_iter().map(library).collect::<Result<_, _>>()?,
        shim: library(SHIM.0)?,
        search,
        stand_ins: PathBuf::new(),
        renames: PathBuf::new(),
        sysroot: PathBuf::new(),
        _in_use: None,
    })
}

/// The library of a crate among the dependencies; there is only one of each, since a folder is built only once.
fn hashed_copy(deps: &Path, crate_name: &str) -> Option<PathBuf> {
    let prefix = format!("lib{crate_name}-");
    let mut found = fs::read_dir(deps).ok()?.filter_map(|entry| {
        let path = entry.ok()?.path();
        let name = path.file_name()?.to_str()?;
        (name.starts_with(&prefix) && name.ends_with(".rlib")).then_some(path)
    });
    found.next().filter(|_| found.next().is_none())
}

/// Removes what would change the build: the user's flags, wrappers, profiles. How Cargo reaches the network stays.
fn isolate(command: &mut Command, variables: impl Iterator<Item = String>) {
    for name in variables.filter(|name| leaks(name)) {
        command.env_remove(name);
    }
}

fn leaks(name: &str) -> bool {
    const KEPT: [&str; 8] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTRIES_",
        "CARGO_REGISTRY_",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
        "CARGO_TARGET_APPLIES_TO_HOST",
    ];
    let cargo = name.starts_with("CARGO") && !KEPT.iter().any(|kept| name.starts_with(kept));
    let rust = name.starts_with("RUSTC") || ["RUSTFLAGS", "RUSTDOC", "RUSTDOCFLAGS"].contains(&name);
    cargo || rust
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_carried_workspace_is_whole() {
        let root = SOURCES.iter().find(|(name, _)| *name == "Cargo.toml").unwrap().1;
        assert!(
            !root.contains("testsuite\"") && root.contains("[workspace.dependencies]"),
            "{root}"
        );
        for member in [
            "explorer",
            "scheduler",
            "shim-std",
            "shim-std/macros",
            "cargo-dpor/protocol",
        ] {
            for file in ["Cargo.toml", "src/lib.rs"] {
                assert!(
                    SOURCES.iter().any(|(name, _)| *name == format!("{member}/{file}")),
                    "{member}/{file}"
                );
            }
        }
        assert!(
            SOURCES
                .iter()
                .all(|(_, content)| !content.starts_with("[dev-dependencies]"))
        );
    }

    #[test]
    fn the_users_environment_does_not_leak() {
        for name in [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET",
            "CARGO_PROFILE_RELEASE_OPT_LEVEL",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
            "CARGO_MANIFEST_DIR",
            "RUSTC_WRAPPER",
            "RUSTC",
        ] {
            assert!(leaks(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CARGO_HTTP_PROXY",
            "RUSTUP_TOOLCHAIN",
        ] {
            assert!(!leaks(name), "{name}");
        }
    }

    #[test]
    fn flags_name_every_crate_and_folder() {
        let facades = Facades {
            libraries: vec!["/c/libstd-1.rlib".into()],
            shim: "/c/libshim.rlib".into(),
            search: vec!["/c/deps".into()],
            stand_ins: PathBuf::new(),
            renames: PathBuf::new(),
            sysroot: "/c/sysroot".into(),
            _in_use: None,
        };
        assert_eq!(
            facades.rustc_flags(),
            [
                "--sysroot",
                "/c/sysroot",
                "--extern",
                "dpor_shim=/c/libshim.rlib",
                "-L",
                "dependency=/c/deps"
            ]
        );
    }
}
