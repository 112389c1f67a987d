//! The list as text: one fact per line, indented under the item to which it belongs.

use super::{Impl, Item, Surface};
use std::fmt::Write as _;

const UNSTABLE: &str = "unstable traits:";

/// The list.
pub fn print(surface: &Surface) -> String {
    let mut text = String::new();
    let mut line = |indent: usize, words: &[&str]| {
        writeln!(text, "{:indent$}{}", "", words.join(" ")).expect("a String takes anything");
    };
    line(0, &[UNSTABLE, &surface.unstable_traits.join(" ")]);
    for item in &surface.items {
        line(
            0,
            &[
                &[item.kind.as_str(), &item.path()],
                &Vec::from_iter(item.also_in.iter().map(String::as_str))[..],
            ]
            .concat(),
        );
        line(4, &[&item.declaration]);
        for (word, impls) in [("has", &item.inherent), ("is", &item.traits)] {
            for each in impls {
                line(4, &[word, &each.header]);
                for member in &each.members {
                    line(8, &[member]);
                }
            }
        }
    }
    text
}

/// Parses the text of a list.
///
/// # Errors
/// The line that is not understood.
pub fn parse(text: &str) -> Result<Surface, String> {
    let mut surface = Surface::default();
    // Whether the last implementation was a trait's.
    let mut of_trait = false;
    for line in text.lines() {
        let bad = || format!("not understood: {line}");
        let content = line.trim_start();
        if let Some(names) = content.strip_prefix(UNSTABLE) {
            surface.unstable_traits = names.split_whitespace().map(String::from).collect();
            continue;
        }
        if content.len() == line.len() {
            let words: Vec<_> = line.split(' ').collect();
            let [kind, path, also_in @ ..] = &words[..] else {
                return Err(bad());
            };
            let (module, name) = path.rsplit_once("::").unwrap_or(("", path));
            surface.items.push(Item {
                module: module.into(),
                name: name.into(),
                kind: kind.to_string(),
                also_in: also_in.iter().map(ToString::to_string).collect(),
                declaration: String::new(),
                inherent: Vec::new(),
                traits: Vec::new(),
            });
            continue;
        }
        let item = surface.items.last_mut().ok_or_else(bad)?;
        if line.len() - content.len() == 8 {
            let impls = if of_trait { &mut item.traits } else { &mut item.inherent };
            impls.last_mut().ok_or_else(bad)?.members.push(content.into());
        } else if item.declaration.is_empty() {
            item.declaration = content.into();
        } else {
            let (word, header) = content.split_once(' ').ok_or_else(bad)?;
            of_trait = word == "is";
            let impls = if of_trait { &mut item.traits } else { &mut item.inherent };
            impls.push(Impl {
                header: header.into(),
                members: Vec::new(),
            });
        }
    }
    Ok(surface)
}
