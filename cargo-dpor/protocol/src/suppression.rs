//! Data races that the user means, by the code that makes one of the two accesses.

use std::fmt;
use std::str::FromStr;

/// Code whose plain accesses to memory are in no data race: a function, or a source file. `*` stands for any text.
///
/// A pattern with a `/`, or with `.rs` at its end, is of a file, and has to be the end of its path, from the start of a
/// name on. Any other is of a function, and has to be the path of the function, or of a module or function around it;
/// generic arguments do not count: `seqlock::SeqLock::read` and `seqlock::SeqLock<T>::read` are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaceSuppression {
    pattern: String,
}

dpor_explorer::codec!(struct RaceSuppression { pattern });

/// Why a text is no [`RaceSuppression`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuppressionError {
    /// It says nothing.
    Empty,
    /// It suppresses every race.
    Everything,
}

impl fmt::Display for SuppressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SuppressionError::Empty => "a function or a file is missing",
            SuppressionError::Everything => {
                "this would suppress every data race: `data-races = false` looks for none in the first place"
            }
        })
    }
}

impl std::error::Error for SuppressionError {}

impl FromStr for RaceSuppression {
    type Err = SuppressionError;

    fn from_str(text: &str) -> Result<Self, SuppressionError> {
        let pattern = text.trim();
        match pattern.trim_start_matches(['*', ':', '/']) {
            _ if pattern.is_empty() => Err(SuppressionError::Empty),
            "" | ".rs" => Err(SuppressionError::Everything),
            _ => Ok(RaceSuppression {
                pattern: pattern.to_owned(),
            }),
        }
    }
}

impl fmt::Display for RaceSuppression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pattern)
    }
}

impl RaceSuppression {
    /// Whether it covers what a function does, whose name is as it is demangled, in a source file.
    pub fn covers(&self, function: &str, file: Option<&str>) -> bool {
        let pattern = &*self.pattern;
        if pattern.contains('/') || pattern.ends_with(".rs") {
            return file.is_some_and(|file| {
                let ends = file.match_indices('/').map(|(at, _)| &file[at + 1..]);
                ends.chain([file]).any(|end| matches(pattern, end))
            });
        }
        let (pattern, path) = (without_generics(pattern), without_generics(function));
        let ends = path.match_indices("::").map(|(at, _)| &path[..at]);
        ends.chain([&*path]).any(|start| matches(&pattern, start))
    }
}

/// Whether the text is the pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(start) else {
        return false;
    };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return text.ends_with(piece);
        }
        match text.find(piece) {
            Some(at) => text = &text[at + piece.len()..],
            None => return false,
        }
    }
    true
}

/// The path of a function without generic arguments. Of `<T as Trait>::f`, that of `T`.
fn without_generics(name: &str) -> String {
    let mut path = String::new();
    let mut depth = 0_u32;
    let mut before = ' ';
    // A type at the start is kept, except for what it is taken as.
    let (mut kept, mut over) = (name.starts_with('<'), false);
    for (at, c) in name.char_indices() {
        let outside = depth == u32::from(kept);
        match c {
            '<' if at == 0 => depth = 1,
            '<' => depth += 1,
            // An arrow is no bracket.
            '>' if before != '-' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    (kept, over) = (false, false);
                }
            }
            ' ' if outside && kept && name[at..].starts_with(" as ") => over = true,
            _ if outside && !over => path.push(c),
            _ => {}
        }
        before = c;
    }
    // `f::<u8>` has lost its arguments only.
    path.replace("::::", "::").trim_end_matches("::").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_arguments_do_not_count() {
        for (name, path) in [
            ("seqlock::SeqLock<T>::read", "seqlock::SeqLock::read"),
            ("<seqlock::SeqLock<T>>::read", "seqlock::SeqLock::read"),
            (
                "<seqlock::SeqLock<alloc::vec::Vec<u8>>>::read::<u8>",
                "seqlock::SeqLock::read",
            ),
            ("<my::Guard<T> as core::ops::drop::Drop>::drop", "my::Guard::drop"),
            (
                "<my::Run<fn(u8) -> u8> as my::Job>::run::{closure#0}",
                "my::Run::run::{closure#0}",
            ),
            ("my::f::<u8>::{closure#1}", "my::f::{closure#1}"),
            ("main", "main"),
            ("<", ""),
        ] {
            assert_eq!(without_generics(name), path, "{name}");
        }
    }

    #[test]
    fn functions_and_files_are_covered() {
        let read = "<seqlock::SeqLock<T>>::read";
        let file = Some("/home/me/.cargo/registry/src/seqlock-0.2.0/src/lib.rs");
        for (pattern, function, file, covered) in [
            ("seqlock::SeqLock::read", read, file, true),
            ("seqlock::SeqLock<T>::read", read, None, true),
            ("seqlock", read, file, true),
            ("seqlock::*::read", read, file, true),
            ("*::read", read, file, true),
            ("seqlock::SeqLock::rea", read, file, false),
            ("SeqLock::read", read, file, false),
            (
                "seqlock::SeqLock::read",
                "seqlock::SeqLock<T>::read::{closure#0}",
                file,
                true,
            ),
            ("seqlock::SeqLock::read", "seqlock::SeqLock<T>::read_all", file, false),
            ("src/lib.rs", read, file, true),
            ("lib.rs", read, file, true),
            ("seqlock-*/src/lib.rs", read, file, true),
            ("seqlock-*/src/*", read, file, true),
            ("ib.rs", read, file, false),
            ("src/lib.rs", read, None, false),
        ] {
            let suppression: RaceSuppression = pattern.parse().unwrap();
            assert_eq!(
                suppression.covers(function, file),
                covered,
                "{pattern} {function} {file:?}"
            );
        }
    }

    #[test]
    fn a_star_is_any_text() {
        for (pattern, text, is) in [
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "acb", false),
            ("*b*", "abc", true),
            ("a*b*c", "acb", false),
            ("a*ba", "aba", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(pattern, text), is, "{pattern} {text}");
        }
    }

    #[test]
    fn what_says_nothing_and_what_says_everything_are_errors() {
        let parsed = |text: &str| text.parse::<RaceSuppression>().map(|rule| rule.to_string());
        assert_eq!(parsed(" a::b "), Ok("a::b".to_owned()));
        assert_eq!(parsed("  "), Err(SuppressionError::Empty));
        for everything in ["*", "**", "*.rs", "*/*", "*::*"] {
            assert_eq!(parsed(everything), Err(SuppressionError::Everything), "{everything}");
        }
    }
}
