//! Finding the examples.

use super::{Example, Examples};
use crate::surface::{Item, Surface};
use scraper::{ElementRef, Html, Selector};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules whose own pages have examples.
const MODULES: [&str; 5] = ["sync", "sync::atomic", "sync::mpsc", "thread", "hint"];

/// The examples in std's documentation of the wanted items and their modules.
///
/// # Errors
/// The page that cannot be read.
pub fn read(folder: &Path, std: &Surface, wanted: impl Fn(&Item) -> bool) -> Result<Examples, String> {
    let mut reader = Reader {
        examples: Examples::default(),
        counts: BTreeMap::new(),
        not_run: BTreeMap::new(),
    };
    for module in MODULES {
        let page = folder.join("std").join(module.replace("::", "/")).join("index.html");
        reader.page(&page, module)?;
    }
    for item in std.items.iter().filter(|item| wanted(item)) {
        let name = format!("{}.{}.html", item.kind, item.name);
        let page = folder.join("std").join(item.module.replace("::", "/")).join(name);
        reader.page(&page, &item.path())?;
    }
    Ok(reader.examples)
}

struct Reader {
    examples: Examples,
    /// Number of examples with each name.
    counts: BTreeMap<String, usize>,
    /// By source file, the examples that are not run, without spaces.
    not_run: BTreeMap<PathBuf, Vec<String>>,
}

impl Reader {
    fn page(&mut self, path: &Path, item: &str) -> Result<(), String> {
        let read = |path: &Path| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
        let page = Html::parse_document(&read(path)?);
        let in_text = "details.top-doc .example-wrap, #implementations-list .example-wrap";
        for example in page.select(&selector(in_text)) {
            let Some(link) = example.select(&selector("a.test-arrow")).next() else {
                continue;
            };
            let classes: Vec<_> = example.value().classes().collect();
            let (_, query) = link
                .attr("href")
                .and_then(|href| href.split_once('?'))
                .unwrap_or_default();
            let query: BTreeMap<_, _> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
            let code = query.get("code").cloned().unwrap_or_default();
            let member = member(example);
            let source = member
                .as_ref()
                .map_or_else(|| page.root_element(), |(_, section)| *section)
                .select(&selector("a.src"))
                .filter_map(|source| source.attr("href"))
                .find_map(|href| Some(href.split_once('#')?.0))
                .and_then(|href| path.parent().map(|parent| parent.join(href)));
            if query.contains_key("version") {
                self.examples.unstable += 1;
                continue;
            }
            let only_shown = ["ignore", "compile_fail"].iter().any(|class| classes.contains(class));
            let file = source.and_then(|source| source.canonicalize().ok());
            let is_run = match file {
                Some(file) if !only_shown => {
                    let not_run = match self.not_run.get(&file) {
                        Some(known) => known,
                        None => {
                            let found = not_run(&Html::parse_document(&read(&file)?));
                            self.not_run.entry(file).or_insert(found)
                        }
                    };
                    let bare = bare(&code);
                    !not_run.iter().any(|other| bare.contains(other.as_str()))
                }
                _ => !only_shown,
            };
            if !is_run {
                self.examples.not_run += 1;
                continue;
            }
            let member = member.map(|(name, _)| format!("_{name}")).unwrap_or_default();
            let name = format!("{}{member}", item.replace("::", "_"));
            let count = self.counts.entry(name.clone()).or_default();
            *count += 1;
            self.examples.tests.push(Example {
                name: format!("{name}_{count}"),
                item: item.into(),
                code,
                should_panic: classes.contains(&"should_panic"),
            });
        }
        Ok(())
    }
}

fn selector(text: &str) -> Selector {
    Selector::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The function whose documentation this is part of, and its heading.
fn member(example: ElementRef) -> Option<(String, ElementRef)> {
    let sections = example.ancestors().filter_map(ElementRef::wrap);
    let mut sections = sections.filter(|element| element.value().classes().any(|class| class == "method-toggle"));
    let section = sections.next()?.select(&selector("summary > section")).next()?;
    let (_, name) = section.attr("id")?.split_once('.')?;
    Some((name.replace('-', "_"), section))
}

/// The examples of a source file that std does not run.
fn not_run(page: &Html) -> Vec<String> {
    let mut found = Vec::new();
    let mut block: Option<(bool, String)> = None;
    for code in page.select(&selector("pre.rust > code")) {
        // The numbers of the lines are links.
        let lines: String = code
            .descendants()
            .filter(|node| {
                let parent = node.parent().and_then(ElementRef::wrap);
                parent.is_none_or(|parent| parent.attr("data-nosnippet").is_none())
            })
            .filter_map(|node| node.value().as_text().map(|text| text.to_string()))
            .collect();
        for line in lines.lines() {
            let line = line.trim_start();
            let Some(line) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
                continue;
            };
            match (line.trim().strip_prefix("```"), block.take()) {
                (Some(tags), None) => block = Some((tags.contains("no_run") || tags.contains("ignore"), String::new())),
                (Some(_), Some((true, text))) => found.push(bare(&text)),
                (Some(_), Some((false, _))) => {}
                (None, open) => {
                    block = open.map(|(wanted, text)| (wanted, text + line + "\n"));
                }
            }
        }
    }
    found.retain(|text| !text.is_empty());
    found
}

/// Code without what rustdoc adds or leaves out.
fn bare(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace() && *c != '#').collect()
}
