//! The executable's symbols and debug information for an address.
//!
//! The package `backtrace` finds the same functions and lines, but not the offset of an address in a static, nor the
//! folder in which the code was compiled. It opens the executable by name, which fails once the file has been replaced,
//! and keeps what it has read in a static, which would count as the explored program's.

use super::Source;
use crate::image::executable::Executable;
use crate::image::statics::{FOREIGN_CRATES, Mapped};
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian};
use object::read::elf::{ElfFile64, ElfSymbol};
use object::{NativeEndian, Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::cell::OnceCell;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

type Lines = addr2line::Context<EndianSlice<'static, LittleEndian>>;

/// The symbols of the running executable.
pub(crate) struct Symbols {
    bias: usize,
    code: Vec<Range<usize>>,
    lines: OnceCell<Option<Lines>>,
}

/// A function or static: its addresses in the file, and its name there.
type Item = (Range<usize>, &'static str);

/// The running executable's functions and statics, by their addresses in the file, ascending. They are read once.
fn items() -> &'static [Item] {
    // SAFETY: the section holds what its statics put there, and is writable like `.data`.
    #[unsafe(link_section = ".dpor.data")]
    static ITEMS: OnceLock<Vec<Item>> = OnceLock::new();
    let read = || {
        let file = ElfFile64::<NativeEndian>::parse(executable_bytes()?).ok()?;
        let item = |symbol: ElfSymbol<'static, '_, object::elf::FileHeader64<NativeEndian>>| {
            let (address, size) = (symbol.address() as usize, symbol.size() as usize);
            let wanted = size > 0 && matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data);
            Some((address..address + size, symbol.name().ok()?)).filter(|_| wanted)
        };
        let mut items: Vec<_> = file.symbols().filter_map(item).collect();
        items.sort_by_key(|(range, _)| range.start);
        Some(items)
    };
    ITEMS.get_or_init(|| read().unwrap_or_default())
}

/// The running executable's file, mapped once and kept as long as the process.
fn executable_bytes() -> Option<&'static [u8]> {
    // SAFETY: the section holds what its statics put there, and is writable like `.data`.
    #[unsafe(link_section = ".dpor.data")]
    static BYTES: OnceLock<&'static [u8]> = OnceLock::new();
    if let Some(bytes) = BYTES.get() {
        return Some(bytes);
    }
    let mapped = Mapped::open("/proc/self/exe").ok()?;
    Some(BYTES.get_or_init(|| Box::leak(Box::new(mapped)).bytes()))
}

impl Symbols {
    /// Reads the executable; what cannot be read stays unknown.
    pub(crate) fn of_executable() -> Symbols {
        let executable = Executable::running();
        let segments = executable
            .segments(libc::PT_LOAD)
            .filter(|header| header.p_flags & libc::PF_X != 0);
        let code = segments.map(|header| {
            let start = executable.bias + header.p_vaddr as usize;
            start..start + header.p_memsz as usize
        });
        Symbols {
            bias: executable.bias,
            code: code.collect(),
            lines: OnceCell::new(),
        }
    }

    /// The debug information for lines, if there is some.
    fn lines(&self) -> Option<&Lines> {
        let read = || {
            let file = ElfFile64::<NativeEndian>::parse(executable_bytes()?).ok()?;
            let section = |name: &str| file.section_by_name(name).and_then(|section| section.data().ok());
            let dwarf = Dwarf::load(|id| Ok(EndianSlice::new(section(id.name()).unwrap_or_default(), LittleEndian)));
            let lines = dwarf.and_then(addr2line::Context::from_dwarf);
            lines.map_err(|_: addr2line::gimli::Error| ()).ok()
        };
        self.lines.get_or_init(read).as_ref()
    }

    /// The item at the address, and the offset of the address in it.
    pub(crate) fn item(&self, address: usize) -> Option<(String, usize)> {
        let address = address.checked_sub(self.bias)?;
        let items = items();
        let after = items.partition_point(|(range, _)| range.start <= address);
        let (range, name) = items[..after]
            .iter()
            .rev()
            .find(|(range, _)| range.contains(&address))?;
        Some((demangled(name), address - range.start))
    }

    /// Says whether a call returns to the address.
    pub(super) fn is_return_address(&self, address: usize) -> bool {
        /// The call instructions that compilers use: their lengths, and their first two bytes under a mask.
        const CALLS: &[(usize, [u8; 2], [u8; 2])] = &[
            (5, [0xFF, 0], [0xE8, 0]),
            (2, [0xFF, 0xF8], [0xFF, 0xD0]),
            (2, [0xFF, 0xF8], [0xFF, 0x10]),
            (3, [0xFF, 0xF8], [0xFF, 0x50]),
            (4, [0xFF, 0xFF], [0xFF, 0x54]),
            (6, [0xFF, 0xF8], [0xFF, 0x90]),
            (6, [0xFF, 0xFF], [0xFF, 0x15]),
            (7, [0xFF, 0xFF], [0xFF, 0x94]),
        ];
        let Some(code) = self.code.iter().find(|code| code.contains(&address)) else {
            return false;
        };
        // SAFETY: reads the executable's code, which is mapped for as long as the process lives.
        let byte = |at: usize| unsafe { *(at as *const u8) };
        CALLS.iter().any(|&(len, mask, first)| {
            let matches = |i: usize| byte(address - len + i) & mask[i] == first[i];
            address - code.start >= len && matches(0) && matches(1)
        })
    }

