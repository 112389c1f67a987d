//! A sysroot whose `std`, `core` and `alloc` are the facades, and everything else is the toolchain's.
//!
//! rustc takes the crates that every crate has, and those that `extern crate` names, from its sysroot. So nothing in
//! the user's code can tell that they are others. `--extern alloc=…` could be told: it makes `alloc` a name that is
//! known everywhere, as it is not in real Rust, and which a macro must not define by `extern crate std as alloc;`; and
//! `--extern noprelude:alloc=…` is unstable.

use crate::error::Error;
use crate::toolchain::Toolchain;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The crates that are not taken from the toolchain's sysroot.
pub const REPLACED: [&str; 3] = ["std", "core", "alloc"];

/// The sysroot of these libraries for a toolchain, in a folder of the build; it is made now if it does not exist.
///
/// # Errors
/// [`Error::Io`] if it cannot be made.
pub fn ensure(folder: &Path, toolchain: &Toolchain, libraries: &[PathBuf]) -> Result<PathBuf, Error> {
    // Toolchains of one version share a build, but the links lead to one of them.
    let mut hasher = DefaultHasher::new();
    toolchain.libraries.hash(&mut hasher);
    let sysroot = folder.join(format!("sysroot-{:016x}", hasher.finish()));
    if sysroot.is_dir() {
        return Ok(sysroot);
    }
    make(folder, &sysroot, toolchain, libraries)
        .map_err(Error::io(format!("cannot make the sysroot {}", sysroot.display())))?;
    Ok(sysroot)
}

fn make(folder: &Path, sysroot: &Path, toolchain: &Toolchain, libraries: &[PathBuf]) -> io::Result<()> {
    let draft = tempfile::tempdir_in(folder)?;
    // That folder is for its owner only.
    let root = draft.path().join("sysroot");
    fs::create_dir(&root)?;
    // lib/rustlib/HOST/lib
    let path = toolchain.libraries.strip_prefix(&toolchain.sysroot);
    let path = path.map_err(|_| io::Error::other("the compiler's libraries are not in its sysroot"))?;
    let mut at = PathBuf::new();
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        at.push(component);
        fs::create_dir(root.join(&at))?;
        // What is beside `rustlib` is not only the toolchain's where that is installed for the whole system.
        if at.iter().any(|part| part == "rustlib") || components.peek().is_none() {
            let next = components.peek().map(|next| next.as_os_str().to_owned());
            link(&toolchain.sysroot.join(&at), &root.join(&at), |name| {
                next.as_deref() != Some(name) && !name.to_str().is_some_and(is_replaced)
            })?;
        }
    }
    for library in libraries {
        symlink(library, root.join(path).join(library.file_name().unwrap_or_default()))?;
    }
    match fs::rename(&root, sysroot) {
        // Another process was faster.
        Err(_) if sysroot.is_dir() => Ok(()),
        other => other,
    }
}

/// Makes links to the entries of a folder.
fn link(from: &Path, to: &Path, wanted: impl Fn(&std::ffi::OsStr) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if wanted(&entry.file_name()) {
            symlink(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Whether this is a file of a replaced crate.
fn is_replaced(file: &str) -> bool {
    REPLACED.iter().any(|name| {
        file.strip_prefix("lib")
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with('-') || rest.starts_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_facades_is_the_toolchains() {
        let folder = tempfile::tempdir().unwrap();
        let sysroot = folder.path().join("toolchain");
        let libraries = sysroot.join("lib/rustlib/host/lib");
        fs::create_dir_all(&libraries).unwrap();
        fs::create_dir_all(sysroot.join("lib/rustlib/host/bin")).unwrap();
        fs::create_dir_all(sysroot.join("lib/system")).unwrap();
        for file in [
            "libstd-1.rlib",
            "libstd-1.so",
            "libcore-1.rlib",
            "liballoc-1.rmeta",
            "libstd_detect-1.rlib",
            "libtest-1.rlib",
        ] {
            fs::write(libraries.join(file), "").unwrap();
        }
        let facade = folder.path().join("libstd-2.rlib");
        fs::write(&facade, "facade").unwrap();
        let toolchain = Toolchain {
            libraries,
            sysroot,
            ..Toolchain::default()
        };
        let made = ensure(folder.path(), &toolchain, std::slice::from_ref(&facade)).unwrap();
        let names = |path: &str| {
            let entries = fs::read_dir(made.join(path)).unwrap();
            let mut names: Vec<_> = entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(
            names("lib/rustlib/host/lib"),
            ["libstd-2.rlib", "libstd_detect-1.rlib", "libtest-1.rlib"]
        );
        assert_eq!(names("lib/rustlib/host"), ["bin", "lib"]);
        assert_eq!(names("lib"), ["rustlib"]);
        assert_eq!(
            fs::read_to_string(made.join("lib/rustlib/host/lib/libstd-2.rlib")).unwrap(),
            "facade"
        );
        // It is made once.
        assert_eq!(ensure(folder.path(), &toolchain, &[]).unwrap(), made);
        let other = Toolchain {
            libraries: toolchain.sysroot.join("lib/rustlib/host"),
            ..toolchain
        };
        assert_ne!(ensure(folder.path(), &other, &[facade]).unwrap(), made);
    }
}
