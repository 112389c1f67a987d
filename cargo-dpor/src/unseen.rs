//! The code of a test binary whose accesses to memory nobody sees: it was not compiled with hooks.
//!
//! Cargo compiles the user's crates with hooks, and nothing else: no C library that a build script compiles, no
//! assembly, no archive that was made elsewhere. [`Unseen::read`] finds such code in the executable, and names no
//! function that has hooks or could have them. std and the facades are left out: they are in each binary, and the book
//! tells what is seen of them.

mod code;
mod units;

use crate::report::story::names::plural;
use cargo_metadata::Artifact;
use code::{Code, Function};
use gimli::{BaseAddresses, CieOrFde, EhFrame, UnwindSection};
use memmap2::Mmap;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;
use units::{Unit, Units};

/// Code of a test binary that was not compiled with hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unseen {
    /// Source files in other languages, those with the most functions first.
    pub sources: Vec<Source>,
    /// Crates that Cargo has not compiled in this build.
    pub crates: Vec<Source>,
    /// Functions without debug information, and functions made of assembly.
    pub functions: Vec<String>,
    /// Functions without debug information that may have been compiled with hooks: there are such without debug
    /// information in the binary.
    pub unknown: Vec<String>,
    /// Libraries that are loaded when the process starts.
    pub libraries: Vec<String>,
}

/// The functions of a source file or a crate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The path of the file in the debug information, or the name of the crate.
    pub name: String,
    /// The functions in the symbol table: paths of Rust, and names of other languages as they are there.
    pub functions: Vec<String>,
}

/// What Cargo has compiled for a test binary, and what comes with the toolchain and the facades.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// The crates with hooks.
    pub crates: HashSet<String>,
    /// The crates of the toolchain and of the facades.
    pub own: HashSet<String>,
    /// The file names of shared libraries that are made of crates with hooks.
    pub libraries: HashSet<String>,
}

/// Functions that are in each executable: rustc's own, those of the C runtime, and those of the facades that are made
/// of assembly.
const ALWAYS: &[&str] = &[
    "main",
    "_start",
    "_dl_relocate_static_pie",
    "deregister_tm_clones",
    "register_tm_clones",
    "__do_global_dtors_aux",
    "frame_dummy",
    "atexit",
    "at_quick_exit",
    "pthread_atfork",
    "__pthread_atfork",
    "__libc_csu_init",
    "__libc_csu_fini",
    "__stack_chk_fail_local",
    "stat",
    "fstat",
    "lstat",
    "stat64",
    "fstat64",
    "lstat64",
    "fstatat",
    "fstatat64",
    "mknod",
    "mknodat",
    "stack_call_trampoline",
    "stack_init_trampoline",
];

/// Libraries that are part of the system: std needs them, and the book tells what is seen of them.
const SYSTEM: &[&str] = &[
    "libc",
    "libm",
    "libgcc_s",
    "libpthread",
    "libdl",
    "librt",
    "libutil",
    "ld-linux-x86-64",
];

/// Number of items that a line names.
const NAMED: usize = 6;

impl Compiled {
    /// Adds what Cargo has compiled.
    pub fn add(&mut self, artifact: &Artifact) {
        self.crates.insert(artifact.target.name.replace('-', "_"));
        let names = artifact.filenames.iter().filter_map(|path| path.file_name());
        self.libraries
            .extend(names.filter(|name| name.ends_with(".so")).map(str::to_owned));
    }
}

impl Unseen {
    /// Finds such code in an executable.
    ///
    /// # Errors
    /// If the executable cannot be read, or is none.
    pub fn read(path: &Path, compiled: &Compiled) -> io::Result<Unseen> {
        let file = File::open(path)?;
        // SAFETY: Cargo has finished writing the executable, and replaces it by another file when it builds again.
        let bytes = unsafe { Mmap::map(&file)? };
        Unseen::of(&bytes, compiled).map_err(io::Error::other)
    }

