//! Encoding of values as bytes, to send them to another process or to store them.
//!
//! `cargo dpor` compiles this crate, and those that use it, on the user's machine before the first test can run. With
//! serde's derive, and a format that is generic over it, that took more than twice as long as it takes like this: here
//! each type has two functions that are compiled once. Both ends are of the same build, so the form need not be told
//! from the bytes.
//!
//! Unsigned numbers are varints (LEB128), signed ones in zigzag order; whatever may be long has its length before it; a
//! variant has its number before it; all else is one field after another.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::num::NonZeroU32;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// A type that can be encoded as bytes. [`codec!`](crate::codec!) implements it for structs and enums.
pub trait Codec: Sized {
    /// Appends the encoded value.
    fn encode(&self, out: &mut Vec<u8>);

    /// Decodes a value from the front of `from`; returns `None` if there is none.
    fn decode(from: &mut &[u8]) -> Option<Self>;
}

/// Encodes a value.
pub fn to_bytes<T: Codec>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut out);
    out
}

/// Decodes a value that takes up all of the bytes.
pub fn from_bytes<T: Codec>(mut bytes: &[u8]) -> Option<T> {
    let value = T::decode(&mut bytes)?;
    bytes.is_empty().then_some(value)
}

/// Implements [`Codec`] for a struct, given all of its fields, or for an enum, given its numbered variants. A missing
/// field is a compile error.
///
/// Fields after `skip` are left out, and are their types' defaults when a value is read.
///
/// ```
/// struct Point(u32, u32);
/// enum Shape {
///     Empty,
///     Circle { center: Point, radius: u32 },
///     Line(Point, Point),
/// }
/// dpor_explorer::codec!(struct Point { 0, 1 });
/// dpor_explorer::codec!(enum Shape { 0 => Empty, 1 => Circle { center, radius }, 2 => Line(from, to) });
///
/// let bytes = dpor_explorer::codec::to_bytes(&Shape::Circle { center: Point(1, 2), radius: 300 });
/// assert_eq!(bytes, [1, 1, 2, 0xac, 2]);
/// ```
#[macro_export]
macro_rules! codec {
    (struct $name:ident { $($field:tt),* $(,)? } $(skip { $($(#[$when:meta])* $skipped:ident),* $(,)? })?) => {
        impl $crate::codec::Codec for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                $($crate::codec::Codec::encode(&self.$field, out);)*
            }

            fn decode(from: &mut &[u8]) -> Option<Self> {
                Some($name {
                    $($field: $crate::codec::Codec::decode(from)?,)*
                    $($($(#[$when])* $skipped: Default::default(),)*)?
                })
            }
        }
    };
    (enum $name:ident {
        $($number:literal => $variant:ident $({ $($field:ident),* $(,)? })? $(( $($item:ident),* ))?),* $(,)?
    }) => {
        impl $crate::codec::Codec for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                match self {
                    $($name::$variant $({ $($field),* })? $(( $($item),* ))? => {
                        out.push($number);
                        $($($crate::codec::Codec::encode($field, out);)*)?
                        $($($crate::codec::Codec::encode($item, out);)*)?
                    })*
                }
            }

            fn decode(from: &mut &[u8]) -> Option<Self> {
                let number: u8 = $crate::codec::Codec::decode(from)?;
                match number {
                    $($number => {
                        $($(let $field = $crate::codec::Codec::decode(from)?;)*)?
                        $($(let $item = $crate::codec::Codec::decode(from)?;)*)?
                        Some($name::$variant $({ $($field),* })? $(( $($item),* ))?)
                    })*
                    _ => None,
                }
            }
        }
    };
}

fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take<'a>(length: usize, from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (front, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(front)
}

fn take_length(from: &mut &[u8]) -> Option<usize> {
    usize::try_from(take_number(from)?).ok()
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Codec for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                put_number(*self as u64, out);
            }

            fn decode(from: &mut &[u8]) -> Option<Self> {
                take_number(from)?.try_into().ok()
            }
        })*
    };
}

