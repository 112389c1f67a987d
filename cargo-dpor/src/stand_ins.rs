//! The stand-ins for libraries that are taken as specified, swapped as std's facades are: without a change of the
//! user's files or lock file.
//!
//! Cargo calls cargo-dpor as its compiler wrapper ([`wrap`]). Where it compiles a library that has a stand-in, the
//! compiler gets another root file: that of a copy of the library's sources, in which some modules, or some lines, are
//! the stand-in's. So the library keeps its interface, its features and its dependencies. All other calls are passed on
//! as they are.
//!
//! Which sources have a stand-in is told by a digest of all of them. A version that is not known, and a library that
//! somebody has changed, is compiled as written; so is a member of the workspace, which is under test itself.

mod known;

use crate::error::Error;
use known::{KNOWN, StandIn};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use xxhash_rust::xxh3::Xxh3;

/// Libraries that make fences by means that nobody sees, inline assembly or a system call, except where Miri runs them:
/// there by `fence`. They are compiled as for Miri; nothing else in them depends on it.
const AS_FOR_MIRI: [&str; 3] = ["concurrent-queue", "event-listener", "seize"];

/// The root file of a library, in its package.
const ROOT: &str = "src/lib.rs";

/// The file of a stand-in that tells which lines are others ([`Edits`]).
const EDITS: &str = "edits.toml";

/// The environment variable by which the wrapper gets its [`Wrapper`].
const ENV: &str = "CARGO_DPOR_STAND_INS";

/// What the compiler wrapper has to know.
#[derive(Debug, Serialize, Deserialize)]
pub struct Wrapper {
    /// The folder with the sources of all stand-ins.
    stand_ins: PathBuf,
    /// The folder for copies of libraries.
    copies: PathBuf,
    /// The folders of the packages that are never replaced.
    members: Vec<PathBuf>,
    /// The user's own compiler wrapper.
    inner: Option<PathBuf>,
}

impl Wrapper {
    pub fn new(stand_ins: &Path, copies: PathBuf, members: Vec<PathBuf>, inner: Option<PathBuf>) -> Wrapper {
        Wrapper {
            stand_ins: stand_ins.into(),
            copies,
            members,
            inner,
        }
    }

    /// Makes Cargo call this program for each call of the compiler.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be told where this program is.
    pub fn install(&self, cargo: &mut Command) -> Result<(), Error> {
        let own = std::env::current_exe().map_err(Error::io("cannot tell where cargo-dpor itself is"))?;
        let text = serde_json::to_string(self).map_err(|error| Error::Io {
            what: "cannot name the folders of the build".into(),
            source: io::Error::other(error),
        })?;
        cargo.env("RUSTC_WRAPPER", own).env(ENV, text);
        Ok(())
    }

    /// The root file to compile in the place of the library's own, if it has a stand-in.
    fn root(&self, call: &Call) -> io::Result<Option<PathBuf>> {
        let Some(stand_in) = call.stand_in(&self.members) else {
            return Ok(None);
        };
        let source = call.manifest.join("src");
        if digest(&source)? != stand_in.digest {
            return Ok(None);
        }
        let own = self.stand_ins.join(stand_in.folder);
        let mut hasher = Xxh3::new();
        hasher.update(&stand_in.digest.to_le_bytes());
        hasher.update(source.as_os_str().as_encoded_bytes());
        hasher.update(&digest(&own)?.to_le_bytes());
        // Earlier versions have made copies with the root file at another place.
        hasher.update(ROOT.as_bytes());
        let copy = self.copies.join(format!("{}-{:016x}", call.package, hasher.digest()));
        if !copy.is_dir() {
            make(&copy, &call.manifest, &own)?;
        }
        Ok(Some(copy.join(ROOT)))
    }
}

