//! The position of a program when it ended, or was ended: readable functions.

use crate::report::story::source::short;
use dpor_protocol::CallerReport;

/// Maximum number of named functions, innermost first.
const NAMED: usize = 12;

/// A line for each function, innermost first: `in bank::transfer (src/lib.rs:12)`. A function that calls itself has one
/// line.
pub fn lines(callers: &[CallerReport]) -> Vec<String> {
    let lines = callers.chunk_by(|one, other| one == other).map(|same| {
        let times = match same.len() {
            1 => String::new(),
            times => format!(", {times} times"),
        };
        let place = same[0].location.as_ref();
        let place = place.map_or_else(String::new, |place| format!(" ({})", short(place)));
        format!("in {}{place}{times}", same[0].function)
    });
    let mut lines: Vec<String> = lines.collect();
    if lines.len() > NAMED {
        let more = lines.len() - NAMED;
        lines.truncate(NAMED);
        lines.push(format!("… and {more} more"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpor_protocol::SourceLocation;

    fn caller(function: &str, line: Option<u32>) -> CallerReport {
        CallerReport {
            function: function.into(),
            location: line.map(|line| SourceLocation {
                file: "src/lib.rs".into(),
                line,
                column: 0,
            }),
        }
    }

    #[test]
    fn who_calls_itself_has_one_line() {
        let recursion = [3, 3, 3, 9].map(|line| caller("a::deep", Some(line)));
        let all: Vec<_> = recursion.into_iter().chain([caller("a::main", None)]).collect();
        let expected = [
            "in a::deep (src/lib.rs:3), 3 times",
            "in a::deep (src/lib.rs:9)",
            "in a::main",
        ];
        assert_eq!(lines(&all), expected);
    }

    #[test]
    fn a_few_are_enough() {
        let all: Vec<_> = (0..20).map(|line| caller("a::f", Some(line))).collect();
        let lines = lines(&all);
        assert_eq!((lines.len(), lines[12].as_str()), (13, "… and 8 more"));
        assert_eq!(super::lines(&[]), [""; 0]);
    }
}