numbers!(u32, u64, usize);

impl Codec for u8 {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        Some(byte)
    }
}

impl Codec for u128 {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Some(u128::from_le_bytes(take(size_of::<u128>(), from)?.try_into().ok()?))
    }
}

impl Codec for i64 {
    fn encode(&self, out: &mut Vec<u8>) {
        put_number(((self << 1) ^ (self >> 63)) as u64, out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let number = take_number(from)?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

impl Codec for i32 {
    fn encode(&self, out: &mut Vec<u8>) {
        i64::from(*self).encode(out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        i64::decode(from)?.try_into().ok()
    }
}

impl Codec for f64 {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Some(f64::from_le_bytes(take(size_of::<f64>(), from)?.try_into().ok()?))
    }
}

impl Codec for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        match u8::decode(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Codec for NonZeroU32 {
    fn encode(&self, out: &mut Vec<u8>) {
        self.get().encode(out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        NonZeroU32::new(u32::decode(from)?)
    }
}

impl Codec for Duration {
    fn encode(&self, out: &mut Vec<u8>) {
        self.as_secs().encode(out);
        self.subsec_nanos().encode(out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (seconds, nanoseconds) = Codec::decode(from)?;
        (nanoseconds < 1_000_000_000).then(|| Duration::new(seconds, nanoseconds))
    }
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    bytes.len().encode(out);
    out.extend_from_slice(bytes);
}

fn take_bytes<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    take(take_length(from)?, from)
}

impl Codec for String {
    fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(self.as_bytes(), out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        std::str::from_utf8(take_bytes(from)?).ok().map(str::to_owned)
    }
}

impl Codec for Cow<'static, str> {
    fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(self.as_bytes(), out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        String::decode(from).map(Cow::Owned)
    }
}

impl Codec for PathBuf {
    fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(self.as_os_str().as_bytes(), out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let bytes = take_bytes(from)?.to_vec();
        Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
    }
}

impl<T: Codec> Codec for Box<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        T::encode(self, out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        T::decode(from).map(Box::new)
    }
}

impl<T: Codec> Codec for Option<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.is_some().encode(out);
        if let Some(value) = self {
            value.encode(out);
        }
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Some(match bool::decode(from)? {
            true => Some(T::decode(from)?),
            false => None,
        })
    }
}

impl<A: Codec, B: Codec> Codec for (A, B) {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Some((A::decode(from)?, B::decode(from)?))
    }
}

impl<T: Codec + Copy + Default, const N: usize> Codec for [T; N] {
    fn encode(&self, out: &mut Vec<u8>) {
        for item in self {
            item.encode(out);
        }
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let mut items = [T::default(); N];
        for item in &mut items {
            *item = T::decode(from)?;
        }
        Some(items)
    }
}

/// Appends the number of items, and the items.
pub fn put_all<'a, T: Codec + 'a>(items: impl ExactSizeIterator<Item = &'a T>, out: &mut Vec<u8>) {
    items.len().encode(out);
    for item in items {
        item.encode(out);
    }
}

/// Decodes the items of a collection. It grows item by item, so that damaged data is noticed before memory runs out.
pub fn take_all<T: Codec, C: Default>(from: &mut &[u8], mut add: impl FnMut(&mut C, T)) -> Option<C> {
    let mut all = C::default();
    for _ in 0..take_length(from)? {
        add(&mut all, T::decode(from)?);
    }
    Some(all)
}

impl<T: Codec> Codec for Vec<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        put_all(self.iter(), out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        take_all(from, Vec::push)
    }
}

