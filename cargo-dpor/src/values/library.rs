//! Types of the standard library, and those that replace them under the checker: they are shown like their `Debug`,
//! without private fields.

use super::debug_info::{Field, Shape, Type, TypeId};
use super::decode::{Decoder, ELEMENTS, word};
use super::words::{Brackets, ValueText};

/// Types that hold one value and add nothing to show, and the field that contains it.
const AROUND: &[(&str, &str)] = &[
    ("core::cell::UnsafeCell", "value"),
    ("core::cell::Cell", "value"),
    ("core::cell::RefCell", "value"),
    ("core::mem::manually_drop::ManuallyDrop", "value"),
    ("core::mem::maybe_dangling::MaybeDangling", "__0"),
    ("core::num::wrapping::Wrapping", "__0"),
    ("core::num::saturating::Saturating", "__0"),
    ("core::pin::Pin", "pointer"),
    ("core::cmp::Reverse", "__0"),
    ("shim_std::sync::mutex::Mutex", "data"),
    ("shim_std::sync::rwlock::RwLock", "data"),
    ("shim_std::sync::once_lock::OnceLock", "value"),
];

/// Modules of types that contain one number, or one address.
const NUMBERS: &[&str] = &[
    "core::num::nonzero::",
    "core::sync::atomic::",
    "shim_std::sync::atomic::",
];

/// Types that share a value on the heap, and the field of their target that holds it.
const SHARES: &[(&str, &str)] = &[
    ("alloc::rc::Rc", "value"),
    ("alloc::sync::Arc", "data"),
    ("shim_std::sync::arc::Arc", "data"),
];

/// The parts of a value, if the type is one of the library's; or that they are unknown.
pub fn words(decoder: &mut Decoder<'_>, ty: &Type, bytes: &[u8], depth: usize) -> Option<Option<ValueText>> {
    let path = ty.path.as_str();
    if let Some(fat) = Fat::of(ty) {
        return Some(fat.words(decoder, ty, bytes, depth));
    }
    let Shape::Struct(fields) = &ty.shape else {
        return None;
    };
    if !is_of_library(path) {
        return None;
    }
    if let Some(name) = held_in(path) {
        let field = named(fields, name);
        return Some(field.map(|field| decoder.field(field, bytes, depth)));
    }
    if let Some((_, name)) = SHARES.iter().find(|(known, _)| *known == path) {
        return Some(share(decoder, ty, bytes, name, depth));
    }
    Some(match path {
        "alloc::string::String" => string(decoder, fields, bytes),
        "alloc::vec::Vec" => vec(decoder, ty, bytes, depth),
        "alloc::collections::vec_deque::VecDeque" => vec_deque(decoder, ty, bytes, depth),
        "std::collections::hash::map::HashMap" => table(decoder, fields, bytes, depth, true),
        "std::collections::hash::set::HashSet" => table(decoder, fields, bytes, depth, false),
        "core::time::Duration" => duration(decoder, fields, bytes),
        _ if NUMBERS.iter().any(|module| path.starts_with(module)) => innermost(decoder, fields, bytes, depth),
        _ if is_public(path) || fields.is_empty() => return None,
        _ => Some(ValueText::Parts {
            head: path.rsplit("::").next().unwrap_or(path).into(),
            brackets: Brackets::Curly,
            parts: Vec::new(),
            more: true,
        }),
    })
}

/// Whether a type is the library's, by its path.
pub fn is_of_library(path: &str) -> bool {
    const CRATES: [&str; 5] = ["core::", "alloc::", "std::", "hashbrown::", "shim_std::"];
    CRATES.iter().any(|start| path.starts_with(start))
}

/// Whether the fields of a struct of the library are public.
pub fn is_public(path: &str) -> bool {
    path.starts_with("core::ops::range::")
}

/// The field with all that there is to show of a type of the library.
pub fn held_in(path: &str) -> Option<&'static str> {
    let found = AROUND.iter().find(|(known, _)| *known == path);
    found.map(|(_, name)| *name)
}

pub fn named<'a>(fields: &'a [Field], name: &str) -> Option<&'a Field> {
    fields.iter().find(|field| field.name == name)
}

/// A field of a field, and so on: its bytes and its type.
fn within<'b>(
    decoder: &mut Decoder<'_>,
    fields: &[Field],
    bytes: &'b [u8],
    names: &[&str],
) -> Option<(&'b [u8], TypeId)> {
    let (first, rest) = names.split_first()?;
    let field = named(fields, first)?;
    let bytes = bytes.get(field.offset..)?;
    if rest.is_empty() {
        return Some((bytes, field.id));
    }
    match &decoder.types.get(field.id)?.shape {
        Shape::Struct(fields) => within(decoder, fields, bytes, rest),
        _ => None,
    }
}

