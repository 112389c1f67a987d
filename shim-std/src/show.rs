//! Values of the explored program, in words for a report.
//!
//! What is in a lock or a channel has any type, and need not be `Debug`; and a `Debug` of the program's own would run its code in
//! the middle of a step. So these are the types of numbers, texts and simple collections of them, whose `Debug` is std's.

use dpor_scheduler::{Location, value_if};
use std::any::type_name;
use std::collections::VecDeque;

/// At most so many characters are shown.
const SHOWN: usize = 60;

/// Tells of the value of an object, if its type is one of those that can be shown and the execution is being traced.
pub(crate) fn tell_value<T: ?Sized>(object: Location, data: &T) {
    value_if(object, || show(data));
}

/// The value in words, if its type is one of those that can be shown.
pub(crate) fn show<T: ?Sized>(value: &T) -> Option<String> {
    let start = std::ptr::from_ref(value).cast::<()>();
    // SAFETY: a value of the type that the name is of.
    unsafe { show_named(type_name::<T>(), size_of_val(value), start) }
}

/// Not generic, as it is long.
///
/// # Safety
/// At `start` is a value of this size, of the type that has this name.
unsafe fn show_named(name: &str, size: usize, start: *const ()) -> Option<String> {
    macro_rules! known {
        ($($T:ty),*) => {
            $(
                if name == type_name::<$T>() && size == size_of::<$T>() {
                    // SAFETY: the names of these types are theirs alone: they are made of primitives and of paths in the standard
                    // library, whose crates' names no other crate has there. So the value is of this type.
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
    fn others_are_not() {
        struct Own(#[expect(dead_code, reason = "never read")] u32);
        assert_eq!(show(&Own(1)), None);
        assert_eq!(show(&()), None);
        assert_eq!(show(&Box::new(1u32)), None);
        assert_eq!(show::<[u32]>(&[1, 2]), None);
    }
}
