//! Values of the explored program's own types, as bytes within the texts of a report.
//!
//! The test process knows no more of such a type than a function that was made for it; what the bytes mean is in the
//! debug information, which `cargo dpor` reads. So a text may hold values in this form, each between two control
//! characters that are in no other text.

use std::fmt::Write;

const START: char = '\u{2}';
const END: char = '\u{3}';

/// The bytes of a value, and of the memory to which it may point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueBytes {
    /// The address in the executable's file of the function that was made for the value's type.
    pub function: u64,
    /// The value.
    pub value: MemoryBytes,
    /// Pieces of memory to which words in the value, or in other pieces, would point if they were pointers.
    pub memory: Vec<MemoryBytes>,
}

/// A piece of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryBytes {
    /// Its start.
    pub address: u64,
    /// Its contents.
    pub bytes: Vec<u8>,
}

impl MemoryBytes {
    fn write(&self, out: &mut String) {
        write!(out, ";{:x}:", self.address).expect("a String takes anything");
        for byte in &self.bytes {
            write!(out, "{byte:02x}").expect("a String takes anything");
        }
    }

    fn read(text: &str) -> Option<MemoryBytes> {
        let (address, digits) = text.split_once(':')?;
        let pairs = digits.as_bytes().chunks(2);
        let bytes = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        Some(MemoryBytes {
            address: u64::from_str_radix(address, 16).ok()?,
            bytes: bytes.collect::<Option<_>>()?,
        })
    }
}

impl ValueBytes {
    /// The text form.
    pub fn to_text(&self) -> String {
        let mut out = format!("{START}{:x}", self.function);
        for piece in [&self.value].into_iter().chain(&self.memory) {
            piece.write(&mut out);
        }
        out.push(END);
        out
    }

    /// The value that makes up the whole text.
    pub fn of_text(text: &str) -> Option<ValueBytes> {
        let inner = text.strip_prefix(START)?.strip_suffix(END)?;
        let mut parts = inner.split(';');
        let function = u64::from_str_radix(parts.next()?, 16).ok()?;
        let mut pieces = parts.map(MemoryBytes::read).collect::<Option<Vec<_>>>()?.into_iter();
        Some(ValueBytes {
            function,
            value: pieces.next()?,
            memory: pieces.collect(),
        })
    }

    /// Says whether there is a value in the text.
    pub fn are_in(text: &str) -> bool {
        text.contains(START)
    }

    /// The text with each value replaced by words. A value without words is left out, with the colon before it.
    pub fn replaced(text: &str, mut words: impl FnMut(&ValueBytes) -> Option<String>) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(START) {
            let end = rest[start..]
                .find(END)
                .map_or(rest.len(), |end| start + end + END.len_utf8());
            out.push_str(&rest[..start]);
            match ValueBytes::of_text(&rest[start..end]).and_then(|value| words(&value)) {
                Some(words) => out.push_str(&words),
                None => out.truncate(out.trim_end_matches(": ").len()),
            }
            rest = &rest[end..];
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value() -> ValueBytes {
        ValueBytes {
            function: 0x1f30,
            value: MemoryBytes {
                address: 0x10,
                bytes: vec![0, 255],
            },
            memory: vec![MemoryBytes::default()],
        }
    }

    #[test]
    fn a_value_comes_out_of_a_text_as_it_went_in() {
        let text = value().to_text();
        assert_eq!(text, "\u{2}1f30;10:00ff;0:\u{3}");
        assert_eq!(ValueBytes::of_text(&text), Some(value()));
        for damaged in [
            "",
            "\u{2}\u{3}",
            "\u{2}1\u{3}",
            "\u{2}1;3:f\u{3}x",
            "\u{2}1;3:é\u{3}",
            "\u{2}1;3:00",
        ] {
            assert_eq!(ValueBytes::of_text(damaged), None, "{damaged:?}");
        }
    }

    #[test]
    fn values_in_a_text_become_words_or_nothing() {
        let text = format!("message 3: {}, full", value().to_text());
        assert!(ValueBytes::are_in(&text));
        assert_eq!(
            ValueBytes::replaced(&text, |_| Some("Stop".into())),
            "message 3: Stop, full"
        );
        assert_eq!(ValueBytes::replaced(&text, |_| None), "message 3, full");
        assert_eq!(ValueBytes::replaced("a: \u{2}1f", |_| Some("b".into())), "a");
        assert_eq!(ValueBytes::replaced("plain", |_| None), "plain");
    }
}
