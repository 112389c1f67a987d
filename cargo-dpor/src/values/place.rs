//! The names of parts of statics and of other values: `POOL.queue`, `FORKS[2]`.

use super::debug_info::{DebugInfo, Field, Shape, Tag, TypeId, Variant};
use super::library;
use std::ops::Range;

/// Maximum depth of nested parts.
const DEPTH: usize = 12;

/// The way from the static that contains an address to the object there, which is of a type of the standard library:
/// nothing, fields, or indices.
pub fn within_static(types: &mut DebugInfo, address: u64) -> Option<String> {
    let found = types.static_at(address)?;
    let (mut id, mut offset) = (found.id, found.offset);
    let mut way = String::new();
    for _ in 0..DEPTH {
        let ty = types.get(id)?;
        if ["shim_std::", "core::sync::", "std::sync::"]
            .iter()
            .any(|start| ty.path.starts_with(start))
        {
            return Some(way);
        }
        let bytes = offset..offset.checked_add(1)?;
        let (name, inner, start) = match &ty.shape {
            Shape::Struct(fields) => {
                let field = only_field(types, fields, 0, &bytes)??;
                // Cells and the like.
                let name = match ty.path.starts_with("core::") {
                    true => String::new(),
                    false => dotted(field),
                };
                (name, field.id, field.offset)
            }
            Shape::Array(element, _) => element_with(types, *element, &bytes)?,
            _ => return None,
        };
        way.push_str(&name);
        (id, offset) = (inner, offset - start);
    }
    None
}

/// A part of a value.
pub struct Part {
    /// The way to it: nothing, fields, or indices.
    pub way: String,
    pub id: TypeId,
    /// The offset of the bytes in it.
    pub offset: usize,
}

/// The smallest part of a value that has all of these bytes, without private fields of the standard library. `None` if
/// the value ends before them.
pub fn smallest(types: &mut DebugInfo, id: TypeId, mut bytes: Range<usize>) -> Option<Part> {
    (bytes.end <= types.get(id)?.size).then_some(())?;
    let (mut id, mut way) = (id, String::new());
    for _ in 0..DEPTH {
        let Some((name, inner, start)) = inside(types, id, &bytes) else {
            break;
        };
        way.push_str(&name);
        (id, bytes) = (inner, bytes.start - start..bytes.end - start);
    }
    Some(Part {
        way,
        id,
        offset: bytes.start,
    })
}

/// The next smaller part: its name, its type, and its offset.
fn inside(types: &mut DebugInfo, id: TypeId, bytes: &Range<usize>) -> Option<(String, TypeId, usize)> {
    let ty = types.get(id)?;
    match &ty.shape {
        // A fat pointer.
        Shape::Struct(_) if ty.name.starts_with(['&', '*']) => None,
        Shape::Struct(fields) if library::is_of_library(&ty.path) && !library::is_public(&ty.path) => {
            let held = library::named(fields, library::held_in(&ty.path)?)?;
            let field = only_field(types, fields, 0, bytes)??;
            std::ptr::eq(field, held).then(|| (String::new(), field.id, field.offset))
        }
        Shape::Struct(fields) => {
            let field = only_field(types, fields, 0, bytes)??;
            Some((dotted(field), field.id, field.offset))
        }
        Shape::Array(element, _) => element_with(types, *element, bytes),
        Shape::Enum { tag, variants } => in_variant(types, tag.as_ref(), variants, bytes),
        _ => None,
    }
}

/// The only field that has any of these bytes, if it has all of them: `None` within if none has any. The fields are of
/// something at this offset.
fn only_field<'a>(
    types: &mut DebugInfo,
    fields: &'a [Field],
    at: usize,
    bytes: &Range<usize>,
) -> Option<Option<&'a Field>> {
    let mut only = None;
    for field in fields {
        let start = at.checked_add(field.offset)?;
        let end = start.checked_add(types.get(field.id)?.size)?;
        if start < bytes.end && bytes.start < end {
            let has_all = start <= bytes.start && bytes.end <= end;
            (has_all && only.replace(field).is_none()).then_some(())?;
        }
    }
    Some(only)
}

/// The element of an array that has all of these bytes.
fn element_with(types: &mut DebugInfo, element: TypeId, bytes: &Range<usize>) -> Option<(String, TypeId, usize)> {
    let size = types.get(element)?.size;
    let index = bytes.start.checked_div(size)?;
    (bytes.end <= (index + 1) * size).then(|| (format!("[{index}]"), element, index * size))
}

/// The field of a variant that has all of these bytes, if no other variant has anything there, and the tag has not.
fn in_variant(
    types: &mut DebugInfo,
    tag: Option<&Tag>,
    variants: &[Variant],
    bytes: &Range<usize>,
) -> Option<(String, TypeId, usize)> {
    if let Some(tag) = tag {
        let end = tag.offset.checked_add(types.get(tag.id)?.size)?;
        (end <= bytes.start || bytes.end <= tag.offset).then_some(())?;
    }
    let mut only = None;
    for variant in variants {
        let holder = types.get(variant.id)?;
        let Shape::Struct(fields) = &holder.shape else {
            return None;
        };
        if let Some(field) = only_field(types, fields, variant.offset, bytes)? {
            let name = format!(".{}{}", variant.name, dotted(field));
            let found = (name, field.id, variant.offset + field.offset);
            only.replace(found).is_none().then_some(())?;
        }
    }
    only
}

/// `.0`, `.name`.
fn dotted(field: &Field) -> String {
    format!(".{}", field.name.strip_prefix("__").unwrap_or(&field.name))
}
