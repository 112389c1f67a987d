//! What the failing run printed, and how much of it a report shows.

use crate::outcome::Account;
use dpor_protocol::FailureReport;
use std::borrow::Cow;
use std::path::Path;

/// An output of the failing run.
pub struct Printed<'a> {
    pub title: &'static str,
    pub text: Cow<'a, str>,
    /// Whether a report shows all of it.
    pub is_whole: bool,
    /// The file with all of it.
    pub file: Option<&'a Path>,
}

impl Printed<'_> {
    /// The part that is shown.
    pub fn shown(&self) -> &str {
        end(&self.text)
    }
}

/// What the failing run printed, according to the model; then what the process wrote past it.
pub fn printed<'a>(account: &'a Account, failure: Option<&'a FailureReport>) -> Vec<Printed<'a>> {
    let output = account.output_text(failure);
    let all = [
        Printed {
            title: "output",
            is_whole: printed_whole(&output),
            text: output,
            file: account.output_file.as_deref(),
        },
        Printed {
            title: "the process's own standard error",
            text: Cow::Borrowed(&account.stderr),
            is_whole: account.stderr_whole.is_none(),
            file: account.stderr_file.as_deref(),
        },
    ];
    all.into_iter().filter(|printed| !printed.text.is_empty()).collect()
}

/// Maximum number of lines shown of an output: its last ones.
const LINES: usize = 100;
/// Maximum number of bytes shown of an output.
const BYTES: usize = 16 << 10;

/// Says whether a report shows all of an output.
pub fn printed_whole(text: &str) -> bool {
    end(text).len() == text.len()
}

/// The end of an output, which is shown: whole lines, unless the last one alone is too long.
fn end(text: &str) -> &str {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let from_line = body.rmatch_indices('\n').nth(LINES - 1).map_or(0, |(at, _)| at + 1);
    let least = text.len().saturating_sub(BYTES);
    if from_line >= least {
        return &text[from_line..];
    }
    let cut = text.ceil_char_boundary(least);
    match text[cut..].trim_end_matches('\n').find('\n') {
        Some(end) => &text[cut + end + 1..],
        None => &text[cut..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_end_is_shown() {
        let lines = |numbers: std::ops::Range<usize>| numbers.map(|i| format!("line {i}\n")).collect::<String>();
        assert_eq!(end(&lines(0..LINES)), lines(0..LINES));
        assert_eq!(end(&lines(0..LINES + 5)), lines(5..LINES + 5));
        assert_eq!(end(lines(0..LINES + 5).trim_end()), lines(5..LINES + 5).trim_end());
        // Twenty megabytes on one line, or on lines that are too long for so many of them.
        assert_eq!(end(&"x".repeat(20 << 20)).len(), BYTES);
        let long = format!("{}\n", "é".repeat(1000)).repeat(20);
        assert_eq!(end(&long), &long[long.len() - 8 * 2001..]);
        assert_eq!(end(""), "");
    }
}
