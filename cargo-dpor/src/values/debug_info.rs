//! The types of a test binary in its debug information.
//!
//! A type is looked for by the function that the test process has for it (see
//! [`ValueBytes`](dpor_protocol::ValueBytes)): the unit of debug information that tells of this address has the type as
//! the function's parameter. So nothing depends on names, and only units of which values are told are read.

use gimli::{
    Abbreviations, AttributeValue, DebugInfoOffset, DebuggingInformationEntry, DwTag, Dwarf, EndianSlice, LittleEndian,
    Section, SectionId, Unit, UnitOffset,
};
use object::{CompressionFormat, Object, ObjectSection, ObjectSymbol, ReadCache, SymbolKind};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Slice = EndianSlice<'static, LittleEndian>;
type Entry = DebuggingInformationEntry<Slice>;

/// A type, by the number of its unit and its offset there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeId(usize, UnitOffset);

/// A type.
#[derive(Debug)]
pub struct Type {
    /// Its modules, from the crate on, and its name without arguments.
    pub path: String,
    /// Its name, with arguments.
    pub name: String,
    /// Size of its values in bytes.
    pub size: usize,
    /// The contents of its values.
    pub shape: Shape,
    /// Its type arguments.
    pub arguments: Vec<TypeId>,
}

/// The contents of a value.
#[derive(Debug)]
pub enum Shape {
    Bool,
    Char,
    Signed,
    Unsigned,
    Float,
    /// `()`.
    Unit,
    Struct(Vec<Field>),
    /// Variants, with a tag unless there is only one.
    Enum {
        tag: Option<Tag>,
        variants: Vec<Variant>,
    },
    /// An enum without fields: values and their names.
    Names(Vec<(u64, String)>),
    /// An address. The target's type, if it is known.
    Pointer(Option<TypeId>),
    Array(TypeId, usize),
    /// Something else.
    Opaque,
}

/// A field of a struct, a tuple, or a variant.
#[derive(Debug)]
pub struct Field {
    pub name: String,
    pub offset: usize,
    pub id: TypeId,
}

/// The place of the number that distinguishes variants.
#[derive(Debug)]
pub struct Tag {
    pub offset: usize,
    pub id: TypeId,
}

#[derive(Debug)]
pub struct Variant {
    /// The tag's value; `None` for the variant of all other values.
    pub value: Option<u64>,
    pub name: String,
    /// The type that holds the fields. It has the whole enum's bytes from `offset` on.
    pub offset: usize,
    pub id: TypeId,
}

/// Bytes of a static.
pub struct StaticPart {
    /// The static's path.
    pub name: String,
    /// The static's type.
    pub id: TypeId,
    /// Their offset from its start.
    pub offset: usize,
}

/// A function, or a part of another one in which it is inlined.
pub struct FunctionFrame {
    /// Its modules, from the crate on.
    pub path: String,
    /// Its name, with arguments.
    pub name: String,
    /// The type whose method it is, unless that is a `Box`.
    pub of: Option<TypeId>,
    /// Its type arguments, with the names of the parameters.
    pub arguments: Vec<(String, TypeId)>,
}

/// The debug information of an executable.
pub struct DebugInfo {
    path: PathBuf,
    dwarf: Dwarf<Slice>,
    /// The names of the functions at each address, by the symbol table, once it was read.
    symbols: Option<HashMap<u64, Vec<String>>>,
    /// The starts of units, in order, with those that were read.
    units: Vec<(DebugInfoOffset, Option<ReadUnit>)>,
    known: HashMap<TypeId, Option<Arc<Type>>>,
}

struct ReadUnit {
    unit: Unit<Slice>,
    /// The first type parameter of functions, by their addresses.
    functions: HashMap<u64, AttributeValue<Slice>>,
    /// The statics.
    statics: Vec<Static>,
    /// Modules and types: the parent of each, and its name.
    modules: Vec<(usize, Slice)>,
    /// The modules and names of types.
    types: HashMap<UnitOffset, (usize, Slice)>,
    /// The modules of functions, and the types whose methods they are.
    scopes: HashMap<UnitOffset, (usize, Option<UnitOffset>)>,
}

/// A static, or what the optimiser has left of it.
struct Static {
    module: usize,
    name: Slice,
    ty: AttributeValue<Slice>,
    pieces: Vec<Piece>,
}

