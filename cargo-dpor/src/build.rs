//! Compiles the user's tests, and finds them.

mod binary;
mod flags;
mod list;
mod names;
mod select;
mod wishes;

pub use binary::{Binary, Test};
pub use list::{Listing, list, named, of_seed};
pub use names::check_names;
pub use select::{Selection, select};
pub use wishes::Wishes;

use crate::cli::CargoArgs;
use crate::error::Error;
use crate::facades::Facades;
use crate::stand_ins::Wrapper;
use crate::toolchain::Toolchain;
use crate::unseen::Compiled;
use cargo_metadata::{Message, Metadata, MetadataCommand, Package, PackageId, TargetKind};
use std::collections::HashMap;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The result of building the user's code.
#[derive(Debug)]
pub struct Build {
    /// The test targets.
    pub binaries: Vec<Binary>,
    /// The folder to which the compiler's paths of workspace files are relative.
    pub workspace_root: PathBuf,
    /// The folder in which everything is built.
    pub folder: PathBuf,
    /// What the binaries are made of.
    pub compiled: Compiled,
}

impl Build {
    /// The folders to which the compiler's relative paths are relative; the first is the workspace's.
    pub fn source_folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.workspace_root.clone()];
        folders.extend(self.binaries.iter().map(|binary| binary.folder.clone()));
        folders
    }
}

/// How the user's code is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// All libraries are compiled as they are written, without the stand-ins for some.
    pub as_written: bool,
    /// There are hooks before plain accesses to memory.
    pub instrumented: bool,
}

/// Compiles the tests against the facades.
///
/// # Errors
/// [`Error::Build`] after Cargo has said what is wrong.
pub fn build(
    args: &CargoArgs,
    toolchain: &Toolchain,
    facades: &Facades,
    wishes: Wishes,
    metadata: Metadata,
    variant: Variant,
) -> Result<Build, Error> {
    let folder = folder(args, &metadata);
    std::fs::create_dir_all(&folder)
        .and_then(|()| tempfile::tempfile_in(&folder))
        .map_err(Error::io(format!(
            "cannot write to the target folder {} (--target-dir chooses another one)",
            folder.display()
        )))?;
    let mut command = Command::new(&toolchain.cargo);
    command
        .args([
            "test",
            "--no-run",
            "--message-format",
            "json-render-diagnostics",
            "--target",
            &toolchain.host,
        ])
        .arg("--target-dir")
        .arg(&folder)
        .args(args.selection())
        .args(args.network())
        .args(["--config", &flags::of_dependencies(args)])
        .args(wishes.covered.iter().flat_map(|value| ["--config", value]))
        .args(["--color", args.color.name()]);
    if let Some(jobs) = &args.jobs {
        command.args(["--jobs", jobs]);
    }
    for (given, flag) in [
        (args.timings, "--timings"),
        (args.future_incompat_report, "--future-incompat-report"),
    ] {
        command.args(given.then_some(flag));
    }
    command.args(vec!["-v"; args.verbose.into()]);
    if args.quiet {
        command.arg("-q");
    }
    let mut rustflags = wishes.rustflags;
    rustflags.extend(facades.rustc_flags());
    rustflags.extend(flags::own());
    if variant.instrumented {
        rustflags.extend(flags::instrumentation(&facades.renames));
    }
    if !variant.as_written {
        let members = metadata
            .packages
            .iter()
            .filter_map(|package| package.manifest_path.parent());
        let members = members.map(|folder| folder.as_std_path().into()).collect();
        let wrapper = Wrapper::new(&facades.stand_ins, folder.join("stand-ins"), members, wishes.wrapper);
        wrapper.install(&mut command)?;
        // There is nothing to find in there. But Cargo compiles again what was compiled with other flags.
        rustflags.extend(["-L".into(), format!("dependency={}", facades.stand_ins.display())]);
    }
    command
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags.join("\x1f"))
        .env("RUSTC", &toolchain.rustc);
    for (name, value) in flags::profile(args) {
        if std::env::var_os(&name).is_none() {
            command.env(name, value);
        }
    }
    let mut cargo = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Error::io(format!("cannot start {}", toolchain.cargo.display())))?;
    let output = BufReader::new(cargo.stdout.take().expect("stdout is piped"));
    let mut compiled = Compiled {
        own: facades.crates(),
        ..Compiled::default()
    };
    let binaries = collect(Message::parse_stream(output), &metadata, toolchain, &mut compiled)?;
    let status = cargo.wait().map_err(Error::io("cannot wait for Cargo"))?;
    if !status.success() {
        return Err(Error::Build);
    }
    Ok(Build {
        binaries,
        workspace_root: metadata.workspace_root.into_std_path_buf(),
        folder,
        compiled,
    })
}

/// The folder in which everything is built.
pub fn folder(args: &CargoArgs, metadata: &Metadata) -> PathBuf {
    let base = args
        .target_dir
        .as_deref()
        .unwrap_or(metadata.target_directory.as_std_path());
    base.join("dpor")
}