impl<T: Codec> Codec for Rc<[T]> {
    fn encode(&self, out: &mut Vec<u8>) {
        put_all(self.iter(), out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Vec::decode(from).map(Rc::from)
    }
}

impl<T: Codec + Eq + Hash, S: BuildHasher + Default> Codec for HashSet<T, S> {
    fn encode(&self, out: &mut Vec<u8>) {
        put_all(self.iter(), out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        take_all(from, |all: &mut Self, item| _ = all.insert(item))
    }
}

impl<K: Codec + Eq + Hash, V: Codec, S: BuildHasher + Default> Codec for HashMap<K, V, S> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.len().encode(out);
        for (key, value) in self {
            key.encode(out);
            value.encode(out);
        }
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        take_all(from, |all: &mut Self, (key, value)| _ = all.insert(key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    fn survives<T: Codec + PartialEq + Debug>(value: T) {
        let bytes = to_bytes(&value);
        assert_eq!(from_bytes::<T>(&bytes).as_ref(), Some(&value), "{bytes:?}");
        for length in 0..bytes.len() {
            assert_eq!(
                from_bytes::<T>(&bytes[..length]),
                None,
                "{value:?}, {length} of {bytes:?}"
            );
        }
        assert_eq!(
            from_bytes::<T>(&[&bytes[..], &[0]].concat()),
            None,
            "{value:?} and a byte more"
        );
    }

    #[test]
    fn what_is_written_is_read_again_and_nothing_less() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            survives(number);
            survives(number as i64);
            survives(-(number as i64 >> 1));
            survives(u128::from(number) << 64 | 5);
        }
        survives((i64::MIN, i32::MIN));
        survives((1.5f64, Some(true)));
        survives(None::<String>);
        survives((String::from("a\nb\u{1f980}\u{2}"), PathBuf::from("/x/\u{e9}")));
        survives((Duration::new(u64::MAX, 999_999_999), NonZeroU32::MIN));
        survives(([1u32, 2, 300], Box::new(Cow::<'static, str>::from("x"))));
        survives((Rc::<[u8]>::from([1, 2]), vec![usize::MAX]));
        survives(HashMap::<u32, Vec<u64>>::from([(1, vec![]), (2, vec![3])]));
        survives(HashSet::<u64>::from([1, 200]));
    }

    #[derive(Debug, PartialEq)]
    enum Shape {
        Empty,
        Circle { radius: u32, name: Option<String> },
        Line(u32, Pair),
    }
    #[derive(Debug, PartialEq)]
    struct Pair(i64, u8);
    #[derive(Debug, PartialEq)]
    struct Partly {
        kept: u32,
        left_out: u32,
    }
    codec!(enum Shape { 0 => Empty, 1 => Circle { radius, name }, 2 => Line(from, to) });
    codec!(struct Pair { 0, 1 });
    codec!(struct Partly { kept } skip { left_out });

    #[test]
    fn structs_and_enums_consist_of_their_fields() {
        survives(Shape::Empty);
        survives(Shape::Circle {
            radius: 7,
            name: Some("o".into()),
        });
        survives(vec![Shape::Line(1, Pair(-1, 255)), Shape::Empty]);
        let bytes = to_bytes(&Partly { kept: 3, left_out: 4 });
        assert_eq!(from_bytes(&bytes), Some(Partly { kept: 3, left_out: 0 }));
        assert_eq!(from_bytes::<Shape>(&[3]), None, "there is no such variant");
    }

    #[test]
    fn damaged_bytes_are_no_value() {
        assert_eq!(from_bytes::<u32>(&to_bytes(&(1u64 << 32))), None);
        assert_eq!(from_bytes::<u64>(&[0xff; 10]), None, "more than 64 bits");
        assert_eq!(from_bytes::<bool>(&[2]), None);
        assert_eq!(from_bytes::<String>(&[1, 0xff]), None);
        assert_eq!(from_bytes::<NonZeroU32>(&[0]), None);
        assert_eq!(from_bytes::<Duration>(&to_bytes(&(1u64, 1_000_000_000u32))), None);
        // Its length is that of no vector there can be.
        assert_eq!(from_bytes::<Vec<u64>>(&to_bytes(&u64::MAX)), None);
    }
}