/// Bytes of a static that follow each other in memory.
struct Piece {
    address: u64,
    /// The offset in the static.
    offset: u64,
    /// Their number; `None` for all.
    size: Option<u64>,
}

/// The root of all modules.
const ROOT: usize = 0;

impl DebugInfo {
    /// Opens the debug information of an executable, if it has any that can be read. What is read of the file stays in
    /// memory.
    pub fn open(path: &Path) -> Option<DebugInfo> {
        let cache: &'static ReadCache<File> = Box::leak(Box::new(ReadCache::new(File::open(path).ok()?)));
        let file = object::File::parse(cache).ok()?;
        let section = |id: SectionId| {
            let section = file.section_by_name(id.name())?;
            let plain = section.compressed_file_range().ok()?.format == CompressionFormat::None;
            plain.then(|| section.data().ok())?
        };
        let load = |id| Ok::<_, gimli::Error>(EndianSlice::new(section(id).unwrap_or_default(), LittleEndian));
        let dwarf = Dwarf::load(load).ok()?;
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(header.debug_info_offset().map(|offset| (offset, None)));
        }
        (!units.is_empty()).then_some(DebugInfo {
            path: path.into(),
            dwarf,
            symbols: None,
            units,
            known: HashMap::new(),
        })
    }

    /// The type argument of the generic function at an address. `None` if the debug information has it more than once.
    pub fn parameter(&mut self, function: u64) -> Option<TypeId> {
        let index = self.unit_of_address(function)?;
        let unit = self.unit(index)?;
        let parameter = *unit.functions.get(&function)?;
        let id = self.reference(index, parameter)?;
        // Functions that do the same are merged, and those of two types with the same name do the same.
        let unit = self.unit(id.0)?;
        let own = unit.types.get(&id.1);
        let alike = unit.types.values().filter(|other| Some(*other) == own).count();
        (alike <= 1).then_some(id)
    }

    /// The static that contains an address, and the offset in it.
    pub fn static_at(&mut self, address: u64) -> Option<StaticPart> {
        let index = self.unit_of_address(address)?;
        self.unit(index)?;
        let unit = self.units[index].1.as_ref()?;
        let pieces = unit
            .statics
            .iter()
            .flat_map(|own| own.pieces.iter().map(move |piece| (own, piece)));
        let before = pieces.filter(|(_, piece)| piece.address <= address);
        let (own, piece) = before.max_by_key(|(_, piece)| piece.address)?;
        let inside = address - piece.address;
        if piece.size.is_some_and(|size| inside >= size) {
            return None;
        }
        let offset = usize::try_from(piece.offset.checked_add(inside)?).ok()?;
        let name = format!("{}{}", unit.path(own.module), own.name.to_string_lossy());
        let id = self.reference(index, own.ty)?;
        (offset < self.get(id)?.size).then_some(StaticPart { name, id, offset })
    }

    /// The functions that were running at a return address, with those that are inlined there: innermost first. None if
    /// LLVM has merged others with the same code with the outermost, so that these may not be what was called.
    pub fn functions_at(&mut self, return_address: u64) -> Vec<FunctionFrame> {
        let found = return_address.checked_sub(1).and_then(|address| {
            let index = self.unit_of_address(address)?;
            let (start, origins) = self.origins_at(index, address)?;
            (self.symbols().get(&start)?.len() == 1).then_some((index, origins))
        });
        let Some((index, origins)) = found else {
            return Vec::new();
        };
        let frames = origins.into_iter().rev();
        frames.filter_map(|origin| self.function(index, origin)).collect()
    }

    /// The start of the function at an address, and the entries that describe it and what is inlined there: outermost
    /// first.
    fn origins_at(&self, index: usize, address: u64) -> Option<(u64, Vec<AttributeValue<Slice>>)> {
        let unit = self.parsed(index)?;
        let mut found: Option<(u64, Vec<_>)> = None;
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().ok()? {
            let inlined = entry.tag() == gimli::DW_TAG_inlined_subroutine;
            if !inlined && entry.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let mut ranges = self.dwarf.die_ranges(&unit, entry).ok()?;
            let mut ranges = std::iter::from_fn(|| ranges.next().ok().flatten());
            if !ranges.any(|range| (range.begin..range.end).contains(&address)) {
                continue;
            }
            let origin = entry.attr_value(gimli::DW_AT_abstract_origin);
            match (&mut found, inlined) {
                (Some((_, origins)), true) => origins.push(origin?),
                (None, false) => {
                    let start = self
                        .dwarf
                        .attr_address(&unit, entry.attr_value(gimli::DW_AT_low_pc)?)
                        .ok()??;
                    found = Some((start, vec![origin.unwrap_or(AttributeValue::UnitRef(entry.offset()))]));
                }
                _ => return None,
            }
        }
        found
    }

    fn symbols(&mut self) -> &HashMap<u64, Vec<String>> {
        let read = || {
            let cache = ReadCache::new(File::open(&self.path).ok()?);
            let file = object::File::parse(&cache).ok()?;
            let mut names: HashMap<u64, Vec<String>> = HashMap::new();
            for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
                let name = symbol.name().unwrap_or_default().to_owned();
                names.entry(symbol.address()).or_default().push(name);
            }
            Some(names)
        };
        self.symbols.get_or_insert_with(|| read().unwrap_or_default())
    }

    /// Whether a function is there in the code of any unit, by its name without and with arguments; or may be, since
    /// LLVM has merged functions of this name with others.
    pub fn may_have(&mut self, name: &str, with: &str) -> bool {
        let texts = self.dwarf.debug_str.reader().slice().split(|byte| *byte == 0);
        let mut texts = texts.filter_map(|text| std::str::from_utf8(text).ok());
        if texts.any(|text| text.starts_with(name) && text.contains(with)) {
            return true;
        }
        let mut merged = self.symbols().values().filter(|names| names.len() > 1).flatten();
        merged.any(|symbol| symbol.contains(name))
    }

    /// The function that an entry describes.
    fn function(&mut self, unit: usize, origin: AttributeValue<Slice>) -> Option<FunctionFrame> {
        let TypeId(index, offset) = self.reference(unit, origin)?;
        self.unit(index)?;
        let read = self.units[index].1.as_ref()?;
        let entry = read.unit.entry(offset).ok()?;
        let declaration = match entry.attr_value(gimli::DW_AT_specification) {
            Some(AttributeValue::UnitRef(declaration)) => declaration,
            _ => offset,
        };
        let &(module, of) = read.scopes.get(&declaration)?;
        let parameters = Children::of(&read.unit, &read.unit.abbreviations, offset)
            .filter(|child| child.tag() == gimli::DW_TAG_template_type_parameter);
        let argument = |parameter: Entry| {
            let id = self.reference(index, parameter.attr_value(gimli::DW_AT_type)?)?;
            Some((self.text(index, &parameter)?, id))
        };
        Some(FunctionFrame {
            path: read.path(module),
            name: without_arguments(&self.text(index, &read.unit.entry(declaration).ok()?)?).to_owned(),
            of: of.map(|of| TypeId(index, of)),
            arguments: parameters.filter_map(argument).collect(),
        })
    }

    /// A type, which is read at the first request.
    pub fn get(&mut self, id: TypeId) -> Option<Arc<Type>> {
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        // A type that is made of itself is none.
        self.known.insert(id, None);
        let found = self.read(id).map(Arc::new);
        self.known.insert(id, found.clone());
        found
    }

    fn unit_of_address(&mut self, address: u64) -> Option<usize> {
        let mut tables = self.dwarf.debug_aranges.headers();
        while let Ok(Some(table)) = tables.next() {
            let mut entries = table.entries();
            while let Ok(Some(entry)) = entries.next() {
                if (entry.address()..entry.address().saturating_add(entry.length())).contains(&address) {
                    return self.unit_at(table.debug_info_offset());
                }
            }
        }
        // There need not be such a table.
        (0..self.units.len()).find(|&index| {
            let Some(unit) = self.parsed(index) else { return false };
            let Ok(mut ranges) = self.dwarf.unit_ranges(&unit) else {
                return false;
            };
            std::iter::from_fn(|| ranges.next().ok().flatten()).any(|range| (range.begin..range.end).contains(&address))
        })
    }

    /// The unit that contains the offset.
    fn unit_at(&self, offset: DebugInfoOffset) -> Option<usize> {
        self.units.partition_point(|(start, _)| *start <= offset).checked_sub(1)
    }

    fn parsed(&self, index: usize) -> Option<Unit<Slice>> {
        let header = self
            .dwarf
            .debug_info
            .header_from_offset(self.units.get(index)?.0)
            .ok()?;
        self.dwarf.unit(header).ok()
    }

    fn unit(&mut self, index: usize) -> Option<&ReadUnit> {
        if self.units.get(index)?.1.is_none() {
            let read = ReadUnit::read(self.parsed(index)?, &self.dwarf)?;
            self.units[index].1 = Some(read);
        }
        self.units[index].1.as_ref()
    }

    /// The type to which an attribute refers.
    fn reference(&self, unit: usize, value: AttributeValue<Slice>) -> Option<TypeId> {
        match value {
            AttributeValue::UnitRef(offset) => Some(TypeId(unit, offset)),
            AttributeValue::DebugInfoRef(offset) => {
                let index = self.unit_at(offset)?;
                Some(TypeId(index, UnitOffset(offset.0.checked_sub(self.units[index].0.0)?)))
            }
            _ => None,
        }
    }

    fn read(&mut self, id: TypeId) -> Option<Type> {
        let TypeId(index, offset) = id;
        self.unit(index)?;
        let read = self.units[index].1.as_ref()?;
        let (unit, abbreviations) = (&read.unit, &*read.unit.abbreviations);
        let entry = unit.entry(offset).ok()?;
        let text = |entry: &Entry| self.text(index, entry);
        let type_of = |entry: &Entry| self.reference(index, entry.attr_value(gimli::DW_AT_type)?);
        let name = text(&entry).unwrap_or_default();
        let size = number(&entry, gimli::DW_AT_byte_size);
        let mut own = Type {
            path: format!("{}{}", read.modules_of(offset), without_arguments(&name)),
            name,
            size: size.unwrap_or(0) as usize,
            shape: Shape::Opaque,
            arguments: Vec::new(),
        };
        let children = || Children::of(unit, abbreviations, offset);
        own.shape = match entry.tag() {
            gimli::DW_TAG_base_type => primitive(&entry, own.size)?,
            gimli::DW_TAG_pointer_type => {
                own.size = size.unwrap_or(8) as usize;
                Shape::Pointer(type_of(&entry))
            }
            gimli::DW_TAG_structure_type => {
                let arguments = children().filter(|child| child.tag() == gimli::DW_TAG_template_type_parameter);
                own.arguments = arguments.filter_map(|child| type_of(&child)).collect();
                match children().find(|child| child.tag() == gimli::DW_TAG_variant_part) {
                    Some(part) => self.variants(index, &part)?,
                    None => Shape::Struct(self.fields(index, children())?),
                }
            }
            gimli::DW_TAG_enumeration_type => {
                let mut names = Vec::new();
                for child in children().filter(|child| child.tag() == gimli::DW_TAG_enumerator) {
                    names.push((integer(&child.attr_value(gimli::DW_AT_const_value)?)?, text(&child)?));
                }
                Shape::Names(names)
            }
            gimli::DW_TAG_array_type => {
                let element = type_of(&entry)?;
                let range = children().find(|child| child.tag() == gimli::DW_TAG_subrange_type)?;
                let count = number(&range, gimli::DW_AT_count)? as usize;
                own.size = usize::MAX;
                Shape::Array(element, count)
            }
            gimli::DW_TAG_union_type => Shape::Opaque,
            _ => return None,
        };
        if let Shape::Array(element, count) = own.shape {
            own.size = self.get(element)?.size.checked_mul(count)?;
        }
        Some(own)
    }

    /// The fields among the children of a type.
    fn fields(&self, unit: usize, children: Children<'_>) -> Option<Vec<Field>> {
        let members = children.filter(|child| child.tag() == gimli::DW_TAG_member);
        let field = |member: Entry| {
            let (offset, id) = self.member(unit, &member)?;
            let name = self.text(unit, &member).unwrap_or_default();
            Some(Field { name, offset, id })
        };
        members.map(field).collect()
    }

    /// The variants of an enum, and its tag.
    fn variants(&self, unit: usize, part: &Entry) -> Option<Shape> {
        let read = &self.units[unit].1.as_ref()?.unit;
        let of = |entry: &Entry| Children::of(read, &read.abbreviations, entry.offset());
        let discriminant = part.attr_value(gimli::DW_AT_discr);
        let mut tag = None;
        let mut variants = Vec::new();
        for child in of(part) {
            match child.tag() {
                gimli::DW_TAG_member => {
                    (discriminant == Some(AttributeValue::UnitRef(child.offset()))).then_some(())?;
                    let (offset, id) = self.member(unit, &child)?;
                    tag = Some(Tag { offset, id });
                }
                gimli::DW_TAG_variant => {
                    let holder = of(&child).find(|entry| entry.tag() == gimli::DW_TAG_member)?;
                    let (offset, id) = self.member(unit, &holder)?;
                    // A variant that stands for several values is none of Rust's.
                    (!child.has_attr(gimli::DW_AT_discr_list)).then_some(())?;
                    variants.push(Variant {
                        value: match child.attr_value(gimli::DW_AT_discr_value) {
                            Some(value) => Some(integer(&value)?),
                            None => None,
                        },
                        name: self.text(unit, &holder)?,
                        offset,
                        id,
                    });
                }
                _ => {}
            }
        }
        (tag.is_some() || variants.len() == 1).then_some(Shape::Enum { tag, variants })
    }

    /// The offset and the type of a member.
    fn member(&self, unit: usize, entry: &Entry) -> Option<(usize, TypeId)> {
        let offset = number(entry, gimli::DW_AT_data_member_location)? as usize;
        Some((offset, self.reference(unit, entry.attr_value(gimli::DW_AT_type)?)?))
    }

    /// The name of an entry.
    fn text(&self, unit: usize, entry: &Entry) -> Option<String> {
        let name = name(entry, &self.units[unit].1.as_ref()?.unit, &self.dwarf)?;
        Some(name.to_string_lossy().into_owned())
    }
}

