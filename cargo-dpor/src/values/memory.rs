//! The name and the type of memory that was accessed wrongly: `STATS.hits`, `Shared.counter`.
//!
//! A block of the heap has the type for which it was allocated, if a function of the library that allocates for one
//! type only, such as `Box::new`, was running then, and the size agrees. These functions run nobody else's code, so
//! whatever is allocated within them is for that type. Whether the optimiser has taken a function for another one is
//! told by the symbol table ([`DebugInfo::functions_at`]).

use super::debug_info::{DebugInfo, FunctionFrame, Shape, Type, TypeId};
use super::library::named;
use super::place::{Part, smallest};
use crate::report::story::names::plural;
use dpor_protocol::{AccessedMemory, MemoryPlace};
use regex::Regex;
use std::sync::LazyLock;

/// Functions of `Box` that allocate memory for a value.
const OF_BOX: [&str; 9] = [
    "new",
    "new_in",
    "new_uninit",
    "new_uninit_in",
    "new_zeroed",
    "new_zeroed_in",
    "pin",
    "try_new_uninit_in",
    "try_new_zeroed_in",
];

/// Functions of `Vec` that allocate memory for elements, and run no code of these.
const OF_VEC: [&str; 14] = [
    "append",
    "insert",
    "insert_mut",
    "into_boxed_slice",
    "push",
    "push_mut",
    "reserve",
    "reserve_exact",
    "shrink_to_fit",
    "split_off",
    "try_reserve",
    "try_reserve_exact",
    "with_capacity",
    "with_capacity_in",
];

/// Types of what is behind an `Rc` or an `Arc`, and the field with the value.
const SHARED: [(&str, &str); 2] = [("alloc::rc::RcInner", "value"), ("shim_std::sync::arc::Inner", "data")];

/// The purpose of a block of the heap.
#[derive(Clone, Copy)]
enum Purpose {
    Value(TypeId),
    /// Elements of a vector, or of something else that keeps them in a row.
    Elements(TypeId),
}

/// Adds the name and the type, and returns the words that the failure's message should have instead.
pub fn tell(types: &mut DebugInfo, memory: &mut AccessedMemory) -> Option<String> {
    let size = usize::try_from(memory.size).ok()?;
    let (start, part) = match &memory.place {
        MemoryPlace::Static { address } => {
            let found = types.static_at(*address)?;
            let part = smallest(types, found.id, found.offset..found.offset.checked_add(size)?)?;
            (found.name, part)
        }
        MemoryPlace::Block {
            offset,
            size: whole,
            allocated_in,
        } => {
            let purpose = purpose(types, allocated_in)?;
            let (offset, whole) = (usize::try_from(*offset).ok()?, usize::try_from(*whole).ok()?);
            if offset.checked_add(size)? > whole {
                let name = name_of_block(types, purpose, whole)?;
                (memory.name, memory.type_name) = (name.clone(), name);
                return Some(format!("{} ({})", memory.words, memory.name));
            }
            within_block(types, purpose, offset, size, whole)?
        }
    };
    let ty = types.get(part.id)?;
    memory.name = start + &part.way;
    memory.type_name = short(&full_name(types, part.id)?);
    let (name, type_name) = (&memory.name, &memory.type_name);
    let told = match name == type_name {
        true => name.clone(),
        false => format!("{name} ({type_name})"),
    };
    Some(match (ty.size == size, part.offset) {
        (true, _) => told,
        (false, 0) => format!("{} of {told}", plural(size, "byte")),
        (false, offset) => format!("{} of {told}, from byte {offset}", plural(size, "byte")),
    })
}