/// The only address in a value, and the type of its target.
fn address(decoder: &mut Decoder<'_>, id: TypeId, bytes: &[u8]) -> Option<(u64, Option<TypeId>)> {
    decoder.goes_on()?;
    let ty = decoder.types.get(id)?;
    match &ty.shape {
        Shape::Pointer(target) => Some((word(bytes, 0)?, *target)),
        Shape::Struct(fields) => address_in(decoder, fields, bytes),
        _ => None,
    }
}

fn address_in(decoder: &mut Decoder<'_>, fields: &[Field], bytes: &[u8]) -> Option<(u64, Option<TypeId>)> {
    let mut found = fields
        .iter()
        .filter_map(|field| address(decoder, field.id, bytes.get(field.offset..)?));
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

/// The only field of the only field, and so on.
fn innermost(decoder: &mut Decoder<'_>, fields: &[Field], bytes: &[u8], depth: usize) -> Option<ValueText> {
    decoder.goes_on()?;
    let mut held = None;
    for field in fields {
        if decoder.types.get(field.id)?.size > 0 && held.replace(field).is_some() {
            return None;
        }
    }
    let field = held?;
    let bytes = bytes.get(field.offset..)?;
    match &decoder.types.get(field.id)?.shape {
        Shape::Struct(fields) => innermost(decoder, fields, bytes, depth),
        _ => Some(decoder.words(field.id, bytes, depth + 1)),
    }
}

fn share(decoder: &mut Decoder<'_>, ty: &Type, bytes: &[u8], name: &str, depth: usize) -> Option<ValueText> {
    let Shape::Struct(fields) = &ty.shape else { return None };
    let (address, target) = address_in(decoder, fields, bytes)?;
    let target = decoder.types.get(target?)?;
    let Shape::Struct(fields) = &target.shape else {
        return None;
    };
    let field = named(fields, name)?;
    let size = decoder.types.get(field.id)?.size;
    let bytes = decoder.memory(address.checked_add(field.offset as u64)?, size)?;
    Some(decoder.words(field.id, bytes, depth + 1))
}

fn string(decoder: &mut Decoder<'_>, fields: &[Field], bytes: &[u8]) -> Option<ValueText> {
    let (length, _) = within(decoder, fields, bytes, &["vec", "len"])?;
    let (buffer, id) = within(decoder, fields, bytes, &["vec", "buf", "inner", "ptr"])?;
    let (start, _) = address(decoder, id, buffer)?;
    text(decoder, start, word(length, 0)?)
}

fn text(decoder: &Decoder<'_>, start: u64, length: u64) -> Option<ValueText> {
    let length = usize::try_from(length).ok()?;
    let bytes = decoder.memory_up_to(start, length)?;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // Cut within a character.
        Err(error) if bytes.len() < length => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    match bytes.len() == length {
        true => Some(ValueText::Text(text.into())),
        false => Some(ValueText::Plain(format!("{text:?}…"))),
    }
}

fn vec(decoder: &mut Decoder<'_>, ty: &Type, bytes: &[u8], depth: usize) -> Option<ValueText> {
    let Shape::Struct(fields) = &ty.shape else { return None };
    let (length, _) = within(decoder, fields, bytes, &["len"])?;
    let (buffer, id) = within(decoder, fields, bytes, &["buf", "inner", "ptr"])?;
    let (start, _) = address(decoder, id, buffer)?;
    list(decoder, *ty.arguments.first()?, start, word(length, 0)?, depth)
}

/// Elements that follow each other in memory.
fn list(decoder: &mut Decoder<'_>, id: TypeId, start: u64, length: u64, depth: usize) -> Option<ValueText> {
    let size = decoder.types.get(id)?.size;
    let length = usize::try_from(length).ok()?;
    let shown = length.min(ELEMENTS);
    let bytes = decoder.memory_up_to(start, shown.checked_mul(size)?)?;
    Some(decoder.elements(id, size, bytes, shown, length > shown, depth))
}

fn vec_deque(decoder: &mut Decoder<'_>, ty: &Type, bytes: &[u8], depth: usize) -> Option<ValueText> {
    let Shape::Struct(fields) = &ty.shape else { return None };
    let mut number = |names: &[&str]| word(within(decoder, fields, bytes, names)?.0, 0);
    let (head, length) = (number(&["head"])?, number(&["len"])?);
    let capacity = number(&["buf", "inner", "cap"])?;
    let (buffer, pointer) = within(decoder, fields, bytes, &["buf", "inner", "ptr"])?;
    let (start, _) = address(decoder, pointer, buffer)?;
    let id = *ty.arguments.first()?;
    let size = decoder.types.get(id)?.size as u64;
    if size == 0 || length == 0 {
        return list(decoder, id, start, length, depth);
    }
    let shown = length.min(ELEMENTS as u64);
    let mut parts = Vec::new();
    for position in 0..shown {
        let slot = head.checked_add(position)?.checked_rem(capacity)?;
        let at = start.checked_add(slot.checked_mul(size)?)?;
        let Some(bytes) = decoder.memory(at, size as usize) else {
            break;
        };
        parts.push((None, decoder.words(id, bytes, depth + 1)));
    }
    let more = (parts.len() as u64) < length;
    Some(ValueText::Parts {
        head: String::new(),
        brackets: Brackets::Square,
        parts,
        more,
    })
}

/// A hash table: values lie before its control bytes; those of full places begin with a zero bit.
fn table(decoder: &mut Decoder<'_>, fields: &[Field], bytes: &[u8], depth: usize, map: bool) -> Option<ValueText> {
    let path: &[&str] = if map {
        &["base", "table"]
    } else {
        &["base", "map", "table"]
    };
    let (bytes, id) = within(decoder, fields, bytes, path)?;
    let ty = decoder.types.get(id)?;
    let Shape::Struct(fields) = &ty.shape else { return None };
    let mut number = |name: &str| word(within(decoder, fields, bytes, &["table", name])?.0, 0);
    let (items, places) = (number("items")?, number("bucket_mask")?.checked_add(1)?);
    let (pointer, id) = within(decoder, fields, bytes, &["table", "ctrl"])?;
    let (control, _) = address(decoder, id, pointer)?;
    let entry = decoder.types.get(*ty.arguments.first()?)?;
    let Shape::Struct(pair) = &entry.shape else { return None };
    let mut parts = Vec::new();
    let full = match items {
        0 => &[],
        _ => decoder.memory_up_to(control, usize::try_from(places).ok()?)?,
    };
    for (place, _) in (1..).zip(full).filter(|(_, control)| **control < 0x80) {
        let at = control.checked_sub(entry.size as u64 * place)?;
        let Some(bytes) = decoder.memory(at, entry.size) else {
            break;
        };
        let key = decoder.field(named(pair, "__0")?, bytes, depth);
        let value = decoder.field(named(pair, "__1")?, bytes, depth);
        parts.push(match map {
            true => (Some(key.whole()), value),
            false => (None, key),
        });
        if parts.len() == ELEMENTS {
            break;
        }
    }
    // In an order that does not depend on the hashes, as far as there is one.
    parts.sort_by_key(|(key, value)| {
        let text = key.clone().unwrap_or_else(|| value.whole());
        (text.len(), text)
    });
    let more = (parts.len() as u64) < items;
    Some(ValueText::Parts {
        head: String::new(),
        brackets: Brackets::Curly,
        parts,
        more,
    })
}

fn duration(decoder: &mut Decoder<'_>, fields: &[Field], bytes: &[u8]) -> Option<ValueText> {
    let seconds = word(within(decoder, fields, bytes, &["secs"])?.0, 0)?;
    let nanos = u32::from_le_bytes(*within(decoder, fields, bytes, &["nanos"])?.0.first_chunk()?);
    let valid = nanos < 1_000_000_000;
    valid.then(|| ValueText::plain(format!("{:?}", std::time::Duration::new(seconds, nanos))))
}

/// A pointer with a length, or with a table of methods.
enum Fat {
    Text,
    Slice,
    Methods,
}

impl Fat {
    fn of(ty: &Type) -> Option<Fat> {
        let inner = match ty.name.strip_prefix("alloc::boxed::Box<") {
            Some(inner) => inner,
            None => ty
                .name
                .strip_prefix('&')
                .map(|inner| inner.trim_start_matches("mut "))?,
        };
        match &ty.shape {
            Shape::Struct(_) if inner.starts_with("str") => Some(Fat::Text),
            Shape::Struct(_) if inner.starts_with('[') => Some(Fat::Slice),
            Shape::Struct(_) if inner.starts_with("dyn ") || inner.starts_with("(dyn ") => Some(Fat::Methods),
            _ => None,
        }
    }

    fn words(&self, decoder: &mut Decoder<'_>, ty: &Type, bytes: &[u8], depth: usize) -> Option<ValueText> {
        let Shape::Struct(fields) = &ty.shape else { return None };
        let length = word(bytes, named(fields, "length")?.offset)?;
        let field = named(fields, "data_ptr")?;
        let (start, target) = address(decoder, field.id, bytes.get(field.offset..)?)?;
        match self {
            Fat::Text => text(decoder, start, length),
            Fat::Slice => list(decoder, target?, start, length, depth),
            Fat::Methods => None,
        }
    }
}