/// The shape of a type that is not made of others.
fn primitive(entry: &Entry, size: usize) -> Option<Shape> {
    let AttributeValue::Encoding(encoding) = entry.attr_value(gimli::DW_AT_encoding)? else {
        return Some(Shape::Opaque);
    };
    Some(match encoding {
        gimli::DW_ATE_boolean => Shape::Bool,
        gimli::DW_ATE_UTF => Shape::Char,
        gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => Shape::Signed,
        gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char if size == 0 => Shape::Unit,
        gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char => Shape::Unsigned,
        gimli::DW_ATE_float => Shape::Float,
        _ => Shape::Opaque,
    })
}

/// Where a static is; `None` for what is in a register, on the stack, or different for each thread. The optimiser may
/// have left parts of it only.
fn pieces_of(entry: &Entry, encoding: gimli::Encoding) -> Option<Vec<Piece>> {
    let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else {
        return None;
    };
    let mut pieces = Vec::new();
    let (mut offset, mut start) = (0, None);
    let mut operations = expression.operations(encoding);
    while let Some(operation) = operations.next().ok()? {
        match operation {
            gimli::Operation::Address { address } if start.is_none() => start = Some(address),
            gimli::Operation::Piece {
                size_in_bits,
                bit_offset: None,
            } if size_in_bits % 8 == 0 => {
                let size = size_in_bits / 8;
                pieces.extend(start.take().map(|address| Piece {
                    address,
                    offset,
                    size: Some(size),
                }));
                offset += size;
            }
            _ => return None,
        }
    }
    match (start, offset) {
        (Some(address), 0) => pieces.push(Piece {
            address,
            offset,
            size: None,
        }),
        (Some(_), _) => return None,
        (None, _) => {}
    }
    Some(pieces)
}

