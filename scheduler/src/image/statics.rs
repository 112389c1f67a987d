//! The statics of the explored program: which bytes of the executable they are, and how they are restored.
//!
//! The program's statics are all writable bytes of the executable except those that its symbol table gives to the real
//! standard library or to the checker, and except the link sections `.dpor…`, where the checker puts what must survive.
//! Bytes without a symbol belong to the program: an allocation behind a static has no name. Where a name leaves a doubt
//! the bytes count as the program's too; to restore a static that the program does not own costs time only, as long as
//! nothing but an exploration changes it.

use super::executable::Executable;
use super::imports;
use super::part::{self, Extent, Memory, Owner, Part, Visitor};
use object::elf;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{NativeEndian, Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::OnceLock;

/// Crates whose statics are not the explored program's: the real standard library with everything in it, and the
/// checker.
///
/// `backtrace` is not among them. What the checker uses of it has no statics. A program that depends on it has a copy
/// of its own, whose lock and cache of symbols must be restored like its other statics.
pub(crate) const FOREIGN_CRATES: &[&str] = &[
    "std",
    "core",
    "alloc",
    "test",
    "getopts",
    "panic_unwind",
    "panic_abort",
    "unwind",
    "std_detect",
    "compiler_builtins",
    "rustc_std_workspace_core",
    "rustc_std_workspace_alloc",
    "addr2line",
    "gimli",
    "miniz_oxide",
    "rustc_demangle",
    "dpor_explorer",
    "dpor_scheduler",
    "dpor_protocol",
    "shim_std",
    "corosensei",
    "xxhash_rust",
];

/// Why the statics of this executable are unknown.
#[derive(Debug)]
pub(crate) enum StaticsError {
    /// The executable cannot be read.
    Unreadable(io::Error),
    /// It is no ELF file, or a damaged one.
    Malformed(object::Error),
    /// It has no symbol table.
    Stripped,
    /// The C library is linked into it, so its heap would be part of the program's statics.
    StaticallyLinked,
}

impl fmt::Display for StaticsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot tell the program's statics: ")?;
        match self {
            StaticsError::Unreadable(cause) => write!(f, "the test binary cannot be read: {cause}"),
            StaticsError::Malformed(cause) => write!(f, "the test binary is malformed: {cause}"),
            StaticsError::Stripped => f.write_str("the test binary has no symbols (is `strip` set in its profile?)"),
            StaticsError::StaticallyLinked => {
                f.write_str("the C library is linked statically (is `crt-static` set, or the target musl?)")
            }
        }
    }
}

impl std::error::Error for StaticsError {}

/// The places of the explored program's statics: ascending, disjoint, never adjacent ranges.
pub(crate) struct Statics {
    ranges: Vec<Range<usize>>,
    /// A function of a library that the executable imports and that may keep state out of sight.
    hidden: Option<String>,
    panic_counts: Option<PanicCounts>,
}

/// Where std counts panics, to tell quickly that no thread panics: for the process and for each thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PanicCounts {
    /// The address of the process's count.
    pub global: usize,
    /// The offset of a thread's count in its block of thread-locals.
    pub local: usize,
}

impl Statics {
    /// The statics of the running executable, determined once per process.
    ///
    /// # Errors
    ///
    /// See [`StaticsError`].
    pub(crate) fn of_executable() -> Result<&'static Statics, &'static StaticsError> {
        #[unsafe(link_section = ".dpor.data")]
        static FOUND: OnceLock<Result<Statics, StaticsError>> = OnceLock::new();
        FOUND.get_or_init(find).as_ref()
    }

    /// A function of a library that the executable imports and that may keep state out of sight, if there is one.
    pub(crate) fn hidden(&self) -> Option<&str> {
        self.hidden.as_deref()
    }

    /// Where std counts panics, if the symbols tell.
    pub(crate) fn panic_counts(&self) -> Option<PanicCounts> {
        self.panic_counts
    }

    /// The ranges of addresses.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.ranges.iter().cloned()
    }

    /// Whether one of the ranges contains the address.
    pub(crate) fn contains(&self, address: usize) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= address);
        after > 0 && self.ranges[after - 1].contains(&address)
    }

    /// Total number of bytes.
    pub(crate) fn size(&self) -> usize {
        self.ranges.iter().map(|range| range.len()).sum()
    }
}

