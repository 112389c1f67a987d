//! Readable names of objects: the path of a static, or else the field or variable that the source has before the
//! operation.

use crate::outcome::Outcome;
use crate::report::story::source::SourceTree;
use dpor_protocol::{BlockedThread, SourceLocation, StepReport};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Names the objects of a replay's steps and of the threads that wait at its end.
pub fn name(outcome: &mut Outcome, sources: &SourceTree) {
    let mut uses: BTreeMap<String, Uses> = BTreeMap::new();
    let steps = &mut outcome.account.steps;
    let blocked = match &mut outcome.failure {
        Some(failure) => &mut failure.blocked[..],
        None => &mut [],
    };
    let of_steps = steps
        .iter()
        .map(|step| (&step.object, &step.object_name, &step.location, step.index));
    let of_blocked = blocked
        .iter()
        .map(|thread| (&thread.object, &thread.object_name, &thread.location, u64::MAX));
    for (object, known, place, index) in of_steps.chain(of_blocked) {
        // Threads have names of their own, and begin with a `t`.
        if object.contains('#') {
            let uses = uses.entry(object.clone()).or_insert_with(|| Uses::first(index));
            match known {
                Some(path) => uses.path = Some(path.clone()),
                None => uses
                    .words
                    .extend(place.as_ref().and_then(|place| receiver(place, sources))),
            }
        }
    }
    let names = unambiguous(uses);
    let of = |object: &str| names.get(object).cloned();
    for StepReport {
        object, object_name, ..
    } in steps
    {
        *object_name = of(object);
    }
    for BlockedThread {
        object, object_name, ..
    } in blocked
    {
        *object_name = of(object);
    }
}

/// The uses of an object.
struct Uses {
    /// The step of its first use.
    first: u64,
    /// Its path, if it is a static.
    path: Option<String>,
    /// The words before the operations on it in the source.
    words: Vec<Expression>,
}

impl Uses {
    fn first(first: u64) -> Uses {
        Uses {
            first,
            path: None,
            words: Vec::new(),
        }
    }

    /// The name, if they agree on one.
    fn name(&self, elsewhere: impl Fn(&str) -> bool) -> Option<String> {
        if let Some(path) = &self.path {
            return path.rsplit("::").next().map(str::to_owned);
        }
        // A field says more than a variable, by which another function may mean something else.
        let fields: Vec<_> = self.words.iter().filter(|words| words.field).collect();
        let all: Vec<_> = if fields.is_empty() {
            self.words.iter().collect()
        } else {
            fields
        };
        let first = all.first()?;
        let agreed = all.iter().all(|words| words.text == first.text);
        let own = || all.iter().all(|words| !elsewhere(&words.text));
        (agreed || own()).then(|| first.text.clone())
    }
}

/// The names of all objects that have one; if several have the same name, they get numbers.
fn unambiguous(uses: BTreeMap<String, Uses>) -> HashMap<String, String> {
    let mut users: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (object, uses) in &uses {
        for words in &uses.words {
            users.entry(&words.text).or_default().insert(object);
        }
    }
    let mut named: BTreeMap<String, Vec<(u64, &String)>> = BTreeMap::new();
    for (object, uses) in &uses {
        let elsewhere = |text: &str| users.get(text).is_some_and(|users| users.len() > 1);
        if let Some(name) = uses.name(elsewhere) {
            named.entry(name).or_default().push((uses.first, object));
        }
    }
    let mut names = HashMap::new();
    for (name, mut objects) in named {
        objects.sort_unstable();
        let several = objects.len() > 1;
        for (number, (_, object)) in (1..).zip(objects) {
            let name = if several {
                format!("{name}#{number}")
            } else {
                name.clone()
            };
            names.insert(object.clone(), name);
        }
    }
    names
}

/// The words for an object in the source.
#[derive(Debug, PartialEq, Eq)]
struct Expression {
    text: String,
    /// Whether it is a field of something.
    field: bool,
}

/// Maximum length of a name.
const LONGEST: usize = 24;

/// The source's name of the object of the operation at a place.
pub fn word(place: &SourceLocation, sources: &SourceTree) -> Option<String> {
    Some(receiver(place, sources)?.text)
}

/// The words before the dot of the method that is called at a place.
fn receiver(place: &SourceLocation, sources: &SourceTree) -> Option<Expression> {
    let column = (place.column as usize).checked_sub(1)?;
    let mut line = place.line;
    let mut before: String = sources.raw(&place.file, line)?.chars().take(column).collect();
    loop {
        let text = before.trim_end().strip_suffix('.')?.trim_end();
        if !text.is_empty() {
            return expression(text);
        }
        // A chain of methods, one a line.
        line = line.checked_sub(1).filter(|&above| place.line - above < 4)?;
        let above = sources.raw(&place.file, line)?;
        before = format!("{}.", above.trim_end());
    }
}