/// The children of an entry.
struct Children<'a> {
    entries: gimli::EntriesCursor<'a, Slice>,
    depth: isize,
}

impl<'a> Children<'a> {
    fn of(unit: &'a Unit<Slice>, abbreviations: &'a Abbreviations, offset: UnitOffset) -> Children<'a> {
        let mut entries = match unit.header.entries_at_offset(abbreviations, offset) {
            Ok(entries) => entries,
            Err(_) => unit.entries(),
        };
        let depth = match entries.next_dfs() {
            Ok(Some(entry)) if entry.offset() == offset => entry.depth(),
            _ => isize::MAX,
        };
        Children { entries, depth }
    }
}

impl Iterator for Children<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let entry = self.entries.next_dfs().ok()??;
            if entry.depth() <= self.depth {
                self.depth = isize::MAX;
                return None;
            }
            if entry.depth() == self.depth + 1 {
                return Some(entry.clone());
            }
        }
    }
}

impl ReadUnit {
    fn read(unit: Unit<Slice>, dwarf: &Dwarf<Slice>) -> Option<ReadUnit> {
        let mut read = ReadUnit {
            functions: HashMap::new(),
            statics: Vec::new(),
            modules: vec![(ROOT, EndianSlice::new(b"", LittleEndian))],
            types: HashMap::new(),
            scopes: HashMap::new(),
            unit,
        };
        // The modules and types that the entry is in, and their depths.
        let mut around: Vec<(isize, usize, Option<UnitOffset>)> = Vec::new();
        // The function that the entry is in, if it has no parameter yet.
        let mut function: Option<(isize, u64)> = None;
        let mut entries = read.unit.entries();
        while let Some(entry) = entries.next_dfs().ok()? {
            let depth = entry.depth();
            while around.pop_if(|(at, ..)| *at >= depth).is_some() {}
            function.take_if(|(at, _)| *at >= depth);
            let (at, module, of) = around.last().copied().unwrap_or((0, ROOT, None));
            match entry.tag() {
                gimli::DW_TAG_subprogram => {
                    let start = entry.attr_value(gimli::DW_AT_low_pc);
                    let address = start.and_then(|start| dwarf.attr_address(&read.unit, start).ok()?);
                    // The linker has left 0 where it has dropped the function.
                    let address = address.filter(|&address| address != 0);
                    function = address.map(|address| (depth, address));
                    read.scopes.insert(entry.offset(), (module, of));
                }
                gimli::DW_TAG_template_type_parameter => {
                    if let Some((_, address)) = function.take_if(|(at, _)| *at == depth - 1) {
                        let parameter = entry.attr_value(gimli::DW_AT_type);
                        read.functions.extend(parameter.map(|parameter| (address, parameter)));
                    }
                }
                gimli::DW_TAG_variable => {
                    // Another one is a local variable.
                    if at + 1 == depth
                        && let Some(pieces) = pieces_of(entry, read.unit.encoding())
                        && let Some(ty) = entry.attr_value(gimli::DW_AT_type)
                        && let Some(name) = name(entry, &read.unit, dwarf)
                    {
                        read.statics.push(Static {
                            module,
                            name,
                            ty,
                            pieces,
                        });
                    }
                }
                tag if tag == gimli::DW_TAG_namespace || is_type(tag) => {
                    if let Some(name) = name(entry, &read.unit, dwarf) {
                        if is_type(tag) {
                            read.types.insert(entry.offset(), (module, name));
                        }
                        if entry.has_children() {
                            let of = is_type(tag).then_some(entry.offset());
                            around.push((depth, read.modules.len(), of));
                            read.modules.push((module, name));
                        }
                    }
                }
                _ => {}
            }
        }
        Some(read)
    }