/// The program's statics as a part of the state.
pub(crate) struct ProgramStatics {
    statics: &'static Statics,
    /// What an execution begins with.
    initial: Box<[u8]>,
}

impl ProgramStatics {
    /// The statics, whose present contents are those that an execution begins with.
    ///
    /// # Safety
    ///
    /// Nobody writes the statics meanwhile.
    pub(crate) unsafe fn capture(statics: &'static Statics) -> ProgramStatics {
        let mut initial = Vec::with_capacity(statics.size());
        // SAFETY: the ranges lie in writable sections of the running executable.
        statics
            .ranges()
            .for_each(|range| unsafe { part::copy(&mut initial, range) });
        ProgramStatics {
            statics,
            initial: initial.into_boxed_slice(),
        }
    }
}

impl Part for ProgramStatics {
    type Saved = ();

    unsafe fn reset(&mut self) {
        let mut initial = &*self.initial;
        for range in self.statics.ranges() {
            // SAFETY: the caller's promise; the ranges lie in writable sections.
            unsafe { part::copy_back(&mut initial, range) };
        }
    }

    fn visit(&self, _: Extent, visitor: &mut impl Visitor) {
        for range in self.statics.ranges() {
            // SAFETY: the range is mapped, and only this OS thread writes there.
            unsafe { visitor.memory(Owner::Program, Memory::Statics, range) };
        }
    }

    fn size(&self) -> usize {
        self.initial.len()
    }

    unsafe fn save(&self, (): &mut (), bytes: &mut Vec<u8>) {
        // SAFETY: the caller's promise.
        self.statics
            .ranges()
            .for_each(|range| unsafe { part::copy(bytes, range) });
    }

    unsafe fn load(&mut self, (): &(), bytes: &mut &[u8]) {
        for range in self.statics.ranges() {
            // SAFETY: as in `reset`.
            unsafe { part::copy_back(bytes, range) };
        }
    }
}

/// A file mapped into memory.
pub(crate) struct Mapped {
    start: *mut libc::c_void,
    size: usize,
}

impl Mapped {
    /// Maps the whole file for reading.
    pub(crate) fn open(path: &str) -> io::Result<Mapped> {
        let file = File::open(path)?;
        let size = file.metadata()?.len() as usize;
        // SAFETY: a new private mapping.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size,
                libc::PROT_READ,
                libc::MAP_PRIVATE,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Mapped { start, size })
        }
    }

    /// The contents of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped as long as `self` lives. The kernel refuses to write to an executable that runs.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.size) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { libc::munmap(self.start, self.size) };
    }
}

fn find() -> Result<Statics, StaticsError> {
    let file = Mapped::open("/proc/self/exe").map_err(StaticsError::Unreadable)?;
    let bias = Executable::running().bias;
    let ranges = program_ranges(file.bytes())?;
    let parsed = ElfFile64::<NativeEndian>::parse(file.bytes()).map_err(StaticsError::Malformed)?;
    Ok(Statics {
        hidden: imports::with_state(&parsed),
        panic_counts: panic_counts(&parsed).map(|counts| PanicCounts {
            global: counts.global + bias,
            ..counts
        }),
        ranges: ranges
            .into_iter()
            .map(|range| range.start + bias..range.end + bias)
            .collect(),
    })
}

/// Where std counts panics, as addresses in the file. The names are those of rustc's both schemes.
fn panic_counts(file: &ElfFile64<'_, NativeEndian>) -> Option<PanicCounts> {
    let (mut global, mut local) = (None, None);
    for symbol in file.symbols() {
        let of = match symbol.kind() {
            SymbolKind::Data => &mut global,
            SymbolKind::Tls => &mut local,
            _ => continue,
        };
        let Ok(name) = symbol.name() else { continue };
        if crate_of(name.as_bytes()) == Some("std") && name.contains("11panic_count") && name.contains("PANIC_COUNT") {
            *of = Some(symbol.address() as usize);
        }
        if let (Some(global), Some(local)) = (global, local) {
            return Some(PanicCounts { global, local });
        }
    }
    None
}

