//! The functions of an executable, by its symbol table, and whether they call hooks.

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SymbolKind};
use rustc_demangle::Demangle;
use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::ops::Range;

/// The beginning of the names of hooks.
const HOOKS: &str = "__tsan_";

/// Symbols that linkers put at the end of code.
const ENDS: &[&str] = &["etext", "_etext", "__etext"];

/// The functions of an executable.
pub struct Code<'a> {
    /// All but the hooks, in the order of their addresses; one at each address.
    pub functions: Vec<Function<'a>>,
    /// The names of source files and of rustc's objects.
    pub files: Vec<&'a str>,
    sections: Vec<(Range<u64>, &'a [u8])>,
    hooks: HashSet<u64>,
}

pub struct Function<'a> {
    pub address: u64,
    size: u64,
    /// The name in the symbol table.
    pub name: &'a str,
    rust: Option<Demangle<'a>>,
    crate_name: Option<String>,
}

impl<'a> Code<'a> {
    pub fn read(file: &ElfFile64<'a, LittleEndian>) -> object::Result<Code<'a>> {
        let mut sections = Vec::new();
        for section in file.sections() {
            // Those of the linker, such as `.plt` and `.init`, have no functions of anybody's.
            if section.name_bytes()?.starts_with(b".text") {
                let (start, data) = (section.address(), section.data()?);
                sections.push((start..start + data.len() as u64, data));
            }
        }
        let mut code = Code {
            functions: Vec::new(),
            files: Vec::new(),
            sections,
            hooks: HashSet::new(),
        };
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            let is_function = match symbol.kind() {
                SymbolKind::File => {
                    code.files.push(name);
                    false
                }
                SymbolKind::Text => true,
                // Assembly need not say what a symbol is.
                SymbolKind::Unknown => symbol.is_global(),
                _ => false,
            };
            let address = symbol.address();
            if is_function && !ENDS.contains(&name) && code.bytes_from(address).is_some() {
                if name.starts_with(HOOKS) {
                    code.hooks.insert(address);
                }
                let size = symbol.size();
                let rust = rustc_demangle::try_demangle(name).ok();
                let crate_name = rust.as_ref().and_then(crate_of);
                code.functions.push(Function {
                    address,
                    size,
                    name,
                    rust,
                    crate_name,
                });
            }
        }
        // What is one of Rust's, and what has a size, tells more.
        code.functions
            .sort_by_key(|own| (own.address, own.rust.is_none(), own.size == 0));
        code.functions.dedup_by_key(|function| function.address);
        let mut end = 0;
        code.functions.retain(|function| {
            let inside = function.size == 0 && function.address < end;
            end = end.max(function.address + function.size);
            !inside
        });
        let starts: Vec<_> = code.functions.iter().map(|function| function.address).collect();
        for (function, next) in code
            .functions
            .iter_mut()
            .zip(starts.into_iter().skip(1).chain([u64::MAX]))
        {
            if function.size == 0 {
                function.size = next - function.address;
            }
        }
        // Hooks are assembly themselves.
        let hooks = &code.hooks;
        code.functions.retain(|function| !hooks.contains(&function.address));
        Ok(code)
    }

    /// The bytes of the code from an address on.
    fn bytes_from(&self, address: u64) -> Option<&'a [u8]> {
        let (range, bytes) = self.sections.iter().find(|(range, _)| range.contains(&address))?;
        bytes.get(usize::try_from(address - range.start).ok()?..)
    }

    /// Whether a function calls or jumps to a hook: `call` and `jmp` have the distance in four bytes.
    pub fn calls_hook(&self, function: &Function<'_>) -> bool {
        let bytes = self.bytes_from(function.address).unwrap_or_default();
        let bytes = &bytes[..bytes.len().min(function.size as usize)];
        let mut calls = bytes.windows(5).zip(function.address + 5..);
        calls.any(|(call, next)| match *call {
            [0xe8 | 0xe9, a, b, c, d] => {
                let distance = i64::from(i32::from_le_bytes([a, b, c, d]));
                self.hooks.contains(&next.wrapping_add_signed(distance))
            }
            _ => false,
        })
    }
}

impl Function<'_> {
    /// Whether the name is one of Rust's.
    pub fn is_rust(&self) -> bool {
        self.rust.is_some()
    }

    /// The path, or else the name.
    pub fn readable(&self) -> String {
        self.rust
            .as_ref()
            .map_or_else(|| self.name.to_owned(), |path| format!("{path:#}"))
    }

    /// The crate of a function that is in no implementation.
    pub fn crate_name(&self) -> Option<&str> {
        self.crate_name.as_deref()
    }
}

/// The crate at the start of a path. Only this part of the path is made, since most executables have many functions.
fn crate_of(path: &Demangle<'_>) -> Option<String> {
    struct Start(String);

    impl fmt::Write for Start {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.push_str(text);
            match self.0.contains("::") {
                true => Err(fmt::Error),
                false => Ok(()),
            }
        }
    }

    let mut start = Start(String::new());
    // It ends with an error where the path goes on.
    let _ = write!(start, "{path:#}");
    let (name, _) = start.0.split_once("::")?;
    // Implementations and what rustc adds itself are in no crate that is known.
    (!name.starts_with(['<', '_', '{'])).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_in_mangled_names() {
        for (name, expected) in [
            ("_RNvCs3piwFmviNsD_4made11unsanitized", Some("made")),
            ("_ZN4made4deep3add17h0123456789abcdefE", Some("made")),
            (
                "_ZN49_$LT$made..A$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
                None,
            ),
            ("_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc", None),
        ] {
            let path = rustc_demangle::try_demangle(name).unwrap();
            assert_eq!(crate_of(&path).as_deref(), expected, "{name}");
        }
        for name in ["main", "_Z3addPi", "_ZN4made3addEPi"] {
            assert!(rustc_demangle::try_demangle(name).is_err(), "{name}");
        }
    }
}