    fn of(bytes: &[u8], compiled: &Compiled) -> object::Result<Unseen> {
        let file = ElfFile64::<LittleEndian>::parse(bytes)?;
        let code = Code::read(&file)?;
        let units = Units::read(&file);
        let crates = elsewhere(&code, &units, compiled);
        let mut unseen = Unseen {
            libraries: libraries(&file, compiled)?,
            ..Unseen::default()
        };
        let mut sources: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut functions_of: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut bare = Vec::new();
        let mut all_have_units = all_have_units(&code, &units, compiled);
        for function in &code.functions {
            let unit = units.at(function.address);
            let of_crate = unit.and_then(|(index, _)| crates.get(&Of::Unit(index)));
            let of_crate = of_crate.or_else(|| crates.get(&Of::Crate(function.crate_name()?)));
            match (of_crate, unit) {
                (Some(name), _) => functions_of.entry(name).or_default().push(function.readable()),
                (None, Some((_, Unit::Rust { .. }))) => {}
                (None, Some((_, Unit::Other { file }))) => {
                    if !ALWAYS.contains(&function.name) && !code.calls_hook(function) {
                        sources.entry(file).or_default().push(function.name.to_owned());
                    }
                }
                (None, None) if code.calls_hook(function) => all_have_units = false,
                (None, None) => bare.extend(Bare::of(function, compiled)),
            }
        }
        let frames = if bare.is_empty() { None } else { frames(&file) };
        // Compilers say of each function how to unwind it, and assemblers do not.
        let compiled_by_any = |bare: &Bare| frames.as_ref().is_none_or(|frames| frames.contains(&bare.address));
        let (others, assembly): (Vec<_>, Vec<_>) = bare.into_iter().partition(compiled_by_any);
        all_have_units &= !others.iter().any(|function| function.is_rust);
        unseen.functions = assembly.into_iter().map(|own| own.name).collect();
        let others = others.into_iter().filter(|own| !own.is_rust);
        let others: Vec<_> = others.map(|own| own.name).collect();
        match all_have_units {
            true => unseen.functions.extend(others),
            false => unseen.unknown = others,
        }
        unseen.sources = by_size(sources);
        unseen.crates = by_size(functions_of);
        Ok(unseen)
    }

    /// Whether there is no such code.
    pub fn is_empty(&self) -> bool {
        *self == Unseen::default()
    }

    /// What is not seen, in a line: a few items of each kind, or all of them.
    pub fn told(&self, all: bool) -> String {
        let most = if all { usize::MAX } else { NAMED };
        let of_file = |source: &Source| {
            let name = source.name.rsplit('/').next().unwrap_or_default();
            format!("{} of {name}", plural(source.functions.len(), "function"))
        };
        let of_crate = |source: &Source| {
            let (number, name) = (plural(source.functions.len(), "function"), &source.name);
            format!("{number} of the crate {name}, which Cargo has not compiled here")
        };
        let mut items = Vec::new();
        items.extend(named(self.sources.iter().map(of_file).collect(), most, "source file"));
        items.extend(named(self.crates.iter().map(of_crate).collect(), most, "crate"));
        items.extend(named(self.functions.clone(), most, "function"));
        items.extend(named(self.libraries.clone(), most, "library"));
        let mut parts = Vec::new();
        if !items.is_empty() {
            let items = items.join(", ");
            parts.push(format!(
                "accesses of code that was not compiled for this are not seen: {items}"
            ));
        }
        if !self.unknown.is_empty() {
            let names = named(self.unknown.clone(), most, "function").join(", ");
            parts.push(format!(
                "without debug information, nobody can tell whether accesses are seen of {names}"
            ));
        }
        parts.join("; ")
    }
}

/// Whether all crates with hooks have debug information, as far as the names of their objects tell.
fn all_have_units(code: &Code<'_>, units: &Units, compiled: &Compiled) -> bool {
    let (mut named, mut unnamed) = (0, 0);
    for object in code.files.iter().filter(|file| !units.objects.contains(**file)) {
        let mut bytes = object.bytes();
        match units::crate_of(object) {
            Some(name) => named += usize::from(compiled.crates.contains(&name) && !compiled.own.contains(&name)),
            None => unnamed += usize::from(bytes.all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())),
        }
    }
    // rustc makes one with the functions by which memory is allocated.
    named == 0 && unnamed <= 1
}

/// What is known to be of a crate that Cargo has not compiled.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Of<'a> {
    Unit(usize),
    Crate(&'a str),
}

