//! Copies of states for reports: which bytes differ between two, and to whom they belong.

use super::symbols::Symbols;
use crate::image::arena;
use crate::image::part::{Memory, Owner, Visitor};
use crate::image::registers::Registers;
use crate::operation::OperationKind;
use dpor_explorer::ThreadId;
use std::fmt;
use std::ops::Range;

/// Maximum number of bytes of a difference that are kept.
const SHOWN: usize = 64;
/// Maximum number of equal bytes between two differences that count as one.
const GAP: usize = 8;

/// The kind of a section of a state. Sections of two states correspond if they have the same kind, and come in the same
/// order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Kind {
    Number(&'static str),
    Bytes(&'static str),
    Memory(Memory),
}

pub(super) struct Section {
    pub owner: Owner,
    pub kind: Kind,
    /// The address in memory; 0 for what has none.
    pub address: usize,
    pub bytes: Vec<u8>,
}

impl Section {
    fn end(&self) -> usize {
        self.address + self.bytes.len()
    }

    fn number(&self) -> u64 {
        self.bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }
}

/// A copy of the whole state of a program.
///
/// It can be compared with others of the same process only.
pub struct StateImage {
    parts: Vec<Section>,
    /// The return addresses of each heap block's allocation, innermost first, if traced.
    allocations: Vec<(usize, Box<[usize]>)>,
}

impl fmt::Debug for StateImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |wanted: Option<Memory>| -> usize {
            let of_kind = |part: &&Section| match part.kind {
                Kind::Memory(memory) => wanted == Some(memory),
                _ => wanted.is_none(),
            };
            self.parts.iter().filter(of_kind).map(|part| part.bytes.len()).sum()
        };
        f.debug_struct("StateImage")
            .field("stack_bytes", &bytes(Some(Memory::Stack)))
            .field("heap_bytes", &bytes(Some(Memory::Heap)))
            .field("static_bytes", &bytes(Some(Memory::Statics)))
            .field("other_bytes", &bytes(None))
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
pub(crate) struct Copying(Vec<Section>);

impl Copying {
    fn add(&mut self, owner: Owner, kind: Kind, address: usize, bytes: &[u8]) {
        let bytes = bytes.to_vec();
        self.0.push(Section {
            owner,
            kind,
            address,
            bytes,
        });
    }
}

impl Visitor for Copying {
    fn number(&mut self, owner: Owner, name: &'static str, number: u64) {
        self.add(owner, Kind::Number(name), 0, &number.to_ne_bytes());
    }

    fn bytes(&mut self, owner: Owner, name: &'static str, bytes: &[u8]) {
        self.add(owner, Kind::Bytes(name), 0, bytes);
    }

    unsafe fn memory(&mut self, owner: Owner, memory: Memory, range: Range<usize>) {
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) };
        self.add(owner, Kind::Memory(memory), range.start, bytes);
    }
}

