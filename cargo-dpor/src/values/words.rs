//! A value in words that fit.

/// Maximum number of characters shown.
pub const SHOWN: usize = 60;
/// Maximum number of characters of a text within something longer.
const TEXT: usize = 16;

/// The parts of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueText {
    /// A number, a name, or an unknown value: `…`.
    Plain(String),
    /// A text, with quotes.
    Text(String),
    /// Something with parts.
    Parts {
        /// The name of the type or the variant; empty for tuples and lists.
        head: String,
        brackets: Brackets,
        parts: Vec<(Option<String>, ValueText)>,
        /// Whether there are more parts.
        more: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brackets {
    Round,
    Square,
    Curly,
}

/// How much of a value is written.
struct Limits {
    /// Maximum depth of nested parts.
    depth: usize,
    /// Maximum number of items of a list.
    items: usize,
    /// Maximum number of fields of anything else.
    fields: usize,
    /// Maximum number of characters of a text.
    text: usize,
}

impl Limits {
    const NONE: Limits = Limits {
        depth: usize::MAX,
        items: usize::MAX,
        fields: usize::MAX,
        text: usize::MAX,
    };
}

impl ValueText {
    /// An unknown value.
    pub fn unknown() -> ValueText {
        ValueText::Plain("…".into())
    }

    pub fn plain(text: impl ToString) -> ValueText {
        ValueText::Plain(text.to_string())
    }

    /// The whole value.
    pub fn whole(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &Limits::NONE);
        out
    }

    /// As much of the value as can be shown.
    pub fn short(&self) -> String {
        let whole = self.whole();
        if fits(&whole) {
            return whole;
        }
        // First the longest lists become shorter, then what lies deep is left out, then fields at the end.
        const ALL: usize = usize::MAX;
        let levels = [
            (ALL, 8, ALL),
            (3, 4, ALL),
            (2, 3, ALL),
            (1, 2, ALL),
            (1, 1, 4),
            (1, 1, 3),
            (1, 1, 2),
            (1, 1, 1),
            (0, 0, 0),
        ];
        let tries = levels.into_iter().map(|(depth, items, fields)| {
            let mut out = String::new();
            let limits = Limits {
                depth,
                items,
                fields,
                text: TEXT,
            };
            self.write(&mut out, &limits);
            out
        });
        let last = tries.clone().next_back().unwrap_or_default();
        let found = tries.into_iter().find(|text| fits(text)).unwrap_or(last);
        match found.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &found[..end]),
            None => found,
        }
    }

    /// A value before and after a step, so that the difference can be seen.
    pub fn short_pair(before: &ValueText, after: &ValueText) -> (String, String) {
        let (before_whole, after_whole) = (before.whole(), after.whole());
        if before_whole == after_whole {
            let short = after.short();
            return (short.clone(), short);
        }
        if fits(&before_whole) && fits(&after_whole) {
            return (before_whole, after_whole);
        }
        let (before, after) = changed(before, after);
        match (before.short(), after.short()) {
            // They differ where nothing is shown.
            (before, after) if before == after => ("…".into(), after),
            pair => pair,
        }
    }

    fn write(&self, out: &mut String, limits: &Limits) {
        match self {
            ValueText::Plain(plain) => out.push_str(plain),
            ValueText::Text(own) => match own.char_indices().nth(limits.text) {
                Some((end, _)) => out.push_str(&format!("{:?}…", &own[..end])),
                None => out.push_str(&format!("{own:?}")),
            },
            ValueText::Parts {
                head,
                brackets,
                parts,
                more,
            } => {
                let (open, close, space) = match brackets {
                    Brackets::Round => ("(", ")", ""),
                    Brackets::Square => ("[", "]", ""),
                    // A map or a set has no name.
                    Brackets::Curly if head.is_empty() => ("{", "}", ""),
                    Brackets::Curly => ("{", "}", " "),
                };
                out.push_str(head);
                if *brackets == Brackets::Curly && !head.is_empty() {
                    out.push(' ');
                }
                let list = *brackets == Brackets::Square;
                let most = match limits.depth {
                    0 => 0,
                    _ if list => limits.items,
                    _ => limits.fields,
                };
                let shown = parts.len().min(most);
                out.push_str(open);
                let rest = *more || shown < parts.len();
                if shown > 0 || rest {
                    out.push_str(space);
                }
                let inner = Limits {
                    depth: limits.depth.saturating_sub(1),
                    ..*limits
                };
                for (number, (name, part)) in parts[..shown].iter().enumerate() {
                    if number > 0 {
                        out.push_str(", ");
                    }
                    if let Some(name) = name {
                        out.push_str(&format!("{name}: "));
                    }
                    part.write(out, &inner);
                }
                if rest {
                    out.push_str(if shown > 0 { ", .." } else { ".." });
                }
                if shown > 0 || rest {
                    out.push_str(space);
                }
                out.push_str(close);
            }
        }
    }
}

