//! The name of an object that is part of a static: `POOL.queue`, `FORKS[2]`.

use super::debug_info::{DebugInfo, Shape};

/// Maximum depth of nested parts.
const DEPTH: usize = 12;

/// The way from the static that contains an address to the object there, which is of a type of the standard library:
/// nothing, fields, or indices.
pub fn within_static(types: &mut DebugInfo, address: u64) -> Option<String> {
    let (mut id, mut offset) = types.static_at(address)?;
    let mut way = String::new();
    for _ in 0..DEPTH {
        let ty = types.get(id)?;
        if ["shim_std::", "core::sync::", "std::sync::"]
            .iter()
            .any(|start| ty.path.starts_with(start))
        {
            return Some(way);
        }
        match &ty.shape {
            Shape::Struct(fields) => {
                let mut holding = Vec::new();
                for field in fields {
                    let size = types.get(field.id)?.size;
                    if (field.offset..field.offset.checked_add(size)?).contains(&offset) {
                        holding.push(field);
                    }
                }
                let [field] = holding[..] else { return None };
                // Cells and the like.
                if !ty.path.starts_with("core::") {
                    way.push('.');
                    way.push_str(field.name.strip_prefix("__").unwrap_or(&field.name));
                }
                (id, offset) = (field.id, offset - field.offset);
            }
            Shape::Array(element, _) => {
                let size = types.get(*element)?.size;
                way.push_str(&format!("[{}]", offset.checked_div(size)?));
                (id, offset) = (*element, offset % size);
            }
            _ => return None,
        }
    }
    None
}