/// Bytes that differ between two states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The owner of the bytes.
    pub owner: String,
    /// Their address in memory; `None` for what is kept elsewhere, such as the thread-locals of a suspended thread.
    pub address: Option<usize>,
    /// Their offset in what belongs to the owner.
    pub offset: u64,
    /// Their number, in the state that has more.
    pub len: usize,
    /// The first of them in the first state; `None` if it has no such part.
    pub first: Vec<u8>,
    /// The first of them in the second state; `None` if it has no such part.
    pub second: Vec<u8>,
    /// A note, such as that the bytes belong to a block that has been freed.
    pub hint: Option<&'static str>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn show(f: &mut fmt::Formatter<'_>, bytes: &[u8], len: usize) -> fmt::Result {
            /// Maximum number of bytes on a line.
            const SOME: usize = 16;
            match bytes {
                [] => return f.write_str("nothing"),
                // Words read better as numbers.
                &[a, b, c, d, e, g, h, i] => return write!(f, "{:#x}", u64::from_ne_bytes([a, b, c, d, e, g, h, i])),
                _ => {}
            }
            for (i, byte) in bytes.iter().take(SOME).enumerate() {
                write!(f, "{}{byte:02x}", if i == 0 { "" } else { " " })?;
            }
            if len > SOME { f.write_str(" …") } else { Ok(()) }
        }
        write!(f, "{}", self.owner)?;
        if self.offset > 0 || self.len > 8 {
            write!(f, " +{:#x}", self.offset)?;
        }
        if let Some(address) = self.address {
            write!(f, " at {address:#x}")?;
        }
        if self.len > 1 && self.len != 8 {
            write!(f, ", {} bytes", self.len)?;
        }
        f.write_str(": ")?;
        show(f, &self.first, self.len)?;
        f.write_str(" → ")?;
        show(f, &self.second, self.len)?;
        match self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl StateImage {
    /// The copy of a state, with the return addresses of each heap block's allocation, as far as known.
    pub(crate) fn of(copying: Copying, mut allocations: Vec<(usize, Box<[usize]>)>) -> StateImage {
        allocations.sort_unstable();
        StateImage {
            parts: copying.0,
            allocations,
        }
    }

    /// The copy of some parts of a state.
    pub(super) fn of_sections(parts: Vec<Section>) -> StateImage {
        StateImage {
            parts,
            allocations: Vec::new(),
        }
    }

    /// The differences of `other`, a state of the same process, in the order of this state's parts. Empty if the states
    /// are equal.
    pub fn diff(&self, other: &StateImage) -> Vec<Difference> {
        self.diff_by(other, &mut None)
    }

    /// [`StateImage::diff`], by the executable's symbols, which are read when the first name is needed.
    pub(super) fn diff_by(&self, other: &StateImage, symbols: &mut Option<Symbols>) -> Vec<Difference> {
        let mut naming = Naming {
            images: [self, other],
            symbols,
        };
        let mut differences = Vec::new();
        let mut matched = vec![false; other.parts.len()];
        // Parts come in the same order in both, so the one that belongs to a part is the first of its kind that is
        // left.
        for part in &self.parts {
            let found = other.parts.iter().enumerate().find(|(i, candidate)| {
                let same = (candidate.owner, candidate.kind) == (part.owner, part.kind);
                // Of the statics, each range has its own place.
                let placed = part.kind != Kind::Memory(Memory::Statics) || candidate.address == part.address;
                !matched[*i] && same && placed
            });
            match found {
                Some((i, counterpart)) => {
                    matched[i] = true;
                    naming.compare(part, counterpart, &mut differences);
                }
                None => naming.only(part, part.address..part.end(), true, &mut differences),
            }
        }
        for (part, _) in other.parts.iter().zip(matched).filter(|(_, matched)| !matched) {
            naming.only(part, part.address..part.end(), false, &mut differences);
        }
        differences
    }
}

/// A named piece of memory to which bytes belong.
struct Piece {
    name: String,
    range: Range<usize>,
    hint: Option<&'static str>,
}

struct Naming<'a> {
    images: [&'a StateImage; 2],
    /// Read when the first name is needed.
    symbols: &'a mut Option<Symbols>,
}