fn fits(text: &str) -> bool {
    text.chars().count() <= SHOWN
}

/// Both values without the fields in which they agree.
fn changed(before: &ValueText, after: &ValueText) -> (ValueText, ValueText) {
    let (
        ValueText::Parts {
            head,
            brackets,
            parts: first,
            more,
        },
        ValueText::Parts {
            head: other_head,
            brackets: other_brackets,
            parts: second,
            more: other_more,
        },
    ) = (before, after)
    else {
        return (before.clone(), after.clone());
    };
    let named = |parts: &[(Option<String>, ValueText)]| parts.iter().all(|(name, _)| name.is_some());
    let alike = (head, brackets, first.len()) == (other_head, other_brackets, second.len());
    let same_names = || {
        first
            .iter()
            .map(|(name, _)| name)
            .eq(second.iter().map(|(name, _)| name))
    };
    if !alike || !same_names() || (!named(first) && first.len() != 1) {
        return (before.clone(), after.clone());
    }
    let differing = first.iter().zip(second).filter(|(one, other)| one != other);
    let pairs: Vec<_> = differing
        .map(|(one, other)| (&one.0, changed(&one.1, &other.1)))
        .collect();
    let parts = |more: bool, of: fn(&(ValueText, ValueText)) -> &ValueText| ValueText::Parts {
        head: head.clone(),
        brackets: *brackets,
        parts: pairs
            .iter()
            .map(|(name, pair)| ((*name).clone(), of(pair).clone()))
            .collect(),
        more: more || pairs.len() < first.len(),
    };
    (parts(*more, |pair| &pair.0), parts(*other_more, |pair| &pair.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(head: &str, parts: &[(&str, ValueText)]) -> ValueText {
        let parts = parts
            .iter()
            .map(|(name, part)| (Some((*name).to_owned()), part.clone()));
        ValueText::Parts {
            head: head.into(),
            brackets: Brackets::Curly,
            parts: parts.collect(),
            more: false,
        }
    }

    fn list(numbers: std::ops::Range<u32>) -> ValueText {
        ValueText::Parts {
            head: String::new(),
            brackets: Brackets::Square,
            parts: numbers.map(|number| (None, ValueText::plain(number))).collect(),
            more: false,
        }
    }

    #[test]
    fn what_fits_is_shown_whole() {
        let config = own("Config", &[("retries", ValueText::plain(3)), ("hosts", list(0..3))]);
        assert_eq!(config.short(), "Config { retries: 3, hosts: [0, 1, 2] }");
        assert_eq!(own("Empty", &[]).short(), "Empty {}");
    }

    #[test]
    fn long_lists_and_deep_parts_are_left_out() {
        let config = own("Config", &[("retries", ValueText::plain(3)), ("hosts", list(0..300))]);
        assert_eq!(
            config.short(),
            "Config { retries: 3, hosts: [0, 1, 2, 3, 4, 5, 6, 7, ..] }"
        );
        let deep = own("Outer", &[("first", config.clone()), ("second", config.clone())]);
        assert_eq!(deep.short(), "Outer { first: Config { .. }, second: Config { .. } }");
        let wide: Vec<_> = ["one", "two", "three", "four", "five", "six"]
            .map(|name| (name, config.clone()))
            .into();
        assert_eq!(
            own("Outer", &wide).short(),
            "Outer { one: Config { .. }, two: Config { .. }, .. }"
        );
        assert_eq!(ValueText::Text("x".repeat(100)).short(), "\"xxxxxxxxxxxxxxxx\"…");
        assert_eq!(ValueText::plain("x".repeat(100)).short().chars().count(), SHOWN + 1);
    }

    #[test]
    fn of_a_long_change_only_what_changes_is_shown() {
        let value = |count: u32| {
            let inner = own("Inner", &[("hosts", list(0..20)), ("count", ValueText::plain(count))]);
            own("Outer", &[("hosts", list(0..20)), ("inner", inner)])
        };
        assert_eq!(
            ValueText::short_pair(&value(1), &value(2)),
            (
                "Outer { inner: Inner { count: 1, .. }, .. }".into(),
                "Outer { inner: Inner { count: 2, .. }, .. }".into()
            )
        );
        let same = ValueText::short_pair(&value(1), &value(1));
        assert_eq!(same.0, same.1);
        // The difference lies where nothing can be shown.
        assert_eq!(ValueText::short_pair(&list(0..100), &list(0..101)).0, "…");
        assert_eq!(
            ValueText::short_pair(&list(0..1), &list(0..2)),
            ("[0]".into(), "[0, 1]".into())
        );
    }
}