/// The wrapper that the user has configured, in the same places and order as Cargo looks for it.
pub fn configured_wrapper(config: &Value) -> Option<PathBuf> {
    let variable = ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"].into_iter();
    let given = variable.filter_map(std::env::var_os).next();
    let given = given.or_else(|| config["build"]["rustc-wrapper"].as_str().map(OsString::from));
    let given = PathBuf::from(given.filter(|name| !name.is_empty())?);
    // A path with a slash in it is relative to the folder above the `.cargo` whose file says so.
    let near = given.is_relative() && given.components().count() > 1;
    let here = std::env::current_dir().ok().filter(|_| near);
    let found = here.and_then(|here| {
        here.ancestors()
            .map(|folder| folder.join(&given))
            .find(|path| path.is_file())
    });
    Some(found.unwrap_or(given))
}

/// Whether Cargo has called this program as its compiler wrapper.
pub fn is_wrapper() -> bool {
    std::env::var_os(ENV).is_some()
}

/// Does what the compiler wrapper is for, with the arguments of the process; returns only if it fails.
pub fn wrap(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let fail = |what: &str| {
        eprintln!("error: cargo-dpor, as compiler wrapper: {what}");
        ExitCode::FAILURE
    };
    let text = std::env::var(ENV).unwrap_or_default();
    let wrapper: Wrapper = match serde_json::from_str(&text) {
        Ok(wrapper) => wrapper,
        Err(error) => return fail(&format!("{ENV}: {error}")),
    };
    let Some(compiler) = arguments.nth(1) else {
        return fail(&format!("there is no compiler to call; {ENV} is for Cargo only"));
    };
    let mut arguments: Vec<OsString> = arguments.collect();
    if let Some(call) = Call::read(&arguments) {
        match wrapper.root(&call) {
            Ok(Some(root)) => arguments = call.with_root(arguments, root),
            Ok(None) => arguments.extend(call.flags().map(OsString::from)),
            Err(error) => return fail(&format!("cannot make a stand-in for {}: {error}", call.package)),
        }
    }
    let mut command = Command::new(wrapper.inner.as_deref().unwrap_or(Path::new(&compiler)));
    command
        .args(wrapper.inner.is_some().then_some(&compiler))
        .args(arguments);
    let error = command.exec();
    fail(&format!("cannot start {}: {error}", command.get_program().display()))
}

/// A call of the compiler for the library of a package, against the facades.
struct Call {
    package: String,
    version: String,
    /// The folder of the package.
    manifest: PathBuf,
    features: Vec<String>,
    /// The position of the root file among the arguments.
    root: usize,
}

impl Call {
    fn read(arguments: &[OsString]) -> Option<Call> {
        let variable = |name| std::env::var(name).ok();
        let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
        let package = variable("CARGO_PKG_NAME")?;
        Call::of(package, variable("CARGO_PKG_VERSION")?, manifest, arguments)
    }

    fn of(package: String, version: String, manifest: PathBuf, arguments: &[OsString]) -> Option<Call> {
        let text = |at: usize| arguments.get(at).and_then(|argument| argument.to_str());
        let pairs = || (0..arguments.len()).filter_map(|at| Some((text(at)?, text(at + 1)?)));
        let facades = pairs().any(|(flag, value)| flag == "--extern" && value.starts_with("dpor_shim="));
        let library = !arguments.iter().any(|argument| argument == "--test");
        // Cargo names files below the workspace's folder, in which it calls the compiler, by relative paths.
        let (here, lib) = (std::env::current_dir().unwrap_or_default(), manifest.join(ROOT));
        let root = arguments.iter().position(|argument| here.join(argument) == lib)?;
        let feature = |(flag, value): (&str, &str)| {
            let feature = value.strip_prefix("feature=\"")?.strip_suffix('"')?;
            (flag == "--cfg").then(|| feature.to_owned())
        };
        (facades && library).then(|| Call {
            package,
            version,
            manifest,
            features: pairs().filter_map(feature).collect(),
            root,
        })
    }