    /// The function that made the call with this return address, preferably one of the explored program, with its
    /// source line.
    pub(super) fn caller(&self, address: usize) -> Option<Caller> {
        let mut frames = self.frames(address);
        let chosen = frames.iter().position(|caller| caller.of_program);
        match chosen {
            Some(chosen) => Some(frames.swap_remove(chosen)),
            None => frames.pop(),
        }
    }

    /// The folder in which the code at the address was compiled, if the compiler was given a file relative to it.
    fn folder(&self, at: usize) -> Option<String> {
        let unit = self.lines()?.find_dwarf_and_unit(at as u64).skip_all_loads()?;
        let text = |slice: &EndianSlice<'static, LittleEndian>| slice.to_string().ok().map(str::to_owned);
        let name = unit.name.as_ref().and_then(text)?;
        let folder = unit.comp_dir.as_ref().and_then(text)?;
        (!name.starts_with('/')).then_some(folder)
    }

    /// The functions that made the call with this return address, innermost first: more than one if they are inlined.
    pub(crate) fn frames(&self, address: usize) -> Vec<Caller> {
        let mut all = Vec::new();
        let Some(at) = address.checked_sub(self.bias).and_then(|at| at.checked_sub(1)) else {
            return all;
        };
        if let Some(lines) = self.lines()
            && let Ok(mut frames) = lines.find_frames(at as u64).skip_all_loads()
        {
            let built_in = self.folder(at);
            while let Ok(Some(frame)) = frames.next() {
                let Some(function) = frame.function.as_ref().and_then(|f| f.raw_name().ok()) else {
                    continue;
                };
                let line = frame
                    .location
                    .and_then(|place| Some((place.file?.to_owned(), place.line?)));
                let mut caller = Caller::new(&function, line);
                if let (Some((file, _)), Some(folder)) = (&mut caller.line, &built_in) {
                    *file = relative(file, folder).to_owned();
                }
                all.push(caller);
            }
        }
        if all.is_empty() {
            all.extend(self.item(self.bias + at).map(|(name, _)| Caller::new(&name, None)));
        }
        all
    }
}

impl Symbols {
    /// The functions of the explored program that made calls with these return addresses, innermost first.
    pub(crate) fn of_program(&self, callers: &[usize]) -> impl Iterator<Item = Caller> {
        let frames = callers.iter().flat_map(|&address| self.frames(address));
        frames.filter(|caller| caller.of_program)
    }

    /// The innermost function of the explored program that made a call with one of these return addresses.
    pub(super) fn innermost_of_program(&self, from: &[usize]) -> Option<String> {
        let mut callers = from.iter().filter_map(|&address| self.caller(address));
        callers
            .find(|caller| caller.of_program)
            .map(|caller| caller.to_string())
    }
}

/// The file as it was given to the compiler.
fn relative<'a>(file: &'a str, folder: &str) -> &'a str {
    let inside = file.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(file)
}

/// A function that makes a call.
pub(crate) struct Caller {
    pub name: String,
    /// The source file and the line.
    pub line: Option<(String, u32)>,
    /// Whether it belongs to the explored program, not to the standard library or the checker.
    pub of_program: bool,
}

impl Caller {
    fn new(function: &str, line: Option<(String, u32)>) -> Caller {
        let name = demangled(function);
        let start = name.trim_start_matches(['<', '&', '(']);
        // Without its generic arguments. What is no path then has no linkage name: only its file tells whose it is.
        let path = start.split('<').next().unwrap_or(start);
        let is_path = path.contains("::") && path.chars().all(|c| c.is_alphanumeric() || "_:{}#".contains(c));
        let of_crate = |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.starts_with("::"));
        let of_program = match is_path {
            // The compiler's own crate has the entries to std, such as the one of panics.
            true => !of_crate("__rustc") && !FOREIGN_CRATES.iter().any(|name| of_crate(name)),
            false => line.as_ref().is_some_and(|(file, _)| !is_foreign_file(file)),
        };
        Caller { name, line, of_program }
    }

    /// The source file and the line.
    pub fn source(&self) -> Option<Source> {
        let (file, line) = self.line.clone()?;
        Some(Source {
            file: file.into(),
            line,
            column: 0,
        })
    }
}

/// Says whether a source file belongs to the standard library, to the checker, or to the coroutines that it runs.
fn is_foreign_file(file: &str) -> bool {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ours = ["scheduler", "explorer", "shim-std"].map(|folder| here.with_file_name(folder));
    file.starts_with("/rustc/")
        || file.contains("/library/")
        || file.contains("/corosensei-")
        || ours.iter().any(|folder| Path::new(file).starts_with(folder))
}

impl std::fmt::Display for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        match &self.line {
            Some((file, line)) => write!(f, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}

fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}