/// The purpose of a block that was allocated within calls with these return addresses, innermost first.
fn purpose(types: &mut DebugInfo, allocated_in: &[u64]) -> Option<Purpose> {
    for &address in allocated_in {
        for function in types.functions_at(address) {
            let found = purpose_in(types, &function);
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// The purpose of what a function allocates, if it has only one.
fn purpose_in(types: &mut DebugInfo, function: &FunctionFrame) -> Option<Purpose> {
    let name = function.name.as_str();
    let Some(of) = function.of else {
        let is_of_box = function.path.starts_with("alloc::boxed::{impl#") && OF_BOX.contains(&name);
        let argument = |name| function.arguments.iter().find(|(known, _)| known == name);
        if let Some((_, allocator)) = argument("A") {
            is_global(types, *allocator).then_some(())?;
        }
        let (_, value) = argument("T").filter(|_| is_of_box)?;
        return Some(Purpose::Value(*value));
    };
    let of = types.get(of)?;
    let allocates = match of.path.as_str() {
        "alloc::raw_vec::RawVec" => true,
        "alloc::vec::Vec" => OF_VEC.contains(&name),
        "shim_std::sync::arc::Arc" if name == "new" => return Some(Purpose::Value(target_of(types, &of)?)),
        _ => false,
    };
    match (&of.arguments[..], allocates) {
        (&[element, allocator], true) if is_global(types, allocator) => Some(Purpose::Elements(element)),
        _ => None,
    }
}

/// Whether an allocator is the one that gives out what it is asked for.
fn is_global(types: &mut DebugInfo, allocator: TypeId) -> bool {
    types.get(allocator).is_some_and(|ty| ty.path == "alloc::alloc::Global")
}

/// The type of what the only pointer of an `Arc` points to.
fn target_of(types: &mut DebugInfo, arc: &Type) -> Option<TypeId> {
    let Shape::Struct(fields) = &arc.shape else { return None };
    let pointer = types.get(named(fields, "inner")?.id)?;
    let Shape::Struct(fields) = &pointer.shape else {
        return None;
    };
    match types.get(named(fields, "pointer")?.id)?.shape {
        Shape::Pointer(target) => target,
        _ => None,
    }
}

/// The name of what bytes of a block are in, and the smallest part of that with all of them.
fn within_block(
    types: &mut DebugInfo,
    purpose: Purpose,
    offset: usize,
    size: usize,
    whole: usize,
) -> Option<(String, Part)> {
    let name = name_of_block(types, purpose, whole)?;
    let bytes = offset..offset + size;
    match purpose {
        Purpose::Value(id) => {
            let ty = types.get(id)?;
            let Some((_, field)) = SHARED.iter().find(|(path, _)| *path == ty.path) else {
                return Some((name, smallest(types, id, bytes)?));
            };
            let Shape::Struct(fields) = &ty.shape else { return None };
            let value = named(fields, field)?;
            let bytes = bytes.start.checked_sub(value.offset)?..bytes.end.checked_sub(value.offset)?;
            Some((short(&full_name(types, value.id)?), smallest(types, value.id, bytes)?))
        }
        Purpose::Elements(element) => {
            let each = types.get(element)?.size;
            let index = offset.checked_div(each)?;
            let bytes = bytes.start - index * each..bytes.end - index * each;
            let part = smallest(types, element, bytes)?;
            Some((format!("{name}[{index}]"), part))
        }
    }
}

/// The name of a block's type, if the block has the size for it, and nothing can have used it for another one.
fn name_of_block(types: &mut DebugInfo, purpose: Purpose, whole: usize) -> Option<String> {
    let (name, element) = match purpose {
        Purpose::Value(id) => {
            let ty = types.get(id)?;
            (ty.size == whole).then_some(())?;
            let element = match ty.shape {
                Shape::Array(element, _) => Some(full_name(types, element)?),
                _ => None,
            };
            (full_name(types, id)?, element)
        }
        Purpose::Elements(id) => {
            let size = types.get(id)?.size;
            (whole.checked_rem(size)? == 0).then_some(())?;
            let element = full_name(types, id)?;
            (format!("[{element}; {}]", whole / size), Some(element))
        }
    };
    // What is collected from a vector's elements may be in the vector's own block.
    let reused = |element: String| types.may_have("from_iter_in_place", &format!("IntoIter<{element}, "));
    (!element.is_some_and(reused)).then(|| short(&name))
}

/// The name of a type, with its modules and arguments, as it is in names of functions.
fn full_name(types: &mut DebugInfo, id: TypeId) -> Option<String> {
    let ty = types.get(id)?;
    if let Shape::Array(element, count) = ty.shape {
        return Some(format!("[{}; {count}]", full_name(types, element)?));
    }
    let modules = ty.path.strip_suffix(super::debug_info::without_arguments(&ty.name))?;
    Some(format!("{modules}{}", ty.name)).filter(|name| !name.is_empty())
}

/// A name without modules, and without the allocator that nobody has asked for.
pub fn short(name: &str) -> String {
    static MODULES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?:(?:\w+|\{impl#\d+\})::)+(\w+::\{|\w)").expect("it is well-formed"));
    let name = name.replace(", alloc::alloc::Global>", ">");
    MODULES.replace_all(&name, "$1").into_owned()
}
