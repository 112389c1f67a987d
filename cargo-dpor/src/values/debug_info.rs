//! The types of a test binary in its debug information.
//!
//! A type is looked for by the function that the test process has for it (see
//! [`ValueBytes`](dpor_protocol::ValueBytes)): the unit of debug information that tells of this address has the type as
//! the function's parameter. So nothing depends on names, and only units of which values are told are read.

use gimli::{
    Abbreviations, AttributeValue, DebugInfoOffset, DebuggingInformationEntry, DwTag, Dwarf, EndianSlice, LittleEndian,
    SectionId, Unit, UnitOffset,
};
use object::{CompressionFormat, Object, ObjectSection, ReadCache};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
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

/// The debug information of an executable.
pub struct DebugInfo {
    dwarf: Dwarf<Slice>,
    /// The starts of units, in order, with those that were read.
    units: Vec<(DebugInfoOffset, Option<ReadUnit>)>,
    known: HashMap<TypeId, Option<Arc<Type>>>,
}

struct ReadUnit {
    unit: Unit<Slice>,
    /// The first type parameter of functions, by their addresses.
    functions: HashMap<u64, AttributeValue<Slice>>,
    /// The addresses and types of statics.
    statics: Vec<(u64, AttributeValue<Slice>)>,
    /// Modules: the parent of each, and its name.
    modules: Vec<(usize, Slice)>,
    /// The modules and names of types.
    types: HashMap<UnitOffset, (usize, Slice)>,
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
            dwarf,
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

    /// The type of the static that contains an address, and the offset in it.
    pub fn static_at(&mut self, address: u64) -> Option<(TypeId, usize)> {
        let index = self.unit_of_address(address)?;
        let before = self.unit(index)?.statics.iter().filter(|(start, _)| *start <= address);
        let (start, ty) = *before.max_by_key(|(start, _)| *start)?;
        let (id, offset) = (self.reference(index, ty)?, usize::try_from(address - start).ok()?);
        (offset < self.get(id)?.size).then_some((id, offset))
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

/// The address of a static; `None` for what is in a register, on the stack, or different for each thread.
fn address_of(entry: &Entry, encoding: gimli::Encoding) -> Option<u64> {
    let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else {
        return None;
    };
    let mut operations = expression.operations(encoding);
    let first = operations.next().ok()??;
    match (first, operations.next().ok()?) {
        (gimli::Operation::Address { address }, None) => Some(address),
        _ => None,
    }
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
            unit,
        };
        // The modules that the entry is in, and their depths.
        let mut around: Vec<(isize, usize)> = Vec::new();
        // The function that the entry is in, if it has no parameter yet.
        let mut function: Option<(isize, u64)> = None;
        let mut entries = read.unit.entries();
        while let Some(entry) = entries.next_dfs().ok()? {
            let depth = entry.depth();
            around.pop_if(|(at, _)| *at >= depth);
            while around.pop_if(|(at, _)| *at >= depth).is_some() {}
            function.take_if(|(at, _)| *at >= depth);
            let module = around.last().map_or(ROOT, |&(_, module)| module);
            match entry.tag() {
                gimli::DW_TAG_subprogram => {
                    let start = entry.attr_value(gimli::DW_AT_low_pc);
                    let address = start.and_then(|start| dwarf.attr_address(&read.unit, start).ok()?);
                    // The linker has left 0 where it has dropped the function.
                    let address = address.filter(|&address| address != 0);
                    function = address.map(|address| (depth, address));
                }
                gimli::DW_TAG_template_type_parameter => {
                    if let Some((_, address)) = function.take_if(|(at, _)| *at == depth - 1) {
                        let parameter = entry.attr_value(gimli::DW_AT_type);
                        read.functions.extend(parameter.map(|parameter| (address, parameter)));
                    }
                }
                gimli::DW_TAG_variable => {
                    let address = address_of(entry, read.unit.encoding());
                    let own = address.zip(entry.attr_value(gimli::DW_AT_type));
                    read.statics.extend(own);
                }
                tag if tag == gimli::DW_TAG_namespace || is_type(tag) => {
                    if let Some(name) = name(entry, &read.unit, dwarf) {
                        if is_type(tag) {
                            read.types.insert(entry.offset(), (module, name));
                        }
                        if entry.has_children() {
                            around.push((depth, read.modules.len()));
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
        let mut out = String::new();
        let mut module = self.types.get(&offset).map_or(ROOT, |(module, _)| *module);
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