impl Naming<'_> {
    fn compare(&mut self, first: &Section, second: &Section, differences: &mut Vec<Difference>) {
        if (first.address, &first.bytes) == (second.address, &second.bytes) {
            return;
        }
        let Kind::Memory(_) = first.kind else {
            differences.push(self.value(first, Some(first), Some(second)));
            return;
        };
        let common = first.address.max(second.address)..first.end().min(second.end());
        let byte = |part: &Section, address: usize| part.bytes[address - part.address];
        let mut at = common.start;
        while at < common.end {
            if byte(first, at) == byte(second, at) {
                at += 1;
                continue;
            }
            // Words differ as a whole.
            let piece = self.piece(first, at);
            let limit = piece.range.end.clamp(at + 1, common.end);
            let start = (at & !7).max(common.start).max(piece.range.start);
            let mut end = at + 1;
            for next in at + 1..limit {
                if next >= end.next_multiple_of(8) + GAP {
                    break;
                }
                if byte(first, next) != byte(second, next) {
                    end = next + 1;
                }
            }
            let end = end.next_multiple_of(8).min(limit);
            let shown = |part: &Section| {
                let bytes = &part.bytes[start - part.address..end - part.address];
                bytes[..bytes.len().min(SHOWN)].to_vec()
            };
            differences.push(Difference {
                owner: piece.name,
                address: Some(start),
                offset: (start - piece.range.start) as u64,
                len: end - start,
                first: shown(first),
                second: shown(second),
                hint: piece.hint,
            });
            at = end;
        }
        for (part, in_first) in [(first, true), (second, false)] {
            self.only(part, part.address..common.start.min(part.end()), in_first, differences);
            self.only(part, common.end.max(part.address)..part.end(), in_first, differences);
        }
    }

    /// Records what one of the states has more than the other.
    fn only(&mut self, part: &Section, range: Range<usize>, in_first: bool, differences: &mut Vec<Difference>) {
        let Kind::Memory(_) = part.kind else {
            differences.push(match in_first {
                true => self.value(part, Some(part), None),
                false => self.value(part, None, Some(part)),
            });
            return;
        };
        let mut at = range.start;
        while at < range.end {
            let piece = self.piece(part, at);
            let end = piece.range.end.clamp(at + 1, range.end);
            let shown = part.bytes[at - part.address..end - part.address].iter().take(SHOWN);
            let (first, second) = match in_first {
                true => (shown.copied().collect(), Vec::new()),
                false => (Vec::new(), shown.copied().collect()),
            };
            differences.push(Difference {
                owner: piece.name,
                address: Some(at),
                offset: (at - piece.range.start) as u64,
                len: end - at,
                first,
                second,
                hint: Some(match in_first {
                    true => "only in the first state",
                    false => "only in the second state",
                }),
            });
            at = end;
        }
    }

    /// Records the difference of parts that are no memory.
    fn value(&mut self, part: &Section, first: Option<&Section>, second: Option<&Section>) -> Difference {
        let (Kind::Number(name) | Kind::Bytes(name)) = part.kind else {
            unreachable!("memory has its own way")
        };
        let owner = match part.owner {
            Owner::Program => name.to_owned(),
            Owner::Thread(thread) if name == "pending operation" => {
                let show =
                    |part: Option<&Section>| part.map_or_else(|| "none".to_owned(), |part| operation(part.number()));
                format!("{thread}: {name}, {} → {}", show(first), show(second))
            }
            Owner::Thread(thread) => format!("{thread}: {name}"),
        };
        let [first, second] = [first, second].map(|part| part.map_or(&[][..], |part| part.bytes.as_slice()));
        let differs = |at: usize| first.get(at) != second.get(at);
        let len = first.len().max(second.len());
        // Of a number all bytes, of bytes those that differ.
        let range = match part.kind {
            Kind::Number(_) => 0..len,
            _ => {
                (0..len).find(|&at| differs(at)).unwrap_or(0)..(0..len).rfind(|&at| differs(at)).map_or(0, |at| at + 1)
            }
        };
        let shown = |bytes: &[u8]| {
            let bytes = &bytes[range.start.min(bytes.len())..range.end.min(bytes.len())];
            bytes[..bytes.len().min(SHOWN)].to_vec()
        };
        Difference {
            owner,
            address: None,
            offset: range.start as u64,
            len: range.len(),
            first: shown(first),
            second: shown(second),
            hint: None,
        }
    }

    fn symbols(&mut self) -> &Symbols {
        self.symbols.get_or_insert_with(Symbols::of_executable)
    }

    fn piece(&mut self, part: &Section, address: usize) -> Piece {
        match (part.kind, part.owner) {
            (Kind::Memory(Memory::Stack), Owner::Thread(thread)) => self.frame(part, thread, address),
            (Kind::Memory(Memory::Heap), Owner::Thread(thread)) => self.block(part, thread, address),
            _ => self.statics(part, address),
        }
    }

    /// The part of a stack between the two words around the address that look like return addresses: a call left the
    /// lower one, made by the function whose frame this is, or by one inlined in it.
    fn frame(&mut self, part: &Section, thread: ThreadId, address: usize) -> Piece {
        let image = self
            .images
            .iter()
            .find(|image| image.parts.iter().any(|p| std::ptr::eq(p, part)));
        let saved = image.and_then(|image| {
            let of_thread =
                |p: &&Section| (p.owner, p.kind) == (Owner::Thread(thread), Kind::Number("address of the registers"));
            image.parts.iter().find(of_thread).map(|p| p.number() as usize)
        });
        if let Some(saved) = saved
            && (saved..saved + size_of::<Registers>()).contains(&address)
        {
            let (name, offset) = Registers::name_at(address - saved);
            let range = saved + offset..saved + offset + 8;
            let name = format!("{thread}: register {name}");
            return Piece {
                name,
                range,
                hint: None,
            };
        }
        let symbols = self.symbols();
        let word_at = |at: usize| {
            let bytes = part.bytes.get(at.checked_sub(part.address)?..)?.first_chunk()?;
            Some(u64::from_ne_bytes(*bytes) as usize)
        };
        let returns = |at: usize| word_at(at).filter(|&value| symbols.is_return_address(value));
        let word = address & !7;
        let below = (part.address..=word)
            .rev()
            .step_by(8)
            .find_map(|at| Some((at, returns(at)?)));
        let above = (word + 8..part.end()).step_by(8).find(|&at| returns(at).is_some());
        let start = below.map_or(part.address, |(at, _)| if at == word { at } else { at + 8 });
        let (name, hint) = match below {
            Some((at, value)) => {
                let caller = symbols.caller(value);
                let caller = caller.map_or_else(|| format!("{value:#x}"), |caller| caller.to_string());
                match at == word {
                    true => (caller, Some("looks like a return address")),
                    false => (caller, None),
                }
            }
            // The frame from which the pending operation was asked for.
            None => {
                let asked_from = saved.and_then(|saved| word_at(saved + Registers::INSTRUCTION_POINTER));
                let function = asked_from.and_then(|address| symbols.frames(address).pop());
                let name = function.map_or_else(|| "the pending operation".to_owned(), |caller| caller.to_string());
                (name, None)
            }
        };
        let end = match hint {
            Some(_) => word + 8,
            None => above.unwrap_or(part.end()),
        };
        Piece {
            name: format!("{thread}: stack, in or below {name}"),
            range: start..end,
            hint,
        }
    }

    fn block(&mut self, part: &Section, thread: ThreadId, address: usize) -> Piece {
        let (mut last, mut next) = (None, part.end());
        for (n, block) in arena::blocks(&part.bytes, part.address).enumerate() {
            if block.header > address {
                next = block.header;
                break;
            }
            last = Some((n, block));
        }
        let start = last.as_ref().map_or(part.address, |(_, block)| block.next);
        let Some((n, block)) = last.filter(|(_, block)| address < block.next) else {
            return Piece {
                name: format!("{thread}: heap, between blocks"),
                range: start..next,
                hint: None,
            };
        };
        let (from, to) = (block.bytes.start, block.bytes.end);
        let mut name = format!(
            "{thread}: heap block {:#x}, {} bytes, its allocation {n}",
            from,
            to - from
        );
        if let Some(place) = self.allocated_at(from) {
            name = format!("{name}, made in {place}");
        }
        let (range, hint) = if address < from {
            (
                block.header..from,
                Some("the block's header: its size, or that it is freed"),
            )
        } else if address < to {
            (from..to, block.freed.then_some("the block has been freed"))
        } else {
            (to..block.next, Some("after the block's end"))
        };
        Piece { name, range, hint }
    }

    /// The place where a block was allocated, if traced.
    fn allocated_at(&mut self, block: usize) -> Option<String> {
        let from = self.images.iter().find_map(|image| {
            let found = image
                .allocations
                .binary_search_by_key(&block, |(block, _)| *block)
                .ok()?;
            Some(image.allocations[found].1.clone())
        })?;
        self.symbols().innermost_of_program(&from)
    }

    fn statics(&mut self, part: &Section, address: usize) -> Piece {
        let (name, start) = match self.symbols().item(address) {
            Some((name, offset)) => (format!("static {name}"), address - offset),
            None => ("a static without a name".to_owned(), part.address),
        };
        // The next item begins where this one does not reach.
        let mut end = address + 1;
        while end < part.end()
            && self
                .symbols()
                .item(end)
                .map_or(part.address, |(_, offset)| end - offset)
                == start
        {
            end += 1;
        }
        Piece {
            name,
            range: start..end,
            hint: None,
        }
    }
}

