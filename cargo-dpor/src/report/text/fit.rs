//! Text that fits the terminal.

use std::borrow::Cow;
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Additional indentation of the rest of a long line.
const INDENT: usize = 4;

/// The text with each line that is longer than `width` continued on the next one, indented. Lines break only between
/// words, so that no word contains an end of line. Seeds and commands stay on their lines, to be copied.
pub fn fit(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let plain = anstream::adapter::strip_str(line).to_string();
        let own = plain.trim_start();
        if textwrap::core::display_width(line) <= width || own.starts_with("seed: ") || own.starts_with("again: ") {
            out.push_str(line);
        } else {
            let indent = (plain.len() - own.len() + INDENT).min(width / 2);
            let indent = " ".repeat(indent);
            let options = options(width, &indent).break_words(false);
            out.push_str(&textwrap::wrap(line, options).join("\n"));
        }
        out.push_str(end);
    }
    out
}

/// A line of source in lines of at most `width` columns. All but the first are indented. Lines break where Rust allows
/// it, and within anything that is still too long.
pub fn wrapped_source(line: &str, width: usize) -> Vec<String> {
    let indent = " ".repeat(INDENT.min(width / 2));
    let options = options(width, &indent).word_separator(WordSeparator::Custom(source_words));
    let lines = textwrap::wrap(line, options);
    lines.into_iter().map(Cow::into_owned).collect()
}

fn options(width: usize, indent: &str) -> Options<'_> {
    Options::new(width)
        .subsequent_indent(indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
}

/// The pieces of a line of source between which it can break: between words, after an opening parenthesis, before a
/// method of a call's result.
fn source_words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let parted = |&at: &usize| {
        let (before, after) = (line.as_bytes()[at - 1], line.as_bytes()[at]);
        before == b' ' && after != b' ' || before == b'(' && after != b')' || before == b')' && after == b'.'
    };
    let ends: Vec<usize> = (1..line.len()).filter(parted).chain([line.len()]).collect();
    let starts = [0].into_iter().chain(ends.clone());
    Box::new(starts.zip(ends).map(|(start, end)| Word::from(&line[start..end])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_continued_with_an_indent() {
        let text = "  in t1 at a.rs:7  let sum = one + two + three;\nshort\n";
        let expected = "  in t1 at a.rs:7  let\n      sum = one + two +\n      three;\nshort\n";
        assert_eq!(fit(text, 24), expected);
        assert_eq!(fit(text, 80), text);
    }

    #[test]
    fn colours_take_no_room() {
        let text = "\u{1b}[2mone two three\u{1b}[0m";
        assert_eq!(fit(text, 13), text);
        assert_eq!(fit(text, 12), "\u{1b}[2mone two\n    three\u{1b}[0m");
    }

    #[test]
    fn words_seeds_and_commands_stay_whole() {
        for text in [
            "  again: cargo dpor replay dpor1-AAAA -p bank\n",
            "  seed: dpor1-AAAA\n",
            "dpor1-AAAAAAAAAAAAAAAAA",
        ] {
            assert_eq!(fit(text, 10), text);
        }
        assert_eq!(fit("a dpor1-AAAAAAAAAA b", 8), "a\n    dpor1-AAAAAAAAAA\n    b");
    }

    #[test]
    fn source_is_parted_where_it_may_be() {
        let line = "let x = Builder::new().name(\"é worker\".into()).spawn(move || ());";
        assert_eq!(
            wrapped_source(line, 24)[..2],
            ["let x = Builder::new()", "    .name(\"é"]
        );
        for width in 5..80 {
            let lines = wrapped_source(line, width);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:?}");
            let whole: String = lines.iter().flat_map(|line| line.split(' ')).collect();
            assert_eq!(whole, line.replace(' ', ""));
        }
        assert_eq!(wrapped_source("", 10), [""]);
    }

    #[test]
    fn an_indent_leaves_room_for_the_text() {
        let text = format!("{}one two three four", " ".repeat(13));
        assert_eq!(
            fit(&text, 20),
            format!("{}one two\n          three four", " ".repeat(13))
        );
    }
}
