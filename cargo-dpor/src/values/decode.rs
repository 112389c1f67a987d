//! Decodes the bytes of a value into its parts.

use super::debug_info::{DebugInfo, Field, Shape, Tag, Type, TypeId, Variant, without_arguments};
use super::library;
use super::words::{Brackets, ValueText};
use dpor_protocol::{MemoryBytes, ValueBytes};
use std::sync::Arc;

/// Maximum depth of nested parts.
const DEPTH: usize = 12;
/// Maximum number of elements of an array or a collection.
pub const ELEMENTS: usize = 64;
/// Maximum number of parts of a value in all.
const PARTS: usize = 2000;

/// Decodes one value.
pub struct Decoder<'a> {
    pub types: &'a mut DebugInfo,
    bytes: &'a ValueBytes,
    /// Number of parts that may still be looked at.
    left: usize,
}

impl<'a> Decoder<'a> {
    pub fn new(types: &'a mut DebugInfo, bytes: &'a ValueBytes) -> Decoder<'a> {
        Decoder {
            types,
            bytes,
            left: PARTS,
        }
    }

    /// The value, if its type is known and there is something to say about it.
    pub fn value(&mut self) -> Option<ValueText> {
        let id = self.types.parameter(self.bytes.function)?;
        let ty = self.types.get(id)?;
        let told = ty.size == self.bytes.value.bytes.len() && !matches!(ty.shape, Shape::Unit | Shape::Opaque);
        told.then_some(())?;
        Some(self.words(id, &self.bytes.value.bytes, 0)).filter(|words| *words != ValueText::unknown())
    }

    /// The parts of a value of the type, with these bytes.
    pub fn words(&mut self, id: TypeId, bytes: &[u8], depth: usize) -> ValueText {
        self.known(id, bytes, depth).unwrap_or_else(ValueText::unknown)
    }

    fn known(&mut self, id: TypeId, bytes: &[u8], depth: usize) -> Option<ValueText> {
        self.goes_on()?;
        let ty = self.types.get(id).filter(|_| depth < DEPTH)?;
        let bytes = bytes.get(..ty.size)?;
        if let Some(words) = library::words(self, &ty, bytes, depth) {
            return words;
        }
        match &ty.shape {
            Shape::Bool => match bytes {
                [0] => Some(ValueText::plain(false)),
                [1] => Some(ValueText::plain(true)),
                _ => None,
            },
            Shape::Char => {
                let code = u32::try_from(unsigned(bytes)?).ok()?;
                Some(ValueText::plain(format!("{:?}", char::from_u32(code)?)))
            }
            Shape::Signed => {
                let number = unsigned(bytes)?.cast_signed();
                let unused = 128 - 8 * bytes.len() as u32;
                Some(ValueText::plain((number << unused) >> unused))
            }
            Shape::Unsigned => Some(ValueText::plain(unsigned(bytes)?)),
            Shape::Float => match bytes.len() {
                4 => Some(ValueText::plain(format!(
                    "{:?}",
                    f32::from_le_bytes(bytes.try_into().ok()?)
                ))),
                8 => Some(ValueText::plain(format!(
                    "{:?}",
                    f64::from_le_bytes(bytes.try_into().ok()?)
                ))),
                _ => None,
            },
            Shape::Unit => Some(ValueText::plain("()")),
            Shape::Struct(fields) => Some(self.fields(without_arguments(&ty.name), fields, bytes, depth)),
            Shape::Enum { tag, variants } => self.variant(tag.as_ref(), variants, bytes, depth),
            Shape::Names(names) => {
                let value = unsigned(bytes)?;
                let mask = mask(bytes.len());
                let found = names
                    .iter()
                    .find(|(known, _)| u128::from(*known) & mask == value & mask)?;
                Some(ValueText::plain(&found.1))
            }
            Shape::Pointer(target) => self.pointer(&ty, *target, bytes, depth),
            Shape::Array(element, count) => {
                let size = self.types.get(*element)?.size;
                let shown = (*count).min(ELEMENTS);
                Some(self.elements(*element, size, bytes, shown, *count > shown, depth))
            }
            Shape::Opaque => None,
        }
    }

    /// Counts a part; `None` if there were too many.
    pub fn goes_on(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }

    /// A struct, or the fields of a variant.
    fn fields(&mut self, head: &str, fields: &[Field], bytes: &[u8], depth: usize) -> ValueText {
        let tuple = fields.iter().all(|field| is_position(&field.name));
        // That of a tuple is its type.
        let head = if head.starts_with('(') { "" } else { head };
        if fields.is_empty() && !head.is_empty() {
            return ValueText::plain(head);
        }
        let mut parts = Vec::new();
        for field in fields {
            let name = (!tuple).then(|| field.name.clone());
            if !self.is_marker(field.id) {
                parts.push((name, self.field(field, bytes, depth)));
            }
        }
        ValueText::Parts {
            head: head.into(),
            brackets: if tuple { Brackets::Round } else { Brackets::Curly },
            parts,
            more: false,
        }
    }

    pub fn field(&mut self, field: &Field, bytes: &[u8], depth: usize) -> ValueText {
        match bytes.get(field.offset..) {
            Some(bytes) => self.words(field.id, bytes, depth + 1),
            None => ValueText::unknown(),
        }
    }

    fn is_marker(&mut self, id: TypeId) -> bool {
        self.types
            .get(id)
            .is_some_and(|ty| ty.path == "core::marker::PhantomData")
    }

    fn variant(&mut self, tag: Option<&Tag>, variants: &[Variant], bytes: &[u8], depth: usize) -> Option<ValueText> {
        let variant = match tag {
            None => variants.first()?,
            Some(tag) => {
                let size = self.types.get(tag.id)?.size;
                let found = unsigned(bytes.get(tag.offset..tag.offset.checked_add(size)?)?)?;
                let is = |value: u64| u128::from(value) & mask(size) == found;
                let exact = variants.iter().find(|variant| variant.value.is_some_and(is));
                exact.or_else(|| variants.iter().find(|variant| variant.value.is_none()))?
            }
        };
        let holder = self.types.get(variant.id)?;
        let Shape::Struct(fields) = &holder.shape else {
            return None;
        };
        Some(self.fields(&variant.name, fields, bytes.get(variant.offset..)?, depth))
    }

    fn pointer(&mut self, ty: &Arc<Type>, target: Option<TypeId>, bytes: &[u8], depth: usize) -> Option<ValueText> {
        let address = word(bytes, 0)?;
        let shared = ty.name.starts_with('&');
        if !shared && !ty.name.starts_with("alloc::boxed::Box<") {
            // What a raw pointer points to may be anything.
            return (address == 0 && ty.name.starts_with('*')).then(|| ValueText::plain("null"));
        }
        let size = self.types.get(target?)?.size;
        let words = match self.memory(address, size) {
            Some(bytes) => self.words(target?, bytes, depth + 1),
            None => ValueText::unknown(),
        };
        match words {
            ValueText::Plain(plain) if shared => Some(ValueText::Plain(format!("&{plain}"))),
            ValueText::Parts {
                head,
                brackets,
                parts,
                more,
            } if shared => Some(ValueText::Parts {
                head: format!("&{head}"),
                brackets,
                parts,
                more,
            }),
            words => Some(words),
        }
    }

    /// `count` elements that follow each other in the bytes, or as many as there are.
    pub fn elements(
        &mut self,
        id: TypeId,
        size: usize,
        bytes: &[u8],
        count: usize,
        more: bool,
        depth: usize,
    ) -> ValueText {
        let there = bytes.len().checked_div(size).unwrap_or(count);
        let shown = count.min(there);
        let parts = (0..shown).map(|n| (None, self.words(id, &bytes[n * size..], depth + 1)));
        ValueText::Parts {
            head: String::new(),
            brackets: Brackets::Square,
            parts: parts.collect(),
            more: more || shown < count,
        }
    }

    /// The bytes at an address, if known.
    pub fn memory(&self, address: u64, size: usize) -> Option<&'a [u8]> {
        self.memory_up_to(address, size).filter(|bytes| bytes.len() == size)
    }

    /// At most `size` bytes from an address on.
    pub fn memory_up_to(&self, address: u64, size: usize) -> Option<&'a [u8]> {
        if size == 0 {
            return Some(&[]);
        }
        let bytes = self.bytes;
        let pieces = bytes.memory.iter().chain([&bytes.value]);
        let found = pieces.filter_map(|MemoryBytes { address: start, bytes }| {
            let from = usize::try_from(address.checked_sub(*start)?).ok()?;
            let rest = bytes.get(from..)?;
            Some(&rest[..rest.len().min(size)])
        });
        // Of pieces that overlap, the one with most of it.
        found.max_by_key(|bytes| bytes.len()).filter(|bytes| !bytes.is_empty())
    }
}

/// `__0`, the name of a tuple's first field.
fn is_position(name: &str) -> bool {
    name.strip_prefix("__")
        .is_some_and(|number| number.parse::<u32>().is_ok())
}

/// An unsigned integer.
pub fn unsigned(bytes: &[u8]) -> Option<u128> {
    let mut all = [0; 16];
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    (!bytes.is_empty()).then(|| u128::from_le_bytes(all))
}

fn mask(size: usize) -> u128 {
    if size >= 16 { u128::MAX } else { (1 << (8 * size)) - 1 }
}

/// The word at an offset.
pub fn word(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}