/// The ranges of the program's statics, as addresses in the file.
fn program_ranges(bytes: &[u8]) -> Result<Vec<Range<usize>>, StaticsError> {
    let file = ElfFile64::<NativeEndian>::parse(bytes).map_err(StaticsError::Malformed)?;
    let segment = |kind| {
        file.elf_program_headers()
            .iter()
            .find(move |header| header.p_type(NativeEndian) == kind)
    };
    if segment(elf::PT_INTERP).is_none() {
        return Err(StaticsError::StaticallyLinked);
    }
    let relocated = segment(elf::PT_GNU_RELRO).map_or(0..0, |header| {
        let start = header.p_vaddr(NativeEndian) as usize;
        start..start + header.p_memsz(NativeEndian) as usize
    });

    let mut sections = Vec::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags: flags, .. } = section.flags() else {
            continue;
        };
        let (address, size) = (section.address() as usize, section.size() as usize);
        let writable = flags.contains(elf::SHF_ALLOC | elf::SHF_WRITE) && !flags.contains(elf::SHF_TLS);
        let name = section.name_bytes().map_err(StaticsError::Malformed)?;
        // The linker's own tables are not for the program to write.
        let linkers = name.starts_with(b".got") || name.starts_with(b".dynamic") || name.ends_with(b"_array");
        if writable && !linkers && !relocated.contains(&address) && !name.starts_with(b".dpor") {
            sections.push(address..address + size);
        }
    }

    let mut symbols = file.symbols().peekable();
    if symbols.peek().is_none() {
        return Err(StaticsError::Stripped);
    }
    let mut foreign = Vec::new();
    for symbol in symbols {
        let (address, size) = (symbol.address() as usize, symbol.size() as usize);
        if size == 0 || !sections.iter().any(|section| section.contains(&address)) {
            continue;
        }
        let name = symbol.name_bytes().map_err(StaticsError::Malformed)?;
        // A version in the name means a shared library's variable that the linker has copied here.
        if name.contains(&b'@') || crate_of(name).is_some_and(|name| FOREIGN_CRATES.contains(&name)) {
            foreign.push(address..address + size);
        }
    }
    Ok(subtract(sections, foreign))
}

/// `ranges` without `holes`, with adjacent ranges joined.
fn subtract(mut ranges: Vec<Range<usize>>, mut holes: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    holes.sort_by_key(|hole| hole.start);
    let mut left: Vec<Range<usize>> = Vec::new();
    let mut add = |piece: Range<usize>| match left.last_mut() {
        _ if piece.is_empty() => {}
        Some(last) if last.end == piece.start => last.end = piece.end,
        _ => left.push(piece),
    };
    for range in ranges {
        let mut start = range.start;
        for hole in &holes {
            if hole.end > start && hole.start < range.end {
                add(start..hole.start.max(start));
                start = start.max(hole.end);
            }
        }
        add(start.min(range.end)..range.end);
    }
    left
}

/// The crate that defines the item with this mangled name, if the name is unambiguous.
///
/// Reads both of rustc's schemes ("Rust Symbol Mangling", RFC 2603, and the older one).
fn crate_of(symbol: &[u8]) -> Option<&str> {
    let symbol = std::str::from_utf8(symbol).ok()?;
    if let Some(path) = symbol.strip_prefix("_R") {
        crate_of_path(path)
    } else {
        // A path that starts with a type or an implementation starts with `$` or `_$` and names the wrong crate.
        identifier(symbol.strip_prefix("_ZN")?).filter(|name| !name.contains('$'))
    }
}

/// The crate root of a path of RFC 2603.
fn crate_of_path(path: &str) -> Option<&str> {
    let (kind, rest) = (path.chars().next()?, path.get(1..)?);
    match kind {
        'C' => identifier(after_disambiguator(rest)),
        'N' => crate_of_path(rest.get(1..)?),
        'I' => crate_of_path(rest),
        'M' | 'X' => crate_of_path(after_disambiguator(rest)),
        _ => None,
    }
}

/// The text after an optional disambiguator: `s`, digits of base 62, `_`.
fn after_disambiguator(text: &str) -> &str {
    match text.strip_prefix('s').and_then(|rest| rest.split_once('_')) {
        Some((_, rest)) => rest,
        None => text,
    }
}