    /// `a::b::`, the modules of a type.
    fn modules_of(&self, offset: UnitOffset) -> String {
        self.path(self.types.get(&offset).map_or(ROOT, |(module, _)| *module))
    }

    /// `a::b::`, a module with those around it.
    fn path(&self, mut module: usize) -> String {
        let mut out = String::new();
        while module != ROOT {
            let (outer, name) = self.modules[module];
            out.insert_str(0, &format!("{}::", name.to_string_lossy()));
            module = outer;
        }
        out
    }
}

fn is_type(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_enumeration_type | gimli::DW_TAG_union_type
    )
}

fn name(entry: &Entry, unit: &Unit<Slice>, dwarf: &Dwarf<Slice>) -> Option<Slice> {
    dwarf.attr_string(unit, entry.attr_value(gimli::DW_AT_name)?).ok()
}

fn number(entry: &Entry, attribute: gimli::DwAt) -> Option<u64> {
    entry.attr_value(attribute)?.udata_value()
}

/// An integer, with negative ones as they are in memory.
fn integer(value: &AttributeValue<Slice>) -> Option<u64> {
    value
        .udata_value()
        .or_else(|| value.sdata_value().map(i64::cast_unsigned))
}

/// A name without its parts in angle brackets.
pub fn without_arguments(name: &str) -> &str {
    name.split('<').next().unwrap_or(name)
}