/// Cargo's metadata of the workspace.
///
/// # Errors
/// [`Error::Metadata`] if there is no sound project.
pub fn metadata(args: &CargoArgs, toolchain: &Toolchain) -> Result<Metadata, Error> {
    let mut command = MetadataCommand::new();
    command.cargo_path(&toolchain.cargo).no_deps();
    if let Some(path) = &args.manifest_path {
        command.manifest_path(path);
    }
    let network = args.network().into_iter().map(String::from);
    let config = args
        .config
        .iter()
        .flat_map(|config| ["--config".into(), config.clone()]);
    command.other_options(network.chain(config).collect::<Vec<_>>());
    command.exec().map_err(|error| match error {
        cargo_metadata::Error::CargoMetadata { stderr } => Error::Metadata(stderr.trim().into()),
        other => Error::Metadata(other.to_string()),
    })
}

/// Picks the test executables, and what they are made of, out of Cargo's messages.
fn collect(
    messages: impl Iterator<Item = std::io::Result<Message>>,
    metadata: &Metadata,
    toolchain: &Toolchain,
    compiled: &mut Compiled,
) -> Result<Vec<Binary>, Error> {
    let packages: HashMap<&PackageId, &Package> = metadata.packages.iter().map(|p| (&p.id, p)).collect();
    let mut libraries: Vec<String> = Vec::new();
    let mut binaries = Vec::new();
    for message in messages {
        let message = message.map_err(Error::io("cannot read Cargo's messages"))?;
        if let Message::CompilerArtifact(artifact) = &message {
            compiled.add(artifact);
        }
        match message {
            Message::BuildScriptExecuted(script) => {
                libraries.extend(script.linked_paths.iter().map(|path| {
                    let path = path.as_str();
                    path.split_once('=').map_or(path, |(_, folder)| folder).to_string()
                }));
            }
            Message::CompilerArtifact(artifact) if artifact.profile.test => {
                let (Some(path), Some(package)) = (artifact.executable, packages.get(&artifact.package_id)) else {
                    continue;
                };
                let kind = match artifact.target.kind.first() {
                    Some(TargetKind::Bin) => "bin",
                    Some(TargetKind::Test) => "test",
                    Some(TargetKind::Example) => "example",
                    Some(TargetKind::Bench) => "bench",
                    _ => "lib",
                };
                let target = &artifact.target.name;
                binaries.push(Binary {
                    path: path.into_std_path_buf(),
                    id: format!("{}/{kind}/{target}", package.name),
                    name: if kind == "lib" {
                        package.name.to_string()
                    } else {
                        format!("{}::{target}", package.name)
                    },
                    is_proc_macro: artifact.target.kind.contains(&TargetKind::ProcMacro),
                    folder: package
                        .manifest_path
                        .parent()
                        .map(|p| p.as_std_path().into())
                        .unwrap_or_default(),
                    environment: environment(package),
                });
            }
            _ => {}
        }
    }
    // As Cargo sets it: libraries of build scripts, then those that were built, then the compiler's.
    let given = std::env::var("LD_LIBRARY_PATH").ok();
    for binary in &mut binaries {
        let built = binary
            .path
            .ancestors()
            .skip(1)
            .take(2)
            .map(|folder| folder.display().to_string());
        let compilers = toolchain.libraries.display().to_string();
        let folders = libraries
            .iter()
            .cloned()
            .chain(built)
            .chain([compilers])
            .chain(given.clone());
        let value = folders.collect::<Vec<_>>().join(":");
        binary.environment.push(("LD_LIBRARY_PATH".into(), value));
    }
    binaries.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(binaries)
}

/// The environment that `cargo test` sets for a package's tests.
fn environment(package: &Package) -> Vec<(String, String)> {
    let folder = package
        .manifest_path
        .parent()
        .map(|path| path.to_string())
        .unwrap_or_default();
    let version = &package.version;
    [
        ("CARGO_MANIFEST_DIR", folder),
        ("CARGO_MANIFEST_PATH", package.manifest_path.to_string()),
        ("CARGO_PKG_NAME", package.name.to_string()),
        ("CARGO_PKG_VERSION", version.to_string()),
        ("CARGO_PKG_VERSION_MAJOR", version.major.to_string()),
        ("CARGO_PKG_VERSION_MINOR", version.minor.to_string()),
        ("CARGO_PKG_VERSION_PATCH", version.patch.to_string()),
        ("CARGO_PKG_VERSION_PRE", version.pre.to_string()),
        ("CARGO_PKG_AUTHORS", package.authors.join(":")),
        ("CARGO_PKG_DESCRIPTION", package.description.clone().unwrap_or_default()),
        ("CARGO_PKG_HOMEPAGE", package.homepage.clone().unwrap_or_default()),
        ("CARGO_PKG_REPOSITORY", package.repository.clone().unwrap_or_default()),
        ("CARGO_PKG_LICENSE", package.license.clone().unwrap_or_default()),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .into()
}