/// The crates that Cargo has not compiled in this build, by their units and names. Who calls a hook was compiled with
/// hooks, whatever its name.
fn elsewhere<'a>(code: &'a Code<'_>, units: &'a Units, compiled: &Compiled) -> BTreeMap<Of<'a>, &'a str> {
    let unknown = |name: &&str| !compiled.crates.contains(*name) && !compiled.own.contains(*name);
    let mut found = BTreeMap::new();
    for (index, unit) in units.all.iter().enumerate() {
        if let Unit::Rust { name: Some(name) } = unit
            && unknown(&&**name)
        {
            found.insert(Of::Unit(index), &**name);
        }
    }
    for function in &code.functions {
        let Some(name) = function.crate_name().filter(unknown) else {
            continue;
        };
        found.insert(Of::Crate(name), name);
        // Cargo names units in another way while it compiles incrementally.
        if let Some((index, Unit::Rust { name: None })) = units.at(function.address) {
            found.insert(Of::Unit(index), name);
        }
    }
    if found.is_empty() {
        return found;
    }
    let mut hooked = BTreeSet::new();
    for function in &code.functions {
        let unit = units
            .at(function.address)
            .and_then(|(index, _)| found.get(&Of::Unit(index)));
        let own = function.crate_name().and_then(|name| found.get(&Of::Crate(name)));
        if (unit.is_some() || own.is_some()) && code.calls_hook(function) {
            hooked.extend(unit.into_iter().chain(own).copied());
        }
    }
    found.retain(|_, name| !hooked.contains(name));
    found
}

/// A function that no unit is about, and that calls no hook.
struct Bare {
    address: u64,
    name: String,
    is_rust: bool,
}

impl Bare {
    /// `None` if it is always there.
    fn of(function: &Function<'_>, compiled: &Compiled) -> Option<Bare> {
        let name = function.readable();
        let is_rust = function.is_rust();
        let is_users = if is_rust {
            // Of `<made::Type>::method`, that of the type.
            let own = name.trim_start_matches('<').split("::").next().unwrap_or_default();
            compiled.crates.contains(own) && !compiled.own.contains(own)
        } else {
            !ALWAYS.contains(&function.name)
        };
        is_users.then_some(Bare {
            address: function.address,
            name,
            is_rust,
        })
    }
}

/// The addresses of functions of which is said how to unwind them; `None` if that cannot be read.
fn frames(file: &ElfFile64<'_, LittleEndian>) -> Option<HashSet<u64>> {
    let section = file.section_by_name(".eh_frame")?;
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let section = EhFrame::new(section.data().ok()?, gimli::LittleEndian);
    let mut entries = section.entries(&bases);
    let mut starts = HashSet::new();
    while let Some(entry) = entries.next().ok()? {
        if let CieOrFde::Fde(entry) = entry {
            let entry = entry.parse(|section, bases, offset| section.cie_from_offset(bases, offset));
            starts.insert(entry.ok()?.initial_address());
        }
    }
    Some(starts)
}

/// The libraries that the executable needs, but for those of the system and those of crates with hooks.
fn libraries(file: &ElfFile64<'_, LittleEndian>, compiled: &Compiled) -> object::Result<Vec<String>> {
    let mut needed = Vec::new();
    for library in file.import_libraries()? {
        let name = String::from_utf8_lossy(library?.name()).into_owned();
        let stem = name.split(".so").next().unwrap_or_default();
        if !SYSTEM.contains(&stem) && !compiled.libraries.contains(&name) {
            needed.push(name);
        }
    }
    Ok(needed)
}

/// Those with the most functions first.
fn by_size(functions: BTreeMap<&str, Vec<String>>) -> Vec<Source> {
    let source = |(name, functions): (&str, Vec<String>)| Source {
        name: name.to_owned(),
        functions,
    };
    let mut sources: Vec<_> = functions.into_iter().map(source).collect();
    sources.sort_by_key(|source| usize::MAX - source.functions.len());
    sources
}

/// The first of these names, and how many there are of the rest.
fn named(mut names: Vec<String>, most: usize, what: &str) -> Vec<String> {
    let more = names.len().saturating_sub(most);
    // One more name is no longer than that there is one more.
    if more > 1 {
        names.truncate(most);
        names.push(format!(
            "{more} more {}",
            if what == "library" {
                "libraries".to_owned()
            } else {
                format!("{what}s")
            }
        ));
    }
    names
}

#[cfg(test)]
mod tests;