/// The identifier at the start of `text`: its length, then `_` if it begins with a digit or `_`.
fn identifier(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (length, rest) = text.split_at_checked(digits)?;
    rest.get(..length.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    // Without a mangled name, as the names of this crate are taken for the checker's.
    #[unsafe(no_mangle)]
    static DPOR_TEST_DATA: AtomicU64 = AtomicU64::new(5);
    #[unsafe(no_mangle)]
    static DPOR_TEST_BSS: AtomicU64 = AtomicU64::new(0);
    #[unsafe(no_mangle)]
    #[unsafe(link_section = ".dpor.data")]
    static DPOR_TEST_KEPT: AtomicU64 = AtomicU64::new(1);
    static CHECKERS: AtomicU64 = AtomicU64::new(1);

    #[test]
    fn statics_of_the_program_are_restored() {
        let statics = Statics::of_executable().unwrap();
        let contains = |item: &AtomicU64| statics.ranges().any(|range| range.contains(&(item.as_ptr() as usize)));
        assert!(contains(&DPOR_TEST_DATA) && contains(&DPOR_TEST_BSS));
        assert!(!contains(&DPOR_TEST_KEPT));
        assert!(statics.ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        let all = [&DPOR_TEST_DATA, &DPOR_TEST_BSS, &DPOR_TEST_KEPT];
        // SAFETY: only this test writes the statics of the program.
        let mut image = unsafe { ProgramStatics::capture(statics) };
        for item in all {
            item.fetch_add(10, Relaxed);
        }
        // SAFETY: as above.
        unsafe { image.reset() };
        assert_eq!(all.map(|item| item.load(Relaxed)), [5, 0, 11]);
        CHECKERS.store(2, Relaxed);
        assert_eq!(contains(&CHECKERS), !FOREIGN_CRATES.contains(&env!("CARGO_CRATE_NAME")));
    }

    #[test]
    fn crates_are_read_from_both_manglings() {
        for (symbol, expected) in [
            ("_ZN3std2io5stdio6STDOUT17h0123456789abcdefE", Some("std")),
            ("_ZN4test7RUNNING17h0123456789abcdefE.llvm.123", Some("test")),
            (
                "_ZN54_$LT$std..fs..File$u20$as$u20$my..Trait$GT$4func1S17h0123456789abcdefE",
                None,
            ),
            ("_RNvNtNtCsabc123_3std2io5stdio6STDOUT", Some("std")),
            ("_RNvC7mycrate6STATIC", Some("mycrate")),
            ("_RNvNvMs_NtCs1_5alloc3vecINtB4_3VecpE4func1S", Some("alloc")),
            ("_RNvNvXs0_C4userNtNtCs1_3std2fs4FileNtB4_5Trait4func1S", Some("user")),
            ("_RNvYNtC4user1TNtC5other5Trait1S", None),
            ("_ZN99999x", None),
            ("_RN", None),
            ("environ", None),
        ] {
            assert_eq!(crate_of(symbol.as_bytes()), expected, "{symbol}");
        }
    }

    #[test]
    fn ranges_are_subtracted_and_joined() {
        let left = subtract(vec![40..50, 0..20, 20..30], vec![5..10, 8..12, 25..45, 48..60]);
        assert_eq!(left, [0..5, 12..25, 45..48]);
        assert_eq!(subtract(vec![0..10, 10..20], vec![]), [Range { start: 0, end: 20 }]);
    }

    /// They would count as the program's.
    #[test]
    fn the_checkers_copy_of_backtrace_has_no_statics() {
        let file = Mapped::open("/proc/self/exe").unwrap();
        let file = ElfFile64::<NativeEndian>::parse(file.bytes()).unwrap();
        let of_backtrace = |kinds: &[SymbolKind]| {
            let symbols = file.symbols().filter(|symbol| kinds.contains(&symbol.kind()));
            let mut names = symbols.filter_map(|symbol| symbol.name().ok());
            names.find(|name| crate_of(name.as_bytes()) == Some("backtrace"))
        };
        assert!(of_backtrace(&[SymbolKind::Text]).is_some());
        assert_eq!(of_backtrace(&[SymbolKind::Data, SymbolKind::Tls]), None);
    }

    #[test]
    fn a_file_that_is_none_of_ours_is_an_error() {
        assert!(matches!(program_ranges(b"#!/bin/sh"), Err(StaticsError::Malformed(_))));
    }
}
