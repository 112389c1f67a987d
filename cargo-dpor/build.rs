//! Packs the sources of everything that runs inside a test process into the binary, so that an installed `cargo dpor`
//! needs nothing else of this repository.
//!
//! They come from the folder `sources`. In the repository it has links to them, and in the package the files. Manifests
//! have other names there, since `cargo package` leaves out whatever folder has a `Cargo.toml`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The packages of the facade build.
const MEMBERS: [&str; 8] = [
    "explorer",
    "scheduler",
    "shim-std",
    "shim-std/macros",
    "shim-std/facades/std",
    "shim-std/facades/core",
    "shim-std/facades/alloc",
    "cargo-dpor/protocol",
];

/// The folder of the packages that replace a crate of the sysroot, each with its name.
const FACADES: &str = "shim-std/facades/";

/// The folder of the stand-ins for libraries.
const STAND_INS: &str = "shim-std/stand-ins";

/// Sections of a manifest that need files or packages that are not packed.
const DROPPED: [&str; 4] = ["[dev-dependencies", "[[bench]]", "[[test]]", "[[example]]"];

fn main() {
    // The protocol is a module of this package. Here, and not in test processes, its reports can be shown as JSON.
    println!("cargo::rustc-cfg=dpor_json");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by Cargo")).join("sources");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by Cargo"));
    assert!(
        root.join("explorer/src").is_dir(),
        "{} has files with paths in them where the repository has symbolic links: \
         run `git config core.symlinks true`, delete the folder, and check it out again",
        root.display()
    );
    let mut pack = Pack {
        out: out.clone(),
        table: String::from("&[\n"),
    };

    pack.text("Cargo.toml", &workspace_manifest(&read(&root.join("workspace.toml"))));
    pack.text("Cargo.lock", &read(&root.join("workspace.lock")));
    for member in MEMBERS {
        let folder = root.join(member);
        let mut manifest = package_manifest(&read(&folder.join("package.toml")));
        if let Some(name) = member.strip_prefix(FACADES) {
            // What they are called where they are used. In the repository, a crate called `std` would confuse tools.
            write!(manifest, "\n[lib]\nname = {name:?}\n").expect("a String takes anything");
        }
        pack.text(&format!("{member}/Cargo.toml"), &manifest);
        pack.folder(&format!("{member}/src"), &folder.join("src"));
    }
    // Cargo does not build these: they are compiled as modules of the libraries.
    pack.folder(STAND_INS, &root.join(STAND_INS));
    pack.table.push_str("]\n");
    write(&out.join("sources.rs"), &pack.table);
}

struct Pack {
    out: PathBuf,
    table: String,
}

impl Pack {
    fn file(&mut self, name: &str, path: &Path) {
        println!("cargo::rerun-if-changed={}", path.display());
        writeln!(self.table, "    ({name:?}, include_str!({path:?})),").expect("a String takes anything");
    }

    fn text(&mut self, name: &str, content: &str) {
        let path = self.out.join(name.replace('/', "+"));
        write(&path, content);
        writeln!(self.table, "    ({name:?}, include_str!({path:?})),").expect("a String takes anything");
    }

    fn folder(&mut self, name: &str, path: &Path) {
        println!("cargo::rerun-if-changed={}", path.display());
        let entries = fs::read_dir(path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()));
        let mut entries: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
        entries.sort();
        for entry in entries {
            let file_name = entry
                .file_name()
                .expect("an entry has a name")
                .to_string_lossy()
                .into_owned();
            let name = format!("{name}/{file_name}");
            if entry.is_dir() {
                self.folder(&name, &entry);
            } else if [".rs", ".yaml", ".toml"].iter().any(|end| file_name.ends_with(end)) {
                self.file(&name, &entry);
            }
        }
    }
}

/// The workspace's manifest with only [`MEMBERS`].
fn workspace_manifest(text: &str) -> String {
    let rest = text
        .find("[workspace.package]")
        .expect("the workspace's manifest has a [workspace.package]");
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = {MEMBERS:?}\n\n{}",
        &text[rest..]
    )
}

fn package_manifest(text: &str) -> String {
    let mut kept = true;
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with('[') {
            kept = !DROPPED.iter().any(|section| line.starts_with(section));
        }
        if kept {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

fn read(path: &Path) -> String {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read_to_string(path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()))
}

fn write(path: &Path, content: &str) {
    fs::write(path, content).unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
}
