//! Values of the explored program, in words for a report.
//!
//! What is in a lock or a channel has any type, and need not be `Debug`; and a `Debug` of the program's own would run
//! its code in the middle of a step. So there are words for numbers, texts and simple collections of them, whose
//! `Debug` is std's. Of others the bytes are told, which `cargo dpor` makes words of by means of the debug information.

use dpor_protocol::{MemoryBytes, ValueBytes};
use dpor_scheduler::{Glimpse, Location, glimpse, value_if};
use std::any::type_name;
use std::collections::VecDeque;

/// Maximum number of characters shown.
const SHOWN: usize = 60;

/// Records the value of an object, if it can be shown and the execution is traced.
pub(crate) fn tell_value<T: ?Sized>(object: Location, data: &T) {
    value_if(object, || show(data));
}

/// The value in words, or its bytes, for the parent to find words. Only in a traced execution.
pub(crate) fn show<T: ?Sized>(value: &T) -> Option<String> {
    let start = std::ptr::from_ref(value).cast::<()>();
    let sized = size_of::<&T>() == size_of::<usize>();
    // SAFETY: a value of the type that the function is made for.
    unsafe { show_any(named::<T>, size_of_val(value), sized, start) }
}

/// The name of a type. Debug information describes each type for which this function is instantiated at the function's
/// address.
#[inline(never)]
fn named<T: ?Sized>() -> &'static str {
    type_name::<T>()
}

/// Not generic, so that there is little code for each type.
///
/// # Safety
/// At `start` is a value of this size, of the type that `named` is made for.
unsafe fn show_any(named: fn() -> &'static str, size: usize, sized: bool, start: *const ()) -> Option<String> {
    // SAFETY: the caller's promise.
    unsafe { in_words(named(), size, start).or_else(|| in_bytes(named, size, start).filter(|_| sized)) }
}

/// # Safety
/// As for [`show_any`].
unsafe fn in_bytes(named: fn() -> &'static str, size: usize, start: *const ()) -> Option<String> {
    let piece = |(address, bytes)| MemoryBytes {
        address: address as u64,
        bytes,
    };
    // SAFETY: the caller's promise.
    let Glimpse { bias, value, memory } = unsafe { glimpse(start, size) }?;
    let bytes = ValueBytes {
        function: (named as usize).wrapping_sub(bias) as u64,
        value: piece(value),
        memory: memory.into_iter().map(piece).collect(),
    };
    Some(bytes.to_text())
}

/// # Safety
/// As for [`show_any`].
unsafe fn in_words(name: &str, size: usize, start: *const ()) -> Option<String> {
    macro_rules! known {
        ($($T:ty),*) => {
            $(
                if name == type_name::<$T>() && size == size_of::<$T>() {
                    // SAFETY: the names of these types are theirs alone: they are made of primitives and of paths in
                    // the standard library, whose crates' names no other crate has there. So the value is of this type.
                    return Some(shortened(format!("{:?}", unsafe { &*start.cast::<$T>() })));
                }
            )*
        };
    }
    macro_rules! with_collections {
        ($($T:ty),*) => {
            $( known!($T, Option<$T>, Vec<$T>, VecDeque<$T>); )*
        };
    }
    with_collections!(
        bool,
        char,
        u8,
        u16,
        u32,
        u64,
        u128,
        usize,
        i8,
        i16,
        i32,
        i64,
        i128,
        isize,
        f32,
        f64,
        String,
        &'static str
    );
    None
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_types_are_shown() {
        assert_eq!(show(&-7i64).as_deref(), Some("-7"));
        assert_eq!(show(&Some(3u8)).as_deref(), Some("Some(3)"));
        assert_eq!(show(&VecDeque::from([1u32, 2])).as_deref(), Some("[1, 2]"));
        assert_eq!(show(&String::from("a\n")).as_deref(), Some("\"a\\n\""));
        assert_eq!(show(&vec![1u64; 100]).map(|text| text.chars().count()), Some(SHOWN + 1));
    }

    #[test]
    fn of_others_there_are_bytes() {
        struct Own(#[expect(dead_code, reason = "never read")] u32);
        let bytes = |text: Option<String>| ValueBytes::of_text(&text?);
        let own = bytes(show(&Own(1))).unwrap();
        // SAFETY: a value of this size.
        let bias = unsafe { glimpse((&raw const own).cast(), 0) }.unwrap().bias;
        assert_eq!(
            own.function as usize + bias,
            named::<Own> as fn() -> &'static str as usize
        );
        assert_eq!(own.value.bytes, 1u32.to_ne_bytes());
        assert_ne!(bytes(show(&Box::new(1u32))).unwrap().function, own.function);
        assert_eq!(show::<[u32]>(&[1, 2]), None);
        assert_eq!(show(&[0u8; 4096]), None);
    }
}