    /// What stands in for the library, if that is not under test itself.
    fn stand_in(&self, members: &[PathBuf]) -> Option<&'static StandIn> {
        let stand_in = KNOWN
            .iter()
            .find(|known| known.package == self.package && known.version == self.version)?;
        let without = |feature: &&str| self.features.iter().any(|given| given == feature);
        let as_written = members.contains(&self.manifest) || stand_in.as_written_with.iter().any(without);
        (!as_written).then_some(stand_in)
    }

    /// Flags for a library that has no stand-in.
    fn flags(&self) -> impl Iterator<Item = &'static str> {
        let as_for_miri = AS_FOR_MIRI.contains(&&*self.package);
        as_for_miri.then_some(["--cfg", "miri"]).into_iter().flatten()
    }

    /// The arguments for another root file.
    fn with_root(&self, mut arguments: Vec<OsString>, root: PathBuf) -> Vec<OsString> {
        arguments[self.root] = root.into();
        // What only the replaced modules or lines have used.
        arguments.push("-Aunused".into());
        arguments
    }
}

/// The lines of a library's modules in the place of which a stand-in has its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edits {
    edits: Vec<Edit>,
}

/// One text of a module in the place of another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The module's file, relative to the folder with the sources.
    file: PathBuf,
    /// The library's own text, which may be there more than once.
    text: String,
    /// What is there instead.
    by: String,
}

impl Edit {
    /// Makes the edit in the copy of the sources.
    fn make(&self, sources: &Path) -> io::Result<()> {
        let file = sources.join(&self.file);
        let before =
            fs::read_to_string(&file).map_err(|error| io::Error::other(format!("{}: {error}", file.display())))?;
        if !before.contains(&self.text) {
            return Err(io::Error::other(format!("{} has no {:?}", file.display(), self.text)));
        }
        fs::write(file, before.replace(&self.text, &self.by))
    }
}

/// Makes a copy of a library's sources, with the files and lines of a stand-in in the place of its own. The files that
/// are beside the folder with the sources are there, too: sources may include them.
fn make(copy: &Path, package: &Path, own: &Path) -> io::Result<()> {
    let parent = copy.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let draft = tempfile::tempdir_in(parent)?;
    // That folder is for its owner only.
    let draft_of_copy = draft.path().join("package");
    let files_of = draft_of_copy.join("src");
    let source = &package.join("src");
    for folder in [source, own] {
        for file in files(folder)? {
            let to = files_of.join(&file);
            fs::create_dir_all(to.parent().unwrap_or(parent))?;
            fs::write(to, fs::read(folder.join(file))?)?;
        }
    }
    if own.join(EDITS).is_file() {
        let edits: Edits = toml::from_str(&fs::read_to_string(own.join(EDITS))?).map_err(io::Error::other)?;
        edits.edits.iter().try_for_each(|edit| edit.make(&files_of))?;
        fs::remove_file(files_of.join(EDITS))?;
    }
    for entry in fs::read_dir(package)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::write(draft_of_copy.join(entry.file_name()), fs::read(entry.path())?)?;
        }
    }
    // Cargo compiles the library again when one of the files changes that the compiler has read. That matters where the
    // library is on a path of the user's: its own files must be among them.
    let mut root = fs::OpenOptions::new().append(true).open(files_of.join("lib.rs"))?;
    for file in files(source)? {
        writeln!(root, "const _: &[u8] = include_bytes!({:?});", source.join(file))?;
    }
    // Where a file is younger than the compiler's call, Cargo compiles the library again, once.
    let written = fs::metadata(package.join(ROOT))?.modified()?;
    for file in files(&draft_of_copy)? {
        let file = fs::OpenOptions::new().append(true).open(draft_of_copy.join(file))?;
        file.set_modified(written)?;
    }
    match fs::rename(draft_of_copy, copy) {
        // Another process was faster.
        Err(_) if copy.is_dir() => Ok(()),
        other => other,
    }
}

/// A digest of all files of a folder and their names.
fn digest(folder: &Path) -> io::Result<u64> {
    let mut hasher = Xxh3::new();
    for file in files(folder)? {
        let content = fs::read(folder.join(&file))?;
        for part in [file.as_os_str().as_encoded_bytes(), &content] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Ok(hasher.digest())
}

/// The files in a folder and its subfolders, relative to it, in order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inner))? {
            let entry = entry?;
            let name = inner.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => folders.push(name),
                false => found.push(name),
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;