/// The operation with this site.
fn operation(site: u64) -> String {
    let kind = OperationKind::from_code((site >> 48) as u8).map_or("unknown operation", OperationKind::name);
    let caller = std::ptr::with_exposed_provenance::<std::panic::Location<'static>>((site & 0xFFFF_FFFF_FFFF) as usize);
    // SAFETY: sites are made by `Record::site` from the address of a `&'static Location`, or from 0.
    match unsafe { caller.as_ref() } {
        Some(caller) => format!("{kind} at {}:{}", caller.file(), caller.line()),
        None => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(parts: Vec<Section>) -> StateImage {
        StateImage {
            parts,
            allocations: Vec::new(),
        }
    }

    fn number(number: u64) -> Section {
        Section {
            owner: Owner::Thread(ThreadId(2)),
            kind: Kind::Number("time"),
            address: 0,
            bytes: number.to_ne_bytes().to_vec(),
        }
    }

    fn statics(address: usize, bytes: &[u8]) -> Section {
        Section {
            owner: Owner::Program,
            kind: Kind::Memory(Memory::Statics),
            address,
            bytes: bytes.to_vec(),
        }
    }

    #[test]
    fn equal_states_have_no_differences() {
        let one = || image(vec![number(5), statics(64, &[1; 100])]);
        assert_eq!(one().diff(&one()), []);
    }

    #[test]
    fn runs_are_folded_and_one_line_each() {
        let mut other = [1; 300];
        other[3] = 2;
        // Close enough to be one difference; the next is not.
        other[12] = 2;
        other[200..280].fill(9);
        let differences =
            image(vec![number(5), statics(64, &[1; 300])]).diff(&image(vec![number(6), statics(64, &other)]));
        let lines: Vec<_> = differences.iter().map(Difference::to_string).collect();
        assert_eq!(
            lines,
            [
                "t2: time: 0x5 → 0x6",
                "a static without a name +0x0 at 0x40, 16 bytes: 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 → \
                 01 01 01 02 01 01 01 01 01 01 01 01 02 01 01 01",
                "a static without a name +0xc8 at 0x108, 80 bytes: 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 … → \
                 09 09 09 09 09 09 09 09 09 09 09 09 09 09 09 09 …",
            ]
        );
        assert_eq!(differences[2].first.len(), SHOWN);
    }

    #[test]
    fn what_is_between_blocks_in_one_state_only_is_a_difference() {
        // Blocks of 8 bytes after their headers: one at 0x1000, and one at 0x1040 or, in the other state, at 0x1060.
        let heap = |second: usize| {
            let mut bytes = vec![0; 0x80];
            for header in [0, second] {
                bytes[header] = 8;
                bytes[header + 8..header + 16].copy_from_slice(&arena::LIVE.to_ne_bytes());
            }
            image(vec![Section {
                owner: Owner::Thread(ThreadId(1)),
                kind: Kind::Memory(Memory::Heap),
                address: 0x1000,
                bytes,
            }])
        };
        let differences = heap(0x40).diff(&heap(0x60));
        let places: Vec<_> = differences
            .iter()
            .map(|difference| difference.address.unwrap())
            .collect();
        assert_eq!(places, [0x1040, 0x1060], "{differences:?}");
        assert_eq!(differences[1].owner, "t1: heap, between blocks");
    }

    #[test]
    fn what_only_one_state_has_is_a_difference() {
        let (short, long) = (
            image(vec![number(1)]),
            image(vec![number(1), number(2), statics(64, &[1; 20])]),
        );
        let differences = short.diff(&long);
        assert_eq!(differences.len(), 2);
        assert_eq!(differences[0].to_string(), "t2: time: nothing → 0x2");
        assert_eq!(
            (
                differences[1].len,
                differences[1].first.len(),
                differences[1].second.len()
            ),
            (20, 0, 20)
        );
        assert_eq!(long.diff(&short).len(), 2);
    }
}