/// The expression at the end of the text, without what only leads to the object.
fn expression(text: &str) -> Option<Expression> {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = text;
    loop {
        let (start, part) = last_part(rest)?;
        rest = rest[..start].trim_end();
        parts.push(part);
        match rest.strip_suffix("::").or_else(|| rest.strip_suffix('.')) {
            // A value that has just been made has no name.
            Some(_) if rest.ends_with("::") && parts.last()?.ends_with(')') => return None,
            Some(more) => rest = more.trim_end(),
            None => break,
        }
    }
    // What does not change which object it is, and what makes a handle of an operation on it.
    const TRANSPARENT: &[&str] = &[
        "clone()",
        "as_ref()",
        "unwrap()",
        "deref()",
        "borrow()",
        "receive()",
        "send()",
        "send(…)",
        "request()",
    ];
    parts.retain(|part| !TRANSPARENT.contains(&part.as_str()));
    let field = parts.len() > 1;
    let last = parts.first()?.clone();
    // Of a tuple, a number says little.
    let text = match parts.get(1) {
        Some(of) if last.chars().all(|c| c.is_ascii_digit()) => format!("{of}.{last}"),
        _ => last,
    };
    let fits = text != "self" && text.chars().count() <= LONGEST;
    fits.then_some(Expression { text, field })
}

/// An identifier with its arguments or indices, at the end of the text, and its start.
fn last_part(text: &str) -> Option<(usize, String)> {
    let mut end = text.len();
    let mut arguments = String::new();
    while let Some(close @ (')' | ']')) = text[..end].chars().next_back() {
        let open = if close == ')' { '(' } else { '[' };
        let mut depth = 0;
        let start = text[..end].char_indices().rev().find(|&(_, c)| {
            depth += i32::from(c == close) - i32::from(c == open);
            depth == 0
        })?;
        let inside = &text[start.0 + 1..end - 1];
        let shown = match inside {
            _ if inside.is_empty() || inside.chars().all(|c| c.is_ascii_digit()) => inside,
            _ => "…",
        };
        arguments.insert_str(0, &format!("{open}{shown}{close}"));
        end = start.0;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let start = text[..end]
        .char_indices()
        .rev()
        .take_while(|&(_, c)| is_word(c))
        .last()?
        .0;
    Some((start, format!("{}{arguments}", &text[start..end])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Option<(String, bool)> {
        expression(text).map(|words| (words.text, words.field))
    }

    #[test]
    fn what_stands_before_a_method_is_its_objects_name() {
        let is = |text: &str, field| Some((text.to_owned(), field));
        assert_eq!(named("let mut a = self.a"), is("a", true));
        assert_eq!(named("while !happened"), is("happened", false));
        assert_eq!(named("*self.shared.count"), is("count", true));
        assert_eq!(named("while self.wants[1 - me]"), is("wants[…]", true));
        assert_eq!(named("(a, forks[0]"), is("forks[0]", false));
        assert_eq!(named("self.next_of(before)"), is("next_of(…)", true));
        assert_eq!(named("pair.1"), is("pair.1", true));
        assert_eq!(named("state.clone()"), is("state", false));
        assert_eq!(named("inboxes[1].receive()"), is("inboxes[1]", false));
        assert_eq!(named("self.inbox.send(Stop)"), is("inbox", true));
        assert_eq!(named("crate::GLOBAL"), is("GLOBAL", true));
        assert_eq!(named("self"), None);
        assert_eq!(named("x = "), None);
        assert_eq!(named("Barrier::new(2)"), None);
        assert_eq!(named("}"), None);
        assert_eq!(named("a_name_that_is_much_too_long_for_a_column"), None);
    }

    fn uses(words: &[(&str, bool)]) -> Uses {
        Uses {
            words: words
                .iter()
                .map(|&(text, field)| Expression {
                    text: text.into(),
                    field,
                })
                .collect(),
            ..Uses::first(0)
        }
    }

    fn names(all: &[(&str, Uses)]) -> Vec<(String, String)> {
        let all = all.iter().map(|(object, uses)| {
            let words = uses
                .words
                .iter()
                .map(|w| (w.text.as_str(), w.field))
                .collect::<Vec<_>>();
            let mut copy = self::uses(&words);
            copy.path.clone_from(&uses.path);
            (object.to_string(), copy)
        });
        let mut names: Vec<_> = unambiguous(all.collect()).into_iter().collect();
        names.sort();
        names
    }

    fn pair(object: &str, name: &str) -> (String, String) {
        (object.into(), name.into())
    }

    #[test]
    fn a_name_that_means_several_objects_is_none() {
        // In one thread `from` is the first, in the other it is the second.
        let both = [("from", false), ("to", false)];
        assert_eq!(names(&[("rwlock#1", uses(&both)), ("rwlock#2", uses(&both))]), []);
        assert_eq!(
            names(&[
                ("mutex#1", uses(&[("a", true), ("first", false)])),
                ("mutex#2", uses(&both))
            ]),
            [pair("mutex#1", "a"), pair("mutex#2", "from")]
        );
    }

    #[test]
    fn objects_of_one_name_get_numbers() {
        let fork = [("forks[…]", true)];
        assert_eq!(
            names(&[("mutex#1", uses(&fork)), ("mutex#2", uses(&fork))]),
            [pair("mutex#1", "forks[…]#1"), pair("mutex#2", "forks[…]#2")]
        );
    }

    #[test]
    fn a_static_has_its_own_name() {
        let counter = Uses {
            path: Some("bank::state::COUNTER".into()),
            ..uses(&[("c", false)])
        };
        assert_eq!(names(&[("atomic#1", counter)]), [pair("atomic#1", "COUNTER")]);
    }
}
